"""The playback clock: time comes from a monotonic clock, which timers only poll."""

from __future__ import annotations

from syncaudit_gui.viewmodel.timeline import TimeRange

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
        position_s = None if self._since is None else self._at(now_s)
        place = min(max(SPEEDS.index(self.speed) + by, 0), len(SPEEDS) - 1)
        self.speed = SPEEDS[place]
        if position_s is not None:
            self._since = (now_s, position_s)
        return self.speed

    def position(self, now_s: float, limits: TimeRange, loop: TimeRange | None = None) -> float:
        """Return the current position, which wraps at a loop's end and stops at the clip's end."""
        if self._since is None:
            raise RuntimeError("the clock is not running")
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
