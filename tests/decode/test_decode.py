from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from syncaudit.decode import DECODERS, iter_luma
from syncaudit.decode.container import decode_sound, list_frames, read_header
from syncaudit.errors import StreamReadError, UsageError
from syncaudit.model import FrameFiles
from syncaudit.simulate import CameraConfig
from syncaudit.simulate.encode import encode_frames
from syncaudit.simulate.packet_faults import copy_packets, with_flipped_bytes

Encode = Callable[..., Path]

LEVEL_TOLERANCE = 6.0  # grey levels: coding loss plus image noise

FORMATS = [
    ("a.mp4", "libx264", "yuv420p", None),
    ("a.mkv", "libx264", "yuv422p", None),
    ("a.mov", "libx264", "yuv444p", None),
    ("a.avi", "mjpeg", "yuvj420p", None),
    ("a.webm", "libvpx-vp9", "yuv420p", None),
    ("a.h264", "libx264", "yuv420p", "h264"),
    ("a.mjpeg", "mjpeg", "yuvj422p", "mjpeg"),
    ("a.nut", "rawvideo", "gray", None),
    ("b.nut", "rawvideo", "nv12", None),
    ("c.nut", "rawvideo", "yuv420p10le", None),
    ("d.nut", "rawvideo", "gray16le", None),
]


def levels(path: Path) -> list[float]:
    files = FrameFiles(paths=(str(path),))
    return [float(frame.luma.mean()) for frame in iter_luma(files)]


def video_range(level: float, pix_fmt: str) -> float:
    is_full = pix_fmt.startswith(("yuvj", "gray"))
    return level if is_full else 16 + level * 219 / 255


@pytest.mark.parametrize(("name", "codec", "pix_fmt", "form"), FORMATS)
def test_luma_of_every_format_is_the_coded_plane_in_order(
    encode: Encode, name: str, codec: str, pix_fmt: str, form: str | None
) -> None:
    path = encode(name, codec, pix_fmt=pix_fmt, container_format=form)
    expected = [video_range(42 + 15 * index, pix_fmt) for index in range(10)]
    np.testing.assert_allclose(levels(path), expected, atol=LEVEL_TOLERANCE)


@pytest.mark.parametrize(("name", "codec", "pix_fmt", "form"), FORMATS)
def test_listing_counts_what_decoding_yields(
    encode: Encode, name: str, codec: str, pix_fmt: str, form: str | None
) -> None:
    path = encode(name, codec, pix_fmt=pix_fmt, container_format=form)
    frames = iter_luma(FrameFiles(paths=(str(path),)))
    found = [(frame.index, frame.pts_s, frame.luma.shape, frame.is_corrupt) for frame in frames]
    listed = list_frames(str(path))
    assert listed.n_frames == 10 == frames.tally.n_decoded
    assert [row[0] for row in found] == list(range(10))
    assert {row[2:] for row in found} == {((48, 64), False)}
    assert (frames.tally.n_errors, frames.tally.n_corrupt, frames.tally.first_error) == (0, 0, None)
    assert (listed.width_px, listed.height_px) == (64, 48)
    pts_ns = listed.pts_ns()
    if form is None:
        assert pts_ns is not None
        assert [round(row[1] * 1e9) for row in found if row[1] is not None] == pts_ns.tolist()
    else:  # elementary streams have no clock; times made up by their demuxer are not passed on
        assert pts_ns is None
        assert {row[1] for row in found} == {None}


def test_pts_are_exact_integers(encode: Encode) -> None:
    pts_ns = list_frames(str(encode("a.mp4"))).pts_ns()
    assert pts_ns is not None
    assert pts_ns[:4].tolist() == [0, 33333333, 66666667, 100000000]


def test_10_bit_luma_is_shifted_down(encode: Encode) -> None:
    deep = encode("deep.nut", "rawvideo", pix_fmt="gray10le")
    plain = encode("plain.nut", "rawvideo", pix_fmt="gray")
    np.testing.assert_allclose(levels(deep), levels(plain), atol=1.0)


def test_rgb_becomes_full_range_grey(encode: Encode) -> None:
    path = encode("rgb.nut", "rawvideo", pix_fmt="rgb24")
    np.testing.assert_allclose(levels(path), [42 + 15 * k for k in range(10)], atol=2.0)


@pytest.mark.parametrize(
    ("codec", "pix_fmt", "white"),
    [
        ("rawvideo", "yuv420p", 235),
        ("rawvideo", "rgb24", 255),
        ("rawvideo", "gray", 255),
        ("mjpeg", "yuvj420p", 255),
    ],
)
def test_white_is_that_of_the_range(encode: Encode, codec: str, pix_fmt: str, white: int) -> None:
    files = FrameFiles(paths=(str(encode("range.nut", codec, pix_fmt=pix_fmt)),))
    assert {image.white for image in iter_luma(files)} == {white}
    assert read_header(files).white == white


def test_damaged_packets_are_counted_and_later_frames_keep_their_index(
    encode: Encode, tmp_path: Path
) -> None:
    path = encode("keys.avi", "mjpeg", pix_fmt="yuvj420p")
    data = bytearray(path.read_bytes())
    with av.open(str(path)) as container:
        packets = [p for p in container.demux(container.streams.video[0]) if p.size]
        start, size = packets[3].pos, packets[3].size
    data[start + 8 : start + size - 8] = bytes(size - 16)
    damaged = tmp_path / "damaged.avi"
    damaged.write_bytes(data)
    frames = iter_luma(FrameFiles(paths=(str(damaged),)))
    found = {frame.index: float(frame.luma.mean()) for frame in frames}
    assert frames.tally.n_errors == 1
    assert frames.tally.first_error is not None
    assert sorted(found) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert found[9] == pytest.approx(42 + 15 * 9, abs=LEVEL_TOLERANCE)


