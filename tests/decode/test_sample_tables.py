"""The tables of an MP4 file agree with its demuxer or are rejected. Oracle: FFmpeg by PyAV."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from syncaudit.decode.container import ContainerFrames, list_frames
from syncaudit.decode.mp4.sample_tables import read_sample_table
from syncaudit.errors import StreamReadError

N_FRAMES = 30

# Frames shown at irregular times, 33 to 300 ms apart.
UNEVEN = np.cumsum(np.random.default_rng(3).integers(3000, 27000, N_FRAMES)).tolist()

X265 = "keyint=10:bframes=3:log-level=none"
CODECS = {
    "h264": ("libx264", {"bf": "0"}),
    "h264 b-frames": ("libx264", {"bf": "3", "g": "12"}),
    "h264 open gop": ("libx264", {"bf": "3", "g": "8", "x264-params": "open-gop=1"}),
    "h264 intra": ("libx264", {"g": "1"}),
    "hevc": ("libx265", {"x265-params": X265}),
    "hevc open gop": ("libx265", {"x265-params": f"{X265}:open-gop=1"}),
    "vp9": ("libvpx-vp9", {"deadline": "realtime", "cpu-used": "8"}),
    "mpeg4": ("mpeg4", {}),
}
MUXINGS: dict[str, dict[str, object]] = {
    "plain": {},
    "moov first": {"mov": {"movflags": "faststart"}},
    "no edit list": {"mov": {"use_editlist": "0"}},
    "negative offsets": {"mov": {"movflags": "negative_cts_offsets"}},
    "late start": {"pts": [100 + k for k in range(N_FRAMES)]},
    "negative start": {"pts": [k - 3 for k in range(N_FRAMES)]},
    "uneven": {"pts": UNEVEN, "time_base": Fraction(1, 90000)},
    "fragments": {"mov": {"movflags": "frag_keyframe+empty_moov"}},
    "small chunks": {"mov": {"chunk_duration": "100000"}},
    "one frame": {"n_frames": 1},
    "sound": {"has_sound": True},
    "two cameras": {"n_videos": 2},
}
# What the tables alone cannot determine: fragments, and edits that cut frames off.
LEFT_TO_THE_DEMUXER = {"negative start", "fragments"}


def write(
    path: Path,
    codec: str = "libx264",
    options: dict[str, str] | None = None,
    *,
    mov: dict[str, str] | None = None,
    pts: list[int] | None = None,
    time_base: Fraction = Fraction(1, 30),
    n_frames: int = N_FRAMES,
    n_videos: int = 1,
    has_sound: bool = False,
) -> Path:
    with av.open(str(path), "w", options=mov or {}) as container:
        videos = []
        for k in range(n_videos):
            video = container.add_stream(codec, rate=30, options=options or {})
            video.width, video.height, video.pix_fmt = 64 + 16 * k, 48, "yuv420p"
            video.codec_context.time_base = time_base
            videos.append(video)
        sound = container.add_stream("aac", rate=48000) if has_sound else None
        for index in range(n_frames):
            for video in videos:
                shape = (48, video.width)
                noise = np.random.default_rng(index).integers(0, 255, shape, dtype=np.uint8)
                frame = av.VideoFrame.from_ndarray(noise, format="gray").reformat(format="yuv420p")
                frame.pts = index if pts is None else pts[index]
                frame.time_base = time_base
                container.mux(video.encode(frame))
            if sound is not None:
                silence = av.AudioFrame.from_ndarray(
                    np.zeros((1, 1600), np.float32), format="fltp", layout="mono"
                )
                silence.rate, silence.pts = 48000, index * 1600
                container.mux(sound.encode(silence))
        for stream in (*videos, *([sound] if sound else [])):
            container.mux(stream.encode(None))
    return path


Listed = tuple[list[int], set[int], Fraction | None, int, int]


def demuxed(path: Path, stream: int = 0) -> Listed:
    """Return FFmpeg's result: times, those of key frames, unit, width, height."""
    with av.open(str(path)) as container:
        video = container.streams.video[stream]
        packets = [p for p in container.demux(video) if p.size and not p.is_discard]
        pts = sorted(p.pts for p in packets if p.pts is not None)
        keys = {p.pts for p in packets if p.is_keyframe and p.pts is not None}
        return pts, keys, video.time_base, video.width, video.height


