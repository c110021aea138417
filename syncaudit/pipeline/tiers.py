"""Measure one tier against one audio file, as is done for a transcript, but without a clip."""

from __future__ import annotations

from syncaudit.detectors import find_band_energies, spoken_tier
from syncaudit.estimators import measure_speech
from syncaudit.model import AudioStream, PairMeasurement, Tier

__all__ = ["measure_tier"]


def measure_tier(
    tier: Tier, audio: AudioStream, *, name: str = "tier", max_offset_s: float = 2.0
) -> PairMeasurement:
    """Measure the offset of a tier of phones or words from its audio.

    Parameters
    ----------
    tier : Tier
        In seconds of the audio file.
    audio : AudioStream
        Audio to measure it against.
    name : str
        Name of the tier in the result.
    max_offset_s : float
        Largest offset to search, either sign.

    Returns
    -------
    PairMeasurement
        `offset_s` is what to add to the tier's times; refused with a reason if it cannot be
        determined, or if the tier does not belong to the audio.
    """
    at_ns = int(audio.time_ns[0]) if audio.time_ns.size else 0
    spoken = spoken_tier(tier, source=name, audio=audio.name)
    if spoken is None:
        why = "the tier holds no words and no phones"
        return PairMeasurement.refused(name, audio.name, "speech", at_ns, why)
    sound = find_band_energies(audio)
    if sound is None:
        why = "the audio is silent, shorter than 0.1 s or sampled below 6 kHz"
        return PairMeasurement.refused(name, audio.name, "speech", at_ns, why)
    return measure_speech(spoken, sound, max_offset_s=max_offset_s)
