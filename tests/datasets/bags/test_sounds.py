"""Sound topics become files, dated by their chunks."""

from __future__ import annotations

import io
import re
from itertools import pairwise

import av
import numpy as np
import pytest
from rosbags.typesys import get_types_from_msg

from syncaudit.datasets import load_manifest
from syncaudit.datasets.importing import import_dataset
from syncaudit.model import AudioStream
from syncaudit.readers import read_source
from testkit.bags.writing import START_NS, Messages, Sent, write_bag

RATE_HZ = 16_000
CHUNK = 800  # samples, 50 ms
N_CHUNKS = 40
DATA, STAMPED = "audio_common_msgs/msg/AudioData", "audio_common_msgs/msg/AudioDataStamped"
INFO = "audio_common_msgs/msg/AudioInfo"
TYPES = {
    DATA: "uint8[] data\n",
    STAMPED: "std_msgs/Header header\naudio_common_msgs/AudioData audio\n",
    INFO: "uint8 channels\nuint32 sample_rate\nstring sample_format\nuint32 bitrate\n"
    "string coding_format\n",
}
BEGIN_NS = [START_NS + k * 50_000_000 for k in range(N_CHUNKS)]
LATE_NS = 3_000_000  # from the last sample of a chunk to its arrival


@pytest.fixture
def sound() -> np.ndarray:
    rng = np.random.default_rng(5)
    return (8000 * np.clip(rng.normal(size=(N_CHUNKS * CHUNK, 2)), -3, 3)).astype("<i2")


def bag_of(path, chunks, *, is_stamped=True, is_ros1=False, info=("S16LE", "WAVE")):
    messages = Messages(is_ros1=is_ros1)
    for name, text in TYPES.items():
        messages.store.register(get_types_from_msg(text, name))
    sent = []
    for chunk, begin_ns in zip(chunks, BEGIN_NS, strict=True):
        data = messages.make(DATA, data=np.frombuffer(chunk, np.uint8))
        if is_stamped:
            data = messages.make(STAMPED, header=messages.header(begin_ns), audio=data)
        at_ns = begin_ns + 50_000_000 + LATE_NS
        sent.append(Sent("/audio/audio", STAMPED if is_stamped else DATA, data, at_ns))
    if info is not None:
        told = messages.make(INFO, channels=2, sample_rate=RATE_HZ, sample_format=info[0],
                             bitrate=128, coding_format=info[1])  # fmt: skip
        sent.append(Sent("/audio/audio_info", INFO, told, BEGIN_NS[0]))
    return write_bag(path, sorted(sent, key=lambda each: each.receive_ns), messages)


def only_source(bag, tmp_path):
    import_dataset(str(bag), tmp_path / "out" / "m.jsonl")
    [clip] = load_manifest(str(tmp_path / "out" / "m.jsonl"))
    [(name, spec)] = clip.sources.items()
    return spec, read_source(name, spec, clip.base_uri)


def plain(sound):
    return [sound[k * CHUNK : (k + 1) * CHUNK].tobytes() for k in range(N_CHUNKS)]


@pytest.mark.parametrize("is_ros1", [True, False])
def test_plain_samples_are_dated_by_the_first_of_each_chunk(is_ros1, sound, tmp_path):
    name = "a.bag" if is_ros1 else "a.mcap"
    spec, stream = only_source(bag_of(tmp_path / name, plain(sound), is_ros1=is_ros1), tmp_path)
    assert isinstance(stream, AudioStream)
    assert spec.stamp_kind == "capture"
    assert (stream.rate_hz, stream.findings) == (RATE_HZ, ())
    np.testing.assert_allclose(stream.samples, sound.mean(axis=1) / 32768, rtol=0, atol=1e-6)
    assert stream.time_ns.tolist() == BEGIN_NS
    assert stream.anchor_samples.tolist() == [k * CHUNK for k in range(N_CHUNKS)]
    assert stream.arrivals is not None


def test_chunks_without_a_header_arrive_after_their_last_sample(sound, tmp_path):
    bag = bag_of(tmp_path / "a.mcap", plain(sound), is_stamped=False)
    spec, stream = only_source(bag, tmp_path)
    assert spec.stamp_kind == "receive"
    assert stream.anchor_samples.tolist() == [(k + 1) * CHUNK for k in range(N_CHUNKS)]
    assert stream.time_ns.tolist() == [begin + 50_000_000 + LATE_NS for begin in BEGIN_NS]
    (finding,) = stream.findings
    assert "its messages have no header" in finding.message


def test_mp3_is_kept_and_its_priming_is_told(sound, tmp_path):
    file = io.BytesIO()
    with av.open(file, "w", format="mp3") as output:
        track = output.add_stream("libmp3lame", rate=RATE_HZ, layout="stereo")
        frame = av.AudioFrame.from_ndarray(sound.reshape(1, -1), format="s16", layout="stereo")
        frame.sample_rate = RATE_HZ
        output.mux([*track.encode(frame), *track.encode(None)])
    data = file.getvalue()
    cuts = np.linspace(0, len(data), N_CHUNKS + 1).astype(int)
    chunks = [data[a:b] for a, b in pairwise(cuts)]
    spec, stream = only_source(bag_of(tmp_path / "a.mcap", chunks, info=("S16LE", "MP3")), tmp_path)
    assert spec.uri.endswith(".mp3")
    # An encoder outputs frames of 36 ms; one at either end may be missing or empty.
    assert abs(len(stream.samples) - len(sound)) < 3 * 1152
    assert abs(stream.anchor_samples[20] - 20 * CHUNK) < 3 * 1152
    assert any("up to 69 ms late. Record as 'wave'" in each.message for each in stream.findings)


@pytest.mark.parametrize(
    ("info", "pattern"),
    [
        (None, "no AudioInfo states its rate and format"),
        (("S16LE", "OPUS"), r"its format \(OPUS, S16LE, 16000 Hz\) is not known"),
    ],
)
def test_sound_of_no_known_format_keeps_its_times(info, pattern, sound, tmp_path):
    spec, stream = only_source(bag_of(tmp_path / "a.mcap", plain(sound), info=info), tmp_path)
    assert spec.kind == "events"
    assert stream.time_ns.tolist() == BEGIN_NS
    (finding,) = stream.findings
    assert re.search(pattern, finding.message)
    assert "only the times of its chunks are audited" in finding.message


def test_a_bag_that_breaks_off_gives_the_sound_before(sound, tmp_path):
    path = bag_of(tmp_path / "b.bag", plain(sound), is_ros1=True)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    _, stream = only_source(path, tmp_path)
    assert 0 < stream.time_ns.size < N_CHUNKS
    assert "corrupt" in {finding.code for finding in stream.findings}
