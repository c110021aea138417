"""Find roughly where a tier fits: window by window over all lags, then the likeliest path.

A window of a tier is compared with the sound at every lag by how much its classes explain, starting
from prior band energies of each broad class. The path is the offset as a function of the tier's
time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from syncaudit.dsp.robust import spread
from syncaudit.model import AgreementCurve, BandEnergies, SpokenTier
from syncaudit.model.arrays import Bools, Floats, Ints
from syncaudit.speech.phonetics import PhoneClass

# Windows: a step between two of them shows, a drift of 1000 ppm within one does not.
PHONE_WINDOW_S = 8.0
WORD_WINDOW_S = 12.0
# Frames of the search; its curves are smooth over 30 ms.
FRAMES_TOGETHER = 2
# From one window to the next the lag may move by this many search frames: a drift of 3,700 ppm in
# phones, of 2,500 ppm in words.
MAX_CREEP = 3
# Lobes nearer than this to the best are its own shoulders.
GUARD_S = 0.08
# A jump of the path must gain this many robust deviations of a window's curve: chance lobes of a
# wrong text reach about 4, true ones at least 10.
JUMP_SPREADS = 8.0
# Standard deviation of the band energies of clean speech, in nepers.
CLEAN_STD = 3.0
# Half the range of offsets that is shown.
NEAR_S = 0.5

# Added to every variance (nepers squared): differences between classes below this do not count.
MIN_VARIANCE = 0.3

# Weight of the templates against the clip's own frames of a class.
PRIOR_FRAMES = 20.0

CLASSES = tuple(PhoneClass)

# Centres of the nine bands of sound sampled at 16 kHz or faster.
_CENTRES_HZ = (295.0, 547.0, 870.0, 1284.0, 1816.0, 2499.0, 3374.0, 4497.0, 5938.0)
# Nepers of energy over the mean of a clip, rounded means of one recording of read English and of
# espeak-ng in four languages; they agree within about 1 neper.
_TEMPLATES: Mapping[PhoneClass, Sequence[float]] = MappingProxyType(
    {
        PhoneClass.VOWEL: (2.2, 2.6, 2.0, 2.0, 2.1, 2.1, 2.0, 1.1, 0.1),
        PhoneClass.NASAL: (1.6, 0.7, 0.0, 0.0, -0.2, 0.0, -0.4, -0.6, -0.7),
        PhoneClass.APPROXIMANT: (2.0, 2.0, 0.8, 1.2, 0.9, 0.7, 1.1, 0.3, -0.4),
        PhoneClass.SIBILANT: (-2.0, -2.0, -1.3, -1.0, -0.4, 0.1, 1.1, 3.7, 5.0),
        PhoneClass.FRICATIVE: (-0.6, -1.0, -0.9, -0.6, -0.7, -0.3, -0.4, 0.0, 0.8),
        PhoneClass.PLOSIVE: (-1.0, -1.0, -0.7, -0.5, -0.1, -0.1, -0.2, 0.4, 1.2),
        PhoneClass.CLOSURE: (-1.7, -1.7, -1.2, -1.4, -1.3, -1.3, -1.4, -1.2, -0.9),
        PhoneClass.SILENCE: (-3.5, -3.7, -2.5, -3.0, -3.3, -3.6, -3.8, -3.5, -2.8),
        PhoneClass.SPEECH: (1.0, 1.0, 0.6, 0.7, 0.7, 0.6, 0.6, 0.6, 0.5),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Match:
    """The place where a tier fits best, and how well it fits."""

    course: Course  # rough offset, drift and step
    n_steps: int  # jumps of the path; a course has at most one
    margin: float  # by how many robust deviations of the curve the best lag beats every other
    height: float  # the same relative to the median lag
    gain: float  # nats that the classes explain per frame of 10 ms
    n_seconds: float  # duration of the tier within the sound at the best lag
    is_at_edge: bool  # whether the best lag is the last that was tried
    # shape (n,): lags relative to the course, and the nats that the classes explain there per frame
    # of 10 ms
    lags_s: Floats
    gains: Floats

    def agreement(self, course: Course, n_bands: int) -> AgreementCurve | None:
        """Return how much of the sound the classes explain near the best offset, as R.

        Windows were summed along the drift and the step of the course found, and the offset is that
        at its anchor. Of the `n_bands` of the sound the mean of their shares counts.
        """
        share = 1.0 - np.exp(-2.0 * np.maximum(self.gains, 0.0) / n_bands)
        course_s = float(course.at(np.array([course.anchor_s]))[0])
        return AgreementCurve.around(
            self.lags_s + course_s, np.sqrt(share), course_s, near_s=NEAR_S
        )


def find_match(spoken: SpokenTier, sound: BandEnergies, *, max_offset_s: float) -> Match:
    """Find where a tier fits its sound best."""
    hop_s = sound.hop_s * FRAMES_TOGETHER
    values, first_s = _coarser(sound)
    n_lags = max(2, round(max_offset_s / hop_s))
    start_s, stop_s = float(spoken.start_s[0]), float(spoken.stop_s[-1])
    window_s = WORD_WINDOW_S if spoken.is_words else PHONE_WINDOW_S
    n_windows = max(1, int((stop_s - start_s) / window_s))
    edges = np.linspace(start_s, stop_s, n_windows + 1)
    scale = float(values.std()) / CLEAN_STD
    priors = prior_means(sound.centres_hz, scale)
    codes = class_codes(spoken.classes)
    gains = np.zeros((n_windows, 2 * n_lags + 1))
    frames = np.zeros_like(gains)
    for w in range(n_windows):
        low = round((edges[w] - first_s) / hop_s)
        high = max(low + 1, round((edges[w + 1] - first_s) / hop_s))
        tracks = class_tracks(
            spoken.start_s,
            spoken.stop_s,
            codes,
            len(CLASSES),
            first_s + hop_s * np.arange(low, high),
            hop_s,
        )
        at = np.arange(low - n_lags, high + n_lags)
        is_valid = (at >= 0) & (at < len(values))
        if np.count_nonzero(is_valid) > values.shape[1]:
            piece = values[np.clip(at, 0, len(values) - 1)]
            gains[w], frames[w] = _explained(piece, is_valid, tracks, priors)
    path = _likeliest_path(gains)
    middles = np.asarray(0.5 * (edges[:-1] + edges[1:]), dtype=np.float64)
    offsets = np.asarray((path - n_lags) * hop_s, dtype=np.float64)
    course, n_steps = _course(middles, offsets)
    return _judged(course, n_steps, gains, frames, path, hop_s)


def _coarser(sound: BandEnergies) -> tuple[Floats, float]:
    n = len(sound.values) // FRAMES_TOGETHER * FRAMES_TOGETHER
    grouped = sound.values[:n].reshape(-1, FRAMES_TOGETHER, sound.values.shape[1])
    return grouped.mean(axis=1), sound.start_s + 0.5 * (FRAMES_TOGETHER - 1) * sound.hop_s


def _likeliest_path(gains: Floats) -> Ints:
    """Return the lag of every window on the path of largest gain (Viterbi), shape (n_windows,).

    From one window to the next the lag may creep (a drift), or jump at a price.
    """
    n_windows, n = gains.shape
    scatter = np.array([max(spread(row), 1e-9) for row in gains])
    score = gains[0].copy()
    back = np.zeros((n_windows, n), dtype=np.int64)
    # The smallest first: staying is preferred.
    creeps = np.array(sorted(range(-MAX_CREEP, MAX_CREEP + 1), key=abs))
    for w in range(1, n_windows):
        padded = np.pad(score, MAX_CREEP, constant_values=-np.inf)
        near = np.stack([padded[MAX_CREEP + by : MAX_CREEP + by + n] for by in creeps])
        choice = np.argmax(near, axis=0)
        from_near = np.arange(n) + creeps[choice]
        jump = int(np.argmax(score))
        price = JUMP_SPREADS * float(np.median(scatter))
        is_jump = score[jump] - price > near.max(axis=0)
        back[w] = np.where(is_jump, jump, from_near)
        score = np.where(is_jump, score[jump] - price, near.max(axis=0)) + gains[w]
    path = np.zeros(n_windows, dtype=np.int64)
    path[-1] = int(np.argmax(score))
    for w in range(n_windows - 1, 0, -1):
        path[w - 1] = back[w, path[w]]
    return path


def _course(middles: Floats, offsets: Floats) -> tuple[Course, int]:
    """Return a line through the windows' offsets, with a step where the path jumps."""
    anchor_s = float(middles.mean())
    apart = np.diff(offsets)
    jumps = np.flatnonzero(np.abs(apart) > 0.5 * GUARD_S)
    if jumps.size:
        k = int(jumps[np.argmax(np.abs(apart[jumps]))])
        before, after = float(np.median(offsets[: k + 1])), float(np.median(offsets[k + 1 :]))
        return Course(
            anchor_s=anchor_s,
            offset_s=before,
            step_s=after - before,
            step_at_s=0.5 * float(middles[k] + middles[k + 1]),
        ), int(jumps.size)
    drift, level = 0.0, float(np.mean(offsets))
    if offsets.size >= 3:
        drift, level = (float(c) for c in np.polyfit(middles - anchor_s, offsets, 1))
    return Course(anchor_s=anchor_s, offset_s=level, drift=drift), 0


