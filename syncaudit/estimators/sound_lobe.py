"""Choose one lobe of the correlation for all blocks of two sounds: the direct way of the sound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.estimators.sound_spectra import (
    CrossSpectrum,
    band_of,
    peak_delay,
    phases_of,
    smoothed,
)

__all__ = ["lobe_weight", "on_one_lobe", "pooled_coherence"]

Floats = NDArray[np.float64]

# Blocks may have taken lobes of a room that lie this far apart (2 m of way).
LOBES_REACH_S = 0.006
# Blocks this close to one line have taken the same lobe; no clock drifts more than the slope.
SAME_LOBE_S = 1e-4
MAX_SLOPE = 5e-4


def on_one_lobe(found: list[CrossSpectrum], freq: Floats) -> list[CrossSpectrum]:
    """Align all blocks to the same lobe.

    A room makes a pattern of lobes, the same in all blocks while nothing moves. Blocks are laid
    on the growing sum of the others (the pattern is matched, no lobe is chosen), the most coherent
    first. The greatest lobe of the sum is that of the direct sound in both: the sum over many
    blocks accumulates its correlation at all frequencies that cohere, which a block of few sounds
    lacks (Matassoni, Svaizer, "Efficient time delay estimation based on cross-power spectrum
    phase", EUSIPCO 2006).

    Parameters
    ----------
    found : list of CrossSpectrum
        Measured one by one.
    freq : ndarray, shape (n_bins,)
    """
    is_agreed = _agreed(found)
    kept = [cross for cross, is_in in zip(found, is_agreed, strict=True) if is_in]
    for cross in [c for c, is_in in zip(found, is_agreed, strict=True) if not is_in]:
        coherence, pattern = pooled_coherence(kept, freq)
        turned = phases_of(cross.spectrum * np.conj(pattern))
        delay_s = peak_delay(turned, freq, coherence, LOBES_REACH_S)
        if delay_s is not None:
            kept.append(cross.moved(freq, delay_s))
    coherence, pattern = pooled_coherence(kept, freq)
    weight = lobe_weight(coherence, freq)
    delay_s = peak_delay(phases_of(pattern), freq, weight, 3.0 * LOBES_REACH_S)
    return kept if delay_s is None else [cross.moved(freq, delay_s) for cross in kept]


def lobe_weight(coherence: Floats, freq: Floats) -> Floats:
    """Return the weight by which lobes are compared.

    Low frequencies cohere best, but their lobes are wide: reflections that lie close together add
    up there and not above. Hence the root of the frequency.
    """
    return np.asarray(coherence * np.sqrt(freq))


def pooled_coherence(
    found: list[CrossSpectrum], freq: Floats
) -> tuple[Floats, NDArray[np.complex128]]:
    """Return the coherence of aligned blocks together (zero where it is chance), and their sum."""
    pooled = np.zeros(freq.size, dtype=np.complex128)
    power_a, power_b = np.zeros(freq.size), np.zeros(freq.size)
    for c in found:
        pooled += c.even()
        power_a += c.power_a / float(np.mean(c.power_a))
        power_b += c.power_b / float(np.mean(c.power_b))
    raw = np.abs(pooled) ** 2 / np.maximum(power_a * power_b, 1e-30)
    n_free = sum(c.n_free for c in found)
    coherence = np.clip((raw - 1.0 / n_free) / (1.0 - 1.0 / n_free), 0.0, 0.98)
    coherence = smoothed(coherence, band_of(freq))
    return np.where(coherence > 2.0 / n_free, coherence, 0.0), pooled


def _agreed(found: list[CrossSpectrum]) -> NDArray[np.bool_]:
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
