"""Fit offset, drift and step to the boundaries of a tier, with realistic errors.

The likelihood of a boundary in the sound follows from the classes on either side of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from syncaudit.dsp.robust import student_widening
from syncaudit.estimators.speech.search import (
    CLASSES,
    CLEAN_STD,
    MIN_VARIANCE,
    PRIOR_FRAMES,
    Course,
    class_codes,
    class_tracks,
    prior_means,
)
from syncaudit.model import BandEnergies, SpokenTier
from syncaudit.model.arrays import Floats, Ints

# Moves around the current course over which the evidence is approximated by a parabola: wide while
# the course is rough, then narrow.
REACHES_S = (0.030, 0.015, 0.010, 0.010, 0.010)
# Standard deviations of single boundaries that are tried: hand-made labels scatter by 5 to 10 ms,
# times of recognisers by up to 100 ms.
SCATTERS_S = (0.002, 0.005, 0.01, 0.02, 0.04, 0.08)
# Weight of the log-likelihood, because neighbouring frames are redundant; at 0.3 the fit followed
# local deviations of real labels (drift over 60 s 45 ppm rmse instead of 24).
TEMPER = 0.1
# However short the sounds beside a boundary, it may be off by this much.
MIN_ROOM_S = 0.02
MOVE_S = 0.001
# Moves over which a boundary's own best place is searched.
SETTLED_S = 0.3
SETTLED_MOVE_S = 0.002
# Boundaries closer than this share frames and habits of the speaker: they count as one piece.
# Labellers also wander more slowly, and recognisers put whole phrases early or late: so the number
# of pieces is limited to what is needed to estimate their scatter.
PIECE_S = 0.8
MAX_PIECES = 12
# Converged: far below any error.
DONE_S = 1e-4
# Ratio of eigenvalues at which what is fitted cannot be separated: no boundary beyond the step.
_SINGULAR = 1e-9
MIN_PIECES = 4

# Weight of the pooled covariance against a class's own, in frames (one second).
POOLED_FRAMES = 200.0
# A frame counts against a class by at most this many nats, which limits the effect of wrong labels.
MAX_AGAINST = 8.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CourseFit:
    """A fitted course with its errors."""

    course: Course  # anchored at the centre of the evidence
    covariance: Floats  # shape (3, 3): of offset, drift and step; zero where one was not fitted
    scatter_s: float  # random error of single boundaries
    # Boundaries used, and the disjoint pieces whose scatter gave the errors.
    n_borders: int
    n_pieces: int
    settled: float  # share of the boundaries that fit best somewhere between their neighbours
    # Variance that the scatter of the pieces shows, over that of independent boundaries.
    overdispersion: float


def fit_course(
    spoken: SpokenTier, sound: BandEnergies, start: Course, *, with_drift: bool
) -> CourseFit | None:
    """Fit offset, and drift and step where there are any, starting from a rough course.

    For every stated boundary there is a curve, the likelihood over its place in the sound. People,
    aligners and recognisers place boundaries with random errors: the curve is smeared by a normal
    distribution whose width is the likeliest of a few (`SCATTERS_S`). The sum of the logarithms
    over all boundaries is a smooth hill whose top Newton's method finds. The classes are relearnt
    at every step, as in the EM algorithm (Dempster, Laird, Rubin, 1977). Errors come from the
    scatter of the slopes of disjoint pieces of the tier (a cluster sandwich estimate), with
    Student's t for few pieces. None where too few boundaries lie in the sound, or they form no
    hill.

    `start`: a course within about 30 ms. `with_drift`: whether the tier is long enough for a drift
    to be fitted.
    """
    course = start if with_drift else replace(start, drift=0.0)
    fit: CourseFit | None = None
    for reach_s in REACHES_S:
        borders = weigh_boundaries(spoken, sound, course)
        step = _newton(borders, course, reach_s, with_drift=with_drift)
        if step is None:
            return None
        change, fit = step
        course = fit.course
        if reach_s == REACHES_S[-1] and float(np.abs(change).max()) < DONE_S:
            break
    return fit


def _newton(
    borders: PhoneBoundaries, course: Course, reach_s: float, *, with_drift: bool
) -> tuple[Floats, CourseFit] | None:
    """Return the move of the offset at every boundary, and the fit after one step."""
    times_s = borders.times_s
    span_s = float(np.ptp(times_s)) if times_s.size else 0.0
    piece_s = max(PIECE_S, span_s / MAX_PIECES)
    piece = np.unique(np.floor(times_s / piece_s), return_inverse=True)[1]
    n_pieces = int(piece.max()) + 1 if piece.size else 0
    if n_pieces < MIN_PIECES:
        return None
    anchor_s = float(times_s.mean())
    course = replace(
        course,
        anchor_s=anchor_s,
        offset_s=course.offset_s + course.drift * (anchor_s - course.anchor_s),
    )
    # Columns: offset, drift and step, of which the latter two may not be fitted.
    names = np.flatnonzero([True, with_drift, course.has_step])
    is_after = (times_s >= course.step_at_s).astype(np.float64)
    design = np.column_stack((np.ones(times_s.size), times_s - anchor_s, is_after))[:, names]
    slope, bend, scatter_s = _hills(borders, course, reach_s)
    information = -(design.T * bend) @ design
    widths = np.linalg.eigvalsh(information)
    if float(widths[0]) <= _SINGULAR * float(widths[-1]):
        return None
    inverse = np.linalg.inv(information)
    change: Floats = np.asarray(inverse @ (design.T @ slope))
    move = np.clip(design @ change, -reach_s, reach_s)
    change = np.asarray(np.linalg.lstsq(design, move, rcond=None)[0], dtype=np.float64)
    left = slope + bend * move
    scores = np.zeros((n_pieces, design.shape[1]))
    np.add.at(scores, piece, design * left[:, None])
    freedom = max(1, n_pieces - len(names))
    wide = student_widening(freedom) ** 2 * n_pieces / freedom
    sandwich: Floats = wide * inverse @ (scores.T @ scores) @ inverse
    usual = float(np.trace(sandwich @ information)) / len(names)
    if course.has_step:
        # The one or two pieces beyond a step near an end follow it, so their scatter is too small
        # (J. G. MacKinnon, M. D. Webb, "Wild bootstrap inference for wildly different cluster
        # sizes", 2017): there, the scatter of all pieces counts.
        sandwich[-1, -1] = max(sandwich[-1, -1], usual * inverse[-1, -1])
    covariance = np.zeros((3, 3))
    covariance[np.ix_(names, names)] = sandwich
    full = np.zeros(3)
    full[names] = change
    fitted = replace(
        course,
        offset_s=course.offset_s + float(full[0]),
        drift=course.drift + float(full[1]),
        step_s=course.step_s + float(full[2]),
    )
    fit = CourseFit(
        course=fitted,
        covariance=covariance,
        scatter_s=scatter_s,
        n_borders=times_s.size,
        n_pieces=n_pieces,
        settled=_settled(borders, course),
        overdispersion=usual,
    )
    return move, fit


def _settled(borders: PhoneBoundaries, course: Course) -> float:
    """Return the share of boundaries whose best place lies within their limits, not at them.

    Times that are off by the length of a sound put boundaries beside sounds other than those named;
    they then fit best as far away as their neighbours allow.
    """
    n = round(SETTLED_S / SETTLED_MOVE_S)
    moves_s = SETTLED_MOVE_S * np.arange(-n, n + 1, dtype=np.float64)
    room_s = np.clip(borders.room_s, MIN_ROOM_S, SETTLED_S)[:, None]
    curves = borders.evidence(course.at(borders.times_s), moves_s)
    best_s = moves_s[np.argmax(np.where(np.abs(moves_s) <= room_s, curves, -np.inf), axis=1)]
    return float(np.mean(np.abs(best_s) < room_s[:, 0] - 2.0 * SETTLED_MOVE_S))


def _hills(
    borders: PhoneBoundaries, course: Course, reach_s: float
) -> tuple[Floats, Floats, float]:
    """Return slope and bend of every boundary's log-likelihood, and the likeliest scatter."""
    wide_s = reach_s + 2.0 * SCATTERS_S[-1]
    n = round(wide_s / MOVE_S)
    moves_s = MOVE_S * np.arange(-n, n + 1, dtype=np.float64)
    inner = np.abs(moves_s) <= reach_s + 0.5 * MOVE_S
    powers = np.linalg.pinv(np.vander(moves_s[inner], 3, increasing=True))
    curves = TEMPER * borders.evidence(course.at(borders.times_s), moves_s)
    is_free = np.abs(moves_s) <= np.maximum(borders.room_s, MIN_ROOM_S)[:, None]
    curves = np.where(is_free, curves, -np.inf)
    top = curves.max(axis=1, keepdims=True)
    likelihood = np.exp(curves - top)
    best: tuple[float, Floats, float] | None = None
    for scatter_s in SCATTERS_S:
        kernel = np.exp(-0.5 * ((moves_s[:, None] - moves_s[inner]) / scatter_s) ** 2)
        smeared = np.log(likelihood @ kernel / (scatter_s / MOVE_S) + 1e-300)
        height = float(smeared.sum(axis=0).max())
        if best is None or height > best[0]:
            best = (height, smeared @ powers.T, scatter_s)
    assert best is not None  # noqa: S101  # for the type checker: SCATTERS_S is not empty
    _, curve, scatter_s = best
    return curve[:, 1], 2.0 * curve[:, 2], scatter_s


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