def _judged(
    course: Course, n_steps: int, gains: Floats, frames: Floats, path: Ints, hop_s: float
) -> Match:
    """Sum the windows along the path, and measure how far the best lag stands out."""
    n = gains.shape[1]
    middle = n // 2
    shifted = np.zeros(n)
    count = np.zeros(n)
    for row, at in zip(gains, path, strict=True):
        source = np.arange(n) + int(at) - middle
        inside = (source >= 0) & (source < n)
        shifted[inside] += row[source[inside]]
        count[inside] += 1.0
    curve = (shifted / np.maximum(count, 1.0))[count > 0.0]
    peak = middle - int(np.argmax(count > 0.0))
    away = np.abs(np.arange(curve.size) - peak) * hop_s > GUARD_S
    others = curve[away] if away.any() else curve
    scatter = max(spread(others), 1e-9)
    n_frames = float(sum(frames[w, at] for w, at in enumerate(path)))
    return Match(
        course=course,
        n_steps=n_steps,
        margin=float(curve[peak] - others.max()) / scatter,
        height=float(curve[peak] - np.median(others)) / scatter,
        gain=float(sum(gains[w, at] for w, at in enumerate(path))) / max(1.0, n_frames),
        n_seconds=n_frames * hop_s,
        is_at_edge=bool(path.min() == 0 or path.max() == n - 1),
        lags_s=np.asarray((np.arange(curve.size) - peak) * hop_s, dtype=np.float64),
        gains=np.asarray(curve * len(path) / max(1.0, n_frames), dtype=np.float64),
    )


