"""Measure a microphone against an accelerometer by bumps and knocks that both feel."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d, maximum_filter1d, percentile_filter
from scipy.signal import fftconvolve
from scipy.stats import t as student

from syncaudit.model import Activity, EventTrain, PairMeasurement

__all__ = ["METHOD", "estimate_knocks"]

METHOD = "knocks"

GRID_S = 0.001
# Rises of an envelope below this many robust deviations are noise.
MIN_RISE = 4.0
# Other lobes are counted outside this distance of the best (a knock and its own rattle).
LOBE_S = 0.08
MAX_RUNNER_UP = 0.75
# Height of the best lobe over the scatter of the curve.
MIN_HEIGHT = 7.0
MIN_EVENTS = 5
# Part of the rise (in nepers) at which a knock has begun: rattle makes its peak late.
ONSET_SHARE = 0.5
# A rise must exceed the loudest of this span before it.
LOOK_BACK_S = 0.04
# Unknown way of the sound (0.3 m: 1 ms) and the filter inside the sensor; the latter grows with
# its sampling interval (group delay of a half-rate filter: about half an interval).
SOUND_PATH_S = 0.0005
SENSOR_FILTER = 0.1
N_BLOCKS = 10
# The envelope path: grid, blur, what counts as slow, least height and runner-up of its peak.
# Unrelated drives stay below 5.6 deviations (60 simulated pairs), related ones read 5 to 14.
ENVELOPE_GRID_S = 0.002
ENVELOPE_BLUR_S = 0.015
ENVELOPE_SLOW_S = 0.5
ENVELOPE_MIN_HEIGHT = 6.0
ENVELOPE_MAX_RUNNER_UP = 0.65
ENVELOPE_MIN_BLOCKS = 3.5
# A thud's energy lies 5 to 10 ms after its begin, an axle's acceleration at the blow.
ENVELOPE_SYSTEMATIC_S = 0.005


def estimate_knocks(
    source: Activity,
    target: Activity,
    *,
    source_clicks: EventTrain | None = None,
    target_clicks: EventTrain | None = None,
    max_offset_s: float = 5.0,
) -> PairMeasurement:
    """Measure the offset between a sound and an acceleration, given in either order.

    Both signals become trains of onsets: rises of the log energy above the loudest of the 40 ms
    before (the acceleration is differentiated first, which takes gravity and driving off, and a
    difference belongs to the middle of its two samples). The trains, blurred to the sampling
    interval of the accelerometer, are correlated over all offsets; the overlap of every lag
    normalises it. The best lobe must stand out of the curve and of every other lobe more than
    80 ms away. Then single knocks are paired, the sound's onset picked to a fraction of a
    millisecond where clicks are given, and the offset is the robust mean of their differences.

    Its error is the greater of the scatter of the knocks and of a jackknife over ten blocks of
    time (Efron, Stein, "The jackknife estimate of variance", 1981,
    doi:10.1214/aos/1176345462; knocks that come in groups are not independent), with Student's t,
    plus a systematic part: half a millisecond and a tenth of the accelerometer's interval. The
    offset contains the way of the sound through air, 2.9 ms a metre, which makes the sound late.

    Where there are too few clear onsets (a car on a bad road thuds and rumbles rather than knocks),
    the envelopes themselves are correlated: log energies, blurred by 15 ms, without what changes
    over seconds. That peak must stand out in the same way and be carried by several blocks of
    time. It is wide, and says when the energies meet, not when they begin: 5 ms are claimed as
    systematic. `diagnostics["is_envelope"]` is 1 there.

    Parameters
    ----------
    source, target : Activity
        One `Quantity.LOUDNESS` (log energy, about every millisecond) and one
        `Quantity.SPECIFIC_FORCE` (m/s^2, any number of axes).
    source_clicks, target_clicks : EventTrain, optional
        Onsets of the sound on the same side, which sharpen its times.
    max_offset_s : float
        Largest offset searched for, either sign.

    Returns
    -------
    PairMeasurement
        Method ``knocks``; refused, with a reason, without enough distinct knocks.
    """
    at_ns = source.epoch_ns
    for activity in (source, target):
        if activity.times_s.size < 50:
            why = f"{activity.source}: {activity.times_s.size} samples are too few"
            return _refused(source, target, at_ns, why)
    epochs_s = (target.epoch_ns - source.epoch_ns) * 1e-9
    start = max(float(source.times_s[0]), float(target.times_s[0]) + epochs_s)
    stop = min(float(source.times_s[-1]), float(target.times_s[-1]) + epochs_s)
    if stop - start < 1.0:
        why = f"the stamps have only {max(0.0, stop - start):.2f} s in common"
        return _refused(source, target, at_ns, why)
    at_ns = source.epoch_ns + round(0.5 * (start + stop) * 1e9)
    a, b = _side(source, source_clicks), _side(target, target_clicks)
    if isinstance(a, str) or isinstance(b, str):
        reason = f"{source.source}: {a}" if isinstance(a, str) else f"{target.source}: {b}"
        first = _refused(source, target, at_ns, reason)
        return _by_envelope(first, source, target, epochs_s, max_offset_s)
    b = b.moved(epochs_s)
    blur = max(0.002, 0.6 * max(a.interval_s, b.interval_s))
    lobe = _correlate(a, b, blur, max_offset_s)
    if isinstance(lobe, str):
        return _refused(source, target, at_ns, lobe)
    figures = {"height": lobe.height, "runner_up": lobe.runner_up}
    if lobe.why is not None:
        first = _refused(source, target, at_ns, lobe.why, figures)
        if lobe.height >= MIN_HEIGHT:  # at the edge, or repeating: no other curve mends that
            return first
        return _by_envelope(first, source, target, epochs_s, max_offset_s)
    return _matched(source, target, at_ns, (a, b), lobe.offset_s, figures)


def _refused(
    source: Activity,
    target: Activity,
    at_ns: int,
    why: str,
    figures: dict[str, float] | None = None,
) -> PairMeasurement:
    return PairMeasurement(
        source=source.source,
        target=target.source,
        method=METHOD,
        at_ns=at_ns,
        accepted=False,
        why=why,
        diagnostics=figures or {},
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Side:
    """Onsets of one signal."""

    times_s: NDArray[np.float64]
    weights: NDArray[np.float64]
    start_s: float
    stop_s: float
    interval_s: float

    def moved(self, by_s: float) -> _Side:
        return _Side(
            times_s=self.times_s + by_s,
            weights=self.weights,
            start_s=self.start_s + by_s,
            stop_s=self.stop_s + by_s,
            interval_s=self.interval_s,
        )


def _side(activity: Activity, clicks: EventTrain | None) -> _Side | str:
    times, values = activity.times_s, activity.values
    interval = float(np.median(np.diff(times)))
    if activity.quantity == "loudness":
        level = values[:, 0]
    else:
        # Differences at the middle of their samples; the floor is the noise of the sensor itself.
        change = np.diff(values, axis=0)
        energy = np.sum(change**2, axis=1)
        floor = float(np.median(energy))
        if floor <= 0.0 and float(np.max(energy)) <= 0.0:
            return "the acceleration does not change"
        level = np.log(energy + 0.5 * floor + 1e-12 * float(np.max(energy)))
        times = 0.5 * (times[1:] + times[:-1])
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
    return _Side(
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lobe:
    offset_s: float
    height: float
    runner_up: float
    why: str | None


def _correlate(a: _Side, b: _Side, blur: float, max_offset: float) -> _Lobe | str:
    zero = min(a.start_s, b.start_s)
    n = round((max(a.stop_s, b.stop_s) - zero) / GRID_S) + 1
    if n > 20_000_000:
        return "the signals span more than five hours"
    trains = []
    for side in (a, b):
        grid = np.zeros(n)
        np.add.at(grid, np.rint((side.times_s - zero) / GRID_S).astype(np.int64), side.weights)
        trains.append(gaussian_filter1d(grid, blur / GRID_S, mode="constant"))
    n_lags = round(max_offset / GRID_S)
    padded = np.concatenate((np.zeros(n_lags), trains[1], np.zeros(n_lags)))
    curve = fftconvolve(padded, trains[0][::-1], mode="valid")
    lags = (np.arange(2 * n_lags + 1) - n_lags) * GRID_S
    # Per lag: what unrelated trains would give in the overlap that is left.
    overlap = np.minimum(a.stop_s, b.stop_s - lags) - np.maximum(a.start_s, b.start_s - lags)
    share = np.maximum(overlap, 1e-3) / (min(a.stop_s, b.stop_s) - max(a.start_s, b.start_s))
    curve = np.where(overlap > 1.0, curve / np.sqrt(np.clip(share, 0.25, None)), 0.0)
    centre, spread = float(np.mean(curve)), float(np.std(curve))
    best = int(np.argmax(curve))
    outside = np.abs(lags - lags[best]) > LOBE_S
    spread = float(np.std(curve[outside])) if np.any(outside) else spread
    if spread <= 0.0:
        return "no two knocks coincide"
    centre = float(np.mean(curve[outside]))
    height = (float(curve[best]) - centre) / spread
    runner = (float(np.max(curve[outside])) - centre) / spread
    offset = float(lags[best])
    why = None
    if height < MIN_HEIGHT:
        why = (
            "the knocks of both do not agree at any offset: the best stands "
            f"{height:.1f} deviations out, needed are {MIN_HEIGHT:g}"
        )
    elif min(best, 2 * n_lags - best) * GRID_S <= 2.0 * blur:
        why = f"the best offset, {offset:.3f} s, lies at the edge of the search (±{max_offset:g} s)"
    elif runner > MAX_RUNNER_UP * height:
        why = (
            f"ambiguous: a second offset fits {100.0 * runner / height:.0f} % as well as the best "
            f"({offset:.3f} s); the knocks repeat themselves"
        )
    return _Lobe(offset_s=offset, height=height, runner_up=runner / max(height, 1e-9), why=why)


def _matched(
    source: Activity,
    target: Activity,
    at_ns: int,
    sides: tuple[_Side, _Side],
    offset: float,
    figures: dict[str, float],
) -> PairMeasurement:
    """Pair single knocks around the coarse offset and average their differences."""
    a, b = sides
    reach = 0.008 + 1.5 * max(a.interval_s, b.interval_s)
    for _ in range(2):
        times, differences = _pairs(a, b, offset, reach)
        if differences.size < MIN_EVENTS:
            break
        offset = float(np.median(differences))
    figures = figures | {"knocks": float(differences.size)}
    if differences.size < MIN_EVENTS:
        why = (
            f"{differences.size} knocks coincide at the best offset ({offset:.3f} s), needed are "
            f"{MIN_EVENTS}"
        )
        return _refused(source, target, at_ns, why, figures)
    level = _robust_mean(differences)
    scatter = float(np.std(differences, ddof=1))
    n = differences.size
    random = scatter / n**0.5 * float(student.ppf(0.975, n - 1)) / 1.96
    random = max(random, _jackknife(times, differences))
    # An onset of the accelerometer lies anywhere in its interval, whatever the scatter says.
    interval = max(a.interval_s, b.interval_s)
    random = max(random, interval / (12.0 * n) ** 0.5)
    systematic = float(np.hypot(SOUND_PATH_S, SENSOR_FILTER * interval))
    share = n / max(1.0, float(min(_inside(a, b, level), _inside(b, a, -level))))
    figures |= {"scatter_s": scatter, "random_std_s": random, "share": share}
    reason = None
    if share < 0.3:
        reason = (
            f"only {n} knocks, {100.0 * share:.0f} % of those that both could share, coincide "
            f"at the best offset ({level:.3f} s)"
        )
    return PairMeasurement(
        source=source.source,
        target=target.source,
        method=METHOD,
        at_ns=at_ns,
        offset_s=level,
        offset_std_s=float(np.hypot(random, systematic)),
        systematic_std_s=systematic,
        accepted=reason is None,
        why=reason,
        diagnostics=figures,
    )


def _pairs(
    a: _Side, b: _Side, offset: float, reach: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times (on the source) and differences of mutually nearest onsets."""
    shifted = b.times_s - offset
    if shifted.size == 0 or a.times_s.size == 0:
        return np.zeros(0), np.zeros(0)
    nearest_b = _nearest(shifted, a.times_s)
    nearest_a = _nearest(a.times_s, shifted)
    index = np.arange(a.times_s.size)
    mutual = nearest_a[nearest_b] == index
    gap = shifted[nearest_b] - a.times_s
    keep = mutual & (np.abs(gap) <= reach)
    return a.times_s[keep], gap[keep] + offset


