"""Search all offsets between two microphones for the sound that they share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.ndimage import maximum_filter1d, uniform_filter1d

from syncaudit.dsp.robust import spread
from syncaudit.dsp.sound import cut_piece
from syncaudit.estimators.sound.spectra import Refusal, SoundPair, ratio_of_rates
from syncaudit.model import AgreementCurve
from syncaudit.model.arrays import Bools, Floats, Ints

# Rate of the coarse search: speech and impacts have their energy below 4 kHz.
COARSE_HZ = 8000.0
COARSE_BLOCK_S = 2.5
COARSE_BLOCKS = 8
# Peaks closer than this to the best one are its own lobes and echoes (17 m of path).
OWN_ECHO_S = 0.05
# Height of the coarse peak over the scatter of the curve: independent noise stays below 9 in
# 1e3 trials (largest of 1.6e5 lags), a shared sound at -10 dB reaches hundreds.
MIN_COARSE = 14.0
# Runner-up beyond OWN_ECHO_S relative to the best: repetition (music loops, ticking) reaches 1.
MAX_RUNNER_UP = 0.7
# Half the range of offsets that is shown: lobes of sounds are as narrow as their waves.
NEAR_S = 0.05

# Largest offset of the wide search, and the number of parts of the source whose middles it tries,
# one region each: at an offset of 3/4 of a long sound the first or the last still has its partner.
WIDE_S = 360.0
MAX_WIDE_PARTS = 4
# Regions that are tried until one shows a common sound (a microphone may be silent in the first).
MAX_REGIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CoarseOffset:
    """The offset at which two sounds agree best, and where it was found."""

    at_s: float
    offset_s: float
    figures: dict[str, float]
    agreement: AgreementCurve | None


def search_coarsely(pair: SoundPair) -> CoarseOffset | Refusal:
    """Search all offsets on the loudest quarter minute, then on the next loudest ones.

    Where two offsets fit equally well, the two halves are searched alone: a clock that steps has
    one offset in each, a sound that repeats itself has two in both.
    """
    found = _search_regions(pair)
    if isinstance(found, CoarseOffset) or not found.figures.get("is_ambiguous"):
        return found
    for half in pair.halves():
        again = _search_regions(half)
        if isinstance(again, CoarseOffset):
            return again
    return found


def search_widely(pair: SoundPair) -> tuple[SoundPair, CoarseOffset] | None:
    """Search all offsets at which the sounds overlap, for recordings that start at other times.

    Returns the part that both hold at the offset found, and that offset; None where none stands
    out. In the pair's own range nothing was found.
    """
    wide = pair.widened(WIDE_S)
    if wide is None:
        return None
    span_s = wide.stop_s - wide.start_s
    n_parts = int(np.clip(span_s / (COARSE_BLOCKS * COARSE_BLOCK_S), 1, MAX_WIDE_PARTS))
    edges = np.linspace(wide.start_s, wide.stop_s, n_parts + 1).tolist()
    for start_s, stop_s in pairwise(edges):
        found = _search_regions(wide.part(start_s, stop_s))
        if isinstance(found, CoarseOffset):
            return wide.at_offset(found.offset_s, pair.max_offset_s), found
    return None


def _search_regions(pair: SoundPair) -> CoarseOffset | Refusal:
    block_s = min(COARSE_BLOCK_S, (pair.stop_s - pair.start_s) / 2.0)
    first: Refusal | None = None
    for starts in _loud_starts(pair, block_s):
        found = _search(pair, starts, block_s)
        if isinstance(found, CoarseOffset) or found.figures.get("is_ambiguous"):
            return found
        first = first or found
    return first or Refusal(why="the sounds are silent where they overlap", figures={})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Correlation:
    """Squared correlations at every lag, summed over pieces."""

    rate_hz: float
    n_lags: int
    total: Floats  # in units of each piece's own noise, limited
    likeness: Floats  # as shares of the energy
    is_possible: Bools
    n_used: int

    def agreement(self, offset_s: float) -> AgreementCurve | None:
        """Return the correlation of the whitened sounds near an offset, rms over the pieces."""
        offsets_s = (np.arange(2 * self.n_lags + 1) - self.n_lags) / self.rate_hz
        correlation = np.sqrt(np.clip(self.likeness / self.n_used, 0.0, 1.0))
        return AgreementCurve.around(offsets_s, correlation, offset_s, near_s=NEAR_S)


def _correlated(pair: SoundPair, starts: list[float], block_s: float) -> _Correlation:
    rate = min(COARSE_HZ, pair.a.rate_hz, pair.b.rate_hz)
    ratio_a, ratio_b = ratio_of_rates(pair.a, rate), ratio_of_rates(pair.b, rate)
    n_a = round(block_s * rate)
    n_lags = round(pair.max_offset_s * rate)
    n_b = n_a + 2 * n_lags
    size = next_fast_len(n_a + n_b, real=True)
    total, likeness = np.zeros(2 * n_lags + 1), np.zeros(2 * n_lags + 1)
    possible = np.zeros(2 * n_lags + 1, dtype=bool)
    used = 0
    for start in starts:
        first_a = round(pair.clock_a.sample(start))
        # The target's piece begins max_offset_s before the same time on its own clock.
        at = pair.clock_a.at(first_a) - pair.epochs_s - n_lags / rate
        first_b = round(pair.clock_b.sample(at))
        a = _whitened(cut_piece(pair.a, first_a, n_a, ratio_a), rate)
        b = _whitened(cut_piece(pair.b, first_b, n_b, ratio_b), rate)
        if a is None or b is None:
            continue
        curve = irfft(np.conj(rfft(a, size)) * rfft(b, size), size)[: 2 * n_lags + 1]
        # Lags where the target has no sound are left out; elsewhere each lag has its own noise.
        energy = np.concatenate(([0.0], np.cumsum(b**2)))
        local = (energy[n_a:] - energy[:-n_a])[: 2 * n_lags + 1]
        is_live = local > 0.2 * n_a
        square = np.where(is_live, curve**2 / np.maximum(local, 0.2 * n_a), 0.0)
        noise = float(np.median(square[is_live])) if np.any(is_live) else 0.0
        if noise > 0.0:
            total += np.minimum(square / noise, 400.0)
            # Not capped: a melody's other notes must not look as similar as the same note.
            likeness += square / float(np.sum(a**2))
            possible |= is_live
            used += 1
    return _Correlation(
        rate_hz=rate,
        n_lags=n_lags,
        total=total,
        likeness=likeness,
        is_possible=possible,
        n_used=used,
    )


def _search(pair: SoundPair, starts: list[float], block_s: float) -> CoarseOffset | Refusal:
    found = _correlated(pair, starts, block_s)
    rate, n_lags, possible = found.rate_hz, found.n_lags, found.is_possible
    if not found.n_used:
        return Refusal(why="the sounds are silent where they overlap", figures={})
    # Drift moves the peak between pieces by up to a millisecond: blur, do not split it.
    width = max(3, round(1e-3 * rate))
    smooth = uniform_filter1d(found.total, size=width, mode="constant")
    likeness = uniform_filter1d(found.likeness, size=width, mode="constant")
    middle = float(np.median(smooth[possible]))
    scatter = spread(smooth[possible], middle) + 1e-9
    best = int(np.argmax(likeness))
    height = (float(smooth[best]) - middle) / scatter
    guard = round(OWN_ECHO_S * rate)
    floor = float(np.median(likeness[possible]))
    top = float(likeness[best]) - floor
    likeness[max(0, best - guard) : best + guard + 1] = floor
    runner = (float(np.max(likeness)) - floor) / top if top > 0.0 else 1.0
    offset = (best - n_lags) / rate
    figures = {"coarse_height": height, "runner_up": runner, "coarse_offset_s": offset}
    agreement = found.agreement(offset)
    if height < MIN_COARSE:
        why = (
            f"no common sound within ± {pair.max_offset_s:g} s: the best peak of the correlation "
            f"is {height:.1f} deviations high; at least {MIN_COARSE:g} are needed"
        )
    elif runner > MAX_RUNNER_UP:
        figures["is_ambiguous"] = 1.0
        why = (
            f"ambiguous: a second offset fits {100.0 * runner:.0f} % as well as the best "
            f"({offset:.3f} s); the sound repeats, or a clock steps"
        )
    elif min(best, 2 * n_lags - best) <= 0.002 * rate:
        why = (
            f"the best offset, {offset:.3f} s, is at the edge of the search "
            f"(±{pair.max_offset_s:g} s)"
        )
    else:
        at_s = float(np.mean(starts)) + block_s / 2.0
        return CoarseOffset(at_s=at_s, offset_s=offset, figures=figures, agreement=agreement)
    return Refusal(why=why, figures=figures, agreement=agreement)


def _loud_starts(pair: SoundPair, block_s: float) -> Iterator[list[float]]:
    """Yield the starts of neighbouring pieces of the source, the busiest region first."""
    a = pair.a
    low = max(0, round(pair.clock_a.sample(pair.start_s)))
    high = min(a.samples.size, round(pair.clock_a.sample(pair.stop_s)))
    n = max(1, round(block_s * a.rate_hz))
    n_blocks = max(1, (high - low) // n)

    def starts(picks: Ints) -> list[float]:
        return [float(pair.clock_a.at(low + int(k) * n)) for k in picks]

    if n_blocks <= COARSE_BLOCKS:
        yield starts(np.arange(n_blocks))
        return
    shift = int(np.ceil(pair.max_offset_s / block_s))
    first_b = pair.clock_b.sample(pair.clock_a.at(low) - pair.epochs_s)
    n_b = block_s * pair.b.rate_hz
    # The logarithm keeps one bang from outweighing a minute of talk; both must have sound.
    level = _levels(a.samples, low, n, n_blocks) + maximum_filter1d(
        _levels(pair.b.samples, first_b, n_b, n_blocks), size=2 * shift + 1, mode="nearest"
    )
    score = np.convolve(level, np.ones(COARSE_BLOCKS), mode="valid")
    # Blocks at the ends of the nominal overlap may have no partner: prefer the middle.
    inner = np.arange(score.size)
    edge = np.minimum(inner, score.size - 1 - inner)
    score = np.where(edge < min(shift, (score.size - 1) // 2), -np.inf, score)
    for _ in range(MAX_REGIONS):
        first = int(np.argmax(score))
        if not np.isfinite(score[first]):
            return
        yield starts(first + np.arange(COARSE_BLOCKS))
        score[max(0, first - COARSE_BLOCKS + 1) : first + COARSE_BLOCKS] = -np.inf


def _levels(samples: NDArray[np.float32], first: float, n: float, n_blocks: int) -> Floats:
    """Return the log energy of the differentiated sound in blocks of n samples from `first` on."""
    levels = np.full(n_blocks, np.log(1e-12))
    for k in range(n_blocks):
        x = samples[max(0, round(first + k * n)) : max(0, round(first + (k + 1) * n))]
        if x.size > 1:
            change = np.diff(np.nan_to_num(x, posinf=0.0, neginf=0.0)).astype(np.float64)
            levels[k] = np.log(np.mean(change**2) + 1e-12)
    return levels


def _whitened(x: Floats, rate: float) -> Floats | None:
    """Flatten the spectrum over 50 Hz and limit the amplitude; zeros stay zeros."""
    live = x != 0.0
    if np.count_nonzero(live) < 0.05 * x.size:
        return None
    size = next_fast_len(x.size, real=True)
    spectrum = rfft(x - float(np.mean(x[live])) * live, size)
    width = max(3, round(50.0 * size / rate))
    level = np.sqrt(uniform_filter1d(np.abs(spectrum) ** 2, size=width, mode="nearest"))
    top = float(np.max(level))
    if top <= 0.0:
        return None
    flat = irfft(spectrum / (level + 1e-4 * top), size)[: x.size]
    flat = np.where(live, flat, 0.0)
    scatter = spread(flat[live], 0.0)
    return np.asarray(np.clip(flat / scatter, -3.0, 3.0)) if scatter > 0.0 else None
