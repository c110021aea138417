"""Put two sounds on one time axis, and find the delay of short blocks where phases agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft
from scipy.ndimage import uniform_filter1d

from syncaudit.dsp.sound import SampleClock, cut_piece, sample_clock
from syncaudit.model import AgreementCurve, AudioStream
from syncaudit.model.arrays import Floats

# Segments contain the early reflections of a room; their length is a power of two near this.
SEGMENT_S = 0.1
# Samples of a correlation curve per sample of sound.
FINE = 4
# Power this much below the mean of all frequencies (60 dB) is not airborne sound: converters and
# codecs leave images and rounding errors there that are coherent between microphones at zero delay.
HUSH = 1e-6
# Phases must add up to this many standard deviations of random phases.
MIN_PEAK = 5.0

Spectrum = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Reason why two sounds cannot be measured, and the figures behind it."""

    why: str
    figures: dict[str, float]
    agreement: AgreementCurve | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SoundPair:
    """Two sounds on one time axis: seconds after the source's epoch, the target's shifted."""

    a: AudioStream
    b: AudioStream
    clock_a: SampleClock
    clock_b: SampleClock
    epochs_s: float  # target's epoch minus source's
    start_s: float
    stop_s: float
    max_offset_s: float

    @property
    def middle_s(self) -> float:
        """Return the middle of the span that both can hold."""
        return 0.5 * (self.start_s + self.stop_s)

    @property
    def at_ns(self) -> int:
        """Return the source's timestamp of that middle."""
        return self.clock_a.epoch_ns + round(self.middle_s * 1e9)

    def part(self, start_s: float, stop_s: float) -> SoundPair:
        """Return the pair with a piece of the source's sound alone."""
        return replace(self, start_s=start_s, stop_s=stop_s)

    def halves(self) -> tuple[SoundPair, SoundPair]:
        """Return the two halves of the source's sound."""
        return self.part(self.start_s, self.middle_s), self.part(self.middle_s, self.stop_s)

    def widened(self, limit_s: float) -> SoundPair | None:
        """Return the pair with all offsets, up to a limit, at which a second overlaps.

        None if it has them.
        """
        lengths = (s.samples.size / s.rate_hz for s in (self.a, self.b))
        reach_s = min(limit_s, max(lengths) + abs(self.epochs_s) - 1.0)
        if reach_s <= self.max_offset_s:
            return None
        wide = SoundPair.of(self.a, self.b, reach_s)
        return None if isinstance(wide, str) else wide

    def at_offset(self, offset_s: float, more_s: float) -> SoundPair:
        """Return the part that both hold at an offset, and offsets up to `more_s` beyond it."""
        late_s = self.epochs_s - offset_s
        ends = (
            min(
                self.clock_a.at(self.a.samples.size), self.clock_b.at(self.b.samples.size) + late_s
            ),
            max(self.clock_a.at(0), self.clock_b.at(0) + late_s),
        )
        return replace(self, start_s=ends[1], stop_s=ends[0], max_offset_s=abs(offset_s) + more_s)

    @classmethod
    def of(cls, a: AudioStream, b: AudioStream, max_offset_s: float) -> SoundPair | str:
        """Put two sounds on one axis, or return why that is impossible."""
        for stream in (a, b):
            if stream.rate_hz <= 0.0 or stream.samples.size == 0:
                return f"{stream.name} holds no audio"
            x = stream.samples[:: max(1, stream.samples.size // 1_000_000)]
            if not np.any(np.isfinite(x) & (x != x[0])):
                return f"{stream.name} is silent"
        clock_a, clock_b = sample_clock(a), sample_clock(b)
        epochs_s = (clock_b.epoch_ns - clock_a.epoch_ns) * 1e-9
        # Samples of the source that the target can hold at some allowed offset.
        start = max(clock_a.at(0), clock_b.at(0) + epochs_s - max_offset_s)
        stop = min(clock_a.at(a.samples.size), clock_b.at(b.samples.size) + epochs_s + max_offset_s)
        overlap = min(clock_a.at(a.samples.size), clock_b.at(b.samples.size) + epochs_s) - max(
            clock_a.at(0), clock_b.at(0) + epochs_s
        )
        if stop - start < 1.0 or overlap < -max_offset_s:
            return (
                f"the timestamps of {a.name} and {b.name} do not overlap within {max_offset_s:g} "
                f"s ({overlap:.3g} s in common)"
            )
        return cls(
            a=a,
            b=b,
            clock_a=clock_a,
            clock_b=clock_b,
            epochs_s=epochs_s,
            start_s=max(clock_a.at(0), min(start, stop)),
            stop_s=stop,
            max_offset_s=max_offset_s,
        )


def ratio_of_rates(stream: AudioStream, rate_hz: float) -> Fraction:
    """Return the ratio by which to resample a sound to `rate_hz`."""
    return Fraction(rate_hz / stream.rate_hz).limit_denominator(1000)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrossSpectrum:
    """Averaged spectra of one block, aligned to `offset_s`."""

    # Centre of the block's energy on the pair's axis, and the offset to which it is aligned.
    middle_s: float
    offset_s: float
    spectrum: Spectrum  # shape (n_bins,): sum of ``conj(A) * B`` over the segments
    # shape (n_bins,): sums of the squares, plus a floor below which no microphone picks up sound
    # (`HUSH`)
    power_a: Floats
    power_b: Floats
    n_segments: int
    duration_s: float

    @property
    def n_free(self) -> float:
        """Return the number of independent averages: 0.53 per Hann window with half overlap."""
        return max(2.0, 0.53 * self.n_segments)

    def even(self) -> Spectrum:
        """Return the spectrum on its own scale, so that a bang does not mask the rest."""
        scale = float(np.mean(self.power_a)) * float(np.mean(self.power_b))
        return np.asarray(self.spectrum / np.sqrt(scale))

    def coherence(self) -> Floats:
        """Return the unbiased squared coherence of this block alone; noise around zero stays."""
        raw = np.abs(self.spectrum) ** 2 / np.maximum(self.power_a * self.power_b, 1e-300)
        return np.asarray((raw - 1.0 / self.n_free) / (1.0 - 1.0 / self.n_free))

    def moved(self, freq: Floats, delay_s: float) -> CrossSpectrum:
        """Return the block aligned to an offset that is `delay_s` greater."""
        return replace(
            self,
            offset_s=self.offset_s + delay_s,
            spectrum=self.spectrum * np.exp(2j * np.pi * freq * delay_s),
        )


def shared_rate_hz(pair: SoundPair) -> float:
    """Return the sampling rate at which two sounds are compared."""
    return min(pair.a.rate_hz, pair.b.rate_hz, 48_000.0)


def frequencies(rate_hz: float) -> Floats:
    """Return the frequencies of the bins, for segments of a power of two samples."""
    n = 2 ** round(np.log2(SEGMENT_S * rate_hz))
    return np.asarray(np.arange(n // 2 + 1, dtype=np.float64) * (rate_hz / n))


def segment_of(freq: Floats) -> int:
    """Return the number of samples in a segment."""
    return 2 * (freq.size - 1)


def band_of(freq: Floats) -> Floats:
    """Return initial weights, which exclude hum, wind and the filter's edge."""
    return np.where((freq > 150.0) & (freq < 0.45 * 2.0 * freq[-1]), 1.0, 0.0)


def smoothed(coherence: Floats, band: Floats) -> Floats:
    """Return a coherence averaged over nine bins, zero outside the band."""
    return np.asarray(uniform_filter1d(coherence, size=9, mode="nearest") * band)


def phases_of(spectrum: Spectrum) -> Spectrum:
    """Return a spectrum without its magnitude."""
    size = np.abs(spectrum)
    return np.asarray(spectrum / np.where(size > 0.0, size, 1.0))


def cross_spectrum(
    pair: SoundPair, start_s: float, n: int, offset_s: float
) -> CrossSpectrum | None:
    """Average the cross-spectrum of `n` samples from `start_s` on; None where one is silent."""
    rate = shared_rate_hz(pair)
    size = segment_of(frequencies(rate))
    ratios = ratio_of_rates(pair.a, rate), ratio_of_rates(pair.b, rate)
    first_a = round(pair.clock_a.sample(start_s))
    time_a = pair.clock_a.at(first_a)
    first_b = round(pair.clock_b.sample(time_a + offset_s - pair.epochs_s))
    if first_b < 0 or first_b + n / float(ratios[1]) > pair.b.samples.size:
        return None
    a = cut_piece(pair.a, first_a, n, ratios[0])
    b = cut_piece(pair.b, first_b, n, ratios[1])
    window = np.hanning(size + 2)[1:-1]
    segments = range(0, n - size + 1, size // 2)
    fa = np.array([rfft((a[s : s + size] - a[s : s + size].mean()) * window) for s in segments])
    fb = np.array([rfft((b[s : s + size] - b[s : s + size].mean()) * window) for s in segments])
    power_a, power_b = np.sum(np.abs(fa) ** 2, axis=0), np.sum(np.abs(fb) ** 2, axis=0)
    if float(np.max(power_a)) <= 0.0 or float(np.max(power_b)) <= 0.0:
        return None
    # Speech may lie anywhere in its second: under drift the offset refers to the energy's centre.
    share = np.sum(np.abs(fa) * np.abs(fb), axis=1)
    middles = np.array(segments) + 0.5 * (size - 1)
    centre = float(np.dot(share, middles) / np.sum(share))
    # There the two sample clocks are compared; their rates may differ within the block.
    time_a = pair.clock_a.at(first_a + centre / float(ratios[0]))
    time_b = pair.clock_b.at(first_b + centre / float(ratios[1])) + pair.epochs_s
    return CrossSpectrum(
        middle_s=time_a,
        offset_s=time_b - time_a,
        spectrum=np.sum(np.conj(fa) * fb, axis=0),
        power_a=power_a + HUSH * float(np.mean(power_a)),
        power_b=power_b + HUSH * float(np.mean(power_b)),
        n_segments=len(segments),
        duration_s=n / rate,
    )


def agreement(phases: Spectrum, weight: Floats, n_reach: int) -> Floats:
    """Return the correlation at ``2 * n_reach + 1`` lags, `FINE` per sample; 1 is perfect."""
    size = FINE * 2 * (phases.size - 1)
    n_reach = min(n_reach, size // 4)
    curve = irfft(weight * phases, size) * size / 2.0 / float(np.sum(weight))
    return np.concatenate((curve[-n_reach:], curve[: n_reach + 1]))


def peak_delay(phases: Spectrum, freq: Floats, weight: Floats, reach_s: float) -> float | None:
    """Return the delay within `reach_s` at which phases agree best, None where it may be chance."""
    total = float(np.sum(weight))
    if total <= 0.0:
        return None
    step = 1.0 / (2.0 * freq[-1] * FINE)
    around = agreement(phases, weight, int(reach_s / step))
    best = int(np.argmax(around))
    # Hann windows with half overlap make neighbouring bins dependent: 1.5 bins each.
    noise = float(np.sqrt(1.5 * np.sum(weight**2) / 2.0)) / total
    if float(around[best]) < MIN_PEAK * noise or best in (0, around.size - 1):
        return None
    return _refine(phases, freq, weight, (best - around.size // 2) * step)


def measured_alone(cross: CrossSpectrum, freq: Floats, reach_s: float) -> CrossSpectrum | None:
    """Align one block to the peak of its phases, weighted by its own coherence."""
    weight = np.maximum(smoothed(cross.coherence(), band_of(freq)), 0.0)
    delay_s = peak_delay(phases_of(cross.spectrum), freq, weight, reach_s)
    return None if delay_s is None else cross.moved(freq, delay_s)


def _refine(phases: Spectrum, freq: Floats, weight: Floats, delay: float) -> float:
    """Find the maximum of ``sum w cos(2 pi f d + phase)`` by Newton steps."""
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
