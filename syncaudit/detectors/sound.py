"""Find loudness and clicks in a sound, on its own clock, and how clicks rise before their picks."""

from __future__ import annotations

import math

import numpy as np
from scipy.ndimage import maximum_filter1d

from syncaudit.detectors.taps import LEVEL, MISFIT_SHARE, POWERS, log_likelihood
from syncaudit.dsp.robust import spread
from syncaudit.dsp.sound import rise_above_past, sample_clock
from syncaudit.model import Activity, AudioStream, EventTrain, Quantity
from syncaudit.model.arrays import Floats

# Analysis window of the energy: short enough that the logarithm, which jumps as soon as the
# window touches a click, is early by at most half of it.
WINDOW_S = 0.002
# Spacing of the loudness values, rounded to whole samples.
HOP_S = 0.001
# A click must exceed the loudest part of this span before it (reverberation of the last one).
LOOK_BACK_S = 0.03
# Two clicks closer than this are one.
APART_S = 0.03
# Rise in nepers of energy (6 dB) below which no onset is called a click.
MIN_RISE = 1.4
# Rise in robust deviations of all rises.
MIN_STRENGTH = 8.0
# Onset picking looks this far before and after the coarse time.
PICK_BEFORE_S = 0.012
PICK_AFTER_S = 0.003

# Bins of power around the picks are at least two samples wide, and this share of their distance.
LEAST_BIN = 2.0
BIN_SHARE = 0.25
# Least power above the noise, in its errors, that is dated.
MIN_SIGMAS = 5.0
# Lengths of the rise that are tried, from this many samples on; instants at which it is noticed.
LEAST_LENGTH, N_LENGTHS, N_PHASES = 0.05, 50, 9
# Least deviation from a rise, as a share of the largest amplitude: lossy codecs let quantisation
# noise precede a click by 12 ms and more, at -30 dB.
SHAPE_FLOOR = 0.03
# More clicks do not determine the rise any better.
MAX_CLICKS = 256
# Least error of an onset, in samples.
MISFIT = 0.5


def find_loudness(stream: AudioStream) -> Activity | None:
    """Return the log energy of a sound, about every millisecond.

    The sound is differentiated (central difference: high-pass without phase shift), squared and
    averaged over a symmetric Hann window of 2 ms: nothing is delayed, and a click at sample s peaks
    within half a hop of s. Waveforms are not passed on: two microphones are compared directly
    from their streams. In nepers of energy, shape (n, 1); None for less than 0.1 s of sound or
    silence.
    """
    if stream.rate_hz <= 0.0 or stream.samples.size < max(16, 0.1 * stream.rate_hz):
        return None
    hop = max(1, round(HOP_S * stream.rate_hz))
    energy = _energy(stream, hop)
    top = float(np.max(energy))
    if top <= 0.0:
        return None
    clock = sample_clock(stream)
    times = clock.seconds(np.arange(energy.size, dtype=np.int64) * hop)
    if float(np.min(np.diff(times))) <= 0.0:
        return None
    # 16-bit silence is digital zero: a floor 100 dB below the peak keeps the logarithm finite.
    values = np.log(np.maximum(energy, 1e-10 * top))
    return Activity(
        source=stream.name,
        quantity=Quantity.LOUDNESS,
        epoch_ns=clock.epoch_ns,
        times_s=times,
        values=values[:, None],
    )


