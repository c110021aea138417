"""Read speech with hand-made tiers; ../shared/realdata/README.md lists its known properties."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from syncaudit.model import AudioSpec, AudioStream, Interval, PairMeasurement, Tier, TranscriptSpec
from syncaudit.pipeline import measure_tier
from syncaudit.readers.audio import read_audio
from syncaudit.readers.transcript import read_transcript

pytestmark = pytest.mark.realdata


@pytest.fixture(scope="module")
def audio(recordings: ModuleType) -> AudioStream:
    folder = recordings.REALDATA / "speech"
    return read_audio("mic", AudioSpec(uri=str(folder / "acoustic_corpus.wav"), start_ns=0), "")


def tier_of(recordings: ModuleType, uri: str, tier: str) -> Tier:
    spec = TranscriptSpec(uri=str(recordings.REALDATA / uri), audio="mic", tier=tier)
    stream = read_transcript("text", spec, "")
    return next(found for found in stream.tiers if found.name == tier)


def part(
    audio: AudioStream, tier: Tier, start_s: float, span_s: float, by_s: float
) -> PairMeasurement:
    """Measure a part of the recording with its tier shifted by `by_s`."""
    first, n = round(start_s * audio.rate_hz), round(span_s * audio.rate_hz)
    piece = AudioStream(
        name="mic",
        clock="mic",
        kind=audio.kind,
        time_ns=np.zeros(1, np.int64),
        anchor_samples=np.zeros(1, np.int64),
        rate_hz=audio.rate_hz,
        samples=audio.samples[first : first + n],
    )
    inside = [
        Interval(
            start_s=max(i.start_s - start_s, 0.0) - by_s,
            stop_s=min(i.stop_s - start_s, span_s) - by_s,
            label=i.label,
        )
        for i in tier.intervals
        if i.stop_s > start_s and i.start_s < start_s + span_s
    ]
    return measure_tier(Tier(name=tier.name, intervals=tuple(inside)), piece)


@pytest.mark.parametrize("name", ["phone", "word"])
def test_hand_made_tiers_read_zero(recordings: ModuleType, audio: AudioStream, name: str) -> None:
    tier = tier_of(recordings, "speech/acoustic_corpus_hand.TextGrid", name)
    pair = measure_tier(tier, audio)
    assert pair.accepted, pair.why
    assert pair.offset_s == pytest.approx(0.0, abs=6e-3)


def test_aligner_reads_what_its_convention_says(recordings: ModuleType, audio: AudioStream) -> None:
    tier = tier_of(recordings, "speech/acoustic_corpus_mfa.TextGrid", "phones")
    pair = measure_tier(tier, audio)
    # Known: about 8 ms, by other means accurate to 4 ms.
    assert pair.offset_s == pytest.approx(8e-3, abs=6e-3)


@pytest.mark.parametrize(("span_s", "rmse_s"), [(5.0, 6e-3), (12.0, 3e-3)])
def test_moved_tiers_are_found(
    recordings: ModuleType, audio: AudioStream, span_s: float, rmse_s: float
) -> None:
    tier = tier_of(recordings, "speech/acoustic_corpus_hand.TextGrid", "phone")
    rng = np.random.default_rng(31)
    errors = []
    for start_s in np.linspace(0.0, 26.7 - span_s, 12):
        by_s = float(rng.uniform(-0.8, 0.8))
        pair = part(audio, tier, float(start_s), span_s, by_s)
        assert pair.offset_s is not None, pair.why
        errors.append(pair.offset_s - by_s)
    assert np.sqrt(np.mean(np.square(errors))) < rmse_s


@pytest.mark.parametrize("name", ["phones", "words"])
def test_toy_alignment_does_not_fit(recordings: ModuleType, audio: AudioStream, name: str) -> None:
    pair = measure_tier(tier_of(recordings, "mfa_output/align.long.TextGrid", name), audio)
    assert not pair.accepted


def test_alignment_that_is_locally_wrong_does_not_fit(
    recordings: ModuleType, audio: AudioStream
) -> None:
    # The right words, up to half a second off and back again.
    tier = tier_of(recordings, "mfa_output/align.multispeaker.TextGrid", "michael - phones")
    pair = measure_tier(tier, audio)
    assert not pair.accepted
    assert "do not follow the audio" in (pair.why or "")
