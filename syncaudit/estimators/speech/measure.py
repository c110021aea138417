"""Measure a tier against its audio, or say why that cannot be done."""

from __future__ import annotations

import math
from dataclasses import replace

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
# Best lag over the second in robust deviations: wrong texts reach 4.3 (5 s), 2.9 (8 s) and 3.1
# (12 s) in one case of fifty; in noise at 10 dB true phones stay above 10 at 12 s, words above 5.
MIN_MARGIN = ((8.0, 4.5), (12.0, 4.0), (math.inf, 3.5))
# Where the sound is clear (the loud tenth over the quiet tenth of its frames, in nepers of energy;
# noise at 5 dB leaves less), a tier of this length that stands out by less is of other speech.
CLEAR_CONTRAST = 2.6
FOREIGN_MARGIN = 3.0
FOREIGN_SPAN_S = 11.0
# Whole sentences tell too little of what is spoken when.
FOREIGN_LABELS_HZ = 1.0
# The logarithm of energy rises as soon as the window touches a louder sound, half a window early,
# and falls late by less, since sounds fade: borders of phones are found early by this much, in
# synthetic speech with exact times and by hand-made labels alike.
EARLY_S = 0.001
# How far labels and sounds move against each other in the course of a minute: over 60 s of real
# speech drifts scatter by 40 ppm, which random errors alone put at 26.
WANDER_S = 0.0005
# Words that begin with a stop begin in a hush that the silence before hides: words are found late,
# by 1.7 to 2 ms in synthetic speech, 2 to 2.6 ms in real.
WORDS_LATE_S = 0.0018
# Where on a border people and aligners put the label: phones, words.
PHONE_FLOOR_S = 0.001
WORD_FLOOR_S = 0.0018
# Noise hides how sounds fade, which moves borders by 1 ms and more.
NOISY_CONTRAST = 3.3
NOISY_FLOOR_S = 0.0012
NOISY_WORD_FLOOR_S = 0.0025
# Words whose times scatter by more than a sound is long pull the answer along (with jitter
# of 50 ms they are found to scatter by 20 ms, and are off by 19 ms rmse over 15 s).
WORD_SCATTER_SHARE = 0.7


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
    match = find_match(spoken, sound, max_offset_s=max_offset_s)
    figures = {
        "margin": match.margin,
        "height": match.height,
        "gain": match.gain,
        "seconds": match.n_seconds,
        "labels": float(spoken.n_labels),
        "steps": float(match.n_steps),
        "is_words": float(spoken.is_words),
        "contrast": _contrast(sound),
    }
    why = _why_not(spoken, match, shared_s, max_offset_s)
    if why is not None:
        figures["is_foreign"] = float(
            match.margin < FOREIGN_MARGIN
            and figures["contrast"] > CLEAR_CONTRAST
            and shared_s >= FOREIGN_SPAN_S
            and spoken.n_labels >= FOREIGN_LABELS_HZ * span_s
        )
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
    return _answer(spoken, sound, fit, match.n_seconds if with_drift else None, figures)


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


def _why_not(spoken: SpokenTier, match: Match, shared_s: float, max_offset_s: float) -> str | None:
    """Return why the match is not to be believed, or None."""
    needed_s = MIN_WORD_TIER_S if spoken.is_words else MIN_PHONE_TIER_S
    what = "words" if spoken.is_words else "phones"
    is_clear = match.margin >= MIN_MARGIN[-1][1]
    heard_s = min(shared_s, match.n_seconds) if is_clear else shared_s
    if heard_s < needed_s or spoken.n_labels < MIN_LABELS:
        return (
            f"{spoken.n_labels} {what} over {heard_s:.1f} s of sound are too "
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
    drift_span_s: float | None,
    figures: dict[str, float],
) -> PairMeasurement:
    """Return the measurement; `drift_span_s` is None where no drift can be told."""
    course = fit.course
    is_noisy = figures["contrast"] <= NOISY_CONTRAST
    floor_s = NOISY_FLOOR_S if is_noisy else PHONE_FLOOR_S
    if spoken.is_words:
        floor_s = NOISY_WORD_FLOOR_S if is_noisy else WORD_FLOOR_S
        floor_s = max(floor_s, WORD_SCATTER_SHARE * fit.scatter_s)
    offset_s = float(course.at(np.array([course.anchor_s]))[0])
    offset_s += -WORDS_LATE_S if spoken.is_words else EARLY_S
    # At the anchor the step counts already where it lies before.
    on = np.array([1.0, 0.0, 1.0 if course.anchor_s >= course.step_at_s else 0.0])
    random_s = math.sqrt(max(0.0, float(on @ fit.covariance @ on)))
    drift_std = 0.0
    if drift_span_s is not None:
        # The slope of a line through errors that are spread evenly over the span.
        drift_std = math.hypot(
            math.sqrt(float(fit.covariance[1, 1])), math.sqrt(12.0) * WANDER_S / drift_span_s
        )
    return PairMeasurement(
        source=spoken.source,
        target=spoken.audio,
        method=METHOD,
        at_ns=sound.epoch_ns + round(course.anchor_s * 1e9),
        offset_s=offset_s,
        offset_std_s=math.hypot(random_s, floor_s),
        systematic_std_s=floor_s,
        drift_ppm=None if drift_span_s is None else 1e6 * course.drift,
        drift_std_ppm=None if drift_span_s is None else 1e6 * drift_std,
        step_s=course.step_s if course.has_step else None,
        step_std_s=math.sqrt(float(fit.covariance[2, 2])) if course.has_step else None,
        step_at_ns=sound.epoch_ns + round(course.step_at_s * 1e9) if course.has_step else None,
        accepted=True,
        diagnostics=figures
        | {
            "random_std_s": random_s,
            "scatter_s": fit.scatter_s,
            "borders": float(fit.n_borders),
            "pieces": float(fit.n_pieces),
        },
    )
