"""Frames by index: the number shown in an image is the number that was requested."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
from syncaudit_calibration.apply.lerobot.files import VideoPackets
from syncaudit_gui.decoding import CameraThread, FrameCache, FrameImage, FrameRequest, VideoFrames

from syncaudit.model import FrameFiles
from testkit.barcodes import barcode, read_barcode, write_barcodes
from testkit.data_sets.lerobot_data import video

WAIT_S = 20.0


class Camera:
    """A camera thread whose images are read back."""

    def __init__(self, files: FrameFiles) -> None:
        self.pictures: queue.Queue[FrameImage] = queue.Queue()
        self.thread = CameraThread(files, self.pictures.put)

    def ask(self, index: int, **options: object) -> None:
        request = FrameRequest(index=index, width_px=120, height_px=120, **options)  # type: ignore[arg-type]
        self.thread.ask(request)

    def next(self) -> FrameImage:
        return self.pictures.get(timeout=WAIT_S)

    def exact(self, index: int) -> FrameImage:
        self.ask(index)
        return self.next()


def number_of(image: FrameImage) -> int:
    assert image.pixels is not None, image.error
    return read_barcode(image.pixels[:, :, 1])


@pytest.fixture
def camera_of() -> Iterator[object]:
    cameras: list[Camera] = []

    def make(path: Path | tuple[str, ...], **options: object) -> Camera:
        is_images = isinstance(path, tuple)
        paths = path if is_images else (str(path),)
        files = FrameFiles(paths=paths, is_images=is_images, **options)  # type: ignore[arg-type]
        cameras.append(Camera(files))
        return cameras[-1]

    yield make
    for camera in cameras:
        camera.thread.close()


@pytest.mark.parametrize(("gop", "b_frames"), [(1, 0), (12, 0), (12, 3), (250, 2)])
def test_every_jump_lands_on_the_frame_asked_for(tmp_path, camera_of, gop, b_frames):
    camera = camera_of(write_barcodes(tmp_path / "v.mp4", 60, gop=gop, b_frames=b_frames))
    order = np.random.default_rng(3).permutation(60)[:30]
    assert [number_of(camera.exact(int(k))) for k in order] == list(order)


def test_uneven_frame_rate_keeps_frame_numbers(tmp_path, camera_of):
    pts = np.cumsum(np.random.default_rng(1).integers(5, 120, 40)).tolist()
    camera = camera_of(write_barcodes(tmp_path / "v.mkv", 40, pts=pts))
    assert [number_of(camera.exact(k)) for k in (39, 0, 17, 16, 38)] == [39, 0, 17, 16, 38]


def test_raw_stream_is_counted_from_the_beginning(tmp_path, camera_of):
    camera = camera_of(write_barcodes(tmp_path / "v.h264", 30, b_frames=0))
    assert [number_of(camera.exact(k)) for k in (20, 21, 3)] == [20, 21, 3]


def test_span_of_a_long_video_counts_from_its_first_frame(tmp_path, camera_of):
    path = write_barcodes(tmp_path / "v.mp4", 60, rate=30)
    camera = camera_of(path, span_ns=(10**9 - 1, 2 * 10**9 - 1))
    assert number_of(camera.exact(0)) == 30
    assert number_of(camera.exact(29)) == 59


def test_images_keep_their_shape(tmp_path, camera_of):
    image = camera_of(write_barcodes(tmp_path / "v.mp4", 3)).exact(0)
    assert image.pixels is not None
    assert image.pixels.shape == (72, 120, 4)


def test_stepping_decodes_each_frame_once(tmp_path):
    frames = VideoFrames(FrameFiles(paths=(str(write_barcodes(tmp_path / "v.mp4", 48)),)))
    for index in range(48):
        assert [rank for rank, _ in frames.until(index, lambda: False)][-1] == index
    assert frames.n_decoded == 48
    frames.close()


def test_hasty_request_gets_a_marked_key_frame_then_the_frame_itself(tmp_path, camera_of):
    camera = camera_of(write_barcodes(tmp_path / "v.mp4", 60, gop=30))
    camera.ask(47, is_hasty=True)
    first, second = camera.next(), camera.next()
    assert (first.is_coarse, first.shown_index, number_of(first)) == (True, 30, 30)
    assert (second.is_coarse, number_of(second)) == (False, 47)


def test_newest_request_wins(tmp_path, camera_of):
    camera = camera_of(write_barcodes(tmp_path / "v.mp4", 60, gop=250))
    for index in range(60):
        camera.ask(index)
    seen = [camera.next()]
    while seen[-1].index != 59:
        seen.append(camera.next())
    assert number_of(seen[-1]) == 59
    assert camera.thread.n_served < 60


def test_frames_behind_a_short_file_say_so(tmp_path, camera_of):
    image = camera_of(write_barcodes(tmp_path / "v.mp4", 10)).exact(12)
    assert image.pixels is None
    assert "the file has 10 frames" in image.error


def test_no_video_says_why(tmp_path, camera_of):
    path = tmp_path / "v.mp4"
    path.write_bytes(b"not a video at all, not even close")
    assert "FFmpeg cannot open it" in camera_of(path).exact(0).error


def test_image_files_are_frames(tmp_path, camera_of):
    paths = []
    for index in range(4):
        paths.append(str(tmp_path / f"{index}.png"))
        cv2.imwrite(paths[-1], barcode(index))
    (tmp_path / "3.png").write_bytes(b"")
    camera = camera_of(tuple(paths))
    assert [number_of(camera.exact(k)) for k in (2, 0)] == [2, 0]
    assert "0 bytes" in camera.exact(3).error


def test_cache_drops_the_least_recently_used():
    cache: FrameCache[str] = FrameCache(capacity=25)
    cache.put(1, "a", 10)
    cache.put(2, "b", 10)
    assert cache.get(1) == "a"
    cache.put(3, "c", 10)
    assert (1 in cache, 2 in cache, 3 in cache, len(cache)) == (True, False, True, 2)


@pytest.mark.parametrize("start", [3, 12])
def test_video_cut_between_key_frames_is_shown_from_its_first_frame(start, tmp_path):
    video(tmp_path / "whole.mp4", list(range(40, 70)))
    VideoPackets(tmp_path / "whole.mp4").write(tmp_path / "cut.mp4", start, 30)
    frames = VideoFrames(FrameFiles(paths=(str(tmp_path / "cut.mp4"),)))
    assert frames.n_frames == 30 - start
    for index in (0, 8, 1, 17):
        *_, (rank, frame) = frames.until(index, lambda: False)
        plane = frame.planes[0]
        level = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[:, : frame.width]
        assert (rank, round(float(level.mean()))) == (index, 40 + start + index)
    frames.close()
