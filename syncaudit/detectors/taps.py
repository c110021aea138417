"""Find sharp knocks in an accelerometer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, median_filter

from syncaudit.detectors.motion import detect_motion
from syncaudit.model import Activity, EventTrain, Quantity, SignalStream

__all__ = ["find_taps"]

Floats = NDArray[np.float64]

# Knocks closer than this are one that rings.
APART_S = 0.08
# Span whose typical jerk a knock must exceed, and by how many times.
AROUND_S = 1.0
MIN_RATIO = 10.0
# Change of specific force below which nothing is called a knock (m/s^2 per sample).
MIN_CHANGE = 2.0
# A case that rings may change fastest in a later swing: the onset is looked for this far before.
LOOK_BACK_S = 0.03
ONSET_SHARE = 0.05
MIN_SAMPLES = 16
# Error in samples: an even spread over one (1 / sqrt(12)), and the first swing of a soft case.
ONSET_STD = (1.0 / 12.0 + 0.2**2) ** 0.5
# By how many samples the first change that shows is late, in all knocks of a rig alike. Between the
# onset and the first sample that exceeds the limit lies what a ring that begins from rest, and a
# filter before the sampling, need to rise: nothing for a jump and momentary samples (0.04
# measured), more for averages (0.14) and filters of second order (0.2 to 0.4). Nobody states which
# it is: a delay that is never negative and otherwise unknown has a spread like its mean.
LATE = LATE_STD = 0.15


def find_taps(stream: SignalStream | Activity) -> EventTrain | None:
    """Return the onsets of knocks.

    A knock is a change of the specific force from one sample to the next (norm over the axes)
    of 2 m/s^2 and of ten times what is usual within a second. It begins with the first change of
    a twentieth of that within the 30 ms before, and lies anywhere between the two samples of this
    change: their middle, with an error of 0.35 samples. A case that rings up and a filter before
    the sampling, which nobody states, let the change show later by part of a sample, the same part
    in all knocks: 0.15 samples are taken off, and are the systematic error.

    Parameters
    ----------
    stream : SignalStream or Activity
        An IMU with a channel ``accel``, or its specific force.

    Returns
    -------
    EventTrain or None
        `Quantity.CLICK`, strengths in units of the usual change; None where there is no
        acceleration to look at, an empty train where nothing knocks.
    """
    activity = stream if isinstance(stream, Activity) else _specific_force(stream)
    if activity is None or activity.times_s.size < MIN_SAMPLES:
        return None
    times_s = activity.times_s
    period_s = float(np.median(np.diff(times_s)))
    changes = np.linalg.norm(np.diff(activity.values, axis=0), axis=1)
    span = 2 * max(4, round(0.5 * AROUND_S / period_s)) + 1
    usual = median_filter(changes, size=min(span, 2 * (changes.size // 2) - 1), mode="nearest")
    usual = np.maximum(usual, 1e-3 * MIN_CHANGE)
    apart = 2 * max(1, round(APART_S / period_s)) + 1
    is_knock = (changes == maximum_filter1d(changes, apart)) & (
        changes > np.maximum(MIN_CHANGE, MIN_RATIO * usual)
    )
    back = max(1, round(LOOK_BACK_S / period_s))
    onsets = [_onset(changes, usual, int(k), back) for k in np.flatnonzero(is_knock).tolist()]
    kept = np.array(onsets, dtype=np.float64) + 0.5 - LATE
    return EventTrain(
        source=activity.source,
        quantity=Quantity.CLICK,
        epoch_ns=activity.epoch_ns,
        times_s=np.interp(kept, np.arange(times_s.size), times_s),
        std_s=np.full(kept.size, ONSET_STD * period_s),
        strengths=(changes / usual)[is_knock],
        systematic_std_s=LATE_STD * period_s,
    )


def _specific_force(stream: SignalStream) -> Activity | None:
    found = detect_motion(stream)
    return next((a for a in found if a.quantity is Quantity.SPECIFIC_FORCE), None)


def _onset(changes: Floats, usual: Floats, peak: int, back: int) -> int:
    """Return the first change of a knock; change i leads from sample i to sample i + 1."""
    start = max(0, peak - back)
    limit = max(ONSET_SHARE * float(changes[peak]), 5.0 * float(usual[peak]))
    return start + int(np.argmax(changes[start : peak + 1] >= min(limit, changes[peak])))