def listed_pts(listed: ContainerFrames) -> list[int]:
    return [] if listed.pts is None else listed.pts.tolist()


def tabulated(path: Path, stream: int = 0) -> Listed | None:
    table = read_sample_table(str(path), stream)
    if table is None:
        return None
    return (
        table.pts.tolist(),
        set(table.key_pts.tolist()),
        table.time_base,
        table.width_px,
        table.height_px,
    )


@pytest.mark.parametrize(
    ("codec", "muxing"),
    [("h264 b-frames", muxing) for muxing in MUXINGS]
    + [("hevc", muxing) for muxing in ("negative offsets", "late start", "uneven")]
    + [(codec, "plain") for codec in CODECS if codec != "h264 b-frames"],
)
def test_tables_say_what_the_demuxer_says(tmp_path: Path, codec: str, muxing: str) -> None:
    name, options = CODECS[codec]
    settings = MUXINGS[muxing]
    path = write(tmp_path / "a.mp4", name, options, **settings)  # type: ignore[arg-type]
    for stream in range(int(str(settings.get("n_videos", 1)))):
        expected = demuxed(path, stream)
        found = tabulated(path, stream)
        if found is not None:
            assert found == expected
        elif muxing == "negative offsets":
            pass  # frames may be cut off by the accompanying edit list
        else:
            assert muxing in LEFT_TO_THE_DEMUXER or codec == "mpeg4"
        listed = list_frames(str(path), stream)
        assert (listed_pts(listed), listed.n_frames) == (expected[0], len(expected[0]))
        with av.open(str(path)) as container:
            decoded = {frame.pts for frame in container.decode(video=stream) if frame.key_frame}
        assert set(listed.key_pts.tolist()) == expected[1] == decoded


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("plain") / "a.mp4", options={"bf": "2", "g": "10"})


STBL = (b"moov", b"trak", b"mdia", b"minf", b"stbl")


def places(data: bytes, *kinds: bytes) -> list[int]:
    """Return where the boxes of a path of kinds begin, each within the one before."""
    found, start = [], 0
    for kind in kinds:
        found.append(data.index(kind, start) - 4)
        start = found[-1] + 8
    return found


