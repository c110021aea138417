"""Silent, clipped and interrupted sound becomes a finding; good sound does not."""

from fractions import Fraction

import av
import numpy as np
import pytest

from syncaudit.model import AudioSpec
from syncaudit.readers import read_source
from syncaudit.readers.audio import sound_defects

RATE = 16_000


def talk(seed=0, seconds=5.0):
    rng = np.random.default_rng(seed)
    n = round(seconds * RATE)
    knots = np.arange(0, n + RATE, 800)
    level = np.exp(np.interp(np.arange(n), knots, rng.normal(-3.0, 1.0, knots.size)))
    return (level * rng.standard_normal(n)).clip(-1, 1).astype(np.float32)


def found(samples):
    return [(f.code, f.severity) for f in sound_defects("a.wav", samples, RATE)]


def test_fine_sound_is_not_remarked():
    assert found(talk()) == []
    assert found((talk() * 32767).astype(np.int16).astype(np.float32) / 32768) == []
    assert found(np.zeros(0, np.float32)) == []


@pytest.mark.parametrize("value", [0.0, 0.25])
def test_silence_is_a_defect(value):
    assert found(np.full(RATE, value, np.float32)) == [("empty", "defect")]
    faint = np.random.default_rng(0).uniform(-5e-5, 5e-5, RATE).astype(np.float32)
    assert found(faint) == [("empty", "defect")]


@pytest.mark.parametrize(("at", "severity"), [(0.25, "warning"), (0.02, "defect")])
def test_clipped_sound_is_remarked_by_its_share(at, severity):
    assert found(talk().clip(-at, at)) == [("corrupt", severity)]


def test_square_silence_within_speech_is_a_pause_where_it_fades():
    x = talk()
    x[20_000:30_000] = 0.0
    x[19_000:20_000] *= np.linspace(1, 0, 1000) ** 2
    x[30_000:31_000] *= np.linspace(0, 1, 1000) ** 2
    assert found(x) == []


def test_lost_buffers_are_dropouts():
    x = talk()
    for first in (20_000, 50_000):
        x[first : first + 320] = 0.0
    (finding,) = sound_defects("a.wav", x, RATE)
    assert (finding.code, finding.severity) == ("corrupt", "warning")
    assert "2 dropouts (exact zeros" in finding.message
    assert "40 ms in total, the first at 1.250 s" in finding.message


def test_packets_lost_in_a_video_move_what_follows(tmp_path):
    path = str(tmp_path / "a.mkv")
    lost = 8  # packets of 1024 samples
    with av.open(path, "w") as container:
        sound = container.add_stream("pcm_s16le", rate=RATE, layout="mono")
        for k in range(100):
            if 50 <= k < 50 + lost:
                continue
            part = (talk()[1024 * (k % 70) : 1024 * (k % 70) + 1024] * 32767).astype(np.int16)
            frame = av.AudioFrame.from_ndarray(part[None], format="s16", layout="mono")
            frame.sample_rate, frame.pts = RATE, 1024 * k
            container.mux(sound.encode(frame))
        container.mux(sound.encode(None))
    stream = read_source("mic", AudioSpec(uri=path, start_ns=0), "")
    (finding,) = stream.findings
    assert (finding.code, finding.severity) == ("gap", "warning")
    assert finding.value == pytest.approx(lost * 1024 / RATE, abs=2e-3)
    after = stream.anchor_samples >= 50 * 1024
    lag_s = stream.time_ns * 1e-9 - stream.anchor_samples / RATE
    np.testing.assert_allclose(lag_s[~after], 0.0, atol=2e-3)
    np.testing.assert_allclose(lag_s[after], lost * 1024 / RATE, atol=2e-3)


@pytest.mark.parametrize(
    ("file", "late_s", "options", "is_hidden"),
    [
        ("a.aac", 0.0, {}, True),
        ("a.ts", 0.0, {}, True),
        ("a.avi", 0.0, {}, True),
        ("a.mp4", 0.0, {}, False),
        ("a.mp4", 0.5, {}, True),
        ("a.mp4", 0.0, {"use_editlist": "0"}, True),
        ("a.mp4", 0.0, {"movflags": "frag_keyframe+empty_moov"}, True),
        ("a.mkv", 0.0, {}, False),
    ],
)
def test_files_that_hide_the_encoder_delay_are_remarked(tmp_path, file, late_s, options, is_hidden):
    path = str(tmp_path / file)
    with av.open(path, "w", options=options) as container:
        sound = container.add_stream("mp2" if file == "a.avi" else "aac", rate=RATE, layout="mono")
        resampler = av.AudioResampler(sound.codec_context.format.name, "mono", RATE)
        frame = av.AudioFrame.from_ndarray(talk()[None], format="fltp", layout="mono")
        frame.sample_rate, frame.time_base = RATE, Fraction(1, RATE)
        frame.pts = 0
        size = sound.codec_context.frame_size or 1024
        fifo = av.AudioFifo()
        for part in resampler.resample(frame):
            fifo.write(part)
        while (part := fifo.read(size)) is not None:
            part.pts += round(late_s * RATE)
            container.mux(sound.encode(part))
        container.mux(sound.encode(None))
    findings = read_source("mic", AudioSpec(uri=path, start_ns=0), "").findings
    assert is_hidden == any("does not state how many" in finding.message for finding in findings)
