"""Choose one lobe of the correlation for all blocks of two sounds: the direct way of the sound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft
from scipy.ndimage import maximum_filter1d

from syncaudit.estimators.sound.spectra import (
    FINE,
    CrossSpectrum,
    agreement,
    band_of,
    peak_delay,
    phases_of,
    smoothed,
)
from syncaudit.model.arrays import Bools, Floats

__all__ = ["Pool", "on_one_lobe"]

# Blocks may have taken lobes of a room that lie this far apart (2 m of way).
LOBES_REACH_S = 0.006
# Reflections that compete with the direct sound lie this close to it (7 m of way).
ECHO_S = 0.02
# Blocks this close to one line have taken the same lobe; no clock drifts more than the slope.
SAME_LOBE_S = 1e-4
MAX_SLOPE = 5e-4
# Coherence from which on a bin tells how the two responses compare.
MIN_COHERENCE = 0.02


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pool:
    """Aligned blocks together.

    Parameters
    ----------
    freq : ndarray, shape (n_bins,)
    spectrum : ndarray of complex, shape (n_bins,)
        Sum of the blocks, each on its own scale.
    coherence : ndarray, shape (n_bins,)
        Squared coherence, zero where it is chance.
    level : ndarray, shape (n_bins,)
        Logarithm of the target's amplitude over the source's.
    """

    freq: Floats
    spectrum: NDArray[np.complex128]
    coherence: Floats
    level: Floats

    @classmethod
    def of(cls, found: list[CrossSpectrum], freq: Floats) -> Pool:
        """Add up blocks."""
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

        Low frequencies cohere best, but their lobes are wide: reflections that lie close together
        add up there and not above. Hence the root of the frequency.
        """
        return np.asarray(self.coherence * np.sqrt(self.freq))

    def level_phases(self) -> NDArray[np.complex128]:
        """Return the phases without those that the levels of the two responses explain.

        An echo weaker than the direct sound leaves a response of minimum phase, whose phase is the
        Hilbert transform of its log amplitude. The ratio of the two levels is free of the sound
        itself; so its transform takes the echoes of either room out of the cross-spectrum, on the
        side where they are. That tells an early echo in the source from a late one in the target,
        which the correlation alone cannot. (Stephenne, Champagne, "A new cepstral prefiltering
        technique for estimating time delay under reverberant conditions", Signal Processing 59,
        1997, subtract the minimum-phase part of either microphone.) Fails where an echo is louder
        than the direct sound.
        """
        is_known = smoothed(self.coherence, band_of(self.freq)) > MIN_COHERENCE
        if not np.any(is_known):
            return phases_of(self.spectrum)
        level = np.where(is_known, self.level - float(np.mean(self.level[is_known])), 0.0)
        cepstrum = irfft(level)
        # Twice the causal half; the phase of what is causal and of minimum phase.
        n = min(round(ECHO_S * 2.0 * self.freq[-1]), cepstrum.size // 2)
        cepstrum[1:n] *= 2.0
        cepstrum[n:] = 0.0
        turn = np.asarray(rfft(cepstrum)).imag
        return np.asarray(phases_of(self.spectrum) * np.exp(-1j * turn))

    def direct_delay(self) -> float | None:
        """Return where the lobe of the direct sound lies."""
        return peak_delay(self.level_phases(), self.freq, self.weight, ECHO_S)

    def side_lobe(self) -> float:
        """Return the highest other lobe within `ECHO_S` of the best, which is 1."""
        if (delay_s := self.direct_delay()) is None:
            return 1.0
        phases = self.level_phases() * np.exp(2j * np.pi * self.freq * delay_s)
        around = agreement(phases, self.weight, round(ECHO_S * 2.0 * self.freq[-1] * FINE))
        middle = around.size // 2
        top = float(np.max(around[middle - 2 : middle + 3]))
        is_peak = (around == maximum_filter1d(around, size=5)) & (around > 0.0)
        is_peak[middle - 2 : middle + 3] = False
        return float(np.max(around[is_peak], initial=0.0)) / top


def on_one_lobe(found: list[CrossSpectrum], freq: Floats) -> list[CrossSpectrum]:
    """Align all blocks to the same lobe.

    A room makes a pattern of lobes, the same in all blocks while nothing moves. Most blocks agree
    on one lobe; the others are laid on the pattern of these. Then one lobe is chosen for all from
    their sum (pooling: Matassoni, Svaizer, "Efficient time delay estimation based on cross-power
    spectrum phase", EUSIPCO 2006), with the echoes taken out that the levels explain.

    Parameters
    ----------
    found : list of CrossSpectrum
        Measured one by one.
    freq : ndarray, shape (n_bins,)
    """
    is_agreed = _agreed(found)
    kept = [cross for cross, is_in in zip(found, is_agreed, strict=True) if is_in]
    for cross in [c for c, is_in in zip(found, is_agreed, strict=True) if not is_in]:
        pool = Pool.of(kept, freq)
        turned = phases_of(cross.spectrum * np.conj(pool.spectrum))
        delay_s = peak_delay(turned, freq, pool.coherence, LOBES_REACH_S)
        if delay_s is not None:
            kept.append(cross.moved(freq, delay_s))
    delay_s = Pool.of(kept, freq).direct_delay()
    return kept if delay_s is None else [cross.moved(freq, delay_s) for cross in kept]


def _agreed(found: list[CrossSpectrum]) -> Bools:
    """Tell which blocks lie on the line, through two of them, that most lie on."""
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
