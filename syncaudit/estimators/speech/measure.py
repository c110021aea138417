"""Measure a tier against its audio, or refuse with the reason."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from syncaudit.estimators.speech.answer import METHOD, answer
from syncaudit.estimators.speech.boundaries import weigh_boundaries
from syncaudit.estimators.speech.course import Course
from syncaudit.estimators.speech.fit import TEMPER, CourseFit, fit_course
from syncaudit.estimators.speech.room import fall_ratio, without_tails
from syncaudit.estimators.speech.search import PHONE_WINDOW_S, WORD_WINDOW_S, Match, find_match
from syncaudit.estimators.speech.templates import class_codes
from syncaudit.model import BandEnergies, PairMeasurement, SpokenTier
from syncaudit.model.arrays import Floats, Ints

# Shorter tiers are not evidence, however clear.
MIN_PHONE_TIER_S = 2.0
MIN_WORD_TIER_S = 10.0
MIN_LABELS = 8
# Lead of the best lag over the second in robust deviations, and how much the classes explain in
# total. Of 5,700 tiers of other speech (3 to 30 s; quiet, babble, rooms) two led by more than 6,
# and of those that led by more than 3.5 none explained more than 380 nats, whatever their length.
# Right tiers reach 8 and 390 in quiet at 5 s or longer, and 6 or 450 in rooms and noise of equal
# power at 12 s or longer.
CERTAIN_MARGIN = 6.0
MIN_MARGIN = 3.5
MIN_NATS = 450.0
# Phone tiers of this length whose classes explain less of clear sound (nats per frame; contrast:
# the loud tenth over the quiet tenth of its frames, in nepers) belong to other speech: right ones
# explain at least 0.38 under another talker of equal power, 0.6 in rooms, 0.9 in quiet. Recognisers
# place words so loosely that the same is not evidence for words.
FOREIGN_GAIN = 0.2
CLEAR_CONTRAST = 2.6
FOREIGN_MARGIN = 3.0
FOREIGN_SPAN_S = 11.0
FRAMES_HZ = 100.0
# Share of boundaries that fit best between their neighbours: at least 54 % of right phones in rooms
# and noise of equal power, 40 to 60 % of words that a recogniser puts 50 to 80 ms off, 25 % of an
# alignment of the right words that is locally wrong by half a second.
MIN_SETTLED_PHONES, MIN_SETTLED_WORDS = 0.45, 0.35

# A drift over a shorter span cannot be separated from the scatter of single labels (1 ms over 5 s:
# 700 ppm).
MIN_DRIFT_SPAN_S = 5.0
# Sound whose fall-to-rise ratio is below this is searched without the reverberation of its room.
MAX_ROOM_RATIO = 0.8
# A step must be this many of its standard errors, and this large: people pause and labels wander.
MIN_STEP_STDS = 4.0
MIN_STEP_S = 0.04
# Levels tried on either side of a step, about the line at its middle. Larger steps already show as
# jumps in the search.
REACH_S = 0.16
# Duration of the tier on either side of a step: on less, a few labels would decide.
MIN_SIDE_S = 3.0
# Two levels must beat the line by as much as four standard errors do.
MIN_GAIN = 8.0
# ... and by this many times the gain of a second step on either side. After one clock step only
# noise and drift remain (30 tiers: at least 8 times; 5 in words of 20 s); recognisers put whole
# phrases early or late, where the first step gains 1 to 5 times what the second does (24 tiers).
TIMES_A_SECOND = 6.0


def measure_speech(
    spoken: SpokenTier, sound: BandEnergies, *, max_offset_s: float = 2.0
) -> PairMeasurement:
    """Measure offset, drift and step of a tier of phones or words against its audio.

    No language model is needed: the tier gives the broad class of sound (vowel, sibilant,
    silence ...) at each time, and where it fits, the classes explain the band energies of the sound
    best. The classes are learnt from the clip itself.

    Parameters
    ----------
    spoken : SpokenTier
        Tier of the transcript.
    sound : BandEnergies
        Sound of the microphone.
    max_offset_s : float
        Largest offset searched for, either sign.

    Returns
    -------
    PairMeasurement
        Method ``speech``, from the transcript to its audio: `offset_s` is added to the tier's
        times. Refused, with a reason, where the tier is too short or no lag stands out; the
        diagnostics contain ``margin``, ``height``, ``gain`` and ``seconds``.
    """
    refuse = partial(PairMeasurement.refused, spoken.source, spoken.audio, METHOD, sound.epoch_ns)
    if not spoken.classes:
        return refuse("the tier holds no words and no phones")
    spoken = _near(spoken, sound, max_offset_s)
    if not spoken.classes:
        return refuse(f"the tier is more than {max_offset_s:g} s beyond its audio")
    span_s = float(spoken.stop_s[-1] - spoken.start_s[0])
    shared_s = min(span_s, sound.hop_s * len(sound.values))
    ratio = fall_ratio(sound)
    bare = without_tails(sound)
    heard = bare if ratio < MAX_ROOM_RATIO else sound
    match = find_match(spoken, heard, max_offset_s=max_offset_s)
    figures = {
        "margin": match.margin,
        "height": match.height,
        "gain": match.gain,
        "seconds": match.n_seconds,
        "labels": float(spoken.n_labels),
        "steps": float(match.n_steps),
        "is_words": float(spoken.is_words),
        "contrast": _contrast(sound),
        "fall_ratio": ratio,
    }
    seen = match.agreement(match.course.anchor_s, sound.values.shape[1])
    why = why_not(spoken, match, shared_s, max_offset_s)
    if why is not None:
        figures["is_foreign"] = float(_is_foreign(spoken, match, shared_s, figures["contrast"]))
        return refuse(why, figures, evidence=seen)
    with_drift = match.n_seconds >= MIN_DRIFT_SPAN_S
    fit = _fitted(spoken, sound, match.course, with_drift=with_drift)
    if fit is None:
        why = "too few boundaries between different sounds in the audio"
        return refuse(why, figures, evidence=seen)
    if (why := why_not_followed(spoken, fit.settled)) is not None:
        return refuse(why, figures, evidence=seen)
    in_room = fit_course(spoken, bare, fit.course, with_drift=with_drift)
    measured = answer(spoken, sound, fit, in_room, match.n_seconds if with_drift else None, figures)
    seen = match.agreement(fit.course.anchor_s, sound.values.shape[1])
    return replace(measured, evidence=seen)


def _fitted(
    spoken: SpokenTier, sound: BandEnergies, course: Course, *, with_drift: bool
) -> CourseFit | None:
    """Fit a course; a step is kept where the boundaries confirm it."""
    if course.has_step:
        window_s = WORD_WINDOW_S if spoken.is_words else PHONE_WINDOW_S
        stepped = _place_step(spoken, sound, course, 1.5 * window_s)
        fit = fit_course(spoken, sound, stepped, with_drift=with_drift)
        if fit is not None and _is_step(fit):
            return fit
    line = fit_course(spoken, sound, course.without_step(), with_drift=with_drift)
    split = _split_line(spoken, sound, line) if line is not None and with_drift else None
    if split is not None:
        fit = fit_course(spoken, sound, split, with_drift=True)
        if fit is not None and _is_step(fit):
            return fit
    return line


def _is_step(fit: CourseFit) -> bool:
    std_s = math.sqrt(float(fit.covariance[2, 2]))
    return abs(fit.course.step_s) > max(MIN_STEP_S, MIN_STEP_STDS * std_s)


def _near(spoken: SpokenTier, sound: BandEnergies, max_offset_s: float) -> SpokenTier:
    """Return the part of a tier that can lie in the sound, which may hold little of it."""
    low_s = sound.start_s - max_offset_s
    high_s = sound.start_s + sound.hop_s * len(sound.values) + max_offset_s
    keep = (spoken.stop_s > low_s) & (spoken.start_s < high_s)
    share = np.count_nonzero(keep) / keep.size
    return replace(
        spoken,
        start_s=np.clip(spoken.start_s[keep], low_s, high_s),
        stop_s=np.clip(spoken.stop_s[keep], low_s, high_s),
        is_stated=spoken.is_stated[keep],
        classes=tuple(c for c, k in zip(spoken.classes, keep, strict=True) if k),
        n_labels=round(spoken.n_labels * share),
    )


def _contrast(sound: BandEnergies) -> float:
    """Return by how many nepers the loud tenth of the frames exceeds the quiet tenth."""
    quiet, loud = np.quantile(sound.values.mean(axis=1), (0.1, 0.9))
    return float(loud - quiet)


def why_not(spoken: SpokenTier, match: Match, shared_s: float, max_offset_s: float) -> str | None:
    """Return why the match is refused, or None."""
    needed_s = MIN_WORD_TIER_S if spoken.is_words else MIN_PHONE_TIER_S
    what = "words" if spoken.is_words else "phones"
    is_clear = match.margin >= MIN_MARGIN
    heard_s = min(shared_s, match.n_seconds) if is_clear else shared_s
    if heard_s < needed_s or spoken.n_labels < MIN_LABELS:
        return (
            f"{spoken.n_labels} {what} over {heard_s:.1f} s of audio are too few: at least "
            f"{MIN_LABELS} over {needed_s:g} s are needed"
        )
    nats = match.gain * FRAMES_HZ * match.n_seconds
    if match.margin < MIN_MARGIN or (match.margin < CERTAIN_MARGIN and nats < MIN_NATS):
        return (
            f"no offset within ± {max_offset_s:g} s stands out: the best beats the next by "
            f"{match.margin:.1f} robust deviations and explains {max(0.0, nats):.0f} nats; "
            f"required: {CERTAIN_MARGIN:g}, or {MIN_MARGIN:g} with {MIN_NATS:g} nats"
        )
    if match.is_at_edge:
        return f"it fits best at the edge of the search, ± {max_offset_s:g} s"
    if match.n_steps > 1:
        return f"the tier fits the audio only piecewise: it jumps {match.n_steps} times"
    return None


def _is_foreign(spoken: SpokenTier, match: Match, shared_s: float, contrast: float) -> bool:
    """Return whether phones clearly belong to other speech, not merely unclear sound."""
    return (
        not spoken.is_words
        and match.margin < FOREIGN_MARGIN
        and match.gain < FOREIGN_GAIN
        and contrast > CLEAR_CONTRAST
        and shared_s >= FOREIGN_SPAN_S
    )


def why_not_followed(spoken: SpokenTier, settled: float) -> str | None:
    """Return why the fit of a tier is refused, or None.

    Parameters
    ----------
    spoken : SpokenTier
        Tier.
    settled : float
        Share of its boundaries that fit best between their neighbours.
    """
    needed = MIN_SETTLED_WORDS if spoken.is_words else MIN_SETTLED_PHONES
    if settled >= needed:
        return None
    return (
        f"its times do not follow the audio: {100.0 * settled:.0f} % of its boundaries fit best "
        f"between their neighbours; at least {100.0 * needed:.0f} % is needed"
    )


def _split_line(spoken: SpokenTier, sound: BandEnergies, fit: CourseFit) -> Course | None:
    """Return the course of two levels that explains the sound better than a line, or None.

    A step too small for a jump creeps through the windows of the search like a drift, or leaves the
    fit on the level of the longer side. It is found from the likelihood of every frame under every
    level, with the classes learnt at the line: for each place, the best level before it and the
    best one after it.
    """
    likelihood = np.diff(weigh_boundaries(spoken, sound, fit.course).sums, axis=1)
    times_s, codes = _frames(spoken, sound.hop_s)
    n_side = round(MIN_SIDE_S / sound.hop_s)
    if times_s.size <= 2 * n_side:
        return None

    def explained(offsets_s: Floats) -> Floats:
        place = np.rint((times_s + offsets_s - sound.start_s) / sound.hop_s).astype(np.int64)
        found = likelihood[codes, np.clip(place, 0, likelihood.shape[1] - 1)]
        return np.asarray(TEMPER * found)

    level = replace(fit.course, drift=0.0)
    n = round(REACH_S / sound.hop_s)
    moves_s = sound.hop_s * np.arange(-n, n + 1, dtype=np.float64)
    by_level = np.array([explained(level.at(times_s) + move_s) for move_s in moves_s])
    k, height = _best_split(by_level, n_side)
    sides = by_level[:, :k], by_level[:, k:]
    gain = height - float(explained(fit.course.at(times_s)).sum())
    if gain < max(MIN_GAIN, *(TIMES_A_SECOND * _gain(side, n_side) for side in sides)):
        return None
    before_s, after_s = (float(moves_s[np.argmax(side.sum(axis=1))]) for side in sides)
    return replace(
        level,
        offset_s=level.offset_s + before_s,
        step_s=after_s - before_s,
        step_at_s=float(times_s[k]),
    )


def _best_split(by_level: Floats, n_side: int) -> tuple[int, float]:
    """Return the frame at which one level best gives way to another, and the log-likelihood.

    Parameters
    ----------
    by_level : ndarray, shape (n_levels, n_frames)
        Log-likelihood of every frame.
    n_side : int
        Smallest number of frames on either side.
    """
    total = np.cumsum(by_level, axis=1)
    heights = total.max(axis=0) + (total[:, -1:] - total).max(axis=0)
    k = n_side + int(np.argmax(heights[n_side:-n_side]))
    return k + 1, float(heights[k])


def _gain(by_level: Floats, n_side: int) -> float:
    """Return the gain of two levels over one."""
    if by_level.shape[1] <= 2 * n_side:
        return 0.0
    return _best_split(by_level, n_side)[1] - float(by_level.sum(axis=1).max())


def _frames(spoken: SpokenTier, hop_s: float) -> tuple[Floats, Ints]:
    """Return times within the tier's sounds, and the class that each belongs to."""
    times_s = np.arange(spoken.start_s[0], spoken.stop_s[-1], hop_s)
    k = np.searchsorted(spoken.start_s, times_s, side="right") - 1
    inside = times_s < spoken.stop_s[k]
    return times_s[inside], class_codes(spoken.classes)[k[inside]]


def _place_step(spoken: SpokenTier, sound: BandEnergies, course: Course, reach_s: float) -> Course:
    """Return the course with its step where the boundaries on either side fit best."""
    borders = weigh_boundaries(spoken, sound, course)
    times_s = borders.times_s
    line = replace(course, step_at_s=np.inf).at(times_s)
    still = np.zeros(1)
    early = borders.evidence(line, still)[:, 0]
    late = borders.evidence(line + course.step_s, still)[:, 0]
    # The step lies before boundary k if all from k on fit the later offset better.
    total = np.concatenate(([0.0], np.cumsum(early - late)))[:-1]
    near = np.abs(times_s - course.step_at_s) <= reach_s
    if not near.any():
        return course
    k = int(np.flatnonzero(near)[np.argmax(total[near])])
    before_s = float(times_s[k - 1]) if k else float(times_s[k])
    return replace(course, step_at_s=0.5 * (before_s + float(times_s[k])))
