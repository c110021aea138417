"""Find what the clips of each data set of a run have in common, from the ledger."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncaudit.batch.ledger import Ledger
from syncaudit.batch.outputs import log_defect, write_json
from syncaudit.model import Clip, CommonOffsets, DataSetClocks
from syncaudit.policy import Policy
from syncaudit.policy.data_sets import calibration_of, data_set_row
from syncaudit.writing import Signature, remove_ours

if TYPE_CHECKING:
    from syncaudit.pipeline import DataSet

COMMON_FILE = "common_offsets.json"


class DataSets:
    """Clock offsets of every data set, found from the measurements alone.

    A data set groups the clips with the same `origin` in the manifest, or all clips if there is
    none: sources of the same name are then taken to be the same device. Verdicts are not used, so
    the result does not depend on how the clips were judged before.
    """

    def __init__(self, clips: Sequence[Clip], ledger: Ledger, policy: Policy) -> None:
        self._clips = clips
        self._held: dict[str, CommonOffsets] = {}
        self._found: dict[str | None, DataSetClocks] = {}
        sets: dict[str | None, DataSet] = {}
        by_id = {clip.clip_id: clip for clip in clips}
        for verdict in ledger.verdicts(by_id):
            clip = by_id[verdict.clip_id]
            if verdict.common is not None:
                self._held[clip.clip_id] = verdict.common
            if not verdict.pairs:
                continue
            if _name(clip) not in sets:
                from syncaudit.pipeline import DataSet  # heavy, and not needed by screens

                sets[_name(clip)] = DataSet(_name(clip), policy)
            try:
                sets[_name(clip)].add(clip, verdict.pairs)
            except Exception:  # noqa: BLE001  # the others are known without it
                log_defect(ledger.path.parent, f"clip {clip.clip_id}", traceback.format_exc())
        for name, one in sets.items():
            try:
                found = one.clocks()
            except Exception:  # noqa: BLE001  # its clips keep their own verdicts
                log_defect(ledger.path.parent, f"data set {name or ''}", traceback.format_exc())
                continue
            if found is not None:
                self._found[name] = found

    def common_of(self, clip: Clip) -> CommonOffsets | None:
        """Return the common offsets used to choose the reference of a clip."""
        found = self._found.get(_name(clip))
        return None if found is None else found.common

    def is_stale(self, clip: Clip) -> bool:
        """Return whether a clip was judged with different common offsets."""
        return self._held.get(clip.clip_id) != self.common_of(clip)

    def rows(self) -> list[dict[str, Any]]:
        """Return the data sets as stored in `summary.json`."""
        return [data_set_row(found) for found in self._found.values()]

    def write(self, folder: Path) -> None:
        """Write a calibration of the common offsets, if it is valid for all clips."""
        path = folder / COMMON_FILE
        common = [found for found in self._found.values() if found.common is not None]
        if len(common) != 1 or len({_name(clip) for clip in self._clips}) != 1:
            remove_ours(path, Signature.CALIBRATION)
            return
        write_json(calibration_of(common[0], self._intended_s()), path)

    def _intended_s(self) -> Mapping[str, float]:
        """Return the intended offset of each source, as stated by the first clip that has it."""
        intended_s: dict[str, float] = {}
        for clip in self._clips:
            for name, spec in clip.sources.items():
                intended_s.setdefault(name, spec.expected_offset_s)
        return intended_s


def _name(clip: Clip) -> str | None:
    return None if clip.origin is None else clip.origin.dataset
