"""Onsets of knocks in a sound's loudness or in an acceleration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, percentile_filter

from syncaudit.model import Activity, EventTrain

__all__ = ["LATE_SAMPLES", "MIN_EVENTS", "Onsets", "find_onsets"]

# Rises of an envelope below this many robust deviations are noise.
MIN_RISE = 4.0
MIN_EVENTS = 5
# Part of the rise (in nepers) at which a knock has begun: rattle makes its peak late.
ONSET_SHARE = 0.5
# A filter before the sampling and a case that rings up from rest let a knock show late, by nothing
# to half a sample: the mean, which is the spread as well.
LATE_SAMPLES = 0.15
# A rise must exceed the loudest of this span before it.
LOOK_BACK_S = 0.04


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Onsets:
    """Onsets of one signal."""

    times_s: NDArray[np.float64]
    weights: NDArray[np.float64]
    start_s: float
    stop_s: float
    interval_s: float

    def moved(self, by_s: float) -> Onsets:
        """Return the same onsets on a time axis that begins `by_s` earlier."""
        return Onsets(
            times_s=self.times_s + by_s,
            weights=self.weights,
            start_s=self.start_s + by_s,
            stop_s=self.stop_s + by_s,
            interval_s=self.interval_s,
        )


def find_onsets(activity: Activity, clicks: EventTrain | None) -> Onsets | str:
    """Return the rises of the log energy above what came just before, or why there are none.

    Parameters
    ----------
    activity : Activity
        Loudness or acceleration.
    clicks : EventTrain, optional
        Sharper times of the same knocks.
    """
    times, values = activity.times_s, activity.values
    interval = float(np.median(np.diff(times)))
    if activity.quantity == "loudness":
        level = values[:, 0]
    else:
        # Differences at the middle of their samples, less what they show late by; the floor is the
        # noise of the sensor itself.
        change = np.diff(values, axis=0)
        energy = np.sum(change**2, axis=1)
        floor = float(np.median(energy))
        if floor <= 0.0 and float(np.max(energy)) <= 0.0:
            return "the acceleration does not change"
        level = np.log(energy + 0.5 * floor + 1e-12 * float(np.max(energy)))
        times = 0.5 * (times[1:] + times[:-1]) - LATE_SAMPLES * interval
    back = max(3, round(LOOK_BACK_S / interval))
    before = percentile_filter(level, 90, size=back, origin=(back - 1) // 2)
    rise = np.zeros(level.size)
    gap = 2 if activity.quantity == "loudness" else 1
    rise[back + gap :] = level[back + gap :] - before[back : level.size - gap]
    centre = float(np.median(rise))
    spread = 1.4826 * float(np.median(np.abs(rise - centre)))
    if spread <= 0.0:
        spread = float(np.std(rise)) + 1e-12
    size = 2 * max(1, round(0.5 * LOOK_BACK_S / interval)) + 1
    strong = rise > centre + MIN_RISE * spread
    is_peak = strong & (rise == maximum_filter1d(rise, size=size))
    if np.count_nonzero(is_peak) < MIN_EVENTS:
        return f"{np.count_nonzero(is_peak)} knocks are too few"
    found = times[_onsets(rise, is_peak, size // 2 + 1)]
    # The square root keeps one crash from deciding alone.
    weights = np.sqrt((rise[is_peak] - centre) / spread)
    if clicks is not None and clicks.times_s.size:
        found = _sharpened(found, clicks, activity.epoch_ns)
    return Onsets(
        times_s=found,
        weights=weights,
        start_s=float(times[0]),
        stop_s=float(times[-1]),
        interval_s=interval,
    )


def _onsets(rise: NDArray[np.float64], is_peak: NDArray[np.bool_], back: int) -> NDArray[np.int64]:
    """Go back from each peak to the first sample that reaches ONSET_SHARE of it."""
    peaks = np.flatnonzero(is_peak)
    out = peaks.copy()
    for k in range(back, 0, -1):
        earlier = np.maximum(peaks - k, 0)
        reached = (out == peaks) & (rise[earlier] >= ONSET_SHARE * rise[peaks])
        out = np.where(reached, earlier, out)
    return out


def _sharpened(
    times: NDArray[np.float64], clicks: EventTrain, epoch_ns: int
) -> NDArray[np.float64]:
    """Move onsets to the click that was picked within 10 ms of them."""
    picked = np.sort(clicks.times_s + (clicks.epoch_ns - epoch_ns) * 1e-9)
    near = np.clip(np.searchsorted(picked, times), 1, max(1, picked.size - 1))
    low, high = picked[near - 1], picked[np.minimum(near, picked.size - 1)]
    best = np.where(np.abs(low - times) <= np.abs(high - times), low, high)
    return np.where(np.abs(best - times) < 0.01, best, times)