def find_clicks(stream: AudioStream) -> EventTrain | None:
    """Return the onsets of clicks and knocks with sub-millisecond times.

    An onset is a rise of the log energy above the loudest of the 30 ms before it, by 6 dB and by
    8 robust deviations of all such rises. Its time is the most likely change of variance in the
    waveform, ``AIC(k) = k log var(x[:k]) + (n - k) log var(x[k:])`` (Maeda, "A method for
    reading and checking phase times in autoprocessing system of seismic wave data", Zisin 38,
    1985, doi:10.4294/zisin1948.38.3_365); its error is the width of ``exp(-AIC / 2)`` over k, which
    is large for slow onsets (speech, tyres). What all clicks rise before (`_attack_lateness`) is
    taken off, so that the time is that of the start of a sound; the rest of that is the systematic
    error. None if there is no sound to examine, an empty train if there are no clicks.
    """
    loudness = find_loudness(stream)
    if loudness is None:
        return None
    hop = max(1, round(HOP_S * stream.rate_hz))
    level = loudness.values[:, 0]
    # Neighbouring values share samples of the 2 ms window.
    rise = rise_above_past(level, max(2, round(LOOK_BACK_S * stream.rate_hz / hop)), gap=2)
    middle = float(np.median(rise))
    limit = max(MIN_RISE, middle + MIN_STRENGTH * spread(rise, middle))
    around = max(1, round(APART_S * stream.rate_hz / hop))
    is_peak = (rise >= limit) & (rise == maximum_filter1d(rise, size=2 * around + 1))
    clock = sample_clock(stream)
    picks = [_pick(stream, k * hop) for k in np.flatnonzero(is_peak).tolist()]
    kept = sorted(pick for pick in picks if pick[0] >= 0.0)
    table = np.array(kept, dtype=np.float64).reshape(-1, 2)
    late, late_std = _attack_lateness(stream, table[:, 0], PICK_BEFORE_S)
    return EventTrain(
        source=stream.name,
        quantity=Quantity.CLICK,
        epoch_ns=clock.epoch_ns,
        times_s=clock.seconds(table[:, 0] - late),
        std_s=table[:, 1] * clock.period_s,
        systematic_std_s=late_std * clock.period_s,
    )


def _energy(stream: AudioStream, hop: int) -> Floats:
    """Return the energy of the differentiated sound around every hop-th sample."""
    x = np.nan_to_num(stream.samples, nan=0.0, posinf=0.0, neginf=0.0)
    slope = np.zeros(x.size, dtype=np.float64)
    slope[1:-1] = 0.5 * (x[2:].astype(np.float64) - x[:-2])
    half = max(1, round(0.5 * WINDOW_S * stream.rate_hz))
    window = np.hanning(2 * half + 3)[1:-1]
    window /= float(np.sum(window))
    from scipy.signal import upfirdn  # saves 25 MiB for clips without sound

    # upfirdn starts where the window first touches the signal: `half` zeros centre it there.
    padded = np.concatenate((slope**2, np.zeros(half)))
    full = upfirdn(window, np.concatenate((np.zeros(hop - half % hop), padded)), 1, hop)
    first = (half + hop - half % hop) // hop
    n = (x.size - 1) // hop + 1
    return np.maximum(np.asarray(full[first : first + n], dtype=np.float64), 0.0)


def _pick(stream: AudioStream, centre: int) -> tuple[float, float]:
    """Return the onset near a sample and its error in samples; (-1, 0) if there is none."""
    rate = stream.rate_hz
    low = max(0, centre - round(PICK_BEFORE_S * rate))
    high = min(stream.samples.size, centre + round(PICK_AFTER_S * rate))
    x = np.nan_to_num(stream.samples[low:high].astype(np.float64))
    # Differencing whitens rumble; its sample k belongs to the newer of the two.
    x = np.diff(x, prepend=x[:1])
    # Nothing after the loudest sample belongs to the onset.
    stop = int(np.argmax(np.abs(x))) + max(4, round(2e-4 * rate))
    x = x[: min(x.size, stop)]
    n = x.size
    if n < 16:
        return -1.0, 0.0
    tiny = 1e-12 * float(np.sum(x**2)) / n + 1e-30
    sums = np.concatenate(([0.0], np.cumsum(x**2)))
    k = np.arange(4, n - 2)
    aic = k * np.log(sums[k] / k + tiny) + (n - k) * np.log((sums[n] - sums[k]) / (n - k) + tiny)
    weight = np.exp(-0.5 * (aic - float(np.min(aic))))
    weight /= float(np.sum(weight))
    mean = float(np.dot(weight, k))
    std = float(np.sqrt(np.dot(weight, (k - mean) ** 2)))
    # 1/sqrt(12): an onset lies anywhere between two samples.
    return low + mean - 0.5, float(np.hypot(std, 12.0**-0.5))


