"""Compute envelopes of a sound and an acceleration: onsets of knocks, or the whole envelope."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from syncaudit.dsp.indices import nearest
from syncaudit.dsp.robust import jackknife_std, spread, student_widening
from syncaudit.dsp.sound import rise_above_past
from syncaudit.model import Activity, AgreementCurve, EventTrain, PairMeasurement
from syncaudit.model.arrays import Bools, Floats, Ints

# The envelope path: grid, blur, slow limit, smallest height and largest runner-up of its peak.
# Unrelated drives stay below 5.6 deviations (60 simulated pairs), related ones reach 5 to 14.
ENVELOPE_GRID_S = 0.002
ENVELOPE_BLUR_S = 0.015
ENVELOPE_SLOW_S = 0.5
ENVELOPE_MIN_HEIGHT = 6.0
ENVELOPE_MAX_RUNNER_UP = 0.65
ENVELOPE_MIN_BLOCKS = 3.5
# What an exponential decay leaves of the delay between a thud's energy and its impact.
ENVELOPE_SYSTEMATIC_S = 0.005
# Times by which one side rings longer than the other: the sound where positive. A car's interior
# decays by a factor e in 5 to 10 ms (reverberation of 0.1 s), its panels in up to some 50 ms.
RINGING_S = np.array([-0.064, -0.032, -0.016, -0.008, 0.0, 0.008, 0.016, 0.032, 0.064])
# Values of an envelope are independent at this distance, in widths of the blur: 2 sqrt(pi).
INDEPENDENT_BLURS = 3.5
# Other lobes are counted outside this distance of the best (a knock and its own rattle).
LOBE_S = 0.08
N_BLOCKS = 10
# Half the range of offsets that is shown.
NEAR_S = 0.3
# Rises of an envelope below this many robust deviations are noise.
MIN_RISE = 4.0
MIN_EVENTS = 5
# Part of the rise (in nepers) at which a knock has begun: rattle makes its peak late.
ONSET_SHARE = 0.5
# Hammers, fingers and kerbs push for one to five milliseconds; a body swings furthest even later.
PUSH_S = 0.001
# A filter before the sampling and a case that starts to ring make a knock appear late, by zero to
# half a sample. This is the mean, used as the spread too.
LATE_SAMPLES = 0.15
# A rise is measured against the loudest value within this time before it.
LOOK_BACK_S = 0.04


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Onsets:
    """Onsets of one signal; `systematic_std_s` is the error that all have in common."""

    times_s: Floats
    weights: Floats
    start_s: float
    stop_s: float
    interval_s: float
    systematic_std_s: float

    def moved(self, by_s: float) -> Onsets:
        """Return the same onsets on a time axis that begins `by_s` earlier."""
        return replace(
            self,
            times_s=self.times_s + by_s,
            start_s=self.start_s + by_s,
            stop_s=self.stop_s + by_s,
        )


def correlate_envelopes(
    first: PairMeasurement, source: Activity, target: Activity, epochs_s: float, max_offset: float
) -> PairMeasurement:
    """Correlate the envelopes; return `first`, the refusal by knocks, where that fails too."""
    sides = _both(source, target, epochs_s)
    if sides is None:
        return first
    a, b = sides
    n_lags = round(max_offset / ENVELOPE_GRID_S)
    curve = _normalised(a, b, n_lags)
    lags = np.arange(-n_lags, curve.size - n_lags, dtype=np.float64) * ENVELOPE_GRID_S
    best = int(np.argmax(curve))
    seen = AgreementCurve.around(lags, np.clip(curve, 0.0, 1.0), float(lags[best]), near_s=NEAR_S)
    first = replace(first, evidence=first.evidence or seen)
    outside = curve[(np.abs(lags - lags[best]) > LOBE_S) & (curve != 0.0)]
    if outside.size < 100 or min(best, 2 * n_lags - best) * ENVELOPE_GRID_S <= LOBE_S:
        return first
    height = float(curve[best]) / float(np.std(outside))
    runner = float(np.max(outside)) / max(float(curve[best]), 1e-12)
    figures = {"envelope_height": height, "envelope_runner_up": runner, "is_envelope": 1.0}
    if height < ENVELOPE_MIN_HEIGHT or runner > ENVELOPE_MAX_RUNNER_UP:
        return replace(first, diagnostics={**first.diagnostics, **figures}, evidence=seen)
    parts = _block_curves(a, b, best - n_lags)
    carried = np.maximum(parts[:, parts.shape[1] // 2], 0.0)
    shared = float(np.sum(carried)) ** 2 / max(float(np.sum(carried**2)), 1e-30)
    figures["blocks"] = shared
    if shared < ENVELOPE_MIN_BLOCKS:
        return replace(first, diagnostics={**first.diagnostics, **figures}, evidence=seen)
    found = _offset_of_energies(source, target, epochs_s, best - n_lags, sides)
    if found is None:
        return first
    level, random, ringing = found
    figures["ringing_s"] = ringing
    level += float(lags[best])
    return replace(
        first,
        offset_s=level,
        offset_std_s=float(np.hypot(random, ENVELOPE_SYSTEMATIC_S)),
        systematic_std_s=ENVELOPE_SYSTEMATIC_S,
        accepted=True,
        why=None,
        diagnostics=figures | {"random_std_s": random},
        evidence=seen,
    )


def _offset_of_energies(
    source: Activity,
    target: Activity,
    epochs_s: float,
    lag: int,
    as_they_are: tuple[Floats, Floats],
) -> tuple[float, float, float] | None:
    """Return the offset beyond `lag`, its standard error, and how much longer the sound rings.

    The envelope of the side that rings shorter is smeared by a causal exponential, whose length is
    unknown: offsets are averaged over `RINGING_S` by the likelihood of each (Gaussian envelopes of
    correlation r: -n/2 log(1 - r^2)). `as_they_are` are both envelopes without any smear.
    """
    n_live = min(np.count_nonzero(side) for side in as_they_are)
    n_values = n_live * ENVELOPE_GRID_S / (INDEPENDENT_BLURS * ENVELOPE_BLUR_S)
    sign = 1.0 if source.quantity == "loudness" else -1.0
    zero_s, n = _grid(source, target, epochs_s)
    curves = []
    for ringing in sign * RINGING_S:
        a = as_they_are[0] if ringing >= 0.0 else _envelope(source, zero_s, n, -ringing)
        b = as_they_are[1] if ringing <= 0.0 else _envelope(target, zero_s - epochs_s, n, ringing)
        if a is None or b is None:
            return None
        curves.append(_block_curves(a, b, lag) / float(np.linalg.norm(a) * np.linalg.norm(b)))
    parts = np.array(curves)
    whole = np.sum(parts, axis=1)
    n_parts = parts.shape[1]
    level, spread_s, ringing_s = _averaged(whole, n_values)
    share = (n_parts - 1) / n_parts
    levels = np.array(
        [_averaged((whole - parts[:, k]) / share, share * n_values)[0] for k in range(n_parts)]
    )
    random = max(jackknife_std(levels), ENVELOPE_GRID_S / 12.0**0.5)
    random *= student_widening(n_parts - 1)
    return level, float(np.hypot(random, spread_s)), ringing_s


def _averaged(curves: Floats, n_values: float) -> tuple[float, float, float]:
    """Return offset, its spread, and the mean length of ringing.

    Few bodies ring exponentially, and the blur hides how they do: impacts lie between where the
    envelopes agree as they are and where they agree once smeared.
    """
    peaks = np.array([_peak(curve) for curve in curves])
    likeness = np.clip(np.max(curves, axis=1), 0.0, 0.999)
    logs = -0.5 * n_values * np.log1p(-(likeness**2))
    weights = np.exp(logs - np.max(logs))
    weights /= np.sum(weights)
    smeared, plain = float(weights @ peaks), float(peaks[RINGING_S == 0.0][0])
    spread_s = float(np.sqrt(weights @ (peaks - smeared) ** 2))
    between_s = 0.5 * abs(smeared - plain)
    return 0.5 * (smeared + plain), float(np.hypot(spread_s, between_s)), float(weights @ RINGING_S)


def _grid(source: Activity, target: Activity, epochs_s: float) -> tuple[float, int]:
    """Return the start and length of the grid that covers both sides."""
    zero_s = min(float(source.times_s[0]), float(target.times_s[0]) + epochs_s)
    stop_s = max(float(source.times_s[-1]), float(target.times_s[-1]) + epochs_s)
    return zero_s, round((stop_s - zero_s) / ENVELOPE_GRID_S) + 1


def _both(source: Activity, target: Activity, epochs_s: float) -> tuple[Floats, Floats] | None:
    """Return both envelopes on one grid."""
    zero_s, n = _grid(source, target, epochs_s)
    if n > 10_000_000:
        return None
    a = _envelope(source, zero_s, n)
    b = _envelope(target, zero_s - epochs_s, n)
    return None if a is None or b is None else (a, b)


def _envelope(activity: Activity, zero_s: float, n: int, ringing_s: float = 0.0) -> Floats | None:
    """Return the log energy on the grid, smeared, blurred and high-passed, 0 beyond its ends."""
    times, values = activity.times_s, activity.values
    if activity.quantity == "loudness":
        energy = np.exp(values[:, 0] - float(np.max(values)))
    else:
        energy = np.sum(np.diff(values, axis=0) ** 2, axis=1)
        times = 0.5 * (times[1:] + times[:-1])
    interval = float(np.median(np.diff(times)))
    if ringing_s > 0.0:
        from scipy.signal import lfilter  # 25 MiB that clips without sound need not load

        kept = float(np.exp(-interval / ringing_s))
        energy = np.asarray(lfilter([1.0 - kept], [1.0, -kept], energy), dtype=np.float64)
    energy = gaussian_filter1d(energy, ENVELOPE_BLUR_S / interval)
    floor = float(np.median(energy))
    if not floor > 0.0:
        return None
    grid = zero_s + ENVELOPE_GRID_S * np.arange(n)
    level = np.log(np.interp(grid, times, energy) + 0.1 * floor)
    level -= gaussian_filter1d(level, ENVELOPE_SLOW_S / ENVELOPE_GRID_S)
    inside = (grid >= times[0]) & (grid <= times[-1])
    scatter = float(np.std(level[inside])) if np.any(inside) else 0.0
    if not scatter > 0.0:
        return None
    # One crash counts no more than six deviations.
    return np.where(inside, np.clip(level / scatter, -3.0, 6.0), 0.0)


def _normalised(a: Floats, b: Floats, n_lags: int) -> Floats:
    """Return the correlation of a[i] with b[i + lag], by the energies in each lag's overlap."""
    from scipy.signal import fftconvolve  # 25 MiB that clips without sound need not load

    pad = np.zeros(n_lags)
    live_a, live_b = (a != 0.0).astype(np.float64), (b != 0.0).astype(np.float64)

    def correlate(x: Floats, y: Floats) -> Floats:
        long = np.concatenate((pad, y, pad))
        return np.asarray(fftconvolve(long, x[::-1], mode="valid"), dtype=np.float64)

    energy = np.maximum(correlate(a**2, live_b), 0.0) * np.maximum(correlate(live_a, b**2), 0.0)
    overlap = correlate(live_a, live_b) * ENVELOPE_GRID_S
    # The level of chance falls with the root of the overlap, so the curve is weighted by it.
    weight = np.sqrt(np.maximum(overlap, 0.0) / max(float(np.max(overlap)), 1e-9))
    curve = correlate(a, b) / np.sqrt(np.maximum(energy, 1e-12)) * weight
    return np.where(overlap >= 3.0, curve, 0.0)


