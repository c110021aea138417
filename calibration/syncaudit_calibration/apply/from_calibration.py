"""Corrections from a calibration (formats, section 4): the same for every clip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from syncaudit.errors import UsageError
from syncaudit.formatting import word_duration
from syncaudit.model import Clip, ClockMap
from syncaudit.pipeline.known_corrections import check_calibration, intended_s
from syncaudit_calibration.apply.corrections import SourceCorrection, number, shared_by_clock


class CalibrationCorrections:
    """Corrections of the sources of any clip, from a calibration.

    Parameters
    ----------
    content : mapping
        Parsed JSON.
    uri : str
        Where it was read from, for messages.

    Raises
    ------
    UsageError
        If the calibration violates the format.
    """

    def __init__(self, content: Mapping[str, Any], *, uri: str) -> None:
        if content.get("version") != 1:
            raise UsageError(
                f"calibration version {content.get('version')!r} is unknown, expected 1", path=uri
            )
        try:
            check_calibration(content)
        except UsageError as error:
            raise UsageError(error.message, path=uri, hint=error.hint) from error
        self._uri = uri
        self._at_ns = content.get("at_ns")
        self._sources: Mapping[str, Mapping[str, Any]] = content["sources"]
        self._reference = content.get("reference")
        refused = content.get("refused")
        self._refused = refused if isinstance(refused, Mapping) else {}
        for name, source in self._sources.items():
            at_ns = source.get("at_ns", self._at_ns)
            if source.get("drift_ppm") and (isinstance(at_ns, bool) or not isinstance(at_ns, int)):
                raise UsageError(
                    f"the calibration states a drift of '{name}' but no integer 'at_ns' for its "
                    "offset",
                    path=uri,
                    hint="Add 'at_ns' in nanoseconds, or set drift_ppm to null.",
                )

    def of_clip(self, clip: Clip) -> Mapping[str, SourceCorrection]:
        """Return the correction of every source of `clip`."""
        known = {name: self._source(name, clip) for name in self._sources}
        missing = {
            name: f"the calibration could not determine it: {self._refused[name]}"
            if name in self._refused
            else "the calibration does not list it"
            for name in clip.sources
        }
        return shared_by_clock(clip, known, missing)

    def check(self, clips: Mapping[str, Clip]) -> None:
        """Raise an error if the calibration names no source and no clock of these clips."""
        if any(
            found.correction is not None
            for clip in clips.values()
            for found in self.of_clip(clip).values()
        ):
            return
        present = dict.fromkeys(name for clip in clips.values() for name in clip.sources)
        raise UsageError(
            f"the calibration corrects {_listed(self._sources)}, but the clips hold "
            f"{_listed(present)}",
            path=self._uri,
            hint="Use the same source names in both, or give the calibration of this rig.",
        )

    def _source(self, name: str, clip: Clip) -> SourceCorrection:
        source = self._sources[name]
        # Relative to the reference, whose own intended offset would otherwise shift all others.
        offset_s = float(source["offset_s"]) - intended_s(clip, name, self._reference)
        remarks: list[str] = []
        own_s = intended_s(clip, name, None)
        if own_s:
            remarks.append(f"its intended {word_duration(own_s)} are kept")
        if source.get("steps"):
            remarks.append(
                "its clock jumped during the calibration: an offset and a drift cannot correct that"
            )
        drift_ppm = number(source.get("drift_ppm"))
        return SourceCorrection(
            correction=ClockMap(
                offset_s=offset_s,
                drift_ppm=drift_ppm,
                at_ns=source.get("at_ns", self._at_ns) if drift_ppm else None,
            ),
            offset_std_s=number(source.get("offset_std_s")),
            why="it is the reference" if name == self._reference else None,
            remarks=tuple(remarks),
        )


def _listed(names: Mapping[str, object]) -> str:
    shown = ", ".join(list(names)[:8])
    return (shown + (" and others" if len(names) > 8 else "")) or "nothing"