def _nearest(sorted_times: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.int64]:
    right = np.clip(np.searchsorted(sorted_times, times), 0, sorted_times.size - 1)
    left = np.maximum(right - 1, 0)
    closer = np.abs(sorted_times[left] - times) <= np.abs(sorted_times[right] - times)
    return np.where(closer, left, right).astype(np.int64)


def _inside(a: _Side, b: _Side, offset: float) -> int:
    """Count onsets of `a` that `b` covers."""
    moved = a.times_s + offset
    return int(np.count_nonzero((moved >= b.start_s) & (moved <= b.stop_s)))


def _robust_mean(values: NDArray[np.float64]) -> float:
    """Return the mean, clipping what lies beyond 3 robust deviations (Huber)."""
    level = float(np.median(values))
    spread = 1.4826 * float(np.median(np.abs(values - level))) + 1e-6
    for _ in range(20):
        level = float(np.mean(np.clip(values, level - 3.0 * spread, level + 3.0 * spread)))
    return level


def _jackknife(times: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Return the standard error from leaving out blocks of neighbouring knocks in turn."""
    blocks = np.array_split(np.argsort(times, kind="stable"), min(N_BLOCKS, values.size))
    means = np.array([_robust_mean(np.delete(values, block)) for block in blocks])
    n = means.size
    return float(np.sqrt((n - 1) / n * np.sum((means - np.mean(means)) ** 2)))


def _by_envelope(
    first: PairMeasurement,
    source: Activity,
    target: Activity,
    epochs_s: float,
    max_offset: float,
) -> PairMeasurement:
    """Correlate the envelopes; return `first`, the refusal of the knocks, where that fails too."""
    zero = min(float(source.times_s[0]), float(target.times_s[0]) + epochs_s)
    stop = max(float(source.times_s[-1]), float(target.times_s[-1]) + epochs_s)
    n = round((stop - zero) / ENVELOPE_GRID_S) + 1
    if n > 10_000_000:
        return first
    a = _envelope(source, zero, n)
    b = _envelope(target, zero - epochs_s, n)
    if a is None or b is None:
        return first
    n_lags = round(max_offset / ENVELOPE_GRID_S)
    curve = _normalised(a, b, n_lags)
    lags = (np.arange(curve.size) - n_lags) * ENVELOPE_GRID_S
    best = int(np.argmax(curve))
    outside = curve[(np.abs(lags - lags[best]) > LOBE_S) & (curve != 0.0)]
    if outside.size < 100 or min(best, 2 * n_lags - best) * ENVELOPE_GRID_S <= LOBE_S:
        return first
    height = float(curve[best]) / float(np.std(outside))
    runner = float(np.max(outside)) / max(float(curve[best]), 1e-12)
    figures = {"envelope_height": height, "envelope_runner_up": runner, "is_envelope": 1.0}
    if height < ENVELOPE_MIN_HEIGHT or runner > ENVELOPE_MAX_RUNNER_UP:
        return replace(first, diagnostics={**first.diagnostics, **figures})
    parts = _block_curves(a, b, best - n_lags)
    carried = np.maximum(parts[:, parts.shape[1] // 2], 0.0)
    shared = float(np.sum(carried)) ** 2 / max(float(np.sum(carried**2)), 1e-30)
    figures["blocks"] = shared
    if shared < ENVELOPE_MIN_BLOCKS:
        return replace(first, diagnostics={**first.diagnostics, **figures})
    whole = np.sum(parts, axis=0)
    level = float(lags[best]) + _peak(whole)
    peaks = np.array([_peak(whole - part) for part in parts])
    n_parts = peaks.size
    random = float(np.sqrt((n_parts - 1) / n_parts * np.sum((peaks - np.mean(peaks)) ** 2)))
    random = (
        max(random, ENVELOPE_GRID_S / 12.0**0.5) * float(student.ppf(0.975, n_parts - 1)) / 1.96
    )
    return replace(
        first,
        offset_s=level,
        offset_std_s=float(np.hypot(random, ENVELOPE_SYSTEMATIC_S)),
        systematic_std_s=ENVELOPE_SYSTEMATIC_S,
        accepted=True,
        why=None,
        diagnostics=figures | {"random_std_s": random},
    )


def _envelope(activity: Activity, zero_s: float, n: int) -> NDArray[np.float64] | None:
    """Return the log energy on the grid, blurred, fast changes only, 0 beyond its ends."""
    times, values = activity.times_s, activity.values
    if activity.quantity == "loudness":
        energy = np.exp(values[:, 0] - float(np.max(values)))
    else:
        energy = np.sum(np.diff(values, axis=0) ** 2, axis=1)
        times = 0.5 * (times[1:] + times[:-1])
    interval = float(np.median(np.diff(times)))
    energy = gaussian_filter1d(energy, ENVELOPE_BLUR_S / interval)
    floor = float(np.median(energy))
    if not floor > 0.0:
        return None
    grid = zero_s + ENVELOPE_GRID_S * np.arange(n)
    level = np.log(np.interp(grid, times, energy) + 0.1 * floor)
    level -= gaussian_filter1d(level, ENVELOPE_SLOW_S / ENVELOPE_GRID_S)
    inside = (grid >= times[0]) & (grid <= times[-1])
    spread = float(np.std(level[inside])) if np.any(inside) else 0.0
    if not spread > 0.0:
        return None
    # One crash counts no more than six deviations.
    return np.where(inside, np.clip(level / spread, -3.0, 6.0), 0.0)


def _normalised(a: NDArray[np.float64], b: NDArray[np.float64], n_lags: int) -> NDArray[np.float64]:
    """Return the correlation of a[i] with b[i + lag], by the energies in each lag's overlap."""
    pad = np.zeros(n_lags)
    live_a, live_b = (a != 0.0).astype(np.float64), (b != 0.0).astype(np.float64)

    def correlate(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        long = np.concatenate((pad, y, pad))
        return np.asarray(fftconvolve(long, x[::-1], mode="valid"), dtype=np.float64)

    energy = np.maximum(correlate(a**2, live_b), 0.0) * np.maximum(correlate(live_a, b**2), 0.0)
    overlap = correlate(live_a, live_b) * ENVELOPE_GRID_S
    # The level of chance falls with the root of the overlap; so must the curve be weighted.
    weight = np.sqrt(np.maximum(overlap, 0.0) / max(float(np.max(overlap)), 1e-9))
    curve = correlate(a, b) / np.sqrt(np.maximum(energy, 1e-12)) * weight
    return np.where(overlap >= 3.0, curve, 0.0)


def _block_curves(a: NDArray[np.float64], b: NDArray[np.float64], lag: int) -> NDArray[np.float64]:
    """Return each block's own correlation near the peak, shape (N_BLOCKS, lags)."""
    reach = round(0.06 / ENVELOPE_GRID_S)
    n = a.size
    rows = np.zeros((2 * reach + 1, N_BLOCKS))
    live = np.flatnonzero(a)
    edges = np.linspace(live[0], live[-1] + 1, N_BLOCKS + 1).astype(np.int64)[:-1]
    for row, k in enumerate(range(lag - reach, lag + reach + 1)):
        product = np.zeros(n)
        low, high = max(0, -k), min(n, n - k)
        product[low:high] = a[low:high] * b[low + k : high + k]
        rows[row] = np.add.reduceat(product, edges)
    return rows.T


def _peak(curve: NDArray[np.float64]) -> float:
    """Return the place of the maximum against the middle, in seconds, by a parabola.

    The curve is blurred over 20 ms and sampled every 2: a parabola through the top is exact to
    microseconds here.
    """
    k = int(np.clip(np.argmax(curve), 1, curve.size - 2))
    low, top, high = (float(v) for v in curve[k - 1 : k + 2])
    bend = low - 2.0 * top + high
    part = 0.5 * (low - high) / bend if bend < 0.0 else 0.0
    return (k - curve.size // 2 + part) * ENVELOPE_GRID_S
