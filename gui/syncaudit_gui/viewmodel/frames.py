"""The frames of a camera: which one is shown at a time, and runs of faulty ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from syncaudit.formatting import word_count
from syncaudit.model import CameraStream, ImageAudit, ImageFault, Stream
from syncaudit.model.arrays import Floats
from syncaudit.model.units import seconds_after

# After this many frame periods without a new frame the image is considered stale.
STALE_PERIODS = 2.5
# Timestamps are whole nanoseconds: as a float, one may round to either side.
STAMP_S = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFrame:
    """The frame that is shown at a time."""

    index: int  # position in presentation order: the row of the timestamp table
    age_s: float  # time since its timestamp
    is_stale: bool  # whether the camera should have delivered the next frame by then


class FrameTable:
    """Frames of one camera by time: the last one stamped at or before the cursor is shown.

    `times_s`, shape (n,), holds timestamps in file order, on the axis of the cursor.
    """

    def __init__(self, times_s: Floats) -> None:
        self._order = np.argsort(times_s, kind="stable")
        self.times_s: Floats = times_s[self._order]
        """Timestamps in chronological order, shape (n,)."""
        steps = np.diff(self.times_s)
        self.period_s = float(np.median(steps)) if steps.size else 0.0

    def __len__(self) -> int:
        return int(self.times_s.size)

    def at(self, time_s: float) -> ShownFrame | None:
        """Return the frame at `time_s`; None before the first or a period after the last."""
        place = int(np.searchsorted(self.times_s, time_s + STAMP_S, side="right")) - 1
        if place < 0:
            return None
        age_s = max(0.0, time_s - float(self.times_s[place]))
        is_last = place == len(self) - 1
        if is_last and age_s > self.period_s:
            return None
        is_stale = self.period_s > 0.0 and age_s > STALE_PERIODS * self.period_s
        return ShownFrame(index=int(self._order[place]), age_s=age_s, is_stale=is_stale)

    def stepped(self, time_s: float, by: int) -> float | None:
        """Return the timestamp `by` frames from `time_s`; None if there are no frames.

        A step back from between two frames first goes to the timestamp of the frame shown.
        """
        if not len(self):
            return None
        side = int(np.searchsorted(self.times_s, time_s + STAMP_S, side="right")) - 1
        is_between = side >= 0 and time_s - float(self.times_s[side]) > STAMP_S
        place = side + by + (1 if by < 0 and is_between else 0)
        return float(self.times_s[min(max(place, 0), len(self) - 1)])


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
