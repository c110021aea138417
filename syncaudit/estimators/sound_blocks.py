"""Measure the offset of two microphones in disjoint blocks, by the phase of their spectra."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft
from scipy.ndimage import maximum_filter1d, uniform_filter1d

from syncaudit.dsp.sound import cut_piece
from syncaudit.estimators.sound_pair import Refusal, SoundPair, ratio_of_rates
from syncaudit.estimators.sound_search import CoarseOffset

__all__ = ["MIN_BLOCKS", "TRACK_DRIFT", "TRACK_S", "Blocks", "fitting_offset", "measure_blocks"]

BLOCK_S = 1.0
MAX_BLOCKS = 120
MIN_BLOCKS = 3
SEGMENT = 4096
# Search of one block around the track of its neighbours, and more for every second from them.
TRACK_S = 0.003
TRACK_DRIFT = 2e-4
# Fewer blocks that agree are chance: pauses are long, but not that long.
MIN_SHARE = 0.1
# A block's phase must add up to this many standard deviations of random phases.
MIN_PEAK = 5.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blocks:
    """Measured blocks.

    Parameters
    ----------
    times_s, offsets_s, bound_s : ndarray, shape (n,)
        Middles on the pair's axis, offsets, their bounds; in order of time.
    coherence, side_lobe : float
        Of all blocks together.
    tried_s : ndarray, shape (m,)
        Middles of the blocks with sound in both, in order.
    """

    times_s: NDArray[np.float64]
    offsets_s: NDArray[np.float64]
    bound_s: NDArray[np.float64]
    coherence: float
    side_lobe: float
    tried_s: NDArray[np.float64]

    def joined(self, other: Blocks) -> Blocks:
        """Return these blocks and others, in order of time."""
        times = np.concatenate((self.times_s, other.times_s))
        order = np.argsort(times, kind="stable")
        return replace(
            self,
            times_s=times[order],
            offsets_s=np.concatenate((self.offsets_s, other.offsets_s))[order],
            bound_s=np.concatenate((self.bound_s, other.bound_s))[order],
            side_lobe=max(self.side_lobe, other.side_lobe),
            tried_s=np.union1d(self.tried_s, other.tried_s),
        )


def measure_blocks(pair: SoundPair, coarse: CoarseOffset) -> Blocks | Refusal:
    """Measure disjoint blocks around the coarse offset, the nearest to it first."""
    rate = _rate(pair)
    span = pair.stop_s - pair.start_s
    block_s = min(BLOCK_S, span / 4.0)
    n = max(2 * SEGMENT, round(block_s * rate))
    block_s = n / rate
    n_blocks = int(min(MAX_BLOCKS, span // block_s))
    if n_blocks < MIN_BLOCKS:
        return Refusal(why=f"{span:.2f} s of common sound are too few", figures={})
    starts = pair.start_s + (span - block_s) * np.arange(n_blocks) / (n_blocks - 1)
    order = np.argsort(np.abs(starts + block_s / 2.0 - coarse.at_s), kind="stable")
    freq = _frequencies(rate)
    plain = _band(freq)
    found: list[_Cross] = []
    tried: list[float] = []
    for k in order.tolist():
        middle = float(starts[k]) + block_s / 2.0
        guess = _predict(found, coarse, middle)
        away = min((abs(c.middle_s - middle) for c in found), default=0.0)
        reach = (0.006 if len(found) < 3 else TRACK_S) + TRACK_DRIFT * away
        cross = _cross(pair, float(starts[k]), n, guess)
        if cross is None:
            continue
        tried.append(middle)
        measured = _measure(cross, freq, plain, reach)
        if measured is not None:
            found.append(measured)
    figures = {"blocks": float(len(found)), "blocks_tried": float(len(tried))}
    if len(found) < max(MIN_BLOCKS, MIN_SHARE * len(tried)):
        return Refusal(
            why=f"no coherence: {len(found)} of {len(tried)} blocks agree with the coarse offset "
            f"{coarse.offset_s:.3f} s",
            figures=figures,
        )
    return _weighted(found, freq, rate, np.sort(np.array(tried)), figures)


def fitting_offset(
    pair: SoundPair, at_s: float, offsets_s: tuple[float, ...], length_s: float
) -> int | None:
    """Return which of several offsets a short piece around `at_s` agrees with, or None."""
    rate = _rate(pair)
    freq = _frequencies(rate)
    n = max(2 * SEGMENT, round(length_s * rate))
    for k, offset_s in enumerate(offsets_s):
        cross = _cross(pair, at_s - 0.5 * n / rate, n, offset_s)
        if cross is not None and _measure(cross, freq, _band(freq), 0.001) is not None:
            return k
    return None


def _rate(pair: SoundPair) -> float:
    return min(pair.a.rate_hz, pair.b.rate_hz, 48_000.0)


def _frequencies(rate: float) -> NDArray[np.float64]:
    return np.arange(SEGMENT // 2 + 1, dtype=np.float64) * (rate / SEGMENT)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Cross:
    """Averaged spectra of one block, aligned to `offset_s`."""

    middle_s: float
    offset_s: float
    spectrum: NDArray[np.complex128]
    power_a: NDArray[np.float64]
    power_b: NDArray[np.float64]
    n_segments: int
    duration_s: float


def _band(freq: NDArray[np.float64]) -> NDArray[np.float64]:
    """Start weights: leave out hum, wind and the filter's edge."""
    return np.where((freq > 150.0) & (freq < 0.45 * 2.0 * freq[-1]), 1.0, 0.0)


