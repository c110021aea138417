"""Measure the offset of two microphones in disjoint blocks, by the phase of their spectra."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft
from scipy.ndimage import maximum_filter1d

from syncaudit.estimators.sound.search import CoarseOffset
from syncaudit.estimators.sound.spectra import (
    FINE,
    CrossSpectrum,
    Refusal,
    SoundPair,
    agreement,
    band_of,
    cross_spectrum,
    frequencies,
    measured_alone,
    peak_delay,
    phases_of,
    segment_of,
    shared_rate_hz,
    smoothed,
)
from syncaudit.model.arrays import Bools, Floats, Ints

# Blocks may lie on lobes of a room that are this far apart (2 m of path).
LOBES_REACH_S = 0.006
# Reflections that compete with the direct sound lie this close to it (7 m of path).
ECHO_S = 0.02
# Blocks this close to one line lie on the same lobe; no clock drifts more than the slope.
SAME_LOBE_S = 1e-4
MAX_SLOPE = 5e-4
# Smallest coherence of a bin used to compare the two responses.
MIN_COHERENCE = 0.02
BLOCK_S = 1.0
MAX_BLOCKS = 120
MIN_BLOCKS = 3
# The coarse search may have found a reflection this far (7 m of path) from the direct sound.
START_S = 0.02
# Search of one block around the track of its neighbours, and more for every second from them.
TRACK_S = 0.003
TRACK_DRIFT = 2e-4
# If fewer blocks agree, that is chance: pauses are long, but not that long.
MIN_SHARE = 0.1
# Search of a block around the chosen lobe: reflections with at least 9 cm of extra path lie beyond.
LOBE_S = 2.5e-4
# Smallest height of the direct sound's lobe relative to that of a reflection, in the pooled
# correlation: where another lobe reaches half of the best, that was a reflection in 41 of 111
# simulated rooms (microphones that point away among them), elsewhere in none of 62.
MIN_DIRECT = 0.5
# Delay of a Butterworth low-pass of order four at low frequencies, in radians of its corner.
HIDDEN_DELAY = 2.613


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Pool:
    """Aligned blocks together."""

    freq: Floats  # shape (n_bins,)
    spectrum: NDArray[np.complex128]  # shape (n_bins,): sum of the blocks, each on its own scale
    coherence: Floats  # shape (n_bins,): squared coherence, zero where it is due to chance
    level: Floats  # shape (n_bins,): logarithm of the target's amplitude over the source's

    @classmethod
    def of(cls, found: list[CrossSpectrum], freq: Floats) -> _Pool:
        """Sum the blocks."""
        spectrum = np.zeros(freq.size, dtype=np.complex128)
        power_a, power_b = np.full(freq.size, 1e-30), np.full(freq.size, 1e-30)
        for c in found:
            spectrum += c.even()
            power_a += c.power_a / float(np.mean(c.power_a))
            power_b += c.power_b / float(np.mean(c.power_b))
        n_free = sum(c.n_free for c in found)
        raw = np.abs(spectrum) ** 2 / (power_a * power_b)
        coherence = np.clip((raw - 1.0 / n_free) / (1.0 - 1.0 / n_free), 0.0, 0.98)
        coherence = smoothed(coherence, band_of(freq))
        return cls(
            freq=freq,
            spectrum=spectrum,
            coherence=np.where(coherence > 2.0 / n_free, coherence, 0.0),
            level=0.5 * np.log(power_b / power_a),
        )

    @property
    def weight(self) -> Floats:
        """Return the weight by which lobes are compared.

        Low frequencies are the most coherent, but their lobes are wide: reflections that lie close
        together merge there, but not at higher frequencies. Hence the root of the frequency.
        """
        return np.asarray(self.coherence * np.sqrt(self.freq))

    def _known(self) -> Ints:
        """Return the bins at which the two responses can be compared."""
        return np.flatnonzero(smoothed(self.coherence, band_of(self.freq)) > MIN_COHERENCE)

    def level_phases(self) -> NDArray[np.complex128]:
        """Return the phases, less those that the levels of the two responses explain.

        An echo weaker than the direct sound leaves a response of minimum phase, whose phase is the
        Hilbert transform of its log amplitude. The ratio of the two levels is free of the sound
        itself; so its transform removes the echoes of either room from the cross-spectrum, on the
        side where they are. That distinguishes an early echo in the source from a late one in the
        target, which the correlation alone cannot. (Stephenne, Champagne, "A new cepstral
        prefiltering technique for estimating time delay under reverberant conditions", Signal
        Processing 59, 1997, subtract the minimum-phase part of either microphone.) Fails where an
        echo is louder than the direct sound.
        """
        known = self._known()
        if not known.size:
            return phases_of(self.spectrum)
        level = np.interp(np.arange(self.freq.size), known, self.level[known])
        cepstrum = irfft(level)
        # Twice the causal half: the phase of the causal, minimum-phase part.
        n = min(round(ECHO_S * 2.0 * self.freq[-1]), cepstrum.size // 2)
        cepstrum[1:n] *= 2.0
        cepstrum[n:] = 0.0
        turn = np.asarray(rfft(cepstrum)).imag
        return np.asarray(phases_of(self.spectrum) * np.exp(-1j * turn))

    def direct_delay(self) -> float | None:
        """Return the delay of the direct sound's lobe."""
        return peak_delay(self.level_phases(), self.freq, self.weight, ECHO_S)

    def filter_std(self) -> float:
        """Return the error of the delay due to filters that differ between microphones.

        Its parts are the delay of the filter of minimum phase that would explain the levels, and
        that of a low-pass filter of order four (Butterworth) at the end of the band that both
        share, 2.6 / (2 pi f): what filters do beyond it does not show in the levels.
        """
        known = self._known()
        if not known.size:
            return LOBE_S
        shown_s = peak_delay(self.level_phases(), self.freq, self.coherence, LOBE_S)
        hidden_s = HIDDEN_DELAY / (2.0 * np.pi * float(self.freq[known[-1]]))
        return math.hypot(LOBE_S if shown_s is None else shown_s, hidden_s)

    def other_lobes(self) -> tuple[float, float]:
        """Return the height of the next lobe, that of the best being 1, and an error in seconds.

        The error is how far from the best, within `ECHO_S`, the lobes lie that may be the direct
        sound (rms; at zero, the best is one of them).
        """
        if (delay_s := self.direct_delay()) is None:
            return 1.0, ECHO_S
        phases = self.level_phases() * np.exp(2j * np.pi * self.freq * delay_s)
        rate_hz = 2.0 * self.freq[-1] * FINE
        around = agreement(phases, self.weight, round(ECHO_S * rate_hz))
        middle = around.size // 2
        heights = around / float(np.max(around[middle - 2 : middle + 3]))
        is_peak = (heights == maximum_filter1d(heights, size=5)) & (heights > 0.0)
        is_peak[middle - 2 : middle + 3] = False
        rivals = np.flatnonzero(is_peak & (heights > MIN_DIRECT)) - middle
        apart_s = float(np.linalg.norm(rivals)) / rate_hz / math.sqrt(rivals.size + 1)
        return float(np.max(heights[is_peak], initial=0.0)), apart_s