def class_tracks(
    start_s: Floats, stop_s: Floats, classes: Ints, n_classes: int, frame_s: Floats, hop_s: float
) -> Floats:
    """Return the share of every frame in every class, shape (n_classes, n_frames).

    Parameters
    ----------
    start_s, stop_s : ndarray, shape (n,)
        Sounds of the tier.
    classes : ndarray of int, shape (n,)
        Class of each.
    n_classes : int
        Rows of the result.
    frame_s : ndarray, shape (n_frames,)
        Middles of the frames, `hop_s` apart.
    hop_s : float
        Length of a frame.
    """
    tracks = np.zeros((n_classes, frame_s.size))
    edges = np.concatenate((frame_s - 0.5 * hop_s, frame_s[-1:] + 0.5 * hop_s))
    for manner in range(n_classes):
        own = classes == manner
        if own.any():
            # Seconds of this class before every edge: piecewise linear between its boundaries.
            x = np.column_stack((start_s[own], stop_s[own])).ravel()
            length = np.cumsum(stop_s[own] - start_s[own])
            y = np.column_stack((length - (stop_s[own] - start_s[own]), length)).ravel()
            tracks[manner] = np.diff(np.interp(edges, x, y)) / hop_s
    return tracks


def _explained(
    values: Floats, is_valid: Bools, tracks: Floats, priors: Floats
) -> tuple[Floats, Floats]:
    """Return how much of the sound the classes explain per lag, in nats, and the frames used.

    At each lag every class has a mean, shrunk to its prior with the weight of `PRIOR_FRAMES`, and
    all share one covariance. Half the number of frames times the logarithm of Wilks' lambda, the
    ratio of the determinants of scatter within the classes and in total (S. S. Wilks, "Certain
    generalizations in the analysis of variance", Biometrika 24, 1932), is the
    gain in log-likelihood over a sound without classes.

    Parameters
    ----------
    values : ndarray, shape (m + n_lags - 1, d)
        Band energies; the first frame meets the tier's first at lag 0.
    is_valid : ndarray of bool, shape (m + n_lags - 1,)
        Frames that lie in the sound.
    tracks : ndarray, shape (n_classes, m)
        From `class_tracks`.
    priors : ndarray, shape (n_classes, d)
        Expected means, less the mean of all.

    Returns
    -------
    gain, n_frames : ndarray, shape (n_lags,)
    """
    n, d = values.shape
    m = tracks.shape[1]
    n_lags = n - m + 1
    x = np.where(is_valid[:, None], values - values[is_valid].mean(axis=0), 0.0)
    rows, columns = np.triu_indices(d)
    covered = tracks.sum(axis=0)
    length = next_fast_len(n, real=True)
    sound = rfft(np.column_stack((is_valid, x)), n=length, axis=0)
    tier = np.conj(rfft(tracks, n=length, axis=1))
    sums = irfft(tier[:, :, None] * sound[None], n=length, axis=1)[:, :n_lags]
    products = rfft(x[:, rows] * x[:, columns], n=length, axis=0)
    whole = np.conj(rfft(covered, n=length))[:, None]
    second = irfft(whole * products, n=length, axis=0)[:n_lags]
    count, first = np.maximum(sums[..., 0], 0.0), sums[..., 1:]
    n_frames = count.sum(axis=0)
    total = np.empty((n_lags, d, d))
    total[:, rows, columns] = second
    total[:, columns, rows] = second
    drawn = first + PRIOR_FRAMES * priors[:, None]
    weight = (count + PRIOR_FRAMES)[..., None, None]
    within = total - np.einsum("kld,kle->lde", drawn / weight[..., 0], drawn)
    within += PRIOR_FRAMES * np.einsum("kd,ke->de", priors, priors)
    mean = first.sum(axis=0)
    scale = np.maximum(n_frames, 1.0)[:, None, None]
    total -= mean[:, :, None] * mean[:, None, :] / scale
    floor = MIN_VARIANCE * np.eye(d)
    gain = (
        np.linalg.slogdet(total / scale + floor)[1] - np.linalg.slogdet(within / scale + floor)[1]
    )
    return 0.5 * n_frames * gain, n_frames