def number(data: bytes | bytearray, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big")


def content_of(path: Path, *kinds: bytes) -> bytes:
    data = path.read_bytes()
    at = places(data, *kinds)[-1]
    return data[at + 8 : at + number(data, at)]


def with_box(path: Path, kinds: tuple[bytes, ...], kind: bytes, content: bytes) -> Path:
    """Write the file with one box replaced; the movie box follows the frames."""
    data = path.read_bytes()
    *outer, at = places(data, *kinds)
    box = (len(content) + 8).to_bytes(4, "big") + kind + content
    out = bytearray(data[:at] + box + data[at + number(data, at) :])
    for place in outer:
        size = number(data, place) + len(out) - len(data)
        out[place : place + 4] = size.to_bytes(4, "big")
    path = path.with_name(f"{kind.decode()}.mp4")
    path.write_bytes(out)
    return path


def rows(content: bytes, header: int = 8) -> NDArray[np.uint32]:
    return np.frombuffer(content, ">u4", offset=header)


def test_chunks_at_64_bit_offsets(plain: Path) -> None:
    offsets = content_of(plain, *STBL, b"stco")
    wide = offsets[:8] + rows(offsets).astype(">u8").tobytes()
    path = with_box(plain, (*STBL, b"stco"), b"co64", wide)
    assert tabulated(path) == demuxed(path) == demuxed(plain)


def test_sizes_in_16_bits(plain: Path) -> None:
    sizes = content_of(plain, *STBL, b"stsz")
    short = bytes(7) + b"\x10" + sizes[8:12] + rows(sizes, 12).astype(">u2").tobytes()
    path = with_box(plain, (*STBL, b"stsz"), b"stz2", short)
    assert tabulated(path) == demuxed(path) == demuxed(plain)


def test_sizes_in_4_bits_are_left_to_the_demuxer(plain: Path) -> None:
    sizes = content_of(plain, *STBL, b"stsz")
    path = with_box(plain, (*STBL, b"stsz"), b"stz2", bytes(7) + b"\4" + sizes[8:12] + bytes(15))
    assert tabulated(path) is None


@pytest.mark.parametrize("version", [0, 1])
def test_pause_before_the_first_frame(plain: Path, version: int) -> None:
    width = 4 if version == 0 else 8
    edits = content_of(plain, b"moov", b"trak", b"edts", b"elst")
    duration, start = number(edits, 8), number(edits, 12)
    content = bytes([version, 0, 0, 0]) + (2).to_bytes(4, "big")
    for length, media_time in ((333, -1), (duration, start)):
        content += length.to_bytes(width, "big") + media_time.to_bytes(width, "big", signed=True)
        content += b"\0\1\0\0"
    path = with_box(plain, (b"moov", b"trak", b"edts", b"elst"), b"elst", content)
    found = tabulated(path)
    assert found == demuxed(path)
    assert found != demuxed(plain)


@pytest.mark.parametrize(
    ("length", "media_time", "rate"),
    [(500, 1024, 0x10000), (1000, 5120, 0x10000), (0, 1024, 0x10000), (1000, 1024, 0x20000)],
)
def test_edits_that_cut_are_left_to_the_demuxer(
    plain: Path, length: int, media_time: int, rate: int
) -> None:
    content = bytes(7) + b"\1" + b"".join(n.to_bytes(4, "big") for n in (length, media_time, rate))
    path = with_box(plain, (b"moov", b"trak", b"edts", b"elst"), b"elst", content)
    assert tabulated(path) is None
    expected = demuxed(path)
    listed = list_frames(str(path))
    assert (listed_pts(listed), listed.n_frames) == (expected[0], len(expected[0]))


def test_box_of_64_bit_length(plain: Path) -> None:
    data = plain.read_bytes()
    at = places(data, b"mdat")[0]
    assert data[at - 8 : at - 4] == (8).to_bytes(4, "big")  # the space that writers reserve for it
    length = number(data, at) + 8
    wide = (1).to_bytes(4, "big") + b"mdat" + length.to_bytes(8, "big")
    path = plain.with_name("wide.mp4")
    path.write_bytes(data[: at - 8] + wide + data[at + 8 :])
    assert tabulated(path) == demuxed(path) == demuxed(plain)


@pytest.mark.parametrize("kind", [b"stts", b"ctts", b"stsz", b"stco", b"stsc", b"stss"])
@pytest.mark.parametrize("count", [0, 2**16, 2**31, 2**32 - 1])
def test_absurd_counts_neither_crash_nor_take_memory(plain: Path, kind: bytes, count: int) -> None:
    header = 8 if kind == b"stsz" else 4
    content = content_of(plain, *STBL, kind)
    lying = content[:header] + count.to_bytes(4, "big") + content[header + 4 :]
    path = with_box(plain, (*STBL, kind), kind, lying)
    tracemalloc.start()
    try:
        assert tabulated(path) is None
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [b"stts", b"ctts", b"stsc"])
def test_absurd_runs_neither_crash_nor_take_memory(plain: Path, kind: bytes) -> None:
    content = content_of(plain, *STBL, kind)
    path = with_box(plain, (*STBL, kind), kind, content[:8] + b"\xff" * (len(content) - 8))
    tracemalloc.start()
    try:
        assert tabulated(path) is None
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_samples_of_a_fixed_size_beyond_the_file(plain: Path) -> None:
    sizes = bytes(4) + (2**20).to_bytes(4, "big") + (2**31).to_bytes(4, "big")
    assert tabulated(with_box(plain, (*STBL, b"stsz"), b"stsz", sizes)) is None


def test_images_in_another_file_are_left_to_the_demuxer(plain: Path) -> None:
    path = with_box(
        plain,
        (b"moov", b"trak", b"mdia", b"minf", b"dinf", b"dref"),
        b"dref",
        bytes(7) + b"\1" + (16).to_bytes(4, "big") + b"url " + bytes(4) + b"b.m\0",
    )
    assert tabulated(path) is None


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_files_that_break_off_are_left_to_the_demuxer(tmp_path: Path, share: float) -> None:
    path = write(tmp_path / "a.mp4", mov={"movflags": "faststart"})
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    assert read_sample_table(str(path)) is None


