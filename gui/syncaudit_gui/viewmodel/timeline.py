"""The axis of the timeline: range, cursor and playback, and the clocks of what is drawn on it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from syncaudit.model import ClockMap
from syncaudit.model.arrays import Floats

# A pixel is then a microsecond: finer than any clock examined here.
MIN_SPAN_S = 1e-3
# Half the length of a loop around the cursor.
LOOP_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """Half-open interval of seconds since the clip's epoch."""

    start_s: float
    stop_s: float

    @property
    def span_s(self) -> float:
        """Length."""
        return self.stop_s - self.start_s

    @property
    def middle_s(self) -> float:
        """Middle."""
        return 0.5 * (self.start_s + self.stop_s)

    def zoomed(self, factor: float, at_s: float) -> TimeRange:
        """Return the range scaled by `factor` with `at_s` fixed."""
        return TimeRange(
            start_s=at_s - (at_s - self.start_s) * factor,
            stop_s=at_s + (self.stop_s - at_s) * factor,
        )

    def moved(self, by_s: float) -> TimeRange:
        """Return the range `by_s` later."""
        return TimeRange(start_s=self.start_s + by_s, stop_s=self.stop_s + by_s)

    def inside(self, limits: TimeRange) -> TimeRange:
        """Return the range moved, and shortened if need be, to fit into `limits`."""
        if self.span_s >= limits.span_s:
            return limits
        span_s = max(self.span_s, MIN_SPAN_S)
        middle_s = self.middle_s
        start_s = min(max(middle_s - 0.5 * span_s, limits.start_s), limits.stop_s - span_s)
        return TimeRange(start_s=start_s, stop_s=start_s + span_s)

    def __contains__(self, time_s: float) -> bool:
        return self.start_s <= time_s < self.stop_s


@dataclass(slots=True)
class Timeline:
    """The range on screen, the cursor, two measuring marks and the loop."""

    limits: TimeRange
    visible: TimeRange = field(init=False)
    cursor_s: float = field(init=False)
    marks_s: list[float] = field(default_factory=list)
    loop: TimeRange | None = None

    def __post_init__(self) -> None:
        self.visible = self.limits
        self.cursor_s = self.limits.start_s

    def move_to(self, time_s: float, *, follow: bool = True) -> None:
        """Move the cursor; the view follows if the cursor would leave it."""
        last_s = max(self.limits.start_s, self.limits.stop_s - 1e-9)
        self.cursor_s = min(max(time_s, self.limits.start_s), last_s)
        if not follow or self.cursor_s in self.visible:
            return
        # Keep a tenth of the view behind, so that upcoming data are visible.
        ahead = 0.1 if self.cursor_s >= self.visible.stop_s else 0.9
        start_s = self.cursor_s - ahead * self.visible.span_s
        self.show(self.visible.moved(start_s - self.visible.start_s))

    def show(self, wanted: TimeRange) -> None:
        """Show a range, as far as the clip extends."""
        self.visible = wanted.inside(self.limits)

    def toggle_loop(self) -> None:
        """Start looping between the marks, or around the cursor; or stop looping."""
        if self.loop is not None:
            self.loop = None
            return
        ends_s = (self.cursor_s - LOOP_S, self.cursor_s + LOOP_S)
        marked_s = (min(self.marks_s, default=0.0), max(self.marks_s, default=0.0))
        if marked_s[1] - marked_s[0] >= MIN_SPAN_S:
            ends_s = marked_s
        self.loop = TimeRange(
            start_s=max(ends_s[0], self.limits.start_s), stop_s=min(ends_s[1], self.limits.stop_s)
        )

    def clear_marks(self) -> bool:
        """Remove marks and loop; return whether there were any."""
        had_any = bool(self.marks_s) or self.loop is not None
        self.marks_s.clear()
        self.loop = None
        return had_any

    def mark(self) -> None:
        """Set the first measuring mark at the cursor, then the second, then remove both."""
        if len(self.marks_s) == 2:
            self.marks_s.clear()
        else:
            self.marks_s.append(self.cursor_s)

    @property
    def measured_s(self) -> float | None:
        """Time from the first mark to the second, or to the cursor while there is only one."""
        if not self.marks_s:
            return None
        return (self.marks_s[1] if len(self.marks_s) == 2 else self.cursor_s) - self.marks_s[0]