def test_file_cut_in_mid_stream_is_decoded_as_far_as_it_goes(
    encode: Encode, tmp_path: Path
) -> None:
    data = encode("whole.mkv", n_frames=10, options={"g": "1"}).read_bytes()
    cut = tmp_path / "cut.mkv"
    cut.write_bytes(data[: len(data) * 6 // 10])
    frames = iter_luma(FrameFiles(paths=(str(cut),)))
    assert 2 <= sum(1 for _ in frames) < 10


def test_mp4_without_moov_is_refused_with_a_cure(encode: Encode, tmp_path: Path) -> None:
    data = encode("a.mp4").read_bytes()
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(data[: data.index(b"moov") - 4])
    with pytest.raises(StreamReadError, match=r"moov atom\) is missing.*untrunc") as caught:
        iter_luma(FrameFiles(paths=(str(cut),)))
    assert caught.value.code == "unreadable"


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (None, "missing_file", "file not found"),
        (b"", "empty", "0 bytes"),
        (b"no video at all", "unreadable", "FFmpeg cannot open it"),
    ],
)
def test_what_is_no_video_is_refused_at_once(
    tmp_path: Path, content: bytes | None, code: str, message: str
) -> None:
    path = tmp_path / "x.mp4"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StreamReadError, match=message) as caught:
        iter_luma(FrameFiles(paths=(str(path),)))
    assert caught.value.code == code
    with pytest.raises(StreamReadError, match=message):
        list_frames(str(path))


def test_missing_stream_number_is_refused(encode: Encode) -> None:
    with pytest.raises(StreamReadError, match=r"1 video stream\(s\), stream 3 was requested"):
        iter_luma(FrameFiles(paths=(str(encode("a.mp4")),), stream=3))


def test_images_decode_in_order_and_damage_is_counted(tmp_path: Path) -> None:
    paths = []
    for index in range(4):
        path = tmp_path / f"{index}.jpg"
        cv2.imwrite(str(path), np.full((48, 64), 50 * index, np.uint8))
        paths.append(str(path))
    Path(paths[1]).write_bytes(b"no image")
    Path(paths[2]).write_bytes(b"")
    frames = iter_luma(FrameFiles(paths=(*paths, str(tmp_path / "gone.jpg")), is_images=True))
    found = [(frame.index, round(float(frame.luma.mean())), frame.pts_s) for frame in frames]
    assert found == [(0, 0, None), (3, 150, None)]
    assert (frames.tally.n_decoded, frames.tally.n_errors) == (2, 3)
    assert frames.tally.first_error is not None
    assert "not an image that OpenCV can read" in frames.tally.first_error


@pytest.mark.parametrize("suffix", [".jpg", ".png"])
def test_image_that_is_cut_off_is_marked_corrupt(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    noise = np.random.default_rng(0).integers(0, 255, (48, 64), dtype=np.uint8)
    cv2.imwrite(str(path), noise)
    path.write_bytes(path.read_bytes()[:-600])
    frames = iter_luma(FrameFiles(paths=(str(path),), is_images=True))
    assert all(frame.is_corrupt for frame in frames)
    assert frames.tally.n_corrupt + frames.tally.n_errors == 1


def test_leaving_early_releases_the_file(encode: Encode) -> None:
    with iter_luma(FrameFiles(paths=(str(encode("a.mp4")),))) as frames:
        assert next(frames).index == 0
    with pytest.raises(StopIteration):
        next(frames)


def test_no_files_is_an_error() -> None:
    with pytest.raises(StreamReadError, match="no image files"):
        iter_luma(FrameFiles(paths=()))


def test_unknown_decoder_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"'cpuu'.*Did you mean 'cpu'"):
        iter_luma(FrameFiles(paths=("x",)), decoder="cpuu")


def test_every_decoder_says_whether_it_can_be_used() -> None:
    assert DECODERS["cpu"]().probe() is None
    assert all(decoder().name == name for name, decoder in DECODERS.items())


def test_sound_of_a_silent_video_is_refused(encode: Encode) -> None:
    with pytest.raises(StreamReadError, match="no audio track"):
        decode_sound(str(encode("a.mp4")))


@pytest.mark.parametrize("change", [lambda data: data[: len(data) // 2], None])
def test_damaged_motion_jpeg_is_shown_and_flagged(tmp_path, change) -> None:
    """FFmpeg alone shows such frames without a warning."""
    whole = tmp_path / "whole.mp4"
    rng = np.random.default_rng(4)
    pictures = [rng.integers(0, 256, (120, 160), dtype=np.uint8) for _ in range(10)]
    camera = CameraConfig(size_px=(160, 120), codec="mjpeg")
    encode_frames(pictures, whole, camera)
    change = change or (lambda data: with_flipped_bytes(data, rng, n_bytes=40))
    damaged = tmp_path / "a.mp4"
    copy_packets(whole, damaged, lambda k, data: change(data) if k == 4 else data)
    frames = iter_luma(FrameFiles(paths=(str(damaged),)))
    seen = [(frame.index, frame.is_corrupt) for frame in frames]
    assert [index for index, is_corrupt in seen if is_corrupt] == [4]
    assert len(seen) == 10
    assert (frames.tally.n_corrupt, frames.tally.n_errors) == (1, 0)
    assert frames.tally.first_error is not None


def test_key_frames_are_told(encode) -> None:
    video = encode("a.mp4", options={"g": "4", "bf": "0", "sc_threshold": "0"})
    with iter_luma(FrameFiles(paths=(str(video),))) as frames:
        assert [frame.index for frame in frames if frame.is_key] == [0, 4, 8]