def _block_curves(a: Floats, b: Floats, lag: int) -> Floats:
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


def _peak(curve: Floats) -> float:
    """Return the position of the maximum relative to the middle, in seconds, by a parabola.

    The curve is blurred over 20 ms and sampled every 2 ms, so a parabola through the top is exact
    to microseconds.
    """
    k = int(np.clip(np.argmax(curve), 1, curve.size - 2))
    low, top, high = (float(v) for v in curve[k - 1 : k + 2])
    bend = low - 2.0 * top + high
    part = 0.5 * (low - high) / bend if bend < 0.0 else 0.0
    return (k - curve.size // 2 + part) * ENVELOPE_GRID_S


def find_onsets(activity: Activity, clicks: EventTrain | None) -> Onsets | str:
    """Return the rises of the log energy above its recent level, or why there are none."""
    times, values = activity.times_s, activity.values
    interval = float(np.median(np.diff(times)))
    is_sound = activity.quantity == "loudness"
    if is_sound:
        level = values[:, 0]
    else:
        # Differences at the middle of their samples, less their mean latency; the floor is the
        # noise of the sensor itself.
        change = np.diff(values, axis=0)
        energy = np.sum(change**2, axis=1)
        floor = float(np.median(energy))
        if floor <= 0.0 and float(np.max(energy)) <= 0.0:
            return "the acceleration does not change"
        level = np.log(energy + 0.5 * floor + 1e-12 * float(np.max(energy)))
        times = 0.5 * (times[1:] + times[:-1]) - LATE_SAMPLES * interval
    back = max(3, round(LOOK_BACK_S / interval))
    rise = rise_above_past(level, back, gap=2 if is_sound else 1)
    centre = float(np.median(rise))
    scatter = spread(rise, centre) or float(np.std(rise)) + 1e-12
    size = 2 * max(1, round(0.5 * LOOK_BACK_S / interval)) + 1
    strong = rise > centre + MIN_RISE * scatter
    is_peak = strong & (rise == maximum_filter1d(rise, size=size))
    if np.count_nonzero(is_peak) < MIN_EVENTS:
        return f"{np.count_nonzero(is_peak)} knocks are too few"
    found = times[_onsets(rise, is_peak, size // 2 + 1)]
    # The square root keeps a single crash from dominating.
    weights = np.sqrt((rise[is_peak] - centre) / scatter)
    systematic_s = 0.0 if is_sound else float(np.hypot(PUSH_S, LATE_SAMPLES * interval))
    if is_sound and clicks is not None and clicks.times_s.size:
        found = _sharpened(found, clicks, activity.epoch_ns)
        systematic_s = clicks.systematic_std_s
    return Onsets(
        times_s=found,
        weights=weights,
        start_s=float(times[0]),
        stop_s=float(times[-1]),
        interval_s=interval,
        systematic_std_s=systematic_s,
    )


def _onsets(rise: Floats, is_peak: Bools, back: int) -> Ints:
    """Go back from each peak to the first sample that reaches ONSET_SHARE of it."""
    peaks = np.flatnonzero(is_peak)
    out = peaks.copy()
    for k in range(back, 0, -1):
        earlier = np.maximum(peaks - k, 0)
        reached = (out == peaks) & (rise[earlier] >= ONSET_SHARE * rise[peaks])
        out = np.where(reached, earlier, out)
    return out


def _sharpened(times: Floats, clicks: EventTrain, epoch_ns: int) -> Floats:
    """Move onsets to the click that was picked within 10 ms of them."""
    picked = np.sort(clicks.times_s + (clicks.epoch_ns - epoch_ns) * 1e-9)
    best = picked[nearest(picked, times)]
    return np.where(np.abs(best - times) < 0.01, best, times)
