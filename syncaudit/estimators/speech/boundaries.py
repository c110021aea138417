"""Compute the likelihood of a tier's boundaries in its sound, from the classes on either side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from syncaudit.estimators.speech.course import Course
from syncaudit.estimators.speech.lags import MIN_VARIANCE, class_tracks
from syncaudit.estimators.speech.search import CLEAN_STD
from syncaudit.estimators.speech.templates import CLASSES, PRIOR_FRAMES, class_codes, prior_means
from syncaudit.model import BandEnergies, SpokenTier
from syncaudit.model.arrays import Floats, Ints

# Weight of the pooled covariance against a class's own, in frames (one second).
POOLED_FRAMES = 200.0
# A frame counts against a class by at most this many nats, which limits the effect of wrong labels.
MAX_AGAINST = 8.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PhoneBoundaries:
    """Stated boundaries between different sounds, and the evidence on where each lies."""

    times_s: Floats  # shape (n,): tier times, in order
    # shape (n,): how far each may move before it meets a neighbour: the shorter of the sounds
    # beside it
    room_s: Floats
    # shape (n,): classes on either side
    before: Ints
    after: Ints
    # shape (n_classes, n_frames + 1): log-likelihood ratio of every class to the sound of all,
    # summed from the start of the sound
    sums: Floats
    # Time of the first sum, and the interval from one to the next.
    start_s: float
    hop_s: float

    def evidence(self, offsets_s: Floats, moves_s: Floats) -> Floats:
        """Return the log-likelihood of every boundary at its offset and moves around it.

        Parameters
        ----------
        offsets_s : ndarray, shape (n,)
            Added to the boundaries' times.
        moves_s : ndarray, shape (m,)
            Moves added to that, one at a time.

        Returns
        -------
        ndarray, shape (n, m)
            Up to a constant for each boundary.
        """
        places = self._places((self.times_s + offsets_s)[:, None] + moves_s)
        return self._read(self.before, places) - self._read(self.after, places)

    def until(self, at_s: Floats, classes: Ints) -> Floats:
        """Return the log-likelihood ratios of classes, summed from the start of the sound.

        Parameters
        ----------
        at_s : ndarray, shape (n, m)
            Until when; beyond the sound there is no evidence.
        classes : ndarray of int, shape (n,)
            Class of every row.

        Returns
        -------
        ndarray, shape (n, m)
        """
        return self._read(classes, self._places(at_s))

    def _places(self, at_s: Floats) -> tuple[Ints, Floats]:
        position = np.clip((at_s - self.start_s) / self.hop_s, 0.0, self.sums.shape[1] - 1.000001)
        whole = position.astype(np.int64)
        return whole, position - whole

    def _read(self, classes: Ints, places: tuple[Ints, Floats]) -> Floats:
        """Interpolate the sums of one class for every row."""
        whole, part = places
        left = self.sums[classes[:, None], whole]
        right = self.sums[classes[:, None], whole + 1]
        return np.asarray(left + part * (right - left))


def weigh_boundaries(spoken: SpokenTier, sound: BandEnergies, course: Course) -> PhoneBoundaries:
    """Learn the classes from the sound at a course, and return the evidence on the boundaries.

    Every class is a normal distribution of band energies: its mean is shrunk towards the template,
    its covariance towards that of all classes. Boundaries that the tier does not state, and those
    between sounds of one class, are not used.
    """
    codes = class_codes(spoken.classes)
    start_s = spoken.start_s + course.at(spoken.start_s)
    stop_s = np.maximum(spoken.stop_s + course.at(spoken.start_s), start_s)
    stop_s[:-1] = np.minimum(stop_s[:-1], np.maximum(start_s[1:], start_s[:-1]))
    frame_s = sound.start_s + sound.hop_s * np.arange(len(sound.values), dtype=np.float64)
    tracks = class_tracks(start_s, stop_s, codes, len(CLASSES), frame_s, sound.hop_s)
    likelihood = _likelihood(sound, tracks)
    sums = np.concatenate((np.zeros((len(CLASSES), 1)), np.cumsum(likelihood, axis=1)), axis=1)
    k = np.flatnonzero((codes[1:] != codes[:-1]) & spoken.is_stated[1:]) + 1
    length_s = spoken.stop_s - spoken.start_s
    inside = (start_s[k] > frame_s[0]) & (start_s[k] < frame_s[-1])
    k = k[inside]
    return PhoneBoundaries(
        times_s=spoken.start_s[k],
        room_s=np.minimum(length_s[k - 1], length_s[k]),
        before=codes[k - 1],
        after=codes[k],
        sums=sums,
        start_s=sound.start_s - 0.5 * sound.hop_s,
        hop_s=sound.hop_s,
    )


def _likelihood(sound: BandEnergies, tracks: Floats) -> Floats:
    """Return the log-likelihood ratio of every class to all, shape (n_classes, n_frames).

    All: the mixture of the classes by their shares of the tier, so that a frame counts neither for
    nor against an offset at which no label covers it.
    """
    weight = tracks.sum(axis=0)
    x = sound.values - (weight @ sound.values) / max(float(weight.sum()), 1e-9)
    is_covered = weight > 0.0
    scale = float(x[is_covered].std()) / CLEAN_STD if is_covered.any() else 1.0
    count = tracks.sum(axis=1)
    prior = PRIOR_FRAMES * prior_means(sound.centres_hz, scale)
    means = (tracks @ x + prior) / (count + PRIOR_FRAMES)[:, None]
    scatter = np.array(
        [
            ((x - mean) * track[:, None]).T @ (x - mean)
            for mean, track in zip(means, tracks, strict=True)
        ]
    )
    pooled = scatter.sum(axis=0) / max(float(count.sum()), 1.0)
    pooled = pooled + MIN_VARIANCE * np.eye(x.shape[1])
    likelihood = np.empty((len(tracks), len(x)))
    for manner, mean in enumerate(means):
        covariance = (scatter[manner] + POOLED_FRAMES * pooled) / (count[manner] + POOLED_FRAMES)
        root = np.linalg.cholesky(covariance)
        scaled = np.linalg.inv(root) @ (x - mean).T
        likelihood[manner] = -0.5 * np.sum(scaled**2, axis=0) - np.sum(np.log(np.diag(root)))
    likelihood = np.maximum(likelihood, likelihood.max(axis=0) - MAX_AGAINST)
    share = count / max(float(count.sum()), 1e-9)
    return np.asarray(likelihood - logsumexp(likelihood, axis=0, b=share[:, None]))
