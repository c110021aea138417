"""Events in a clip that a person may want to jump to.

These are visual landmarks found with simple thresholds; verdicts only use the evidence of
`syncaudit.detectors`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.signal import find_peaks

from syncaudit.detectors import detect_motion
from syncaudit.model import (
    Activity,
    EventTrain,
    FlashEdges,
    FlashIntervals,
    Quantity,
    SignalStream,
    Stream,
)
from syncaudit.model.arrays import Floats
from syncaudit_gui.viewmodel.timeline import DrawnClock

TURN_RATE = 0.12  # rad/s: a junction, not a lane change
TURN_APART_S = 1.5
BUMP_FORCE = 2.5  # m/s^2 above the local mean
BUMP_APART_S = 0.4
BRAKE_FORCE = 2.0  # m/s^2
BRAKE_SHARE = 0.15  # of the hardest braking of the clip


class EventKind(StrEnum):
    """Kinds of events."""

    FLASH = "flash"
    TURN = "turn"
    BUMP = "bump"
    BRAKE = "brake"
    ONSET = "onset"
    FAULT = "fault"
    STEP = "step"


EVENT_GLYPHS = {
    EventKind.FLASH: ("●", 4),
    EventKind.TURN: ("◆", 1),
    EventKind.BUMP: ("■", 0),
    EventKind.BRAKE: ("▲", 3),
    EventKind.ONSET: ("▼", 2),
    EventKind.FAULT: ("▧", 5),
    EventKind.STEP: ("⇥", 5),
}
"""Symbol of each kind of event, and its index among the colours of the axes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One landmark on its source's own clock, in seconds since the clip's epoch."""

    kind: EventKind
    source: str
    stamp_s: float


class Events:
    """Events in chronological order."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events = tuple(events)
        self._in_order = self._events
        self.times_s: Floats = np.empty(0)
        self.place({})

    def place(self, maps: Mapping[str, DrawnClock]) -> None:
        """Place the events using the clocks of their sources."""
        nothing = DrawnClock()
        times = np.array(
            [maps.get(e.source, nothing).at(e.stamp_s) for e in self._events], dtype=np.float64
        )
        order = np.argsort(times, kind="stable")
        self.times_s = times[order]
        self._in_order = tuple(self._events[k] for k in order)

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[tuple[float, Event]]:
        """Iterate over (time, event) in chronological order."""
        return zip(self.times_s.tolist(), self._in_order, strict=True)

    def without(self, *kinds: EventKind) -> Events:
        """Return the events of other kinds."""
        return Events(event for event in self._events if event.kind not in kinds)

    def joined(self, more: Iterable[Event]) -> Events:
        """Return these events and more."""
        return Events((*self._events, *more))

    def of(self, kind: EventKind) -> Floats:
        """Return the times of events of a kind, shape (n,)."""
        return self.times_s[[k for k, e in enumerate(self._in_order) if e.kind is kind]]

    def next(self, time_s: float, by: int, kind: EventKind | None = None) -> float | None:
        """Return the next event after (`by` 1) or before (-1) a time; None if there is none."""
        times_s = self.times_s if kind is None else self.of(kind)
        if by > 0:
            later = times_s[times_s > time_s + 1e-4]
            return float(later[0]) if later.size else None
        earlier = times_s[times_s < time_s - 1e-4]
        return float(earlier[-1]) if earlier.size else None


def motion_events(streams: Mapping[str, Stream], epoch_ns: int) -> list[Event]:
    """Return turns, bumps and braking, as measured by IMUs and buses.

    Only one source is used for each kind of event: one landmark is enough.
    """
    found: list[Event] = []
    for stream in streams.values():
        if not isinstance(stream, SignalStream):
            continue
        by_quantity: dict[Quantity, Activity] = {}
        for activity in detect_motion(stream):
            by_quantity.setdefault(activity.quantity, activity)
        for quantity, find, kind in _FINDERS:
            shown = by_quantity.get(quantity)
            if shown is None or any(event.kind is kind for event in found):
                continue
            base_s = (shown.epoch_ns - epoch_ns) * 1e-9
            found += [
                Event(kind=kind, source=stream.name, stamp_s=base_s + float(time_s))
                for time_s in find(shown)
            ]
    return found