def _on_one_lobe(found: list[CrossSpectrum], freq: Floats) -> list[CrossSpectrum]:
    """Align all blocks to the same lobe.

    A room produces a pattern of lobes, the same in all blocks while nothing moves. Most blocks
    agree on one lobe; the others are aligned with the pattern of these. Then one lobe is chosen for
    all from their sum (pooling: Matassoni, Svaizer, "Efficient time delay estimation based on
    cross-power spectrum phase", EUSIPCO 2006), after removing the echoes that the levels explain.
    """
    is_agreed = _agreed(found)
    kept = [cross for cross, is_in in zip(found, is_agreed, strict=True) if is_in]
    for cross in [c for c, is_in in zip(found, is_agreed, strict=True) if not is_in]:
        pool = _Pool.of(kept, freq)
        turned = phases_of(cross.spectrum * np.conj(pool.spectrum))
        delay_s = peak_delay(turned, freq, pool.coherence, LOBES_REACH_S)
        if delay_s is not None:
            kept.append(cross.moved(freq, delay_s))
    delay_s = _Pool.of(kept, freq).direct_delay()
    return kept if delay_s is None else [cross.moved(freq, delay_s) for cross in kept]


def _agreed(found: list[CrossSpectrum]) -> Bools:
    """Return which blocks lie on the line, through two of them, that fits the most blocks."""
    times = np.array([cross.middle_s for cross in found])
    offsets = np.array([cross.offset_s for cross in found])
    best = np.zeros(times.size, dtype=np.bool_)
    for k in range(times.size):
        apart = times - times[k]
        slopes = (offsets - offsets[k]) / np.where(apart == 0.0, np.inf, apart)
        slopes = slopes[np.abs(slopes) <= MAX_SLOPE]
        near = np.abs(offsets - offsets[k] - slopes[:, None] * apart) < SAME_LOBE_S
        most = near[int(np.argmax(np.count_nonzero(near, axis=1)))]
        if np.count_nonzero(most) > np.count_nonzero(best):
            best = most
    return best


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blocks:
    """Measured blocks."""

    # shape (n,): middles on the pair's axis, offsets and their error bounds, in order of time
    times_s: Floats
    offsets_s: Floats
    bound_s: Floats
    # Of all blocks together.
    coherence: float
    filter_std_s: float  # error due to filters that differ between the microphones
    side_lobe: float  # height of the next lobe relative to the chosen one
    lobes_std_s: float  # error due to other lobes that may be the direct sound
    tried_s: Floats  # shape (m,): middles of the blocks with sound in both, in order

    def joined(self, other: Blocks) -> Blocks:
        """Return these blocks and others, in order of time."""
        times = np.concatenate((self.times_s, other.times_s))
        order = np.argsort(times, kind="stable")
        return replace(
            self,
            times_s=times[order],
            offsets_s=np.concatenate((self.offsets_s, other.offsets_s))[order],
            bound_s=np.concatenate((self.bound_s, other.bound_s))[order],
            filter_std_s=max(self.filter_std_s, other.filter_std_s),
            side_lobe=max(self.side_lobe, other.side_lobe),
            lobes_std_s=max(self.lobes_std_s, other.lobes_std_s),
            tried_s=np.union1d(self.tried_s, other.tried_s),
        )


