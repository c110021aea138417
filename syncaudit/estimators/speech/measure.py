"""Measure a tier against its audio, or say why that cannot be done."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from syncaudit.estimators.speech.answer import METHOD, answer
from syncaudit.estimators.speech.course import Course
from syncaudit.estimators.speech.fit import CourseFit, fit_course
from syncaudit.estimators.speech.refusal import is_foreign, why_not, why_not_followed
from syncaudit.estimators.speech.room import fall_ratio, without_tails
from syncaudit.estimators.speech.search import (
    PHONE_WINDOW_S,
    WORD_WINDOW_S,
    find_match,
)
from syncaudit.estimators.speech.steps import place_step, split_line
from syncaudit.model import BandEnergies, PairMeasurement, SpokenTier

__all__ = ["METHOD", "measure_speech"]

# A drift over less is not told from the scatter of single labels (1 ms over 5 s: 700 ppm).
MIN_DRIFT_SPAN_S = 5.0
# Sound that falls so much more slowly than it rises is searched without the tails of its room.
MAX_ROOM_RATIO = 0.8
# A step must be so many of its standard errors, and so large: people pause and labels wander.
MIN_STEP_STDS = 4.0
MIN_STEP_S = 0.04


def measure_speech(
    spoken: SpokenTier, sound: BandEnergies, *, max_offset_s: float = 2.0
) -> PairMeasurement:
    """Measure offset, drift and step of a tier of phones or words against its audio.

    No model of a language is needed: the tier says when which broad class of sound (vowel,
    sibilant, silence ...) is heard, and where it fits, the classes explain the band energies of the
    sound best. The classes are learnt from the clip itself.

    Parameters
    ----------
    spoken : SpokenTier
        What the transcript says.
    sound : BandEnergies
        What the microphone heard.
    max_offset_s : float
        Largest offset searched for, either sign.

    Returns
    -------
    PairMeasurement
        Method ``speech``, from the transcript to its audio: `offset_s` is what is added to the
        tier's times. Refused, with a reason, where the tier is too short or no lag stands out; the
        diagnostics tell ``margin``, ``height``, ``gain`` and ``seconds``.
    """
    at_ns = sound.epoch_ns
    if not spoken.classes:
        return PairMeasurement.refused(
            spoken.source, spoken.audio, METHOD, at_ns, "the tier holds no word and no phone"
        )
    spoken = _near(spoken, sound, max_offset_s)
    if not spoken.classes:
        far = f"the tier lies more than {max_offset_s:g} s beyond its audio"
        return PairMeasurement.refused(spoken.source, spoken.audio, METHOD, at_ns, far)
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
        figures["is_foreign"] = float(is_foreign(spoken, match, shared_s, figures["contrast"]))
        return PairMeasurement.refused(
            spoken.source, spoken.audio, METHOD, at_ns, why, figures, evidence=seen
        )
    with_drift = match.n_seconds >= MIN_DRIFT_SPAN_S
    fit = _fitted(spoken, sound, match.course, with_drift=with_drift)
    if fit is None:
        why = "too few borders between unlike sounds lie in the sound"
    else:
        why = why_not_followed(spoken, fit.settled)
    if fit is None or why is not None:
        return PairMeasurement.refused(
            spoken.source, spoken.audio, METHOD, at_ns, why or "", figures, evidence=seen
        )
    in_room = fit_course(spoken, bare, fit.course, with_drift=with_drift)
    measured = answer(spoken, sound, fit, in_room, match.n_seconds if with_drift else None, figures)
    seen = match.agreement(fit.course.anchor_s, sound.values.shape[1])
    return replace(measured, evidence=seen)


def _fitted(
    spoken: SpokenTier, sound: BandEnergies, course: Course, *, with_drift: bool
) -> CourseFit | None:
    """Fit a course; a step stays where the borders bear it out."""
    if course.has_step:
        window_s = WORD_WINDOW_S if spoken.is_words else PHONE_WINDOW_S
        stepped = place_step(spoken, sound, course, 1.5 * window_s)
        fit = fit_course(spoken, sound, stepped, with_drift=with_drift)
        if fit is not None and _is_step(fit):
            return fit
    line = fit_course(spoken, sound, course.without_step(), with_drift=with_drift)
    split = split_line(spoken, sound, line) if line is not None and with_drift else None
    if split is not None:
        fit = fit_course(spoken, sound, split, with_drift=True)
        if fit is not None and _is_step(fit):
            return fit
    return line


def _is_step(fit: CourseFit) -> bool:
    std_s = math.sqrt(float(fit.covariance[2, 2]))
    return abs(fit.course.step_s) > max(MIN_STEP_S, MIN_STEP_STDS * std_s)


def _near(spoken: SpokenTier, sound: BandEnergies, max_offset_s: float) -> SpokenTier:
    """Return the part of a tier that can lie in the sound: a window may hold little of it."""
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