def train_events(kind: EventKind, train: EventTrain, epoch_ns: int) -> list[Event]:
    """Return the events of a detector's train."""
    base_s = (train.epoch_ns - epoch_ns) * 1e-9
    return [Event(kind=kind, source=train.source, stamp_s=base_s + float(t)) for t in train.times_s]


def flash_times(found: FlashEdges | FlashIntervals, epoch_ns: int) -> Floats:
    """Return when a source detected light pulses, shape (n,), in seconds since the clip's epoch.

    For a rolling shutter this is the mean of a band's edges; for an interval its middle.
    """
    base_s = (found.epoch_ns - epoch_ns) * 1e-9
    if isinstance(found, FlashIntervals):
        return np.asarray(base_s + 0.5 * (found.start_s + found.stop_s))
    times_s = found.frame_s + found.row_px * (found.line_delay_s or 0.0)
    times_s = times_s + found.exposure_part * (found.exposure_s or 0.0)
    _, band = np.unique(found.band, return_inverse=True)
    if not band.size:
        return np.empty(0)
    return np.asarray(base_s + np.bincount(band, weights=times_s) / np.bincount(band))


def _turns(activity: Activity) -> Floats:
    rate = np.linalg.norm(activity.values, axis=1)
    return _peaks(activity, _smoothed(rate, activity, 0.4), TURN_RATE, TURN_APART_S)


def _bumps(activity: Activity) -> Floats:
    force = np.linalg.norm(activity.values, axis=1)
    sharp = np.abs(force - _smoothed(force, activity, 0.5))
    return _peaks(activity, _smoothed(sharp, activity, 0.05), BUMP_FORCE, BUMP_APART_S)


def _brakes(activity: Activity) -> Floats:
    hardness = activity.values[:, 0]
    if activity.quantity is Quantity.LONG_ACCEL:
        is_braking = hardness < -BRAKE_FORCE
    else:
        is_braking = hardness > max(BRAKE_SHARE * float(np.max(hardness, initial=0.0)), 1e-9)
    begins = np.flatnonzero(is_braking[1:] & ~is_braking[:-1]) + 1
    apart = np.diff(activity.times_s[begins], prepend=-np.inf) > 1.0
    return np.asarray(activity.times_s[begins[apart]])


_FINDERS = (
    (Quantity.ANGULAR_RATE, _turns, EventKind.TURN),
    (Quantity.YAW_RATE, _turns, EventKind.TURN),
    (Quantity.SPECIFIC_FORCE, _bumps, EventKind.BUMP),
    (Quantity.BRAKE, _brakes, EventKind.BRAKE),
    (Quantity.LONG_ACCEL, _brakes, EventKind.BRAKE),
)


def _smoothed(values: Floats, activity: Activity, width_s: float) -> Floats:
    period_s = float(np.median(np.diff(activity.times_s)))
    width = max(1, min(values.size, round(width_s / max(period_s, 1e-9))))
    return np.asarray(uniform_filter1d(values, width, mode="nearest"), dtype=np.float64)


def _peaks(activity: Activity, values: Floats, height: float, apart_s: float) -> Floats:
    period_s = float(np.median(np.diff(activity.times_s)))
    distance = max(1, round(apart_s / max(period_s, 1e-9)))
    # In a clip full of bumps only the sharpest are shown: landmarks on every pixel are useless.
    height = max(height, float(np.median(values)) * 4.0)
    found, _ = find_peaks(values, height=height, distance=distance, prominence=0.5 * height)
    return np.asarray(activity.times_s[found])