def measure_blocks(pair: SoundPair, coarse: CoarseOffset) -> Blocks | Refusal:
    """Measure disjoint blocks around the coarse offset, the nearest to it first."""
    rate = shared_rate_hz(pair)
    both = pair.at_offset(coarse.offset_s, 0.0)
    start_s, stop_s = max(pair.start_s, both.start_s), min(pair.stop_s, both.stop_s)
    span = stop_s - start_s
    block_s = min(BLOCK_S, span / 4.0)
    freq = frequencies(rate)
    n = max(2 * segment_of(freq), int(block_s * rate))
    block_s = n / rate
    n_blocks = int(min(MAX_BLOCKS, span / block_s + 1e-6))
    if n_blocks < MIN_BLOCKS:
        return Refusal(why=f"{span:.2f} s of common audio is too short", figures={})
    starts = start_s + (span - block_s) * np.arange(n_blocks) / (n_blocks - 1)
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
    return _weighted(_on_one_lobe(found, freq), freq, np.sort(np.array(tried)), figures)


def fitting_offset(
    pair: SoundPair, at_s: float, offsets_s: tuple[float, ...], length_s: float
) -> int | None:
    """Return the offset, of several, with which a short piece around `at_s` agrees, or None."""
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
    found: list[CrossSpectrum], freq: Floats, tried_s: Floats, figures: dict[str, float]
) -> Blocks | Refusal:
    """Measure the blocks again with the weights that follow from their pooled coherence."""
    pool = _Pool.of(found, freq)
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
    side_lobe, lobes_std_s = pool.other_lobes()
    return Blocks(
        times_s=np.array([c.middle_s for c in kept]),
        offsets_s=np.array([c.offset_s for c in kept]),
        bound_s=np.array(bounds),
        coherence=float(np.mean(pool.coherence[band_of(freq) > 0.0])),
        filter_std_s=_Pool.of(kept, freq).filter_std(),
        side_lobe=side_lobe,
        lobes_std_s=lobes_std_s,
        tried_s=tried_s,
    )
