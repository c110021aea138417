"""Convert a fitted course into a measurement: known biases and standard errors."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from syncaudit.estimators.speech.fit import CourseFit
from syncaudit.estimators.speech.follow import Courses
from syncaudit.estimators.speech.room import room_shift, room_weight
from syncaudit.model import BandEnergies, PairMeasurement, SpokenTier

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


def answer(
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
        Of the match: ``contrast``, ``fall_ratio`` and others.
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
        if room_weight(ratio, moved_s, noise) > 0.5:
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
        step_std_s=step_std_s(spoken, fit) if course.has_step else None,
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


def step_std_s(spoken: SpokenTier, fit: CourseFit) -> float:
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
