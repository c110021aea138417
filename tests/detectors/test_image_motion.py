"""Displacement of the cells of a frame."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from syncaudit.decode import Frame
from syncaudit.detectors import ImageMotionDetector
from testkit.streams import camera_stream

SIZE_PX = (320, 240)
# Dense flow on images of 64 px: a twentieth of a pixel of the full image's 320.
TOLERANCE_PX = 0.4


def textured(width=480, height=400, seed=1):
    noise = np.random.default_rng(seed).normal(size=(height, width)).astype(np.float32)
    soft = cv2.GaussianBlur(noise, (0, 0), 6.0)
    return np.clip(128 + 45 * soft / soft.std(), 0, 255).astype(np.uint8)


def camera(n_frames, stamps_ms=None, fps=30.0):
    stamps = np.arange(n_frames) * 1e3 / fps if stamps_ms is None else np.array(stamps_ms)
    return camera_stream((stamps * 1e6).astype(np.int64), video="x.mp4")


def watched(stream, frames):
    detector = ImageMotionDetector(stream)
    for index, frame in enumerate(frames):
        detector.update(Frame(index, frame))
    return detector.finish()


def window(scene, x, y, size=SIZE_PX):
    shift = np.array([[1.0, 0.0, -x], [0.0, 1.0, -y]])
    return cv2.warpAffine(scene, shift, size, flags=cv2.INTER_LINEAR)


def test_shift_of_the_whole_image_is_seen_in_every_cell():
    scene = textured()
    steps = np.array([[3.0, -1.5], [-4.0, 2.0], [1.2, 0.6]])
    corners = 60.0 - np.vstack([[0.0, 0.0], np.cumsum(steps, axis=0)])
    motion = watched(camera(4), [window(scene, x, y) for x, y in corners])
    moves_px = motion.moves.reshape(3, 12, 2) * SIZE_PX[0]
    np.testing.assert_allclose(moves_px.mean(axis=1), steps, atol=TOLERANCE_PX)


def test_only_the_cells_of_a_moving_part_move():
    scene, part = textured(), textured(seed=2)
    frames = []
    for k in range(4):
        frame = window(scene, 0, 0).copy()
        frame[20:70, 20 + 3 * k : 70 + 3 * k] = part[:50, :50]
        frames.append(frame)
    right = watched(camera(4), frames).moves.reshape(3, 3, 4, 2)[..., 0] * SIZE_PX[0]
    assert right[:, 0, 0].min() > 0.3
    assert np.abs(right[:, 2]).max() < 0.05


@pytest.mark.parametrize("step_px", [3.0, 6.0])
def test_what_coding_holds_back_depends_on_the_speed_of_what_moves(step_px):
    """An eighth of a pixel, whatever share of the image stands still."""
    scene, part = textured(), textured(seed=2)
    frames = []
    for k in range(4):
        frame = window(scene, 0, 0).copy()
        left = 60 + round(step_px * k)
        frame[60:160, left : left + 100] = part[:100, :100]
        frames.append(frame)
    stream = camera(4)
    images = watched(stream, frames)
    assert images.coding_std_s == 0.0  # no video with a known width
    video = watched(replace(stream, width_px=SIZE_PX[0]), frames)
    # The flow of what moves is averaged with that of its surroundings.
    assert 0.12 < video.coding_std_s * 30.0 * step_px < 0.17


def test_still_image_has_no_motion():
    frame = window(textured(), 0, 0)
    # Rounding of the flow at the border.
    assert np.abs(watched(camera(3), [frame] * 3).moves).max() < 1e-4


def test_times_are_those_of_the_two_frames():
    scene = textured()
    motion = watched(camera(3), [window(scene, 2 * k, 0) for k in range(3)])
    np.testing.assert_allclose(motion.start_s, [0.0, 1 / 30], atol=1e-8)
    np.testing.assert_allclose(motion.stop_s, [1 / 30, 2 / 30], atol=1e-8)


def test_frames_stamped_backwards_or_twice_give_no_increment():
    scene = textured()
    frames = [window(scene, 2 * k, 0) for k in range(5)]
    motion = watched(camera(5, stamps_ms=[0, 33, 33, 20, 66]), frames)
    np.testing.assert_allclose(motion.stop_s, [0.033, 0.066], atol=1e-9)


@pytest.mark.parametrize("size", [(16, 16), (320, 20), (20, 320)])
def test_tiny_or_narrow_images_hold_no_motion(size):
    scene = textured()
    assert watched(camera(3), [window(scene, k, 0, size) for k in range(3)]) is None


def test_one_frame_and_frames_without_stamps_hold_no_motion():
    frame = window(textured(), 0, 0)
    assert watched(camera(1), [frame]) is None
    assert watched(camera(1), [frame] * 3) is None


def test_images_of_other_proportions_are_not_compared():
    scene = textured()
    frames = [window(scene, 0, 0), window(scene, 0, 0, (240, 320))]
    assert watched(camera(2), frames) is None


# Flow is a little off at the border of an image, where motion leaves it.
MAX_LATE_S = 1.5e-3


@pytest.mark.parametrize(("scan", "is_turned"), [("down", False), ("up", True)])
def test_cells_of_a_rolling_shutter_refer_to_the_middle_row(scan, is_turned):
    scene, size_px, hz, line_delay_s = textured(), 6.0, 2.0, 1e-4
    width, height = SIZE_PX
    late_s = (np.arange(height) - 0.5 * (height - 1)) * line_delay_s
    if is_turned:
        late_s = late_s[::-1]
    stamps_s = np.arange(45) / 30.0
    columns, rows = np.meshgrid(np.arange(width), np.arange(height))
    frames = []
    for time_s in stamps_s:
        at = columns + 60.0 + size_px * np.sin(2.0 * np.pi * hz * (time_s + late_s))[:, None]
        frames.append(
            cv2.remap(
                scene, at.astype(np.float32), (rows + 60.0).astype(np.float32), cv2.INTER_LINEAR
            )
        )
    stream = camera_stream(
        (stamps_s * 1e9).astype(np.int64),
        video="x.mp4",
        width_px=width,
        height_px=height,
        line_delay_s=line_delay_s,
        scan=scan,
    )
    motion = watched(stream, frames)
    angle = 2.0 * np.pi * hz * 0.5 * (motion.start_s + motion.stop_s)
    waves = np.stack([np.cos(angle), np.sin(angle)], axis=1)[1:-1]
    seen = motion.moves.reshape(-1, 3, 4, 2)[1:-1, :, :, 0].mean(axis=2)
    ahead, behind = np.linalg.lstsq(waves, seen, rcond=None)[0]
    lateness_s = np.arctan2(behind, ahead) / (2.0 * np.pi * hz)
    lateness_s -= np.round(lateness_s * 2.0 * hz) / (2.0 * hz)
    assert np.abs(lateness_s).max() < MAX_LATE_S, lateness_s
