"""How well two sides agree over the offset where one of them is a sound."""

from __future__ import annotations

import numpy as np

from syncaudit.estimators.knocks.envelopes import likeness_of_envelopes
from syncaudit.estimators.knocks.onsets import find_onsets
from syncaudit.estimators.knocks.trains import blur_of, correlate_trains
from syncaudit.estimators.sound.pair import SoundPair
from syncaudit.estimators.sound.search import likeness_of
from syncaudit.estimators.speech.search import find_match
from syncaudit.model import PairMeasurement, Quantity
from syncaudit.pipeline import ClipEvidence
from syncaudit_gui.audits.result import DelayEvidence, known_offset_s

__all__ = ["knock_curve", "microphone_curve", "speech_curve"]

# Half of what is seen at first: lobes of sounds are as narrow as their waves.
NEAR_SOUND_S = 0.05
NEAR_KNOCKS_S = 0.3
NEAR_SPEECH_S = 0.5
# Searched on either side of the estimate.
REACH_S = 1.0
# Farther from zero a search over all offsets would take long.
MOST_S = 60.0


def microphone_curve(pair: PairMeasurement, evidence: ClipEvidence) -> DelayEvidence | None:
    """Return the correlation of two whitened sounds."""
    source, target = evidence.sounds.get(pair.source), evidence.sounds.get(pair.target)
    reach_s = _reach_s(pair)
    if source is None or target is None or reach_s is None:
        return None
    sounds = SoundPair.of(source, target, reach_s)
    found = None if isinstance(sounds, str) else likeness_of(sounds)
    return None if found is None else _near(pair, *found, near_s=NEAR_SOUND_S)


def knock_curve(pair: PairMeasurement, evidence: ClipEvidence) -> DelayEvidence | None:
    """Return the correlation of knocks, or of envelopes where those were what was measured."""
    sound = evidence.loudness.get(pair.source)
    force = evidence.motion.get(pair.target, {}).get(Quantity.SPECIFIC_FORCE)
    reach_s = _reach_s(pair)
    if sound is None or force is None or reach_s is None:
        return None
    if min(sound.times_s.size, force.times_s.size) < 50:
        return None
    epochs_s = (force.epoch_ns - sound.epoch_ns) * 1e-9
    a, b = find_onsets(sound, evidence.clicks.get(pair.source)), find_onsets(force, None)
    if pair.diagnostics.get("is_envelope") or isinstance(a, str) or isinstance(b, str):
        found = likeness_of_envelopes(sound, force, epochs_s, reach_s)
        if found is None:
            return None
        offsets_s, likeness = found
    else:
        moved = b.moved(epochs_s)
        trains = correlate_trains(a, moved, blur_of(a, moved), reach_s)
        if isinstance(trains, str) or not trains[2] > 0.0:
            return None
        offsets_s, likeness = trains[0], trains[1] / trains[2]
    return _near(pair, offsets_s, np.clip(likeness, 0.0, 1.0), near_s=NEAR_KNOCKS_S)


def speech_curve(pair: PairMeasurement, evidence: ClipEvidence) -> DelayEvidence | None:
    """Return how much of a sound its tier explains: the mean share of the bands, in R."""
    spoken, sound = evidence.spoken.get(pair.source), evidence.bands.get(pair.target)
    reach_s = _reach_s(pair)
    if spoken is None or sound is None or not spoken.classes or reach_s is None:
        return None
    match = find_match(spoken, sound, max_offset_s=reach_s)
    n_bands = sound.values.shape[1]
    share = 1.0 - np.exp(-2.0 * np.maximum(match.gains, 0.0) / n_bands)
    # Windows were added up along the drift and the steps that were found: at the pair's instant.
    at_s = (pair.at_ns - sound.epoch_ns) * 1e-9 if pair.at_ns else match.course.anchor_s
    offsets_s = match.lags_s + float(match.course.at(np.array([at_s]))[0])
    return _near(pair, offsets_s, np.sqrt(share), near_s=NEAR_SPEECH_S)


def _reach_s(pair: PairMeasurement) -> float | None:
    """Return how far to search from zero; None where that is too far."""
    reach_s = abs(known_offset_s(pair)) + REACH_S
    return reach_s if reach_s <= MOST_S else None


def _near(
    pair: PairMeasurement,
    offsets_s: np.ndarray,
    agreement: np.ndarray,
    *,
    near_s: float,
) -> DelayEvidence | None:
    """Return the part of a curve around the estimate."""
    kept = np.abs(offsets_s - known_offset_s(pair)) <= REACH_S
    if not kept.any():
        return None
    return DelayEvidence(offsets_s=offsets_s[kept], agreement=agreement[kept], near_s=near_s)
