"""Measure a tier against its audio, or say why that cannot be done."""

from __future__ import annotations

import math

import numpy as np

from syncaudit.estimators.speech.fit import CourseFit, fit_course, place_step
from syncaudit.estimators.speech.search import (
    PHONE_WINDOW_S,
    WORD_WINDOW_S,
    Match,
    find_match,
)
from syncaudit.model import BandEnergies, PairMeasurement, SpokenTier

__all__ = ["METHOD", "measure_speech"]

METHOD = "speech"
# Less says nothing, however clear.
MIN_PHONE_TIER_S = 2.0
MIN_WORD_TIER_S = 10.0
MIN_LABELS = 8
# A drift over less is not told from the scatter of labels.
MIN_DRIFT_SPAN_S = 30.0
# Best lag over the second in robust deviations: wrong texts reach 2.9 (5 s), 2.5 (8 s), 2.4 (12 s)
# in one case of fifty, and true ones surpass 6 (phones, 5 s), 8 (words, 12 s) in 49 of fifty.
MIN_MARGIN = ((8.0, 4.5), (12.0, 3.5), (math.inf, 3.0))
# The logarithm of energy rises as soon as the window touches a louder sound, half a window early,
# and falls late by less, since sounds fade: borders of phones are found early by this much, in
# synthetic speech with exact times and by hand-made labels alike.
EARLY_S = 0.001
# Where on a border people and aligners put the label: phones, words.
PHONE_FLOOR_S = 0.001
WORD_FLOOR_S = 0.0015


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
    span_s = float(spoken.stop_s[-1] - spoken.start_s[0])
    match = find_match(spoken, sound, max_offset_s=max_offset_s)
    figures = {
        "margin": match.margin,
        "height": match.height,
        "gain": match.gain,
        "seconds": match.n_seconds,
        "labels": float(spoken.n_labels),
        "steps": float(match.n_steps),
        "is_words": float(spoken.is_words),
    }
    why = _why_not(spoken, match, span_s, max_offset_s)
    if why is not None:
        return PairMeasurement.refused(spoken.source, spoken.audio, METHOD, at_ns, why, figures)
    with_drift = match.n_seconds >= MIN_DRIFT_SPAN_S
    course = match.course
    if course.has_step:
        window_s = WORD_WINDOW_S if spoken.is_words else PHONE_WINDOW_S
        course = place_step(spoken, sound, course, 1.5 * window_s)
    fit = fit_course(spoken, sound, course, with_drift=with_drift)
    if fit is None:
        return PairMeasurement.refused(
            spoken.source,
            spoken.audio,
            METHOD,
            at_ns,
            "too few borders between unlike sounds lie in the sound",
            figures,
        )
    return _answer(spoken, sound, fit, with_drift, figures)


def _why_not(spoken: SpokenTier, match: Match, span_s: float, max_offset_s: float) -> str | None:
    """Return why the match is not to be believed, or None."""
    needed_s = MIN_WORD_TIER_S if spoken.is_words else MIN_PHONE_TIER_S
    what = "words" if spoken.is_words else "phones"
    if match.n_seconds < needed_s or spoken.n_labels < MIN_LABELS:
        return (
            f"{spoken.n_labels} {what} over {min(span_s, match.n_seconds):.1f} s of sound are too "
            f"few: at least {MIN_LABELS} over {needed_s:g} s are needed"
        )
    needed = next(margin for below_s, margin in MIN_MARGIN if match.n_seconds < below_s)
    if match.margin < needed:
        return (
            f"no offset within ± {max_offset_s:g} s stands out: the best beats the next by "
            f"{match.margin:.1f} robust deviations, needed {needed:g}"
        )
    if match.is_at_edge:
        return f"it fits best at the edge of the search, ± {max_offset_s:g} s"
    if match.n_steps > 1:
        return f"the tier fits the sound piece by piece only: it jumps {match.n_steps} times"
    return None


def _answer(
    spoken: SpokenTier,
    sound: BandEnergies,
    fit: CourseFit,
    with_drift: bool,
    figures: dict[str, float],
) -> PairMeasurement:
    course = fit.course
    floor_s = WORD_FLOOR_S if spoken.is_words else PHONE_FLOOR_S
    offset_s = float(course.at(np.array([course.anchor_s]))[0])
    offset_s += 0.0 if spoken.is_words else EARLY_S
    # At the anchor the step counts already where it lies before.
    on = np.array([1.0, 0.0, 1.0 if course.anchor_s >= course.step_at_s else 0.0])
    random_s = math.sqrt(max(0.0, float(on @ fit.covariance @ on)))
    return PairMeasurement(
        source=spoken.source,
        target=spoken.audio,
        method=METHOD,
        at_ns=sound.epoch_ns + round(course.anchor_s * 1e9),
        offset_s=offset_s,
        offset_std_s=math.hypot(random_s, floor_s),
        systematic_std_s=floor_s,
        drift_ppm=1e6 * course.drift if with_drift else None,
        drift_std_ppm=1e6 * math.sqrt(float(fit.covariance[1, 1])) if with_drift else None,
        step_s=course.step_s if course.has_step else None,
        step_std_s=math.sqrt(float(fit.covariance[2, 2])) if course.has_step else None,
        step_at_ns=sound.epoch_ns + round(course.step_at_s * 1e9) if course.has_step else None,
        accepted=True,
        diagnostics=figures
        | {
            "random_std_s": random_s,
            "borders": float(fit.n_borders),
            "pieces": float(fit.n_pieces),
        },
    )
