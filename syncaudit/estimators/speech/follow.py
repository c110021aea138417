"""Find the line, and the line with a step, along which a tier explains its sound best."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from syncaudit.estimators.speech.fit import TEMPER, weigh_boundaries
from syncaudit.estimators.speech.search import Course, class_codes
from syncaudit.model import BandEnergies, SpokenTier
from syncaudit.model.arrays import Floats

# Offsets tried on either side of the rough course and, where that jumps, of its levels. Windows
# hide what is shorter than half of one: 4 s of phones, 6 s of words.
REACH_S = 0.5
# Changes tried of the offset from the middle of a tier to its ends: windows follow a stretch of
# 0.3 %, and smear a larger one.
MAX_TILT_S = 0.5
# Films of 24 frames per second are shown at 25, 4.2 % faster. No clock and no file is farther off.
MAX_DRIFT = 0.05
# Coarser than a fit needs (30 ms).
MOVE_S, TILT_S = 0.01, 0.02
# Errors of single labels that are tried: made by hand, by an aligner, by a recogniser.
SCATTERS_S = (0.005, 0.02, 0.06)
# Share of labels that may be anywhere: a wrong word or a cut one counts for a few nats, no more.
STRAY = 0.05
# Probability of taking one course for two.
MAX_CHANCE = 1e-3
# Probability beyond which a larger step is doubted, so that no line is trusted.
MAX_DOUBT = 1e-1
# Classes are learnt along the best course and that is searched again, until it stays.
MAX_ROUNDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Courses:
    """The best line through the labels of a tier, and the best line with a step."""

    # Rough to 30 ms.
    line: Course
    stepped: Course
    gain: float  # by how many nats the step explains the sound better than the line does
    second: float  # by how many nats more another step, before or after, would explain it
    lead: float  # by how many nats the step explains it better than any in the other direction
    usual: float  # gain that chance reaches at most once a tier
    overdispersion: float = 1.0  # number of labels that are off together

    @property
    def needed(self) -> float:
        """Gain that chance reaches with a probability of `MAX_CHANCE`."""
        return self.overdispersion * (self.usual - math.log(MAX_CHANCE))

    @property
    def doubtful(self) -> float:
        """Gain that chance reaches with a probability of `MAX_DOUBT`."""
        return self.overdispersion * (self.usual - math.log(MAX_DOUBT))

    @property
    def is_one_way(self) -> bool:
        """Whether the direction of the step is certain.

        A drift with a step back looks like a step elsewhere, if labels are few or loose.
        """
        return self.lead > -self.overdispersion * math.log(MAX_CHANCE)

    def doubt(self, at_s: float, overdispersion: float) -> tuple[float, float]:
        """Return how far the line may be off because of a step that is likely, but not certain.

        These are standard errors of the offset at a time and of the drift: the root of the step's
        probability, for even odds beforehand, times what the step would change.
        """
        root = math.sqrt(expit(self.gain / overdispersion - self.usual))
        at = np.array([at_s])
        offset_s = float(self.stepped.at(at)[0] - self.line.at(at)[0])
        return root * abs(offset_s), root * abs(self.stepped.drift - self.line.drift)

    @property
    def best(self) -> Course:
        """The step where it explains more than chance does, else the line."""
        return self.stepped if self.gain > self.needed else self.line


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """Two levels: log-likelihood, index of the second's first label, and the levels' indices."""

    height: float
    place: int
    before: int
    after: int


def follow(spoken: SpokenTier, sound: BandEnergies, start: Course, *, with_drift: bool) -> Courses:
    """Search lines and steps near a rough course for those that explain the sound best.

    Windows see neither a stretch that smears them nor a step that leaves a small part of one on
    the other side. Here, every label has a likelihood at each of many offsets, given the classes
    learnt along the course, and each course adds them up along its own. A label's error is normal,
    or anything (`STRAY`).

    Were there no step, the likelihood ratio to the line, summed over labels from either end, would
    for each other offset exceed exp(c) at any label with a probability of at most exp(-c) (Ville,
    "Étude critique de la notion de collectif", 1939).

    `start`: from `find_match`. `with_drift`: whether the tier is long enough for a drift, and a
    step, to be found.
    """
    centre = start.without_step()
    reach_s = REACH_S + 0.5 * abs(start.step_s)
    course, found = start, None
    for _ in range(MAX_ROUNDS):
        previous = course
        found = _search(spoken, sound, course, centre, reach_s, with_drift=with_drift)
        course = found.best
        moved_s = course.at(spoken.start_s) - previous.at(spoken.start_s)
        if float(np.abs(moved_s).max()) <= MOVE_S:
            break
    assert found is not None  # noqa: S101  # for the type checker: there is a first round
    return found


def _search(
    spoken: SpokenTier,
    sound: BandEnergies,
    learnt: Course,
    centre: Course,
    reach_s: float,
    *,
    with_drift: bool,
) -> Courses:
    """Search around a centre, with the classes learnt along a course."""
    n = round(reach_s / MOVE_S)
    n_tilt = round(MAX_TILT_S / MOVE_S) if with_drift else 0
    moves_s = MOVE_S * np.arange(-n - n_tilt, n + n_tilt + 1, dtype=np.float64)
    times_s, evidence = _weigh_labels(spoken, sound, learnt, centre, moves_s)
    middle_s, half_s = 0.5 * float(times_s[0] + times_s[-1]), 0.5 * float(np.ptp(times_s))
    along = (times_s - middle_s) / max(half_s, 1e-9)
    most_s = min(MAX_TILT_S, MAX_DRIFT * half_s) if with_drift else 0.0
    n_tilts = round(most_s / TILT_S)
    tilts_s = TILT_S * np.arange(-n_tilts, n_tilts + 1, dtype=np.float64)
    column = np.arange(n_tilt, n_tilt + 2 * n + 1)
    height, level, line_tilt_s = -math.inf, n, 0.0
    split, split_tilt_s, rows = _Split(height=-math.inf, place=0, before=n, after=n), 0.0, evidence
    highest = {False: -math.inf, True: -math.inf}  # by whether the step is upwards
    for scatter_s in SCATTERS_S:
        smeared = _smeared(evidence, scatter_s)
        for tilt_s in tilts_s.tolist():
            shift = np.rint(tilt_s * along / MOVE_S).astype(np.int64)
            tilted = np.take_along_axis(smeared, column + shift[:, None], axis=1)
            total = np.cumsum(tilted, axis=0)
            if (top := float(total[-1].max())) > height:
                height, level, line_tilt_s = top, int(np.argmax(total[-1])), tilt_s
            parted = _best_split(total)
            is_up = parted.after > parted.before
            highest[is_up] = max(highest[is_up], parted.height)
            if parted.height > split.height:
                split, split_tilt_s, rows = parted, tilt_s, tilted

    def course(level: int, tilt_s: float) -> Course:
        offset_s = float(centre.at(np.array([middle_s]))[0]) + MOVE_S * (level - n)
        drift = centre.drift + tilt_s / max(half_s, 1e-9)
        return Course(anchor_s=middle_s, offset_s=offset_s, drift=drift)

    sides = rows[: split.place], rows[split.place :]
    return Courses(
        line=course(level, line_tilt_s),
        stepped=replace(
            course(split.before, split_tilt_s),
            step_s=MOVE_S * (split.after - split.before),
            step_at_s=float(times_s[split.place - 1 : split.place + 1].mean()),
        ),
        gain=split.height - height,
        second=max(_gain(side) for side in sides),
        lead=split.height - highest[split.after <= split.before],
        usual=math.log(2 * column.size) if with_drift else math.inf,
    )


def _weigh_labels(
    spoken: SpokenTier, sound: BandEnergies, learnt: Course, centre: Course, moves_s: Floats
) -> tuple[Floats, Floats]:
    """Return when every label starts, shape (n,), and its log-likelihoods, shape (n, m)."""
    borders = weigh_boundaries(spoken, sound, learnt)
    codes = class_codes(spoken.classes)
    moved_s = centre.at(spoken.start_s)[:, None] + moves_s
    until_stop = borders.until(spoken.stop_s[:, None] + moved_s, codes)
    heard = until_stop - borders.until(spoken.start_s[:, None] + moved_s, codes)
    first = np.flatnonzero(spoken.is_stated | (np.arange(codes.size) == 0))
    return spoken.start_s[first], TEMPER * np.add.reduceat(heard, first, axis=0)


def _smeared(evidence: Floats, scatter_s: float) -> Floats:
    """Return log-likelihoods of labels with random errors, shape (n, m)."""
    k = np.arange(evidence.shape[1])
    kernel = np.exp(-0.5 * (MOVE_S * (k[:, None] - k) / scatter_s) ** 2)
    kernel = (1.0 - STRAY) * kernel / kernel.sum(axis=0) + STRAY / k.size
    top = evidence.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.exp(evidence - top) @ kernel) + top)


def _gain(rows: Floats) -> float:
    """Return the gain of two levels over one."""
    total = np.cumsum(rows, axis=0)
    return _best_split(total).height - float(total[-1].max()) if len(rows) > 1 else 0.0


def _best_split(total: Floats) -> _Split:
    """Return the label at which one level best gives way to another.

    Parameters
    ----------
    total : ndarray, shape (n_labels, n_levels)
        Log-likelihoods, summed from the first label.
    """
    heights = total[:-1].max(axis=1) + (total[-1] - total[:-1]).max(axis=1)
    k = int(np.argmax(heights))
    return _Split(
        height=float(heights[k]),
        place=k + 1,
        before=int(np.argmax(total[k])),
        after=int(np.argmax(total[-1] - total[k])),
    )
