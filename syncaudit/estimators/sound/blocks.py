"""Measure the offset of two microphones in disjoint blocks, by the phase of their spectra."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from syncaudit.estimators.sound.lobe import Pool, on_one_lobe
from syncaudit.estimators.sound.pair import Refusal, SoundPair
from syncaudit.estimators.sound.search import CoarseOffset
from syncaudit.estimators.sound.spectra import (
    CrossSpectrum,
    band_of,
    cross_spectrum,
    frequencies,
    measured_alone,
    peak_delay,
    phases_of,
    segment_of,
    shared_rate_hz,
)
from syncaudit.model.arrays import Floats

__all__ = ["MIN_BLOCKS", "TRACK_DRIFT", "TRACK_S", "Blocks", "fitting_offset", "measure_blocks"]

BLOCK_S = 1.0
MAX_BLOCKS = 120
MIN_BLOCKS = 3
# The coarse search may have found a reflection that is this far (7 m of way) from the direct sound.
START_S = 0.02
# Search of one block around the track of its neighbours, and more for every second from them.
TRACK_S = 0.003
TRACK_DRIFT = 2e-4
# Fewer blocks that agree are chance: pauses are long, but not that long.
MIN_SHARE = 0.1
# Search of a block around the chosen lobe: reflections from 9 cm of way on lie beyond.
LOBE_S = 2.5e-4


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

    times_s: Floats
    offsets_s: Floats
    bound_s: Floats
    coherence: float
    side_lobe: float
    tried_s: Floats

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
    rate = shared_rate_hz(pair)
    span = pair.stop_s - pair.start_s
    block_s = min(BLOCK_S, span / 4.0)
    freq = frequencies(rate)
    n = max(2 * segment_of(freq), round(block_s * rate))
    block_s = n / rate
    n_blocks = int(min(MAX_BLOCKS, span // block_s))
    if n_blocks < MIN_BLOCKS:
        return Refusal(why=f"{span:.2f} s of common sound are too few", figures={})
    starts = pair.start_s + (span - block_s) * np.arange(n_blocks) / (n_blocks - 1)
    order = np.argsort(np.abs(starts + block_s / 2.0 - coarse.at_s), kind="stable")
    found: list[CrossSpectrum] = []
    tried: list[float] = []
    for k in order.tolist():
        middle = float(starts[k]) + block_s / 2.0
        guess = _predict(found, coarse, middle)
        away = min((abs(c.middle_s - middle) for c in found), default=0.0)
        reach = (START_S if len(found) < 3 else TRACK_S) + TRACK_DRIFT * away
        cross = cross_spectrum(pair, float(starts[k]), n, guess)
        if cross is None:
            continue
        tried.append(middle)
        measured = measured_alone(cross, freq, reach)
        if measured is not None:
            found.append(measured)
    figures = {"blocks": float(len(found)), "blocks_tried": float(len(tried))}
    if len(found) < max(MIN_BLOCKS, MIN_SHARE * len(tried)):
        return Refusal(
            why=f"no coherence: {len(found)} of {len(tried)} blocks agree with the coarse offset "
            f"{coarse.offset_s:.3f} s",
            figures=figures,
        )
    return _weighted(on_one_lobe(found, freq), freq, np.sort(np.array(tried)), figures)


def fitting_offset(
    pair: SoundPair, at_s: float, offsets_s: tuple[float, ...], length_s: float
) -> int | None:
    """Return which of several offsets a short piece around `at_s` agrees with, or None."""
    rate = shared_rate_hz(pair)
    freq = frequencies(rate)
    n = max(2 * segment_of(freq), round(length_s * rate))
    for k, offset_s in enumerate(offsets_s):
        cross = cross_spectrum(pair, at_s - 0.5 * n / rate, n, offset_s)
        if cross is not None and measured_alone(cross, freq, 0.001) is not None:
            return k
    return None


def _predict(found: list[CrossSpectrum], coarse: CoarseOffset, middle: float) -> float:
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


def _weighted(
    found: list[CrossSpectrum],
    freq: Floats,
    tried_s: Floats,
    figures: dict[str, float],
) -> Blocks | Refusal:
    """Measure the blocks again with the weights that their pooled coherence asks for."""
    pool = Pool.of(found, freq)
    if not np.any(pool.coherence > 0.0):
        return Refusal(why="no coherence in any band", figures=figures)
    kept: list[CrossSpectrum] = []
    bounds: list[float] = []
    # PHAT keeps only the phase: its variance at one bin goes as (1 - C) / C.
    ratio = pool.coherence / (1.0 - pool.coherence)
    density = float(np.sum((2.0 * np.pi * freq) ** 2 * ratio)) * freq[1]
    for c in sorted(found, key=lambda c: c.middle_s):
        delay_s = peak_delay(phases_of(c.spectrum), freq, pool.coherence, LOBE_S)
        if delay_s is None:
            continue
        kept.append(c.moved(freq, delay_s))
        bounds.append((2.0 * c.duration_s * density) ** -0.5)
    if len(kept) < MIN_BLOCKS:
        return Refusal(
            why=f"no coherence: {len(kept)} of {tried_s.size} blocks hold up", figures=figures
        )
    return Blocks(
        times_s=np.array([c.middle_s for c in kept]),
        offsets_s=np.array([c.offset_s for c in kept]),
        bound_s=np.array(bounds),
        coherence=float(np.mean(pool.coherence[band_of(freq) > 0.0])),
        side_lobe=pool.side_lobe(),
        tried_s=tried_s,
    )
