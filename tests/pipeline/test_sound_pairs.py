"""A video's audio track against a separate recording, validated starting from the manifest."""

import av
import numpy as np
import pytest
import soundfile
from scipy.signal import resample_poly

from syncaudit.pipeline import audit
from testkit.manifest_rows import clip_of_row

RATE = 16_000
SECONDS = 60
EPOCH = 1_767_225_600_000_000_000


@pytest.fixture(scope="module")
def talk():
    """Return a minute of speech-like noise, four times oversampled."""
    rng = np.random.default_rng(1)
    n = SECONDS * RATE
    knots = np.arange(0, n + RATE, RATE // 12)
    level = np.exp(np.interp(np.arange(n), knots, rng.normal(-3.5, 1.0, knots.size)))
    return resample_poly(level * rng.standard_normal(n), 4, 1)


def write_video(path, samples):
    """Write grey frames at 10 Hz and the sound as AAC, which prepends 1024 samples."""
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=10)
        video.width = video.height = 64
        video.pix_fmt = "yuv420p"
        sound = container.add_stream("aac", rate=RATE, layout="mono")
        for k in range(SECONDS * 10):
            frame = av.VideoFrame.from_ndarray(np.full((64, 64), 99, np.uint8), format="gray")
            frame.pts = k
            container.mux(video.encode(frame.reformat(format="yuv420p")))
        container.mux(video.encode(None))
        for first in range(0, samples.size, 1024):
            part = samples[None, first : first + 1024].astype(np.float32)
            frame = av.AudioFrame.from_ndarray(part, format="fltp", layout="mono")
            frame.sample_rate, frame.pts = RATE, first
            container.mux(sound.encode(frame))
        container.mux(sound.encode(None))


@pytest.fixture
def verdict_of(tmp_path, talk):
    """Return a function that records, writes a clip and audits it."""

    def verdict(*, late_s=0.0, drift_ppm=0.0):
        fine = np.arange(talk.size) / (4.0 * RATE)
        middle_s = SECONDS / 2.0
        stamps_s = np.arange(SECONDS * RATE) / RATE
        true_s = stamps_s - late_s - drift_ppm * 1e-6 * (stamps_s - middle_s)
        write_video(tmp_path / "v.mp4", talk[::4])
        soundfile.write(tmp_path / "b.wav", 0.5 * np.interp(true_s, fine, talk), RATE)
        row = {
            "clip_id": "c",
            "reference": "cam_mic",
            "sources": {
                "cam_mic": {"kind": "audio", "uri": "v.mp4", "start_ns": EPOCH},
                "mic": {"kind": "audio", "uri": "b.wav", "start_ns": EPOCH},
            },
        }
        clip = clip_of_row(tmp_path, row)
        return audit(clip)

    return verdict


def test_right_pair_passes(verdict_of):
    found = verdict_of()
    assert found.verdict == "pass"
    assert abs(found.sources["mic"].offset_s) < 1e-4


def test_wav_that_is_40_ms_late_is_rejected(verdict_of):
    found = verdict_of(late_s=0.040)
    assert found.verdict == "reject"
    assert [reason.code for reason in found.reasons] == ["offset"]
    # Late timestamps get a negative correction.
    assert found.sources["mic"].offset_s == pytest.approx(-0.040, abs=1e-4)


def test_drift_of_60_ppm_is_found_in_a_minute(verdict_of):
    mic = verdict_of(drift_ppm=60.0).sources["mic"]
    assert mic.drift_ppm == pytest.approx(-60.0, abs=2.0)
    assert abs(mic.offset_s) < 1e-4
