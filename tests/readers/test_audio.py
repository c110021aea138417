from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from syncaudit.decode import container
from syncaudit.errors import StreamReadError
from syncaudit.model import AudioSpec, AudioStream
from syncaudit.readers import read_source
from testkit.late_tracks import write_late
from testkit.places import real_recording

T0 = 1767225600123456789
WAVE = (0.5 * np.sin(np.arange(4000)[:, None] / np.array([10, 20]))).mean(axis=1)


def audio(spec: AudioSpec, base: Path | str = "") -> AudioStream:
    stream = read_source("mic", spec, str(base))
    assert isinstance(stream, AudioStream)
    return stream


# Largest error of a sample: 16-bit rounding, and the effect of lossy codecs on a sine.
@pytest.mark.parametrize(
    ("name", "tolerance"),
    [("m.wav", 1e-4), ("f.wav", 1e-6), ("m.flac", 1e-4), ("m.ogg", 0.05), ("m.mp3", 0.05)],
)
def test_channels_are_averaged_to_float32(
    samples: Mapping[str, Any], tmp_path: Path, name: str, tolerance: float
) -> None:
    stream = audio(samples[f"audio {name}"].put(tmp_path), tmp_path)
    assert (stream.rate_hz, stream.samples.dtype) == (16000, np.float32)
    assert (stream.time_ns.tolist(), stream.anchor_samples.tolist()) == ([T0], [0])
    np.testing.assert_allclose(stream.samples[:4000], WAVE, atol=tolerance)


def test_audio_track_of_a_video_is_read(samples: Mapping[str, Any], tmp_path: Path) -> None:
    stream = audio(samples["audio mp4"].put(tmp_path), tmp_path)
    assert stream.rate_hz == 16000
    assert 8000 <= len(stream.samples) <= 8192  # whole blocks of 1024
    # The 1024 samples that an AAC encoder prepends are gone: sample 0 is time 0.
    np.testing.assert_allclose(
        stream.samples[100:7000], np.sin(np.arange(100, 7000) / 10), atol=0.1
    )
    assert stream.findings == ()


def test_audio_track_that_starts_late_is_remarked(
    samples: Mapping[str, Any], tmp_path: Path
) -> None:
    samples["audio mp4"].put(tmp_path)
    late = write_late(tmp_path / "m.mp4", "audio", 16000)
    stream = audio(AudioSpec(uri=late, start_ns=T0), tmp_path)
    hidden, finding = stream.findings  # the copy does not state what its codec puts in front
    assert "does not state how many" in hidden.message
    assert (finding.code, finding.severity) == ("manifest", "warning")
    assert finding.value == pytest.approx(1.0, abs=0.07)
    assert "its first sample" in finding.message


def test_stamp_table_anchors_samples(samples: Mapping[str, Any], tmp_path: Path) -> None:
    stream = audio(samples["audio stamps"].put(tmp_path), tmp_path)
    assert stream.anchor_samples.tolist() == [400 * k for k in range(10)]
    assert stream.time_ns.tolist() == [T0 + 25000000 * k for k in range(10)]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("sample,timestamp_ns\n0,5\n4001,6\n", "length_mismatch", "line 3 stamps sample 4001"),
        ("sample,timestamp_ns\n-1,5\n", "length_mismatch", "line 2 stamps sample -1"),
        ("sample,timestamp_ns\n", "empty", "holds no stamps"),
    ],
)
def test_stamp_table_that_does_not_fit_is_a_finding(
    samples: Mapping[str, Any], tmp_path: Path, text: str, code: str, message: str
) -> None:
    spec = samples["audio stamps"].put(tmp_path)
    (tmp_path / "t.csv").write_text(text)
    (finding,) = audio(spec, tmp_path).findings
    assert finding.code == code
    assert message in finding.message


