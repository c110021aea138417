"""Known corrections of the clocks of a clip: one per source, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from syncaudit.model import Clip, ClockMap


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCorrection:
    """Correction of one source of one clip."""

    correction: ClockMap | None = None  # what to add to its timestamps; None if unknown
    offset_std_s: float | None = None  # standard error of the offset
    why: str | None = None  # reason why there is no correction
    remarks: tuple[str, ...] = ()  # what the correction cannot fix, and where it comes from
    # Whether it was measured on this very clip; otherwise its drift applies within a day only.
    is_of_this_clip: bool = False

    def near(self, time_ns: int) -> SourceCorrection:
        """Return the part of the correction that applies to timestamps from `time_ns` onward."""
        if self.correction is None or self.is_of_this_clip:
            return self
        settled = self.correction.near(time_ns)
        if settled is self.correction:
            return self
        remark = "its drift is kept, since it was measured more than a day away"
        return replace(self, correction=settled, remarks=(*self.remarks, remark))


def shared_by_clock(
    clip: Clip, known: Mapping[str, SourceCorrection], missing: Mapping[str, str]
) -> dict[str, SourceCorrection]:
    """Return a correction for every source: its own, or that of a source with the same clock.

    `clip`: names the sources and their clocks. `known`: corrections by source, or by clock.
    `missing`: reasons why sources have no correction, where known.
    """
    clocks = clip.clocks
    found: dict[str, SourceCorrection] = {}
    for name, clock in clocks.items():
        if name in known:
            found[name] = known[name]
            continue
        donors = [other for other in clocks if clocks[other] == clock and other in known]
        if not donors and clock in known:
            donors = [clock]
        if donors:
            donor = min(donors, key=lambda other: _error(known[other]))
            remark = f"with the correction of {donor}, whose clock it shares"
            found[name] = replace(known[donor], remarks=(remark,))
        else:
            found[name] = SourceCorrection(why=missing.get(name, "it has no known correction"))
    return found


def _error(known: SourceCorrection) -> float:
    return math.inf if known.offset_std_s is None else known.offset_std_s


def number(value: object) -> float | None:
    """Return a finite number, or None: for untrusted JSON."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
