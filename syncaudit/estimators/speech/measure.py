"""Measure a tier against its audio, or refuse with the reason.

A fitted course becomes a measurement with its known biases and standard errors. A room's
reverberation is removed from band energies, and the remaining shift estimated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from syncaudit.estimators.speech.fit import CourseFit, fit_course
from syncaudit.estimators.speech.follow import Courses, follow
from syncaudit.estimators.speech.search import GUARD_S, Match, find_match
from syncaudit.model import BandEnergies, PairMeasurement, SpokenTier

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
# It must gain this many times what a second step on either side does. After one clock step only
# noise and drift remain (24 tiers of words: 4 to 59 times); recognisers put whole phrases early or
# late. With the error above, that leaves 4 steps of 60 to 80 ms in 159 of their tiers.
TIMES_A_SECOND = 3.0

METHOD = "speech"
# The log energy rises as soon as the window touches a louder sound, half a window early, and falls
# late by less, since sounds fade: phone boundaries are found early by this much, both in synthetic
# speech with exact times and against hand-made labels.
EARLY_S = 0.0013
# Words that begin with a stop begin in a closure that cannot be separated from the silence before:
# words are found late.
WORDS_LATE_S = 0.0009
# Uncertainty of where on a boundary people and aligners put the label: phones, words.
PHONE_FLOOR_S = 0.001
WORD_FLOOR_S = 0.0018
# Noise masks the fading of sounds: boundaries are found still earlier, and words no longer late.
# Speech in quiet has a contrast above the first, under noise of equal power one below the second.
QUIET_CONTRAST, NOISE_CONTRAST = 3.3, 1.0
NOISE_EARLY_S = 0.0025
NOISE_STD_S = 0.0025
NOISE_WORDS_EARLY_S = 0.0028
NOISE_WORDS_STD_S = 0.0045
# How far labels wander relative to sounds, and for how long: drifts of real speech scatter by
# 40 ppm over 60 s and by 250 over 20 s, where random errors alone would give 26 and 100. Words,
# whose sounds are guessed, wander twice as far.
WANDER_S = 0.0018
WANDER_WORDS_S = 0.0036
WANDER_FOR_S = 5.0
# Recognisers put whole phrases early or late. Where nine words of ten settle between their
# neighbours, their times are those of the sound; with times off by 20, 50 and 80 ms, seven, six and
# five do, and the whole tier was off by 12, 26 and 35 ms (rmse of 12 to 50 s, 146 simulated tiers).
# Recognisers process 30 s at a time.
LOOSE_S = 0.06
SETTLED = 0.85
LOOSE_FOR_S = 30.0

# Reverberation time of ordinary rooms (offices 0.4 to 0.6 s, halls 1 to 2 s), and the energy of
# the tail over that of the direct sound at the usual distance of a far microphone. Exact values
# matter little: these all but remove tails of 0.3 to 1.5 s.
REVERBERATION_S = 0.8
TAIL_SHARE = 1.0
# A frame keeps this share of its energy, however much of it may be reverberation: energies of
# single frames fluctuate by as much.
MIN_SHARE = 0.1
# ln(1e6): the reverberation time is the time of a decay by 60 dB.
_NEPERS_OF_60_DB = 13.8155
# The steepest 2 % of rises and of falls over this span are compared: over 0.1 s, small rooms and
# rooms with noise look dry (medians 0.80 and 0.90, dry 0.94 to 0.97).
SLOPE_S = 0.02
STEEPEST = 0.02
# Shift of boundaries by reverberation, fitted to 960 clips (one recording of read English,
# espeak-ng in four languages; 0.12 to 1.6 s of reverberation at -3 to 12 dB of direct sound over
# tail, with white noise, or babble in the same room, at 0 to 18 dB, and none of these): a logistic
# weight of the logarithm of the fall ratio, of how far the boundary moves once the tails are
# removed, and of the noise. 2.5 ms rmse on 590 others, instead of 5.4.
_WEIGHT = (-5.7, -10.3, 353.0, 2.5)
_MORE_S = 0.0059
# Remaining error of a shift: 2.1 ms of 3, 2.4 of 5, 2.3 of 10 and 4 of 17 ms in those clips: a
# variance in proportion to the shift.
_LEFT_S = 8e-4


def measure_speech(
    spoken: SpokenTier, sound: BandEnergies, *, max_offset_s: float = 2.0
) -> PairMeasurement:
    """Measure offset, drift and step of a tier of phones or words against its audio.

    No language model is needed: the tier gives the broad class of sound (vowel, sibilant,
    silence ...) at each time, and where it fits, the classes explain the band energies of the sound
    best. The classes are learnt from the clip itself. Offsets up to `max_offset_s` are searched
    for, either sign.

    The measurement is from the transcript to its audio: `offset_s` is added to the tier's times.
    It is refused, with a reason, where the tier is too short or no lag stands out; the diagnostics
    contain ``margin``, ``height``, ``gain`` and ``seconds``.
    """
    refuse = partial(PairMeasurement.refused, spoken.source, spoken.audio, METHOD, sound.epoch_ns)
    if not spoken.classes:
        return refuse("the tier holds no words and no phones")
    spoken = _near(spoken, sound, max_offset_s)
    if not spoken.classes:
        return refuse(f"the tier is more than {max_offset_s:g} s beyond its audio")
    span_s = float(spoken.stop_s[-1] - spoken.start_s[0])
    shared_s = min(span_s, sound.hop_s * len(sound.values))
    ratio = _fall_ratio(sound)
    bare = _without_tails(sound)
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
    seen = match.agreement(match.course, sound.values.shape[1])
    why = _why_not(spoken, match, shared_s, max_offset_s)
    if why is not None:
        figures["is_foreign"] = float(_is_foreign(spoken, match, shared_s, figures["contrast"]))
        return refuse(why, figures, evidence=seen)
    with_drift = match.n_seconds >= MIN_DRIFT_SPAN_S
    courses = follow(spoken, sound, match.course, with_drift=with_drift)
    figures |= {"step_gain": courses.gain, "second_gain": courses.second}
    fit, courses = _fitted(spoken, sound, courses, with_drift=with_drift)
    if fit is None:
        why = "too few boundaries between different sounds in the audio"
        return refuse(why, figures, evidence=seen)
    if (why := why_not_followed(spoken, fit.settled)) is not None:
        return refuse(why, figures, evidence=seen)
    if not fit.course.has_step and (why := why_not_one_line(courses)) is not None:
        figures["steps"] = 1.0 + float(courses.second > courses.needed)
        return refuse(why, figures, evidence=seen)
    in_room = fit_course(spoken, bare, fit.course, with_drift=with_drift)
    drift_span_s = match.n_seconds if with_drift else None
    measured = _answer(spoken, sound, courses, fit, in_room, drift_span_s, figures)
    seen = match.agreement(fit.course, sound.values.shape[1])
    return replace(measured, evidence=seen)


def _fitted(
    spoken: SpokenTier, sound: BandEnergies, courses: Courses, *, with_drift: bool
) -> tuple[CourseFit | None, Courses]:
    """Fit the best course; a step is kept where the boundaries confirm it.

    Where labels that are off together count as one, more gain is needed, and returned as such.
    """
    if courses.gain > max(courses.needed, TIMES_A_SECOND * courses.second):
        fit = fit_course(spoken, sound, courses.stepped, with_drift=with_drift)
        if fit is not None:
            courses = replace(courses, overdispersion=max(1.0, fit.overdispersion))
            is_gained = courses.gain > courses.needed
            if is_gained and courses.is_one_way and _is_step(spoken, fit):
                return fit, courses
    return fit_course(spoken, sound, courses.line, with_drift=with_drift), courses


def _is_step(spoken: SpokenTier, fit: CourseFit) -> bool:
    needed_s = max(MIN_STEP_S, MIN_STEP_STDS * _step_std_s(spoken, fit))
    return abs(fit.course.step_s) > needed_s


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


def _why_not(spoken: SpokenTier, match: Match, shared_s: float, max_offset_s: float) -> str | None:
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


def why_not_one_line(courses: Courses) -> str | None:
    """Return why a line does not describe a tier in which no step was confirmed, or None."""
    step_s, step_at_s = courses.stepped.step_s, courses.stepped.step_at_s
    if courses.gain <= courses.doubtful or abs(step_s) <= GUARD_S:
        return None
    return (
        f"the tier fits its audio {1e3 * step_s:+.0f} ms more from {step_at_s:.1f} s on, but that "
        "is too near an end, not the only jump, or looks like a drift: no step is measured"
    )


def why_not_followed(spoken: SpokenTier, settled: float) -> str | None:
    """Return why the fit of a tier is refused, or None.

    `settled`: share of its boundaries that fit best between their neighbours.
    """
    needed = MIN_SETTLED_WORDS if spoken.is_words else MIN_SETTLED_PHONES
    if settled >= needed:
        return None
    return (
        f"its times do not follow the audio: {100.0 * settled:.0f} % of its boundaries fit best "
        f"between their neighbours; at least {100.0 * needed:.0f} % is needed"
    )


def _answer(
    spoken: SpokenTier,
    sound: BandEnergies,
    courses: Courses,
    fit: CourseFit,
    bare_fit: CourseFit | None,
    drift_span_s: float | None,
    figures: Mapping[str, float],
) -> PairMeasurement:
    """Return the measurement of a fitted course.

    Parameters
    ----------
    spoken, sound
        Tier and audio.
    courses : Courses
        The line, and the step that may be there where none was fitted.
    fit : CourseFit
        Fit to the sound as it is.
    bare_fit : CourseFit, optional
        Fit to the sound without the reverberation of its room.
    drift_span_s : float, optional
        Seconds over which a drift was fitted; None where none was.
    figures : mapping of str to float
        Of the match: ``contrast``, ``_fall_ratio`` and others.
    """
    anchor = np.array([fit.course.anchor_s])
    offset_s = float(fit.course.at(anchor)[0])
    noise = float(
        np.clip(
            (QUIET_CONTRAST - figures["contrast"]) / (QUIET_CONTRAST - NOISE_CONTRAST), 0.0, 1.0
        )
    )
    shift_s = shift_std_s = 0.0
    if bare_fit is not None:
        moved_s = offset_s - float(bare_fit.course.at(anchor)[0])
        ratio = figures["fall_ratio"]
        shift_s, shift_std_s = room_shift(ratio, moved_s, noise)
        if _room_weight(ratio, moved_s, noise) > 0.5:
            fit = bare_fit
    if spoken.is_words:
        early_s = -WORDS_LATE_S + NOISE_WORDS_EARLY_S * noise
        floor_s = math.hypot(WORD_FLOOR_S, NOISE_WORDS_STD_S * noise, _looseness_s(spoken, fit))
    else:
        early_s = EARLY_S + NOISE_EARLY_S * noise
        floor_s = math.hypot(PHONE_FLOOR_S, NOISE_STD_S * noise)
    floor_s = math.hypot(floor_s, shift_std_s)
    course = fit.course
    # At the anchor the step already counts if it lies before it.
    on = np.array([1.0, 0.0, 1.0 if anchor[0] >= course.step_at_s else 0.0])
    random_s = math.sqrt(max(0.0, float(on @ fit.covariance @ on)))
    drift_std = step_s = 0.0
    if drift_span_s is not None:
        drift_std = math.hypot(
            math.sqrt(float(fit.covariance[1, 1])), _wander(spoken, fit, drift_span_s)
        )
        if not course.has_step:
            step_s, step_drift = courses.doubt(anchor[0], max(1.0, fit.overdispersion))
            drift_std = math.hypot(drift_std, step_drift)
    return PairMeasurement(
        source=spoken.source,
        target=spoken.audio,
        method=METHOD,
        at_ns=sound.epoch_ns + round(float(anchor[0]) * 1e9),
        offset_s=offset_s + early_s - shift_s,
        offset_std_s=math.hypot(random_s, floor_s, step_s),
        systematic_std_s=floor_s,
        drift_ppm=None if drift_span_s is None else 1e6 * course.drift,
        drift_std_ppm=None if drift_span_s is None else 1e6 * drift_std,
        step_s=course.step_s if course.has_step else None,
        step_std_s=_step_std_s(spoken, fit) if course.has_step else None,
        step_at_ns=sound.epoch_ns + round(course.step_at_s * 1e9) if course.has_step else None,
        accepted=True,
        diagnostics=dict(figures)
        | {
            "random_std_s": random_s,
            "scatter_s": fit.scatter_s,
            "settled": fit.settled,
            "borders": float(fit.n_borders),
            "pieces": float(fit.n_pieces),
            "room_shift_s": shift_s,
            "doubted_step_s": step_s,
        },
    )


def _step_std_s(spoken: SpokenTier, fit: CourseFit) -> float:
    """Return the standard error of a step: random, and due to slow wander on either side."""
    sides_s = (
        fit.course.step_at_s - float(spoken.start_s[0]),
        float(spoken.stop_s[-1]) - fit.course.step_at_s,
    )
    moves_s = [_moves_s(spoken, fit, max(side_s, 1.0)) for side_s in sides_s]
    return math.hypot(math.sqrt(float(fit.covariance[2, 2])), *moves_s)


def _looseness_s(spoken: SpokenTier, fit: CourseFit) -> float:
    """Return how far off a whole tier of words may be because its times are loose."""
    return LOOSE_S * max(0.0, SETTLED - fit.settled) if spoken.is_words else 0.0


def _wander(spoken: SpokenTier, fit: CourseFit, span_s: float) -> float:
    """Return the standard error of a drift (as a ratio) due to slow wander of the labels.

    It is that of the slope of a line through independent moves, spread evenly over the span.
    """
    return math.sqrt(12.0) * _moves_s(spoken, fit, span_s) / span_s


def _moves_s(spoken: SpokenTier, fit: CourseFit, span_s: float) -> float:
    """Return by how much labels wander together relative to sounds, averaged over a span."""
    usual_s = WANDER_WORDS_S if spoken.is_words else WANDER_S
    return math.hypot(
        usual_s * math.sqrt(min(1.0, WANDER_FOR_S / span_s)),
        _looseness_s(spoken, fit) * math.sqrt(min(1.0, LOOSE_FOR_S / span_s)),
    )


def _without_tails(sound: BandEnergies) -> BandEnergies:
    """Return the energies without the reverberation of earlier energy.

    A room's response is the direct sound and an exponential tail of noise, so the expected energy
    of every band follows a recursion in the energy of the direct sound, which is solved for the
    latter (after K. Lebart, J. M. Boucher, P. N. Denbigh, "A new method based on spectral
    subtraction for speech dereverberation", Acta Acustica 87, 2001).
    """
    energy = np.exp(sound.values)
    keep = float(np.exp(-_NEPERS_OF_60_DB * sound.hop_s / REVERBERATION_S))
    gain = (1.0 - keep) * TAIL_SHARE
    direct = np.empty_like(energy)
    tail = np.zeros(energy.shape[1])
    for k, heard in enumerate(energy):
        direct[k] = np.maximum(heard - tail, MIN_SHARE * heard)
        tail = keep * tail + gain * direct[k]
    return replace(sound, values=np.log(direct))


def _fall_ratio(sound: BandEnergies) -> float:
    """Return the steepness of a sound's falls over that of its rises; rooms slow the falls.

    Dry speech has 0.8 to 1.2, rooms have 0.5 to 0.8, with noise 0.7 to 0.9.
    """
    n = max(1, round(SLOPE_S / sound.hop_s))
    if len(sound.values) <= n:
        return 1.0
    change = sound.values[n:] - sound.values[:-n]
    fall, rise = np.quantile(change, (STEEPEST, 1.0 - STEEPEST), axis=0)
    return float(-fall.mean() / max(float(rise.mean()), 1e-9))


def _room_weight(ratio: float, moved_s: float, noise: float) -> float:
    """Return how surely a room's reverberation shifts boundaries, 0 to 1.

    Parameters
    ----------
    ratio : float
        From `_fall_ratio`.
    moved_s : float
        By how much earlier boundaries are found `_without_tails`; 1 to 5 ms for dry sound.
    noise : float
        0 in quiet, 1 in noise as loud as the speech.
    """
    features = (1.0, math.log(max(ratio, 1e-3)), moved_s, noise)
    at = sum(weight * feature for weight, feature in zip(_WEIGHT, features, strict=True))
    return float(1.0 / (1.0 + np.exp(-at)))


def room_shift(ratio: float, moved_s: float, noise: float) -> tuple[float, float]:
    """Return how late the room makes boundaries, and its standard error."""
    weight, whole_s = _room_weight(ratio, moved_s, noise), moved_s + _MORE_S
    shift_s = weight * whole_s
    # There is a room or there is none: the variance of the mixture, and what is left in a room.
    variance = weight * (1.0 - weight) * whole_s**2 + _LEFT_S * max(shift_s, 0.0)
    return shift_s, math.sqrt(variance)
