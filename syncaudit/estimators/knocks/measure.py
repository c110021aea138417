"""Measure a microphone against an accelerometer by bumps and knocks that both sense."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.ndimage import gaussian_filter1d

from syncaudit.dsp.indices import nearest
from syncaudit.dsp.robust import jackknife_std, spread, student_widening
from syncaudit.estimators.knocks.envelopes import (
    LOBE_S,
    MIN_EVENTS,
    N_BLOCKS,
    NEAR_S,
    Onsets,
    correlate_envelopes,
    find_onsets,
)
from syncaudit.model import Activity, AgreementCurve, EventTrain, PairMeasurement
from syncaudit.model.arrays import Floats

METHOD = "knocks"
MAX_RUNNER_UP = 0.75
# Height of the best lobe over the scatter of the curve.
MIN_HEIGHT = 7.0
# Unknown path of the sound (0.3 m: 1 ms).
SOUND_PATH_S = 0.0005
GRID_S = 0.001
MIN_BLUR_S = 0.002
MAX_POINTS = 20_000_000


def estimate_knocks(
    source: Activity,
    target: Activity,
    *,
    clicks: EventTrain | None = None,
    max_offset_s: float = 5.0,
) -> PairMeasurement:
    """Measure the offset between a sound and an acceleration, given in either order, or refuse.

    Both signals become trains of onsets: rises of the log energy above the loudest of the 40 ms
    before (the acceleration is differentiated first, which removes gravity and driving; a
    difference is dated at the middle of its two samples). The trains, blurred to the sampling
    interval of the accelerometer, are correlated over all offsets, and each lag is normalised by
    its overlap. The best lobe must stand out from the curve and from every other lobe more than
    80 ms away. Then single knocks are paired, with the sound's onset picked to a fraction of a
    millisecond where clicks are given, and the offset is the robust mean of their differences.

    Its error is the greater of the scatter of the knocks and of a jackknife over ten blocks of
    time (Efron, Stein, "The jackknife estimate of variance", 1981,
    doi:10.1214/aos/1176345462; knocks that come in groups are not independent), with Student's t,
    plus a systematic part: half a millisecond for the path of the sound, the error of the clicks,
    a millisecond for which knocks push, and 0.15 of the accelerometer's interval, by which filters
    typically make knocks late, and which is subtracted. The offset contains the travel time
    of the sound through air, 2.9 ms per metre, which makes the sound late.

    Where there are too few clear onsets (a car on a bad road thuds and rumbles rather than knocks),
    the envelopes themselves are correlated: log energies, blurred by 15 ms, without changes over
    seconds. That peak must stand out in the same way and be supported by several blocks of time. It
    is wide. A cabin or a panel may ring on after the shock that the accelerometer sensed, or the
    other way round; that makes energies late by an unknown time, so the envelope of the side that
    rings shorter is smeared by an exponential, and the offset is averaged over its length by
    likelihood. Few bodies ring exponentially: the offset lies halfway between that and the one
    without a smear, and half of what is between counts as error. 5 ms are added as systematic.
    `diagnostics["is_envelope"]` is 1 there, and `diagnostics["ringing_s"]` tells how much longer
    the sound rings.

    Parameters
    ----------
    source, target : Activity
        One `Quantity.LOUDNESS` (log energy, about every millisecond) and one
        `Quantity.SPECIFIC_FORCE` (m/s^2, any number of axes).
    clicks : EventTrain, optional
        Onsets of the sound, which sharpen its times.
    max_offset_s : float
        Largest offset searched for, either sign.
    """
    refuse = partial(PairMeasurement.refused, source.source, target.source, METHOD)
    for activity in (source, target):
        if activity.times_s.size < 50:
            why = f"{activity.source}: {activity.times_s.size} samples are too few"
            return refuse(source.epoch_ns, why)
    epochs_s = (target.epoch_ns - source.epoch_ns) * 1e-9
    start = max(float(source.times_s[0]), float(target.times_s[0]) + epochs_s)
    stop = min(float(source.times_s[-1]), float(target.times_s[-1]) + epochs_s)
    if stop - start < 1.0:
        why = f"the timestamps have only {max(0.0, stop - start):.2f} s in common"
        return refuse(source.epoch_ns, why)
    at_ns = source.epoch_ns + round(0.5 * (start + stop) * 1e9)
    a, b = find_onsets(source, clicks), find_onsets(target, clicks)
    if isinstance(a, str) or isinstance(b, str):
        reason = f"{source.source}: {a}" if isinstance(a, str) else f"{target.source}: {b}"
        first = refuse(at_ns, reason)
        return correlate_envelopes(first, source, target, epochs_s, max_offset_s)
    b = b.moved(epochs_s)
    # The resolution of the slower side.
    blur_s = max(MIN_BLUR_S, 0.6 * max(a.interval_s, b.interval_s))
    found = _correlate_trains(a, b, blur_s, max_offset_s)
    if isinstance(found, str):
        return refuse(at_ns, found)
    lags, curve, most = found
    best = int(np.argmax(curve))
    outside = curve[np.abs(lags - lags[best]) > LOBE_S]
    centre, scatter = float(np.mean(outside)), float(np.std(outside))
    if scatter <= 0.0:
        return refuse(at_ns, "no two knocks coincide")
    height = (float(curve[best]) - centre) / scatter
    runner = (float(np.max(outside)) - centre) / scatter
    offset = float(lags[best])
    seen = AgreementCurve.around(lags, np.clip(curve / most, 0.0, 1.0), offset, near_s=NEAR_S)
    figures = {"height": height, "runner_up": runner / max(height, 1e-9)}
    if height < MIN_HEIGHT:
        why = (
            f"the knocks of both agree at no offset: the best is {height:.1f} deviations high; "
            f"at least {MIN_HEIGHT:g} are needed"
        )
        first = refuse(at_ns, why, figures, evidence=seen)
        return correlate_envelopes(first, source, target, epochs_s, max_offset_s)
    if min(best, lags.size - 1 - best) * GRID_S <= 2.0 * blur_s:
        why = f"the best offset, {offset:.3f} s, is at the edge of the search (±{max_offset_s:g} s)"
        return refuse(at_ns, why, figures, evidence=seen)
    if runner > MAX_RUNNER_UP * height:
        why = (
            f"ambiguous: a second offset fits {100.0 * runner / height:.0f} % as well as the "
            f"best ({offset:.3f} s); the knocks repeat"
        )
        return refuse(at_ns, why, figures, evidence=seen)
    measured = _matched(source, target, at_ns, (a, b), offset, figures)
    return replace(measured, evidence=seen)


def _matched(
    source: Activity,
    target: Activity,
    at_ns: int,
    sides: tuple[Onsets, Onsets],
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
            f"{differences.size} knocks coincide at the best offset ({offset:.3f} s); at least "
            f"{MIN_EVENTS} are needed"
        )
        return PairMeasurement.refused(source.source, target.source, METHOD, at_ns, why, figures)
    level = _robust_mean(differences)
    scatter = float(np.std(differences, ddof=1))
    n = differences.size
    random = scatter / n**0.5 * student_widening(n - 1)
    random = max(random, _jackknife(times, differences))
    # An onset of the accelerometer may lie anywhere in its interval, however small the scatter.
    interval = max(a.interval_s, b.interval_s)
    random = max(random, interval / (12.0 * n) ** 0.5)
    systematic = math.hypot(SOUND_PATH_S, a.systematic_std_s, b.systematic_std_s)
    share = n / max(1.0, float(min(_inside(a, b, level), _inside(b, a, -level))))
    figures |= {"scatter_s": scatter, "random_std_s": random, "share": share}
    reason = None
    if share < 0.3:
        reason = (
            f"only {n} knocks, {100.0 * share:.0f} % of those that both can share, coincide at "
            f"the best offset ({level:.3f} s)"
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


def _pairs(a: Onsets, b: Onsets, offset: float, reach: float) -> tuple[Floats, Floats]:
    """Return times (on the source) and differences of mutually nearest onsets."""
    shifted = b.times_s - offset
    nearest_b = nearest(shifted, a.times_s)
    nearest_a = nearest(a.times_s, shifted)
    index = np.arange(a.times_s.size)
    mutual = nearest_a[nearest_b] == index
    gap = shifted[nearest_b] - a.times_s
    keep = mutual & (np.abs(gap) <= reach)
    return a.times_s[keep], gap[keep] + offset


def _inside(a: Onsets, b: Onsets, offset: float) -> int:
    """Count onsets of `a` that `b` covers."""
    moved = a.times_s + offset
    return int(np.count_nonzero((moved >= b.start_s) & (moved <= b.stop_s)))


def _robust_mean(values: Floats) -> float:
    """Return the mean, with values clipped to 3 robust deviations (Huber)."""
    level = float(np.median(values))
    reach = 3.0 * (spread(values, level) + 1e-6)
    for _ in range(20):
        level = float(np.mean(np.clip(values, level - reach, level + reach)))
    return level


def _jackknife(times: Floats, values: Floats) -> float:
    """Return the standard error by leaving out blocks of neighbouring knocks in turn."""
    blocks = np.array_split(np.argsort(times, kind="stable"), min(N_BLOCKS, values.size))
    return jackknife_std(np.array([_robust_mean(np.delete(values, block)) for block in blocks]))


def _correlate_trains(
    a: Onsets, b: Onsets, blur_s: float, max_offset_s: float
) -> tuple[Floats, Floats, float] | str:
    """Correlate onsets as blurred pulses of their weights."""
    zero = min(a.start_s, b.start_s)
    n = round((max(a.stop_s, b.stop_s) - zero) / GRID_S) + 1
    if n > MAX_POINTS:
        return "the signals span more than five hours"
    trains = []
    from scipy.signal import fftconvolve  # 25 MiB that clips without sound need not load

    for side in (a, b):
        grid = np.zeros(n)
        np.add.at(grid, np.rint((side.times_s - zero) / GRID_S).astype(np.int64), side.weights)
        trains.append(gaussian_filter1d(grid, blur_s / GRID_S, mode="constant"))
    n_lags = round(max_offset_s / GRID_S)
    padded = np.concatenate((np.zeros(n_lags), trains[1], np.zeros(n_lags)))
    curve = fftconvolve(padded, trains[0][::-1], mode="valid")
    lags = np.arange(-n_lags, n_lags + 1, dtype=np.float64) * GRID_S
    # Per lag: the correlation of unrelated trains over the remaining overlap.
    overlap = np.minimum(a.stop_s, b.stop_s - lags) - np.maximum(a.start_s, b.start_s - lags)
    share = np.maximum(overlap, 1e-3) / (min(a.stop_s, b.stop_s) - max(a.start_s, b.start_s))
    curve = np.where(overlap > 1.0, curve / np.sqrt(np.clip(share, 0.25, None)), 0.0)
    most = float(np.linalg.norm(trains[0]) * np.linalg.norm(trains[1]))
    return lags, curve, most