def test_stamp_table_with_decimal_samples_is_refused(
    samples: Mapping[str, Any], tmp_path: Path
) -> None:
    spec = samples["audio stamps"].put(tmp_path)
    (tmp_path / "t.csv").write_text("sample,timestamp_ns\n0.5,5\n")
    with pytest.raises(StreamReadError, match=r"line 2: 'sample' is '0\.5'"):
        audio(spec, tmp_path)


def test_sound_without_a_start_is_counted_from_sample_0_with_a_doubt(
    samples: Mapping[str, Any], tmp_path: Path
) -> None:
    stream = audio(samples["audio m.wav"].changed(start_ns=None).put(tmp_path), tmp_path)
    (finding,) = stream.findings
    assert (finding.code, finding.severity) == ("manifest", "doubt")
    assert stream.is_start_assumed
    assert "Give 'start_ns'" in finding.message
    assert stream.time_ns.tolist() == [0]


def test_wav_that_is_cut_off_is_corrupt_and_keeps_what_is_there(
    samples: Mapping[str, Any], tmp_path: Path
) -> None:
    sample = samples["audio m.wav"]
    stream = audio(sample.put(tmp_path, sample.content[:8044]), tmp_path)
    (finding,) = stream.findings
    assert finding.code == "corrupt"
    assert "it is cut off: 8044 of 16044 bytes are there" in finding.message
    assert len(stream.samples) == 2000


def test_flac_that_is_cut_off_is_corrupt_and_keeps_what_is_there(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).uniform(-0.5, 0.5, 20_000)
    path = tmp_path / "a.flac"
    soundfile.write(path, noise, 16000)
    path.write_bytes(path.read_bytes()[:20_000])
    stream = audio(AudioSpec(uri="a.flac", start_ns=1), tmp_path)
    assert [finding.code for finding in stream.findings] == ["corrupt"]
    assert 4000 < len(stream.samples) < 20_000


def test_nan_samples_stay_and_are_counted(tmp_path: Path) -> None:
    wave = np.tile(np.float32([[0.1], [-0.1]]), (50, 2))
    wave[7:9, 0] = [np.nan, np.inf]
    soundfile.write(tmp_path / "a.wav", wave, 8000, subtype="FLOAT")
    stream = audio(AudioSpec(uri="a.wav", start_ns=1), tmp_path)
    (finding,) = stream.findings
    assert (finding.code, finding.value) == ("non_finite", 2.0)
    assert "the first is sample 7" in finding.message
    assert np.isnan(stream.samples[7])


def test_wav_without_samples_is_empty(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.zeros((0, 1)), 8000)
    stream = audio(AudioSpec(uri="a.wav", start_ns=1), tmp_path)
    assert [finding.code for finding in stream.findings] == ["empty"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("camera a.mp4", r"\(libsndfile: [^/]*; FFmpeg: it has no audio track"),
        ("imu csv", r"cannot be read as sound"),
    ],
)
def test_what_is_no_sound_is_refused(
    samples: Mapping[str, Any], tmp_path: Path, name: str, message: str
) -> None:
    samples[name].put(tmp_path)
    with pytest.raises(StreamReadError, match=message):
        audio(AudioSpec(uri=samples[name].file, start_ns=1), tmp_path)


@pytest.mark.realdata
def test_real_speech() -> None:
    path = real_recording("speech/acoustic_corpus.wav")
    stream = audio(AudioSpec(uri=str(path), start_ns=0))
    assert (stream.rate_hz, len(stream.samples), stream.findings) == (16000, 427572, ())


def test_sound_longer_than_any_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "SOUND_SAMPLES", 1000)
    soundfile.write(tmp_path / "a.wav", np.zeros(4000), 8000)
    with pytest.raises(StreamReadError, match=r"holds more than 1000 samples .*into hours"):
        read_source("mic", AudioSpec(uri="a.wav", start_ns=0), str(tmp_path))
    with pytest.raises(StreamReadError, match=r"holds more than 1000 samples .*into hours"):
        container.decode_sound(str(tmp_path / "a.wav"))
