"""Find sharp knocks in an accelerometer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, median_filter

from syncaudit.detectors.motion import detect_motion
from syncaudit.detectors.rises import LEVEL, N_BEFORE, date_rises
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
# A case that rings may swing furthest later: the onset is looked for this far before, and the level
# at rest over so many samples before that.
LOOK_BACK_S = 0.03
MIN_LOOK_BACK = 4
N_AT_REST = 16
MIN_AT_REST = 4
MIN_SAMPLES = 16


def find_taps(stream: SignalStream | Activity) -> EventTrain | None:
    """Return the onsets of knocks.

    A knock is a change of the specific force from one sample to the next (norm over the axes)
    of 2 m/s^2 and of ten times what is usual within a second. It is noticed where it reaches three
    tenths of its largest swing. How long after its onset that is depends on the body and on a
    filter before the sampling, which nobody states: the rise is estimated from all knocks together
    (`date_rises`), and what stays open of it is the systematic error.

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
    back = max(MIN_LOOK_BACK, round(LOOK_BACK_S / period_s))
    peaks = np.flatnonzero(is_knock)
    knocks = [_notice(activity.values, int(k), back) for k in peaks]
    is_dated = np.array([knock is not None for knock in knocks], dtype=np.bool_)
    dated = [knock for knock in knocks if knock is not None]
    noticed = np.array([at for at, _, _ in dated], dtype=np.float64)
    ages, stds, systematic = np.empty(0), np.empty(0), 0.0
    if dated:
        before = np.array([values for _, values, _ in dated])
        ages, stds, systematic = date_rises(before, np.array([noise for _, _, noise in dated]))
    return EventTrain(
        source=activity.source,
        quantity=Quantity.CLICK,
        epoch_ns=activity.epoch_ns,
        times_s=np.interp(noticed - ages, np.arange(times_s.size), times_s),
        std_s=stds * period_s,
        strengths=(changes / usual)[peaks[is_dated]],
        systematic_std_s=systematic * period_s,
    )


def _specific_force(stream: SignalStream) -> Activity | None:
    found = detect_motion(stream)
    return next((a for a in found if a.quantity is Quantity.SPECIFIC_FORCE), None)


def _notice(values: Floats, peak: int, back: int) -> tuple[int, Floats, float] | None:
    """Return where a knock is noticed, the samples before (latest first) and their noise.

    Both over its largest swing, along which the axes are projected. None where too little comes
    before.
    """
    start = peak - back
    rest = values[max(0, start - N_AT_REST) : max(0, start)]
    if len(rest) < MIN_AT_REST or start < N_BEFORE:
        return None
    level = rest.mean(axis=0)
    swings = values[start : peak + 3] - level
    largest = int(np.argmax(np.linalg.norm(swings, axis=1)))
    direction = swings[largest] / float(swings[largest] @ swings[largest])
    course = swings @ direction
    first = int(np.argmax(np.abs(course[: largest + 1]) >= LEVEL))
    at = start + first
    before = (values[at - N_BEFORE : at][::-1] - level) @ direction
    noise = float(np.std((rest - level) @ direction, ddof=1)) * (1.0 + 1.0 / len(rest)) ** 0.5
    return at, before * np.sign(course[first]), noise
