"""Assign a time to every sample of a sound, and cut segments at another rate."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.ndimage import median_filter, percentile_filter

from syncaudit.dsp.robust import robust_line, spread
from syncaudit.model import AudioStream, seconds_since
from syncaudit.model.arrays import Floats, Ints

# A timestamp table that disagrees with the header by more than this belongs to other samples.
MAX_RATE_ERROR = 0.02
# Anchors that are smoothed together where the table deviates from a line (steps, wander).
BEND_WINDOW = 31
# Smaller deviations are left to the line.
MIN_BEND_S = 2e-4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleClock:
    """Map from sample index to seconds after `epoch_ns`, on the source's own clock."""

    epoch_ns: int  # zero of the seconds
    start_s: float  # time of sample 0
    period_s: float  # seconds from one sample to the next
    # shape (k,): deviation of the timestamp table from the line, interpolated; empty if it is
    # straight
    bend_samples: Floats
    bend_s: Floats

    def seconds(self, samples: Floats | Ints) -> Floats:
        """Return the times of (fractional) sample indices, in seconds after the epoch."""
        index = np.asarray(samples, dtype=np.float64)
        times = self.start_s + self.period_s * index
        if self.bend_s.size:
            times = times + np.interp(index, self.bend_samples, self.bend_s)
        return np.asarray(times)

    def at(self, sample: float) -> float:
        """Return the time of one sample index."""
        return float(self.seconds(np.array([sample]))[0])

    def sample(self, time_s: float) -> float:
        """Return the fractional index at a time (two steps of fixed-point iteration)."""
        index = (time_s - self.start_s) / self.period_s
        for _ in range(2):
            index += (time_s - self.at(index)) / self.period_s
        return index


def sample_clock(stream: AudioStream) -> SampleClock:
    """Return the clock of a sound's samples from its anchors, or from its header.

    With three or more anchors, a robust line through (sample, stamp); anchors of capture buffers
    are late by different amounts, and the line represents the typical one. If the anchors deviate
    from the line by more than chance (a step, a wander), the running median of their
    residuals is added. With one anchor, or with a table that contradicts the header by more than
    2 %: first stamp + i / rate, which must be positive.
    """
    none = np.zeros(0)
    nominal = 1.0 / stream.rate_hz
    n = min(stream.time_ns.size, stream.anchor_samples.size)
    if n == 0:
        return SampleClock(
            epoch_ns=0, start_s=0.0, period_s=nominal, bend_samples=none, bend_s=none
        )
    epoch_ns = int(stream.time_ns[0])
    first = int(stream.anchor_samples[0])
    plain = SampleClock(
        epoch_ns=epoch_ns,
        start_s=-first * nominal,
        period_s=nominal,
        bend_samples=none,
        bend_s=none,
    )
    index, unique = np.unique(stream.anchor_samples[:n], return_index=True)
    if index.size < 2:
        return plain
    try:
        times = seconds_since(stream.time_ns[:n][unique], epoch_ns)
    except OverflowError:
        return plain
    x = index.astype(np.float64)
    period, start = robust_line(x, times)
    if abs(period / nominal - 1.0) > MAX_RATE_ERROR:
        return plain
    residual = times - start - period * x
    start += float(np.median(residual))
    residual = residual - float(np.median(residual))
    bend_x, bend = none, none
    if index.size >= 2 * BEND_WINDOW:
        smooth = median_filter(residual, size=BEND_WINDOW, mode="nearest")
        # White residuals shrink by 1.25 / sqrt(31) = 0.22 under the running median.
        if spread(smooth, 0.0) > max(MIN_BEND_S, 0.5 * spread(residual, 0.0)):
            bend_x, bend = x, smooth
    return SampleClock(
        epoch_ns=epoch_ns, start_s=start, period_s=period, bend_samples=bend_x, bend_s=bend
    )


def rise_above_past(level: Floats, back: int, gap: int) -> Floats:
    """Return by how much a level exceeds the 90 % quantile of the `back` values `gap` before it."""
    before = percentile_filter(level, 90, size=back, origin=(back - 1) // 2)
    rise = np.zeros(level.size)
    rise[back + gap :] = level[back + gap :] - before[back : level.size - gap]
    return rise


def cut_piece(stream: AudioStream, first: int, n_out: int, ratio: Fraction) -> Floats:
    """Return `n_out` samples starting at input sample `first`, at `ratio` times the rate.

    Output sample j lies exactly at input index ``first + j / ratio`` (the resampling filter has
    zero phase); `first` may be negative. Beyond the ends of the sound, and for non-finite samples,
    the value is 0.
    """
    up, down = ratio.numerator, ratio.denominator
    # Margin for the filter (10 periods of the lower rate on either side), a multiple of `down` so
    # that output samples keep their phase.
    margin = 0 if ratio == 1 else -(-12 * max(up, down) // (up * down)) * down
    n_in = -(-n_out * down // up) + 1 + 2 * margin
    start = first - margin
    low, high = max(0, start), min(stream.samples.size, start + n_in)
    raw = np.zeros(n_in)
    if high > low:
        raw[low - start : high - start] = np.nan_to_num(
            stream.samples[low:high].astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0
        )
    if ratio == 1:
        return raw[:n_out]
    from scipy.signal import resample_poly  # saves 25 MiB for clips without sound

    skip = margin * up // down
    return np.asarray(resample_poly(raw, up, down)[skip : skip + n_out])
