"""Runs of faulty frames, which are useless for training, at their camera's timestamps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from syncaudit.formatting import word_count
from syncaudit.model import CameraStream, ImageAudit, ImageFault, Stream
from syncaudit.model.time import seconds_after

FAULT_SIGNS: Mapping[ImageFault, tuple[str, str]] = {
    ImageFault.FROZEN: ("❄", "frozen"),
    ImageFault.BLANK: ("□", "blank"),
    ImageFault.COVERED: ("◌", "covered"),
    ImageFault.WHITE: ("☼", "white"),
    ImageFault.GREY: ("▩", "grey"),
    ImageFault.HALF: ("◒", "half"),
    ImageFault.DAMAGED: ("↯", "damaged"),
    ImageFault.UNDECODED: ("∅", "undecoded"),
    ImageFault.SIZE: ("◳", "other size"),
}
"""Glyph and word of each fault, so that it is not shown by colour alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spell:
    """A run of frames with one fault."""

    camera: str
    fault: ImageFault
    first: int  # frames, by their position in the file
    last: int
    n_frames: int  # number of these frames that show it
    # From the timestamp of the first frame to a period after that of the last, raw, in seconds
    # since the clip's epoch.
    start_s: float
    stop_s: float

    @property
    def sign(self) -> str:
        """Glyph and word."""
        return " ".join(FAULT_SIGNS[self.fault])

    @property
    def frames(self) -> str:
        """Description of the frames."""
        if self.first == self.last:
            return f"frame {self.first}"
        return f"{word_count(self.n_frames, 'frame')}, {self.first} to {self.last}"


def find_spells(
    audits: Mapping[str, ImageAudit], streams: Mapping[str, Stream], epoch_ns: int
) -> dict[str, tuple[Spell, ...]]:
    """Return the spells of every camera that has some, in chronological order.

    Cameras without timestamps are skipped.
    """
    found = {}
    for camera, audit in audits.items():
        stream = streams.get(camera)
        if not isinstance(stream, CameraStream) or not stream.time_ns.size:
            continue
        stamps_s = seconds_after(stream.time_ns, epoch_ns)
        period_s = float(np.median(np.diff(np.sort(stamps_s)))) if stamps_s.size > 1 else 0.0
        spells = []
        for spell in audit.spells:
            own_s = stamps_s[max(0, spell.first) : spell.last + 1]
            if own_s.size:  # a file may hold more frames than timestamps
                spells.append(
                    Spell(
                        camera=camera,
                        fault=spell.fault,
                        first=spell.first,
                        last=spell.last,
                        n_frames=spell.frames,
                        start_s=float(own_s.min()),
                        stop_s=float(own_s.max()) + period_s,
                    )
                )
        if spells:
            found[camera] = tuple(sorted(spells, key=lambda spell: spell.start_s))
    return found