# Each step of inverting a clock reduces the error by a factor of the drift.
_N_INVERSE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnClock:
    """Correction of one source in seconds since the clip's epoch (formats, section 1)."""

    # The estimate, with timestamps counted from the epoch; empty for raw timestamps.
    clock: ClockMap = field(default_factory=ClockMap)
    nudge_s: float = 0.0  # added by hand

    @property
    def is_nothing(self) -> bool:
        """Whether it leaves all timestamps unchanged."""
        return self.clock.is_nothing and not self.nudge_s

    def change_s(self, times_s: Floats) -> Floats:
        """Return the offset added to timestamps, shape as given."""
        # Exact even for a clock of another epoch: its offset is given at the timestamp `at_ns`,
        # however far that is from the clock's own timestamps.
        return self.clock.change_s(times_s) + self.nudge_s

    def apply(self, times_s: Floats) -> Floats:
        """Return reference times of timestamps, shape as given."""
        return times_s if self.is_nothing else times_s + self.change_s(times_s)

    def at(self, time_s: float) -> float:
        """Return the reference time of a timestamp."""
        return float(self.apply(np.array([time_s]))[0])

    def stamp_at(self, time_s: float) -> float:
        """Return the timestamp at a reference time."""
        stamp_s = time_s
        for _ in range(_N_INVERSE):
            stamp_s = time_s - (self.at(stamp_s) - stamp_s)
        return stamp_s

    def stamps_in(self, visible: TimeRange) -> TimeRange:
        """Return a range containing all timestamps whose reference time is in `visible`."""
        if self.is_nothing:
            return visible
        ends = np.array([visible.start_s, visible.stop_s]) - self.nudge_s
        # Exact except for the step, which the slack covers.
        first, last = ends + self.clock.inverse().change_s(ends)
        slack_s = 1.01 * abs(self.clock.step_s) + 1e-6
        return TimeRange(start_s=float(first) - slack_s, stop_s=float(last) + slack_s)


SPEEDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)


class PlayClock:
    """Position during playback.

    `speed` is in seconds of the clip per second, one of `SPEEDS`.
    """

    def __init__(self, speed: float = 1.0) -> None:
        self.speed = speed if speed in SPEEDS else 1.0
        self._since: tuple[float, float] | None = None

    @property
    def is_playing(self) -> bool:
        """Whether it runs."""
        return self._since is not None

    def play(self, now_s: float, from_s: float) -> None:
        """Start from a position; `now_s` is the time of the monotonic clock."""
        self._since = (now_s, from_s)

    def pause(self) -> None:
        """Stop."""
        self._since = None

    def change_speed(self, by: int, now_s: float) -> float:
        """Change speed by `by` steps (slower if negative) without a jump of the position."""
        position_s = self._at(now_s) if self.is_playing else None
        place = min(max(SPEEDS.index(self.speed) + by, 0), len(SPEEDS) - 1)
        self.speed = SPEEDS[place]
        if position_s is not None:
            self._since = (now_s, position_s)
        return self.speed

    def position(self, now_s: float, limits: TimeRange, loop: TimeRange | None = None) -> float:
        """Return the current position, which wraps at a loop's end and stops at the clip's end."""
        time_s = self._at(now_s)
        if loop is not None and loop.span_s > 0.0 and time_s >= loop.stop_s:
            time_s = loop.start_s + (time_s - loop.start_s) % loop.span_s
            self._since = (now_s, time_s)
        elif time_s >= limits.stop_s:
            self.pause()
            return limits.stop_s
        return time_s

    def _at(self, now_s: float) -> float:
        if self._since is None:
            raise RuntimeError("the clock is not running")
        then_s, from_s = self._since
        return from_s + (now_s - then_s) * self.speed