@pytest.mark.parametrize("kind", [b"mdia", b"stbl"])
def test_a_part_that_is_there_twice_is_left_to_the_demuxer(plain: Path, kind: bytes) -> None:
    *outer, part = STBL[: STBL.index(kind) + 1]
    content, inner = content_of(plain, *outer), content_of(plain, *outer, part)
    for name, found in ((b"free", tabulated(plain)), (part, None)):
        box = (len(inner) + 8).to_bytes(4, "big") + name + inner
        assert tabulated(with_box(plain, tuple(outer), outer[-1], content + box)) == found


@pytest.mark.parametrize("name", ["gone.mp4", ".", "nu\0l.mp4"])
def test_what_is_no_file_is_left_to_the_demuxer(tmp_path: Path, name: str) -> None:
    assert read_sample_table(str(tmp_path / name)) is None


def test_a_stream_that_does_not_exist_is_left_to_the_demuxer(plain: Path) -> None:
    assert read_sample_table(str(plain), 1) is None
    assert read_sample_table(str(plain), -1) is None


def test_a_file_of_thousands_of_boxes_is_given_up_soon(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(b"\0\0\0\x08ftyp" + b"\0\0\0\x08free" * 100_000)
    assert read_sample_table(str(path)) is None


def test_times_beyond_int64_on_the_way_stay_exact() -> None:
    pts = np.array([-7, 0, 90_000 * 2**33, 2**62], dtype=np.int64)
    listed = ContainerFrames(
        n_frames=4, pts=pts, time_base=Fraction(1, 90_000), width_px=2, height_px=2
    )
    found = listed.pts_ns()
    assert found is not None
    exact = [Fraction(value * 10**9, 90_000) for value in pts.tolist()]
    assert [int(ns) for ns in found] == [(2 * ns + 1).__floor__() // 2 for ns in exact]


def test_frames_of_a_span_are_found_in_tables(plain: Path) -> None:
    whole = list_frames(str(plain))
    pts_ns = whole.pts_ns()
    assert pts_ns is not None
    part = list_frames(str(plain), span_ns=(int(pts_ns[4]), int(pts_ns[9])))
    np.testing.assert_array_equal(part.pts_ns(), pts_ns[4:9])
    assert list_frames(str(plain), span_ns=(10**12, 10**13)).n_frames == 0


@pytest.mark.parametrize("seed", range(2))
def test_damaged_tables_mislead_no_more_than_the_demuxer(
    tmp_path: Path, plain: Path, seed: int
) -> None:
    """Where damaged tables are still accepted, FFmpeg reads the same from them, or nothing."""
    rng = np.random.default_rng(seed)
    sources = [
        plain,
        write(tmp_path / "sound.mp4", has_sound=True),
        write(tmp_path / "negative.mp4", "libx265", CODECS["hevc"][1], **MUXINGS["no edit list"]),  # type: ignore[arg-type]
    ]
    path = tmp_path / "damaged.mp4"
    n_taken = 0
    for _ in range(120):
        data = bytearray(sources[rng.integers(len(sources))].read_bytes())
        at = places(bytes(data), b"moov")[0]
        for _ in range(rng.integers(1, 4)):
            place = rng.integers(at, at + number(data, at) - 4)
            if rng.random() < 0.5:
                data[place] ^= 1 << rng.integers(8)
            else:
                data[place : place + 4] = rng.choice([0, 1, 2**31, 2**32 - 1]).tobytes()[3::-1]
        path.write_bytes(data)
        found = tabulated(path)
        if found is None:
            continue
        n_taken += 1
        try:
            expected = demuxed(path)
        except (av.FFmpegError, ValueError):
            continue  # damage elsewhere, which decoding would find
        # Key frames are not compared: the demuxer may find others in the damaged stream.
        assert (found[0], found[2:]) == (expected[0], expected[2:])
    assert n_taken >= 10


def test_a_missing_file_is_told_as_before(tmp_path: Path) -> None:
    with pytest.raises(StreamReadError, match="file not found"):
        list_frames(str(tmp_path / "gone.mp4"))
