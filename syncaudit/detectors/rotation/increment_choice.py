"""Choose, before decoding, the frame pairs whose rotation best constrains a camera's delay.

A rotation increment constrains a delay by how much the angular rate changes over it: the Fisher
information of a delay is the sum of ``(rate(stop) - rate(start))**2`` over the noise (Knapp &
Carter, "The generalized correlation method for estimation of time delay", 1976,
doi:10.1109/TASSP.1976.1162830, for the continuous case). A gyroscope on board shows where that is
large: a quarter of all increments carries about six tenths of the total information.
The choice depends on the gyroscope alone, not on image noise, so it cannot bias the delay.
Stamps are taken at face value; if they are wrong, the choice is merely worse.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from syncaudit.detectors.rotation.detector import frame_times_s
from syncaudit.dsp.integral import RunningIntegral, integrate_samples
from syncaudit.model import Activity, CameraStream
from syncaudit.model.arrays import Bools, Floats, Ints
from syncaudit.model.time import spans_too_long

# In every span of about this length (drift and steps need some throughout), enough increments are
# chosen to reach this information, in (rad/s)^2: with errors of 0.25 mrad per increment, the delay
# of a camera is then determined to 0.6 ms.
SPAN_S = 20.0
ENOUGH = 0.17
# Bounds on their number: fewer leave robust fits without a majority, more cost more than they add.
MIN_CHOSEN, MAX_CHOSEN = 48, 170
MAX_SHARE = 0.7
# Every part of about this length gets at least this many: a clock may step where little happens,
# and near an end nothing but the increments there shows it.
PART_S, MIN_IN_PART = 2.0, 4
# The gyroscope is averaged over this span, so that the choice tolerates clocks that differ by as
# much: with 0.03 s, clocks 60 ms apart cost a quarter of the accuracy.
AVERAGE_S = 0.2
# The gyroscope must have been on during this share of the increments.
MIN_COVERED = 0.8


def choose_increments(
    stream: CameraStream, rate: Activity, *, wanted: Bools | None = None
) -> Bools | None:
    """Return which frames end an increment that is worth tracking.

    Parameters
    ----------
    stream : CameraStream
        The camera; its stamps are trusted to within the duration of a movement.
    rate : Activity
        Angular rate of the same body, three axes.
    wanted : ndarray of bool, shape (n_frames,), optional
        Frames that will be processed; None: all.

    Returns
    -------
    ndarray of bool, shape (n_frames,), or None
        None if every increment should be tracked: there are too few of them, or the angular rate
        was not measured during most.
    """
    if stream.time_ns.size <= MIN_CHOSEN or rate.times_s.size < 4:
        return None
    if spans_too_long(stream.time_ns):
        return None
    times_s, epoch_ns, _ = frame_times_s(stream)
    looked_at = np.ones(times_s.size, dtype=np.bool_) if wanted is None else wanted
    ends = np.flatnonzero(looked_at[1:] & looked_at[:-1]) + 1
    if ends.size <= MIN_CHOSEN:
        return None
    at_s = times_s + (epoch_ns - rate.epoch_ns) * 1e-9
    start_s, stop_s = at_s[ends - 1], at_s[ends]
    is_covered = (start_s >= rate.times_s[0]) & (stop_s <= rate.times_s[-1])
    if is_covered.mean() < MIN_COVERED:
        return None
    mean_rate = _averaged(rate, at_s)
    variation = np.sum((mean_rate[ends] - mean_rate[ends - 1]) ** 2, axis=1)
    variation[~is_covered] = 0.0
    chosen = np.zeros(times_s.size, dtype=np.bool_)
    duration_s = float(np.median(np.diff(times_s))) * ends.size

    def ranked(span_s: float) -> Iterator[Ints]:
        """Return the increments of every span of about this length, the best ones first."""
        n_spans = min(max(1, round(duration_s / span_s)), ends.size)
        for span in np.array_split(np.arange(ends.size), n_spans):
            yield span[np.argsort(-variation[span], kind="stable")]

    for part in ranked(PART_S):
        chosen[ends[part[:MIN_IN_PART]]] = True
    for best in ranked(SPAN_S):
        n = int(np.searchsorted(np.cumsum(variation[best]), ENOUGH)) + 1
        most = min(MAX_CHOSEN, round(MAX_SHARE * best.size))
        chosen[ends[best[: max(MIN_CHOSEN, min(n, most))]]] = True
    return chosen


def _averaged(rate: Activity, at_s: Floats) -> Floats:
    """Return the mean angular rate around each instant, shape (n, d); held outside."""
    angle = _angle(rate)
    inside_s = np.clip(at_s, rate.times_s[0] + 0.5 * AVERAGE_S, rate.times_s[-1] - 0.5 * AVERAGE_S)
    later_s, earlier_s = inside_s + 0.5 * AVERAGE_S, inside_s - 0.5 * AVERAGE_S
    return np.asarray((angle.at(later_s) - angle.at(earlier_s)) / AVERAGE_S)


@lru_cache(maxsize=1)  # the same gyroscope serves all cameras of a clip
def _angle(rate: Activity) -> RunningIntegral:
    return integrate_samples(rate.times_s, rate.values, is_smooth=False)
