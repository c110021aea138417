"""Which microphones are measured, and against what: one another, IMUs, transcripts."""

from __future__ import annotations

from collections.abc import Sequence

from syncaudit.estimators import knocks, sound, speech
from syncaudit.estimators.protocol import Estimator
from syncaudit.model import BandEnergies, ClipEvidence, PairMeasurement, Quantity, SpokenTier

__all__ = ["KNOCKS", "MICROPHONES", "SPEECH"]


def measure_microphones(
    evidence: ClipEvidence,
    known: Sequence[PairMeasurement],  # noqa: ARG001  # one signature
    max_offset_s: float,
) -> list[PairMeasurement]:
    """Measure every two microphones by their waveforms."""
    heard = list(evidence.sounds.values())
    return [
        sound.estimate_microphones(source, target, max_offset_s=max_offset_s)
        for k, source in enumerate(heard)
        for target in heard[:k]
    ]


def measure_knocks(
    evidence: ClipEvidence,
    known: Sequence[PairMeasurement],  # noqa: ARG001  # one signature
    max_offset_s: float,
) -> list[PairMeasurement]:
    """Measure every microphone against every accelerometer by what both noticed of knocks."""
    return [
        knocks.estimate_knocks(
            evidence.loudness[name],
            motion[Quantity.SPECIFIC_FORCE],
            source_clicks=evidence.clicks.get(name),
            max_offset_s=max_offset_s,
        )
        for name in evidence.sounds
        if name in evidence.loudness
        for motion in evidence.motion.values()
        if Quantity.SPECIFIC_FORCE in motion
    ]


def measure_transcripts(
    evidence: ClipEvidence,
    known: Sequence[PairMeasurement],  # noqa: ARG001  # one signature
    max_offset_s: float,
) -> list[PairMeasurement]:
    """Measure every transcript with times against its audio."""
    return [
        _transcript(spoken, evidence.bands.get(spoken.audio), max_offset_s)
        for spoken in evidence.spoken.values()
    ]


MICROPHONES = Estimator(name="microphones", methods=(sound.METHOD,), measure=measure_microphones)
KNOCKS = Estimator(name="knocks", methods=(knocks.METHOD,), measure=measure_knocks)
SPEECH = Estimator(name="speech", methods=(speech.METHOD,), measure=measure_transcripts)


def _transcript(
    spoken: SpokenTier, heard: BandEnergies | None, max_offset_s: float
) -> PairMeasurement:
    if heard is None:
        why = "its audio could not be read, is silent, or is sampled below 6 kHz"
        return PairMeasurement.refused(spoken.source, spoken.audio, speech.METHOD, 0, why)
    return speech.measure_speech(spoken, heard, max_offset_s=max_offset_s)
