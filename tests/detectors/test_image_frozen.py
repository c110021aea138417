"""Repeated frames are distinguished from slow motion and coding noise, as encoders leave them."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from syncaudit.decode import iter_luma
from syncaudit.detectors import ImageAuditor
from syncaudit.detectors.frames.frozen import apart, coding_noise, most_noise
from syncaudit.model import ImageAudit, ImageFault
from testkit.places import real_recording
from testkit.streams import camera_stream
from testkit.videos import exact_frame, write_video

SIZE = (240, 180)
N_FRAMES, FPS = 120, 30


def texture(seed: int, width: int = 700) -> np.ndarray:
    rough = np.random.default_rng(seed).normal(size=(SIZE[1], width)).astype(np.float32)
    blobs = sum(
        (cv2.GaussianBlur(rough, (0, 0), s) / cv2.GaussianBlur(rough, (0, 0), s).std())
        for s in (2.0, 6.0, 18.0)
    )
    return np.clip(125.0 + 28.0 * blobs, 10, 240)


WIDE = texture(1)
ROOM = texture(2, SIZE[0])


def pan(px: float):
    def draw(k: float) -> np.ndarray:
        shift = np.array([[1.0, 0.0, -20.0 - px * k], [0.0, 1.0, 0.0]])
        return cv2.warpAffine(WIDE, shift, SIZE)

    return draw


def arm(k: float) -> np.ndarray:
    """Return a static room in which a bar swings slowly."""
    turn = cv2.getRotationMatrix2D((120, 170), 40.0 * np.sin(0.02 * k), 1.0)
    bar = np.zeros((SIZE[1], SIZE[0]), np.float32)
    bar[40:175, 105:135] = 1.0
    mask = cv2.warpAffine(bar, turn, SIZE)
    return ROOM * (1 - mask) + 60.0 * mask


def shown(draw, times, noise: float = 1.0) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    frames: dict[float, np.ndarray] = {}
    for time in times:
        if time not in frames:
            image = draw(time) + noise * rng.normal(size=(SIZE[1], SIZE[0]))
            frames[time] = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    return [frames[time] for time in times]


def audit(path: Path, n_frames: int = N_FRAMES) -> ImageAudit:
    stream = camera_stream(np.arange(n_frames, dtype=np.int64) * 33_333_333, video=str(path))
    auditor = ImageAuditor(stream)
    with iter_luma(stream.files) as frames:
        for frame in frames:
            auditor.update(frame)
    return auditor.finish()


def encoded(frames, tmp_path: Path, *, gop: int, crf: int) -> ImageAudit:
    options = {"crf": str(crf), "g": str(gop)}
    frames = map(exact_frame, frames)
    return audit(write_video(tmp_path / "cam.mp4", frames, rate=FPS, options=options))


CODINGS = pytest.mark.parametrize(("gop", "crf"), [(2, 20), (2, 34), (12, 28), (250, 28)])
EVERY = list(range(N_FRAMES))


@pytest.mark.parametrize(
    ("gop", "crf", "noise"),
    [(2, 20, 0.0), (2, 34, 1.5), (12, 28, 0.0), (12, 28, 1.5), (250, 28, 0.0)],
)
@pytest.mark.parametrize(
    "draw", [lambda _: ROOM, arm, pan(0.1), pan(0.4)], ids=["still", "arm", "slow", "faster"]
)
def test_slow_and_still_scenes_are_not_frozen(draw, noise, gop, crf, tmp_path):
    found = encoded(shown(draw, EVERY, noise), tmp_path, gop=gop, crf=crf)
    assert found.counts == {}
    assert found.new_share is None


@CODINGS
@pytest.mark.parametrize("n_frozen", [5, 20, 60])
def test_a_freeze_within_motion_is_found_in_its_place(n_frozen, gop, crf, tmp_path):
    times = [39 if 40 <= k < 40 + n_frozen else k for k in EVERY]
    found = encoded(shown(pan(3.0), times), tmp_path, gop=gop, crf=crf)
    (spell,) = found.of(ImageFault.FROZEN)
    assert abs(spell.first - 40) <= 2
    assert abs(spell.frames - n_frozen) <= 2


# Coarser coding hides repeats that key frames recode: the reported rate is then too high.
@pytest.mark.parametrize(("gop", "crf"), [(2, 20), (2, 26), (12, 28), (250, 28)])
@pytest.mark.parametrize(
    ("times", "rate_hz"),
    [
        ([k // 2 * 2 for k in EVERY], 15.0),
        ([k // 3 * 3 for k in EVERY], 10.0),
        ([int(0.8 * k) / 0.8 for k in EVERY], 24.0),
    ],
    ids=["15 in 30", "10 in 30", "24 in 30"],
)
def test_a_camera_slower_than_its_file_is_a_matter_of_rate(times, rate_hz, gop, crf, tmp_path):
    found = encoded(shown(pan(2.0), times), tmp_path, gop=gop, crf=crf)
    assert found.counts == {}
    assert FPS * found.new_share == pytest.approx(rate_hz, rel=0.03)


def test_a_freeze_of_a_slow_camera_is_told_beside_its_rate(tmp_path):
    times = [38 if 40 <= k < 60 else k // 2 * 2 for k in EVERY]
    found = encoded(shown(pan(2.0), times), tmp_path, gop=2, crf=28)
    assert found.new_share == pytest.approx(0.5, rel=0.03)
    (spell,) = found.of(ImageFault.FROZEN)
    assert abs(spell.first - 40) <= 2


def test_repeats_that_come_singly_are_no_rate(tmp_path):
    times = [k - 1 if k in (31, 44, 66, 71, 90) else k for k in EVERY]
    found = encoded(shown(pan(3.0), times), tmp_path, gop=12, crf=24)
    assert found.new_share is None
    assert found.counts == {ImageFault.FROZEN: 5}


@pytest.mark.realdata
def test_a_humanoid_s_camera_of_15_hz_never_freezes():
    folder = real_recording("lerobot_g1/videos/chunk-000/observation.images.cam_high")
    found = audit(folder / "episode_000003.mp4", 400)
    assert ImageFault.FROZEN not in found.counts
    assert FPS * found.new_share == pytest.approx(15.0, rel=0.03)


def handheld(k: float) -> np.ndarray:
    """Return a view that sways and trembles from frame to frame."""
    tremble = 2.0 * np.random.default_rng(int(k)).normal()
    return pan(1.0)(20.0 + 20.0 * np.sin(0.4 * k) + tremble)


def test_coding_noise_of_dark_flat_scenes_reaches_a_level() -> None:
    rng = np.random.default_rng(8)
    scene = rng.normal(4.0, 1.3, 192)
    images = (scene + rng.normal(0.0, 0.3, (120, 192)) - 128.0).astype(np.float16)
    steps = apart(images[1:], images[:-1])
    noise = coding_noise(images, np.arange(120) % 12 == 0)
    assert noise == pytest.approx(np.median(steps), rel=0.2)
    assert noise > 2.0 * most_noise(images)  # more than the coarsest coding of this contrast


def test_a_dark_flat_scene_that_moves_is_not_frozen(tmp_path: Path) -> None:
    def night(k: float) -> np.ndarray:
        return 16.0 + 0.03 * (pan(3.0)(k) - 125.0)

    found = encoded(shown(night, range(N_FRAMES)), tmp_path, gop=24, crf=34)
    assert not found.of(ImageFault.FROZEN)


def test_a_camera_that_turns_round_is_not_frozen_in_key_frames_alone(tmp_path: Path) -> None:
    frames = shown(handheld, EVERY)
    assert encoded(frames, tmp_path, gop=1, crf=28).counts == {}
    frames[50:56] = [frames[50]] * 6
    found = encoded(frames, tmp_path, gop=1, crf=28)
    (spell,) = found.of(ImageFault.FROZEN)
    assert (spell.first, spell.last) == (51, 55)
