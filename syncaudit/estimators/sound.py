"""Measure two microphones against each other by generalised cross-correlation (PHAT)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.ndimage import maximum_filter1d, uniform_filter1d
from scipy.stats import t as student

from syncaudit.dsp.sound import SampleClock, cut_piece, sample_clock
from syncaudit.model import AudioStream, PairMeasurement

__all__ = ["METHOD", "estimate_microphones"]

METHOD = "gcc_phat"

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
BLOCK_S = 1.0
MAX_BLOCKS = 120
MIN_BLOCKS = 3
SEGMENT = 4096
# Search of one block around the track of its neighbours: 100 ppm over 30 s of silence.
TRACK_S = 0.003
# A block's phase must add up to this many standard deviations of random phases.
MIN_PEAK = 5.0
# Runner-up lobe of the pooled correlation within 20 ms: a pure tone reaches 1.
MAX_SIDE_LOBE = 0.85
MIN_DRIFT_SPAN_S = 25.0
# Half a sample at 48 kHz: clock of the codec, filters that differ between microphones.
SYSTEMATIC_S = 1e-5
# Offsets of blocks that scatter more than this are not one offset and one drift.
MAX_SCATTER_S = 2e-3


def estimate_microphones(
    source: AudioStream, target: AudioStream, *, max_offset_s: float = 5.0
) -> PairMeasurement:
    """Measure offset and drift between two microphones that hear the same sounds.

    A coarse search correlates whitened, amplitude-limited pieces of 2.5 s over all offsets and
    adds up the squares (so that drift between pieces does no harm). Then up to 120 disjoint
    blocks of 1 s are aligned and each is measured by the cross-spectrum, whitened to its phase
    (PHAT) and weighted by the coherence ``C / (1 - C)`` pooled over all blocks, the maximum
    likelihood weighting (Knapp, Carter, "The generalized correlation method for estimation of
    time delay", IEEE Trans. ASSP 24, 1976, doi:10.1109/TASSP.1976.1162830). The peak is refined
    on the continuous sum of cosines, which is exact band-limited interpolation. A robust line
    through the blocks gives offset and drift.

    The error is the greater of the scatter of the disjoint blocks (with Student's t) and the
    bound of Knapp and Carter, ``1 / (2 T integral (2 pi f)^2 C / (1 - C) df)``, plus a systematic
    10 us. The offset contains the way of the sound: 2.9 ms for every metre that the target is
    farther from the source of the sound than the source microphone is. Encoder delay of lossy
    files is part of the file and so of the offset.

    Parameters
    ----------
    source, target : AudioStream
        Sounds at any sampling rates, with any epochs.
    max_offset_s : float
        Largest offset searched for, either sign.

    Returns
    -------
    PairMeasurement
        Method ``gcc_phat``; refused, with a reason, without enough overlap, coherence or
        uniqueness.
    """
    at_ns = int(source.time_ns[0]) if source.time_ns.size else 0
    pair = _Pair.of(source, target, max_offset_s)
    if isinstance(pair, str):
        return _refused(source, target, at_ns, pair)
    at_ns = pair.at_ns
    coarse = _coarse(pair)
    if isinstance(coarse, _Refusal):
        return _refused(source, target, at_ns, coarse.why, coarse.figures)
    blocks = _blocks(pair, coarse)
    if isinstance(blocks, _Refusal):
        return _refused(source, target, at_ns, blocks.why, coarse.figures | blocks.figures)
    return _answer(pair, coarse, blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refusal:
    why: str
    figures: dict[str, float]


def _refused(
    source: AudioStream,
    target: AudioStream,
    at_ns: int,
    why: str,
    figures: dict[str, float] | None = None,
) -> PairMeasurement:
    return PairMeasurement(
        source=source.name,
        target=target.name,
        method=METHOD,
        at_ns=at_ns,
        accepted=False,
        why=why,
        diagnostics=figures or {},
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Pair:
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
        return 0.5 * (self.start_s + self.stop_s)

    @property
    def at_ns(self) -> int:
        return self.clock_a.epoch_ns + round(self.middle_s * 1e9)

    @classmethod
    def of(cls, a: AudioStream, b: AudioStream, max_offset_s: float) -> _Pair | str:
        for stream in (a, b):
            if stream.rate_hz <= 0.0 or stream.samples.size == 0:
                return f"{stream.name} holds no sound"
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
                f"the stamps of {a.name} and {b.name} do not overlap within "
                f"{max_offset_s:g} s ({overlap:.3g} s in common)"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Coarse:
    at_s: float
    offset_s: float
    figures: dict[str, float]


def _ratio(stream: AudioStream, rate_hz: float) -> Fraction:
    return Fraction(rate_hz / stream.rate_hz).limit_denominator(1000)


def _coarse(pair: _Pair) -> _Coarse | _Refusal:
    """Search all offsets on the loudest quarter minute."""
    rate = min(COARSE_HZ, pair.a.rate_hz, pair.b.rate_hz)
    ratio_a, ratio_b = _ratio(pair.a, rate), _ratio(pair.b, rate)
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
        return _Refusal(why="the sounds are silent where they overlap", figures={})
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
        return _Refusal(
            why=f"no common sound: the best peak stands {height:.1f} deviations out of the "
            f"correlation, needed are {MIN_COARSE:g}",
            figures=figures,
        )
    if runner > MAX_RUNNER_UP * height:
        return _Refusal(
            why=f"ambiguous: a second offset fits {100.0 * runner / height:.0f} % as well as the "
            f"best ({offset:.3f} s); the sound repeats itself, or a clock steps",
            figures=figures,
        )
    if min(best, 2 * n_lags - best) <= 0.002 * rate:
        return _Refusal(
            why=f"the best offset, {offset:.3f} s, lies at the edge of the search "
            f"(±{pair.max_offset_s:g} s)",
            figures=figures,
        )
    return _Coarse(at_s=float(np.mean(starts)) + block_s / 2.0, offset_s=offset, figures=figures)


def _loud_starts(pair: _Pair, block_s: float) -> list[float]:
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Blocks:
    """Measured blocks: middle times, offsets, their bounds."""

    times_s: NDArray[np.float64]
    offsets_s: NDArray[np.float64]
    bound_s: NDArray[np.float64]
    coherence: float
    side_lobe: float
    n_tried: int


def _blocks(pair: _Pair, coarse: _Coarse) -> _Blocks | _Refusal:
    rate = min(pair.a.rate_hz, pair.b.rate_hz, 48_000.0)
    ratio_a, ratio_b = _ratio(pair.a, rate), _ratio(pair.b, rate)
    span = pair.stop_s - pair.start_s
    block_s = min(BLOCK_S, span / 4.0)
    n = max(2 * SEGMENT, round(block_s * rate))
    block_s = n / rate
    n_blocks = int(min(MAX_BLOCKS, span // block_s))
    if n_blocks < MIN_BLOCKS:
        return _Refusal(why=f"{span:.2f} s of common sound are too few", figures={})
    starts = pair.start_s + (span - block_s) * np.arange(n_blocks) / (n_blocks - 1)
    order = np.argsort(np.abs(starts + block_s / 2.0 - coarse.at_s), kind="stable")
    freq = np.arange(SEGMENT // 2 + 1, dtype=np.float64) * (rate / SEGMENT)
    plain = _band(freq)
    found: list[_Cross] = []
    for k in order.tolist():
        middle = float(starts[k]) + block_s / 2.0
        guess = _predict(found, coarse, middle)
        near = [abs(c.middle_s - middle) for c in found]
        reach = 0.006 if len(near) < 3 else TRACK_S
        cross = _cross(pair, float(starts[k]), n, guess, (ratio_a, ratio_b), rate)
        if cross is None:
            continue
        measured = _measure(cross, freq, plain, reach)
        if measured is not None:
            found.append(measured)
    figures = {"blocks": float(len(found)), "blocks_tried": float(n_blocks)}
    if len(found) < MIN_BLOCKS:
        return _Refusal(
            why=f"no coherence: {len(found)} of {n_blocks} blocks agree with the coarse offset "
            f"{coarse.offset_s:.3f} s",
            figures=figures,
        )
    return _weighted(found, freq, rate, n_blocks, figures)


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


def _predict(found: list[_Cross], coarse: _Coarse, middle: float) -> float:
    """Return the offset expected at a time from the nearest blocks."""
    if not found:
        return coarse.offset_s
    close = sorted(found, key=lambda c: abs(c.middle_s - middle))
    if len(close) >= 8:
        part = close[:30]
        times = np.array([c.middle_s for c in part])
        offsets = np.array([c.offset_s for c in part])
        if float(np.ptp(times)) > 4.0:
            slope = float(np.polyfit(times, offsets, 1)[0])
            slope = float(np.clip(slope, -1e-3, 1e-3))
            return float(np.median(offsets - slope * (times - middle)))
    return float(np.median([c.offset_s for c in close[:5]]))


def _cross(
    pair: _Pair,
    start: float,
    n: int,
    guess: float,
    ratios: tuple[Fraction, Fraction],
    rate: float,
) -> _Cross | None:
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
    n_tried: int,
    figures: dict[str, float],
) -> _Blocks | _Refusal:
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
        return _Refusal(why="no coherence in any band", figures=figures)
    ratio = coherence / (1.0 - coherence)
    # PHAT keeps only the phase: its variance at one bin goes as (1 - C) / C.
    weight = ratio
    kept: list[_Cross] = []
    bounds: list[float] = []
    density = float(np.sum((2.0 * np.pi * freq) ** 2 * ratio)) * (rate / SEGMENT)
    for c in found:
        measured = _measure(c, freq, weight, 0.001)
        if measured is None:
            continue
        kept.append(measured)
        bounds.append((2.0 * c.duration_s * density) ** -0.5)
    if len(kept) < MIN_BLOCKS:
        return _Refusal(
            why=f"no coherence: {len(kept)} of {n_tried} blocks hold up", figures=figures
        )
    side = _side_lobe(kept, freq, weight)
    return _Blocks(
        times_s=np.array([c.middle_s for c in kept]),
        offsets_s=np.array([c.offset_s for c in kept]),
        bound_s=np.array(bounds),
        coherence=float(np.average(coherence, weights=band)),
        side_lobe=side,
        n_tried=n_tried,
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


def _answer(pair: _Pair, coarse: _Coarse, blocks: _Blocks) -> PairMeasurement:
    x = blocks.times_s - pair.middle_s
    keep = np.ones(x.size, dtype=bool)
    with_drift = float(np.ptp(x)) >= MIN_DRIFT_SPAN_S and x.size >= 6
    # Over shorter spans a slope is fitted all the same where blocks abound: drift is real there
    # too, and the offset holds in the middle.
    slope, level, cov = 0.0, 0.0, np.zeros((2, 2))
    for _ in range(6):
        fit_slope = bool(with_drift or np.count_nonzero(keep) >= 8)
        slope, level, cov, scatter = _line(x[keep], blocks.offsets_s[keep], fit_slope)
        residual = blocks.offsets_s - level - slope * x
        robust = 1.4826 * float(np.median(np.abs(residual[keep])))
        new = np.abs(residual) <= max(4.5 * robust, 2e-6)
        if np.count_nonzero(new) < MIN_BLOCKS or np.array_equal(new, keep):
            break
        keep = new
    n = int(np.count_nonzero(keep))
    freedom = max(1, n - (2 if fit_slope else 1))
    wide = float(student.ppf(0.975, freedom)) / 1.96
    bound = float(np.median(blocks.bound_s))
    # The bound at its own share of each parameter: scatter may be small by luck.
    share = max(scatter, bound, 1e-12)
    random = wide * share * float(np.sqrt(cov[0, 0]))
    std = float(np.hypot(random, SYSTEMATIC_S))
    drift_std = wide * share * float(np.sqrt(cov[1, 1])) * 1e6 if fit_slope else None
    figures = coarse.figures | {
        "blocks": float(n),
        "blocks_tried": float(blocks.n_tried),
        "coherence": blocks.coherence,
        "side_lobe": blocks.side_lobe,
        "scatter_s": scatter,
        "bound_s": bound,
        "random_std_s": random,
    }
    why = None
    if blocks.side_lobe > MAX_SIDE_LOBE:
        why = (
            f"ambiguous: another lobe of the correlation reaches {100.0 * blocks.side_lobe:.0f} % "
            "of the best; the sound is a tone"
        )
    elif scatter > MAX_SCATTER_S:
        why = f"the blocks scatter by {scatter * 1e3:.2g} ms: not one offset and one drift"
    elif n < max(MIN_BLOCKS, 0.5 * x.size):
        why = (
            f"only {n} of {x.size} blocks lie on one line: the clock steps, or several sources of "
            "sound move"
        )
    elif abs(level) > pair.max_offset_s:
        why = f"the offset, {level:.3f} s, lies outside the search (±{pair.max_offset_s:g} s)"
    return PairMeasurement(
        source=pair.a.name,
        target=pair.b.name,
        method=METHOD,
        at_ns=pair.at_ns,
        offset_s=level,
        offset_std_s=std,
        systematic_std_s=SYSTEMATIC_S,
        drift_ppm=slope * 1e6 if with_drift else None,
        drift_std_ppm=max(drift_std or 0.0, 0.01) if with_drift else None,
        accepted=why is None,
        why=why,
        diagnostics=figures,
    )


def _line(
    x: NDArray[np.float64], y: NDArray[np.float64], fit_slope: bool
) -> tuple[float, float, NDArray[np.float64], float]:
    """Return slope, level at 0, unit covariance (level, slope) and scatter of a line."""
    design = np.column_stack((np.ones_like(x), x)) if fit_slope else np.ones((x.size, 1))
    inverse = np.linalg.inv(design.T @ design)
    level0 = float(np.mean(y))
    beta = inverse @ (design.T @ (y - level0))
    residual = y - level0 - design @ beta
    scatter = float(np.sqrt(np.sum(residual**2) / max(1, x.size - design.shape[1])))
    cov = np.zeros((2, 2))
    cov[: design.shape[1], : design.shape[1]] = inverse
    slope = float(beta[1]) if fit_slope else 0.0
    return slope, level0 + float(beta[0]), cov, scatter