def _predict(found: list[_Cross], coarse: CoarseOffset, middle: float) -> float:
    """Return the offset expected at a time from the nearest blocks."""
    if not found:
        return coarse.offset_s
    close = sorted(found, key=lambda c: abs(c.middle_s - middle))
    part = close[:30]
    times = np.array([c.middle_s for c in part])
    offsets = np.array([c.offset_s for c in part])
    if len(part) >= 4 and float(np.ptp(times)) > 4.0:
        slope = float(np.clip(np.polyfit(times, offsets, 1)[0], -1e-3, 1e-3))
        return float(np.median(offsets - slope * (times - middle)))
    return float(np.median(offsets[:5])) if float(np.ptp(times)) < 5.0 else float(offsets[0])


def _cross(
    pair: SoundPair,
    start: float,
    n: int,
    guess: float,
) -> _Cross | None:
    rate = _rate(pair)
    ratios = ratio_of_rates(pair.a, rate), ratio_of_rates(pair.b, rate)
    first_a = round(pair.clock_a.sample(start))
    time_a = pair.clock_a.at(first_a)
    first_b = round(pair.clock_b.sample(time_a + guess - pair.epochs_s))
    if first_b < 0 or first_b + n / float(ratios[1]) > pair.b.samples.size:
        return None
    a = cut_piece(pair.a, first_a, n, ratios[0])
    b = cut_piece(pair.b, first_b, n, ratios[1])
    window = np.hanning(SEGMENT + 2)[1:-1]
    segments = range(0, n - SEGMENT + 1, SEGMENT // 2)
    fa = np.array(
        [rfft((a[s : s + SEGMENT] - a[s : s + SEGMENT].mean()) * window) for s in segments]
    )
    fb = np.array(
        [rfft((b[s : s + SEGMENT] - b[s : s + SEGMENT].mean()) * window) for s in segments]
    )
    power_a, power_b = np.sum(np.abs(fa) ** 2, axis=0), np.sum(np.abs(fb) ** 2, axis=0)
    if float(np.max(power_a)) <= 0.0 or float(np.max(power_b)) <= 0.0:
        return None
    # Speech sits anywhere in its second: under drift the offset belongs to where the energy is.
    share = np.sum(np.abs(fa) * np.abs(fb), axis=1)
    middles = np.array(segments) + 0.5 * (SEGMENT - 1)
    centre = float(np.dot(share, middles) / np.sum(share))
    # There the two sample clocks are compared; they need not tick alike within the block.
    time_a = pair.clock_a.at(first_a + centre / float(ratios[0]))
    time_b = pair.clock_b.at(first_b + centre / float(ratios[1])) + pair.epochs_s
    return _Cross(
        middle_s=time_a,
        offset_s=time_b - time_a,
        spectrum=np.sum(np.conj(fa) * fb, axis=0),
        power_a=power_a,
        power_b=power_b,
        n_segments=len(segments),
        duration_s=n / rate,
    )


def _phases(spectrum: NDArray[np.complex128]) -> NDArray[np.complex128]:
    size = np.abs(spectrum)
    return np.asarray(spectrum / np.where(size > 0.0, size, 1.0))


def _measure(
    cross: _Cross, freq: NDArray[np.float64], weight: NDArray[np.float64], reach: float
) -> _Cross | None:
    """Align one block to the peak of its weighted phase correlation, or give it up."""
    phases = _phases(cross.spectrum)
    total = float(np.sum(weight))
    if total <= 0.0:
        return None
    fine = 4  # zero padding: samples of the curve per sample of sound
    size = fine * SEGMENT
    curve = irfft(weight * phases, size) * size / 2.0 / total
    step = 1.0 / (2.0 * freq[-1] * fine)
    n_reach = int(min(reach / step, size // 4))
    around = np.concatenate((curve[-n_reach:], curve[: n_reach + 1]))
    best = int(np.argmax(around))
    # Hann windows with half overlap make neighbouring bins dependent: 1.5 bins each.
    noise = float(np.sqrt(1.5 * np.sum(weight**2) / 2.0)) / total
    if float(around[best]) < MIN_PEAK * noise or best in (0, 2 * n_reach):
        return None
    delay = _refine(phases, freq, weight, (best - n_reach) * step)
    return _moved(cross, freq, delay)


def _refine(
    phases: NDArray[np.complex128],
    freq: NDArray[np.float64],
    weight: NDArray[np.float64],
    delay: float,
) -> float:
    """Climb to the maximum of ``sum w cos(2 pi f d + phase)`` by Newton steps."""
    omega = 2.0 * np.pi * freq
    limit = 1.0 / (4.0 * freq[-1])
    for _ in range(6):
        turned = phases * np.exp(1j * omega * delay)
        first = -float(np.sum(weight * omega * turned.imag))
        second = -float(np.sum(weight * omega**2 * turned.real))
        if second >= 0.0:
            break
        change = float(np.clip(-first / second, -limit, limit))
        delay += change
        if abs(change) < 1e-10:
            break
    return delay


def _moved(cross: _Cross, freq: NDArray[np.float64], delay: float) -> _Cross:
    return _Cross(
        middle_s=cross.middle_s,
        offset_s=cross.offset_s + delay,
        spectrum=cross.spectrum * np.exp(2j * np.pi * freq * delay),
        power_a=cross.power_a,
        power_b=cross.power_b,
        n_segments=cross.n_segments,
        duration_s=cross.duration_s,
    )


def _weighted(
    found: list[_Cross],
    freq: NDArray[np.float64],
    rate: float,
    tried_s: NDArray[np.float64],
    figures: dict[str, float],
) -> Blocks | Refusal:
    """Measure the blocks again with the weights that their pooled coherence asks for."""
    band = _band(freq)
    # Every block counts by its own scale, so that a bang does not drown the rest.
    pooled = np.zeros(freq.size, dtype=np.complex128)
    power_a, power_b = np.zeros(freq.size), np.zeros(freq.size)
    for c in found:
        sa, sb = float(np.mean(c.power_a)), float(np.mean(c.power_b))
        pooled += c.spectrum / np.sqrt(sa * sb)
        power_a += c.power_a / sa
        power_b += c.power_b / sb
    raw = np.abs(pooled) ** 2 / np.maximum(power_a * power_b, 1e-30)
    # Independent averages of Hann windows with half overlap: 0.53 per segment more than n / 2.
    n_free = max(2.0, 0.53 * sum(c.n_segments for c in found))
    coherence = np.clip((raw - 1.0 / n_free) / (1.0 - 1.0 / n_free), 0.0, 0.98)
    coherence = uniform_filter1d(coherence, size=9, mode="nearest") * band
    coherence = np.where(coherence > 2.0 / n_free, coherence, 0.0)
    if not np.any(coherence > 0.0):
        return Refusal(why="no coherence in any band", figures=figures)
    ratio = coherence / (1.0 - coherence)
    # PHAT keeps only the phase: its variance at one bin goes as (1 - C) / C.
    weight = ratio
    kept: list[_Cross] = []
    bounds: list[float] = []
    found = sorted(found, key=lambda c: c.middle_s)
    density = float(np.sum((2.0 * np.pi * freq) ** 2 * ratio)) * (rate / SEGMENT)
    for c in found:
        measured = _measure(c, freq, weight, 0.001)
        if measured is None:
            continue
        kept.append(measured)
        bounds.append((2.0 * c.duration_s * density) ** -0.5)
    if len(kept) < MIN_BLOCKS:
        return Refusal(
            why=f"no coherence: {len(kept)} of {tried_s.size} blocks hold up", figures=figures
        )
    side = _side_lobe(kept, freq, weight)
    return Blocks(
        times_s=np.array([c.middle_s for c in kept]),
        offsets_s=np.array([c.offset_s for c in kept]),
        bound_s=np.array(bounds),
        coherence=float(np.average(coherence, weights=band)),
        side_lobe=side,
        tried_s=tried_s,
    )


def _side_lobe(kept: list[_Cross], freq: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return the highest other lobe of the pooled correlation within 20 ms, best = 1."""
    pooled = np.zeros(freq.size, dtype=np.complex128)
    for c in kept:
        pooled += _phases(c.spectrum)
    size = 4 * SEGMENT
    curve = irfft(weight * pooled, size)
    reach = round(0.02 * 2.0 * freq[-1] * 4)
    around = np.concatenate((curve[-reach:], curve[: reach + 1]))
    top = float(around[reach])
    if top <= 0.0:
        return 1.0
    is_peak = (around == maximum_filter1d(around, size=5)) & (around > 0.0)
    is_peak[reach - 2 : reach + 3] = False
    return float(np.max(around[is_peak], initial=0.0)) / top
