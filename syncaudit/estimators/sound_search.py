"""Search all offsets between two microphones for the sound that they share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.ndimage import uniform_filter1d

from syncaudit.dsp.sound import cut_piece
from syncaudit.estimators.sound_pair import Refusal, SoundPair, ratio_of_rates

__all__ = ["CoarseOffset", "search_coarsely"]

# Rate of the coarse search: speech and impacts have their energy below 4 kHz.
COARSE_HZ = 8000.0
COARSE_BLOCK_S = 2.5
COARSE_BLOCKS = 8
# Peaks closer than this to the best one are its own lobes and echoes (17 m of path).
OWN_ECHO_S = 0.05
# Height of the coarse peak over the scatter of the curve: independent noise stays below 9 in
# 1e3 trials (largest of 1.6e5 lags), a shared sound at -10 dB reads hundreds.
MIN_COARSE = 14.0
# Runner-up beyond OWN_ECHO_S against the best: repetition (music loops, ticking) reaches 1.
MAX_RUNNER_UP = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class CoarseOffset:
    """The offset at which two sounds agree best, and where it was found."""

    at_s: float
    offset_s: float
    figures: dict[str, float]


def search_coarsely(pair: SoundPair) -> CoarseOffset | Refusal:
    """Search all offsets on the loudest quarter minute."""
    rate = min(COARSE_HZ, pair.a.rate_hz, pair.b.rate_hz)
    ratio_a, ratio_b = ratio_of_rates(pair.a, rate), ratio_of_rates(pair.b, rate)
    span = pair.stop_s - pair.start_s
    block_s = min(COARSE_BLOCK_S, span / 2.0)
    starts = _loud_starts(pair, block_s)
    n_a = round(block_s * rate)
    n_lags = round(pair.max_offset_s * rate)
    n_b = n_a + 2 * n_lags
    size = next_fast_len(n_a + n_b, real=True)
    total, possible = np.zeros(2 * n_lags + 1), np.zeros(2 * n_lags + 1, dtype=bool)
    used = 0
    for start in starts:
        first_a = round(pair.clock_a.sample(start))
        # The target's piece begins max_offset_s before the same reading of its own clock.
        at = pair.clock_a.at(first_a) - pair.epochs_s - n_lags / rate
        first_b = round(pair.clock_b.sample(at))
        a = _whitened(cut_piece(pair.a, first_a, n_a, ratio_a), rate)
        b = _whitened(cut_piece(pair.b, first_b, n_b, ratio_b), rate)
        if a is None or b is None:
            continue
        curve = irfft(np.conj(rfft(a, size)) * rfft(b, size), size)[: 2 * n_lags + 1]
        # Lags where the target has no sound say nothing; elsewhere each lag has its own noise.
        energy = np.concatenate(([0.0], np.cumsum(b**2)))
        local = (energy[n_a:] - energy[:-n_a])[: 2 * n_lags + 1]
        is_live = local > 0.2 * n_a
        square = np.where(is_live, curve**2 / np.maximum(local, 0.2 * n_a), 0.0)
        noise = float(np.median(square[is_live])) if np.any(is_live) else 0.0
        if noise > 0.0:
            total += np.minimum(square / noise, 400.0)
            possible |= is_live
            used += 1
    if not used:
        return Refusal(why="the sounds are silent where they overlap", figures={})
    # Drift moves the peak between pieces by up to a millisecond: blur, do not split it.
    smooth = uniform_filter1d(total, size=max(3, round(1e-3 * rate)), mode="constant")
    middle = float(np.median(smooth[possible]))
    spread = 1.4826 * float(np.median(np.abs(smooth[possible] - middle))) + 1e-9
    best = int(np.argmax(smooth))
    height = (float(smooth[best]) - middle) / spread
    guard = round(OWN_ECHO_S * rate)
    rest = smooth.copy()
    rest[max(0, best - guard) : best + guard + 1] = middle
    runner = (float(np.max(rest)) - middle) / spread
    figures = {
        "coarse_height": height,
        "runner_up": runner / height if height > 0.0 else 1.0,
    }
    offset = (best - n_lags) / rate
    if height < MIN_COARSE:
        return Refusal(
            why=f"no common sound: the best peak stands {height:.1f} deviations out of the "
            f"correlation, needed are {MIN_COARSE:g}",
            figures=figures,
        )
    if runner > MAX_RUNNER_UP * height:
        return Refusal(
            why=f"ambiguous: a second offset fits {100.0 * runner / height:.0f} % as well as the "
            f"best ({offset:.3f} s); the sound repeats itself, or a clock steps",
            figures=figures,
        )
    if min(best, 2 * n_lags - best) <= 0.002 * rate:
        return Refusal(
            why=f"the best offset, {offset:.3f} s, lies at the edge of the search "
            f"(±{pair.max_offset_s:g} s)",
            figures=figures,
        )
    return CoarseOffset(
        at_s=float(np.mean(starts)) + block_s / 2.0, offset_s=offset, figures=figures
    )


def _loud_starts(pair: SoundPair, block_s: float) -> list[float]:
    """Return the starts of neighbouring pieces of the source around its busiest time."""
    a = pair.a
    low = max(0, round(pair.clock_a.sample(pair.start_s)))
    high = min(a.samples.size, round(pair.clock_a.sample(pair.stop_s)))
    n = max(1, round(block_s * a.rate_hz))
    n_blocks = max(1, (high - low) // n)
    raw = np.nan_to_num(a.samples[low : low + n_blocks * n], posinf=0.0, neginf=0.0)
    change = np.diff(raw, append=raw[-1:])
    used = change[: (change.size // n) * n].reshape(-1, n)
    if used.shape[0] <= COARSE_BLOCKS:
        picks = np.arange(max(1, used.shape[0]))
    else:
        # The logarithm keeps one bang from beating a minute of talk.
        level = np.log(np.mean(used.astype(np.float64) ** 2, axis=1) + 1e-12)
        # Blocks at the ends of the nominal overlap may have no partner: prefer the middle.
        shift = int(np.ceil(pair.max_offset_s / block_s))
        score = np.convolve(level, np.ones(COARSE_BLOCKS), mode="valid")
        inner = np.arange(score.size)
        edge = np.minimum(inner, score.size - 1 - inner)
        score = np.where(edge < min(shift, (score.size - 1) // 2), -np.inf, score)
        picks = int(np.argmax(score)) + np.arange(COARSE_BLOCKS)
    return [float(pair.clock_a.at(low + int(k) * n)) for k in picks]


def _whitened(x: NDArray[np.float64], rate: float) -> NDArray[np.float64] | None:
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
    spread = 1.4826 * float(np.median(np.abs(flat[live])))
    if spread <= 0.0:
        return None
    return np.asarray(np.clip(flat / spread, -3.0, 3.0))