def class_codes(classes: Sequence[str]) -> Ints:
    """Return the position of every class in `CLASSES`, shape (n,)."""
    code = {str(manner): k for k, manner in enumerate(CLASSES)}
    return np.array([code[manner] for manner in classes], dtype=np.int64)


def prior_means(centres_hz: Floats, scale: float) -> Floats:
    """Return the expected band energies of every class over the mean, shape (n_classes, d).

    Parameters
    ----------
    centres_hz : ndarray, shape (d,)
        Centres of the bands; low sampling rates have lower ones.
    scale : float
        Standard deviation of the clip's energies over that of clean speech: noise fills the pauses
        and brings all classes closer together.
    """
    rows = [np.interp(centres_hz, _CENTRES_HZ, _TEMPLATES[manner]) for manner in CLASSES]
    return scale * np.array(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Offset at every instant: a line with at most one step."""

    anchor_s: float  # tier time at which `offset_s` holds, except for the step
    offset_s: float  # added to tier times before the step
    drift: float = 0.0  # change of the offset per second
    # Size of the step, and the tier time from which on it counts.
    step_s: float = 0.0
    step_at_s: float = np.inf

    def at(self, times_s: Floats) -> Floats:
        """Return the offset at tier times, shape (n,)."""
        line = self.offset_s + self.drift * (times_s - self.anchor_s)
        return np.asarray(line + np.where(times_s >= self.step_at_s, self.step_s, 0.0))

    @property
    def has_step(self) -> bool:
        """Whether there is a step."""
        return bool(np.isfinite(self.step_at_s))

    def without_step(self) -> Course:
        """Return the line, a drift, nearest to a course of two levels."""
        return replace(
            self, offset_s=self.offset_s + 0.5 * self.step_s, step_s=0.0, step_at_s=np.inf
        )
