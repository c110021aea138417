"""Measure a tier against its audio, or refuse with the reason."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from syncaudit.estimators.speech.answer import METHOD, answer, step_std_s
from syncaudit.estimators.speech.fit import CourseFit, fit_course
from syncaudit.estimators.speech.follow import Courses, follow
from syncaudit.estimators.speech.room import fall_ratio, without_tails
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
    seen = match.agreement(match.course, sound.values.shape[1])
    why = why_not(spoken, match, shared_s, max_offset_s)
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
    measured = answer(spoken, sound, courses, fit, in_room, drift_span_s, figures)
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
    needed_s = max(MIN_STEP_S, MIN_STEP_STDS * step_std_s(spoken, fit))
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
