"""Find how much the clicks of a sound rise before the instants at which they are picked."""

from __future__ import annotations

import math

import numpy as np

from syncaudit.detectors.rise import LEVEL, MISFIT_SHARE, POWERS, log_likelihood
from syncaudit.dsp.robust import spread
from syncaudit.model import AudioStream
from syncaudit.model.arrays import Floats

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


def attack_lateness(stream: AudioStream, picks: Floats, longest_s: float) -> tuple[float, float]:
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
