"""Transcripts without times are judged by whether the text fits."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from syncaudit import examine
from syncaudit.model import TranscriptStream, Verdict
from syncaudit.policy import load_policy
from testkit.manifest_rows import clip_of_row
from testkit.places import real_recording


@pytest.fixture
def examined(tmp_path: Path) -> Any:
    """Return a function that examines a clip of `mary.wav` with a transcript."""
    source = real_recording("speech/mary.wav")
    shutil.copy(source, tmp_path / "mic.wav")

    def run(**transcript: Any) -> Any:
        said = {"kind": "transcript", "audio": "mic", **transcript}
        mic = {"kind": "audio", "uri": "mic.wav", "start_ns": 1767225600000000000}
        row = {"clip_id": "talk", "sources": {"mic": mic, "said": said}}
        clip = clip_of_row(tmp_path, row)
        return examine(clip, load_policy())

    return run


def words_of(examination: Any) -> str:
    verdict = examination.verdict
    return " ".join(finding.message for finding in (*verdict.reasons, *verdict.warnings))


@pytest.mark.realdata
def test_text_that_fits_passes_and_claims_nothing_of_stamps(examined: Any) -> None:
    found = examined(text="mary rolled the barrel")
    source = found.verdict.sources["said"]
    assert source.verdict is Verdict.PASS
    assert "its offset is 0 by construction and says nothing about timestamps" in words_of(found)
    (pair,) = [pair for pair in found.measurements if pair.source == "said"]
    assert (pair.method, pair.offset_s, pair.accepted) == ("text", 0.0, True)
    stream = found.streams["said"]
    assert isinstance(stream, TranscriptStream)
    assert [tier.name for tier in stream.tiers] == ["phones", "words"]
    assert found.verdict.stages["align"] > 0.0


@pytest.mark.realdata
def test_text_file_is_text_too(examined: Any, tmp_path: Path) -> None:
    (tmp_path / "said.lab").write_text("mary rolled the zzyzx barrel".replace("zzyzx ", ""))
    assert examined(uri="said.lab").verdict.sources["said"].verdict is Verdict.PASS


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("transcript", "why"),
    [
        ({"text": "somebody else said this"}, "the text does not fit: its sounds do not fit"),
        ({"text": "mary rolled"}, "of the audio is unexplained"),
        ({"text": "?!"}, "holds no spoken words"),
        ({"text": "marie rollte", "language": "de"}, "has English words only"),
    ],
)
def test_text_that_does_not_fit_is_unverified(
    examined: Any, transcript: dict[str, str], why: str
) -> None:
    found = examined(**transcript)
    assert found.verdict.verdict is Verdict.UNVERIFIED
    assert found.verdict.sources["said"].verdict is Verdict.UNVERIFIED
    assert why in words_of(found)


@pytest.mark.realdata
def test_without_an_aligner_the_pip_line_is_given(
    examined: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    found = examined(text="mary rolled the barrel")
    assert found.verdict.verdict is Verdict.UNVERIFIED
    assert "pip install 'syncaudit[speech]'" in words_of(found)


@pytest.mark.realdata
def test_silent_audio_is_no_text(examined: Any, tmp_path: Path) -> None:
    import numpy as np
    import soundfile

    soundfile.write(tmp_path / "mic.wav", np.zeros(32000), 16000)
    found = examined(text="mary rolled the barrel")
    assert found.verdict.sources["said"].verdict is Verdict.UNVERIFIED
    assert "the audio is silent" in words_of(found)