def _attack_lateness(stream: AudioStream, picks: Floats, longest_s: float) -> tuple[float, float]:
    """Return how much later than the onsets clicks are picked, and its error, in samples.

    A sound that swells, or that a dull one precedes (an armature moves before it strikes), is
    picked where it rises most. The median of the power of all clicks, in bins that widen with the
    distance from the picks, shows more of the rise than a single click does. A dull sound shows in
    the waveform, a sharp one, through rumble, in its differences.

    Parameters
    ----------
    stream : AudioStream
        The sound.
    picks : ndarray, shape (n,)
        Samples at which clicks were picked.
    longest_s : float
        Longest rise; as much before it shows the noise.
    """
    if not picks.size:
        return 0.0, 0.0
    picks = picks[:: -(-picks.size // MAX_CLICKS)]
    longest = longest_s * stream.rate_hz
    back = [0.0]
    while back[-1] < 2.0 * longest:
        back.append(back[-1] + max(LEAST_BIN, BIN_SHARE * back[-1]))
    edges = np.array([-b for b in back[:0:-1]] + [b for b in back if b < longest])
    first = np.floor(picks).astype(np.int64) + math.floor(edges[0]) - 1
    at = first[:, None] + np.arange(math.ceil(edges[-1] - edges[0]) + 4)
    inside = np.clip(at, 0, stream.samples.size - 1)
    x = np.nan_to_num(stream.samples[inside].astype(np.float64), posinf=0.0, neginf=0.0)
    x[inside != at] = 0.0
    edges_of = edges + (picks - first)[:, None]
    onset, std = 0.0, MISFIT
    for n_seen, own in enumerate((np.diff(x, prepend=x[:, :1]), x - x.mean(axis=1)[:, None])):
        found = _date_rise(_integral(own**2, edges_of), edges, longest)
        if found is not None and (n_seen == 0 or found[0] + found[1] < onset - std):
            onset, std = found
    return -onset, std


def _integral(values: Floats, edges: Floats) -> Floats:
    """Return the sums of rows of values up to places between them, shape (n, m)."""
    sums = np.cumsum(values, axis=1)
    whole = np.floor(edges).astype(np.int64)
    before = np.take_along_axis(sums, whole - 1, axis=1)
    found: Floats = before + (edges - whole) * np.take_along_axis(values, whole, axis=1)
    return found


def _date_rise(totals: Floats, edges: Floats, longest: float) -> tuple[float, float] | None:
    """Return the onset of a power after the picks, and its error; None where none stands out.

    The amplitude is fitted by ``LEVEL (t / T)^p``. `totals`, shape (n, m), are the integrals of the
    power of clicks up to `edges`, (m,), of bins.
    """
    size, middle = np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
    after = totals[:, -1] - totals[:, np.searchsorted(edges, 0.0)] + 1e-30
    power = np.diff(totals, axis=1) / size / after[:, None]
    is_noise = middle < -longest
    share, noise = np.median(power, axis=0), power[:, is_noise]
    usual = float(np.median(share[is_noise]))
    # The power in n samples of white noise scatters by sqrt(2 / n) of its mean, rumble by more.
    apart = (noise - np.median(noise, axis=0)) * np.sqrt(size[is_noise])
    scatter = max(spread(apart.ravel(), 0.0), 2.0**0.5 * usual)
    std = scatter * np.sqrt(0.5 * np.pi / (size * len(power)))  # of the median of the clicks
    excess = share - usual
    is_clear = ~is_noise & (excess > MIN_SIGMAS * std)
    if not is_clear.any():
        return None
    top = float(excess[is_clear].max())
    level, error = np.sign(excess) * np.sqrt(np.abs(excess) / top), np.sqrt(std / top)
    at = int(np.argmax(is_clear & (level >= LEVEL)))
    before, since, error = level[:at], middle[:at], error[:at]
    lengths = np.geomspace(LEAST_LENGTH, longest, N_LENGTHS)
    noticed = np.linspace(middle[at - 1], middle[at], N_PHASES)
    grid = np.meshgrid(POWERS, lengths, noticed, indexing="ij")
    p, length, noticed = (own.ravel()[:, None] for own in grid)
    rise = LEVEL * np.maximum(1.0 + (since - noticed) / length, 0.0) ** p
    score = log_likelihood(before, rise, error, SHAPE_FLOOR)
    weights = np.exp(score - score.max())
    weights /= weights.sum()
    onset = (noticed - length)[:, 0]
    mean = float(weights @ onset)
    variance_of = float(weights @ (onset - mean) ** 2)
    rest = MISFIT_SHARE * (middle[at] - mean)
    return mean, float(np.sqrt(variance_of + rest**2 + MISFIT**2))
