"""Rotation between images rotated by a known amount."""

from dataclasses import replace

import numpy as np
import pytest

from syncaudit.decode import Frame
from syncaudit.detectors.rotation.detector import RotationDetector, frame_times_s
from testkit.seen_points import texture, turned
from testkit.turning_camera import (
    ANGLE_TOL_RAD,
    EPOCH_NS,
    FULL_FOCAL_PX,
    PERIOD_NS,
    detected,
    directions,
    pictures,
    stream,
)


def test_chosen_increments_equal_those_of_all_frames():
    chosen = np.zeros(12, dtype=np.bool_)
    chosen[[1, 2, 6, 11]] = True
    detector = RotationDetector(stream(), chosen)
    for index, frame in enumerate(pictures()):
        detector.update(Frame(index, frame))
    some, every = detector.finish(), detected(stream(), pictures())
    assert some.start_s == pytest.approx(every.start_s[[0, 1, 5, 10]], abs=1e-9)
    assert np.max(np.abs(some.angles_rad - every.angles_rad[[0, 1, 5, 10]])) < ANGLE_TOL_RAD


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (1, 4000), (2, 4000), (4000, 1), (3, 2000)])
def test_slivers_show_no_turn(shape):
    rng = np.random.default_rng(4)
    frames = [rng.integers(0, 255, shape).astype(np.uint8) for _ in range(12)]
    assert detected(stream(), frames) is None


def test_turns_of_the_image_are_found():
    found = detected(stream(), pictures())
    assert found.angles_rad.shape == (11, 3)
    # small rotations: rotation vectors subtract, to second order
    assert np.max(np.abs(found.angles_rad - np.diff(directions(), axis=0))) < 2 * ANGLE_TOL_RAD
    assert (found.source, found.epoch_ns) == ("cam", EPOCH_NS)
    assert np.max(np.abs(found.start_s - np.arange(11) * PERIOD_NS * 1e-9)) < 1e-12
    assert np.array_equal(found.start_s[1:], found.stop_s[:-1])
    assert found.has_focal
    assert np.all(found.std_rad > 0.0)


@pytest.mark.parametrize(("gain", "lift"), [(1.0, 25), (0.8, 0), (1.2, 10)])
def test_brightness_does_not_matter(gain, lift):
    """Under exposure control, rotations agree within five times the noise of the tracks.

    Each window takes part of such a change, a fifth of all levels at once, for motion.
    """
    frames = pictures()
    plain = detected(stream(), frames)
    changed = [
        np.clip(gain * frame + lift, 0, 255).astype(np.uint8) if k % 2 else frame
        for k, frame in enumerate(frames)
    ]
    found = detected(stream(), changed)
    assert found.angles_rad.shape == plain.angles_rad.shape
    assert np.max(np.abs(found.angles_rad - plain.angles_rad)) < 5 * ANGLE_TOL_RAD


def test_constant_brightness_changes_nothing_at_all():
    frames = pictures()
    plain = detected(stream(), frames)
    found = detected(stream(), [frame + np.uint8(20) for frame in frames])
    assert np.max(np.abs(found.angles_rad - plain.angles_rad)) < 1e-6


def test_camera_without_texture_gives_nothing():
    blank = [np.full((480, 856), 128, dtype=np.uint8)] * 5
    assert detected(stream(5), blank) is None


def test_no_frames_give_nothing():
    assert RotationDetector(stream=stream()).finish() is None
    assert detected(stream(), pictures()[:1]) is None


def test_blank_frame_is_bridged_by_nothing():
    frames = pictures()
    frames[5] = np.full_like(frames[5], 128)
    found = detected(stream(), frames)
    assert found.angles_rad.shape == (9, 3)
    assert found.start_s[4] - found.stop_s[3] > 0.1


def test_lost_frame_is_a_longer_increment():
    frames = pictures()
    detector = RotationDetector(stream=stream())
    for index in (0, 1, 2, 5, 6):
        detector.update(Frame(index, frames[index]))
    found = detector.finish()
    assert abs((found.stop_s - found.start_s)[2] - 3 * PERIOD_NS * 1e-9) < 1e-12
    assert np.max(np.abs(found.angles_rad[2] - directions()[5] + directions()[2])) < 2e-3


def test_frames_without_stamps_are_left_out():
    found = detected(stream(8), pictures())
    assert found.angles_rad.shape == (7, 3)


def test_backward_and_equal_stamps_give_no_increment():
    time_ns = EPOCH_NS + PERIOD_NS * np.arange(12)
    time_ns[4] = time_ns[3]
    time_ns[8] = time_ns[6]
    found = detected(stream(time_ns=time_ns), pictures())
    assert np.all(found.stop_s > found.start_s)
    assert found.angles_rad.shape == (9, 3)


def test_only_equal_stamps_give_nothing():
    assert detected(stream(time_ns=np.full(12, EPOCH_NS)), pictures()) is None


def test_change_of_size_starts_anew():
    frames = pictures()
    frames = frames[:6] + [np.ascontiguousarray(frame[:400]) for frame in frames[6:]]
    found = detected(stream(), frames)
    assert found.angles_rad.shape[0] == 10


def test_unknown_focal_length_scales_the_image_angles():
    """Assumed 70 degrees give 611 px for 560: rotations about x and y shrink by the ratio."""
    assumed = detected(stream(focal_px=None), pictures())
    stated = detected(stream(), pictures())
    assert not assumed.has_focal
    ratio = np.sum(assumed.angles_rad[:, :2] * stated.angles_rad[:, :2]) / np.sum(
        stated.angles_rad[:, :2] ** 2
    )
    assert abs(ratio - 560.0 / 611.2) < 0.01


def test_rows_are_those_of_the_full_image():
    scene = texture(3)
    scene[240:] = 90  # corners lie above the middle row
    frames = [turned(scene, turn, FULL_FOCAL_PX) for turn in directions()]
    found = detected(stream(line_delay_s=3e-5), frames)
    assert -200.0 < found.mean_row_px < -60.0
    moments = np.median(np.diagonal(found.row_moments_px, axis1=1, axis2=2), axis=0)
    assert np.all((moments > -240.0) & (moments < -20.0))
    assert found.line_delay_s == 3e-5


def test_stamps_of_the_middle_row_are_taken_as_they_are():
    times_s, epoch_ns, std_s = frame_times_s(stream(4))
    assert epoch_ns == EPOCH_NS
    assert np.max(np.abs(times_s - np.arange(4) * PERIOD_NS * 1e-9)) < 1e-12
    assert std_s == 0.0


@pytest.mark.parametrize(("stamp_at", "sign"), [("start_of_frame", 1.0), ("end_of_frame", -1.0)])
def test_stamps_of_the_edges_are_moved_to_the_middle(stamp_at, sign):
    camera = stream(4, stamp_at=stamp_at, exposure_s=0.008, line_delay_s=5e-5)
    times_s, _, std_s = frame_times_s(camera)
    # half of the exposure, and half of the 479 line delays from the first row to the last
    assert abs(times_s[0] - sign * (0.004 + 0.011975)) < 1e-12
    assert std_s == 0.0


def test_what_is_not_stated_is_uncertain():
    camera = stream(4, stamp_at="start_of_frame", line_delay_s=5e-5)
    only_exposure = frame_times_s(camera)[2]
    both = frame_times_s(replace(camera, line_delay_s=None))[2]
    assert abs(only_exposure - 0.003) < 1e-12
    assert abs(both - np.hypot(0.003, 0.008)) < 1e-12


@pytest.mark.parametrize(("scan", "quarters"), [("right", 1), ("up", 2), ("left", 3)])
def test_rows_are_counted_as_images_are_read(scan, quarters):
    frames = pictures()
    usual = detected(stream(line_delay_s=3e-5), frames)
    camera = stream(line_delay_s=3e-5, scan=scan)
    if quarters % 2:
        camera = replace(camera, width_px=camera.height_px, height_px=camera.width_px)
    found = detected(camera, [np.ascontiguousarray(np.rot90(frame, quarters)) for frame in frames])
    assert found.height_px == usual.height_px == 480
    # Positions turn with the image, and so do the axes of rotation.
    turn = np.linalg.matrix_power(
        np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), quarters
    )
    assert np.max(np.abs(found.angles_rad - usual.angles_rad @ turn.T)) < 3 * ANGLE_TOL_RAD
    assert abs(found.mean_row_px - usual.mean_row_px) < 12.0
    # Other corners are tracked: only the largest moment stands out, that of turns in the image.
    expected = turn @ usual.row_moments_px.mean(axis=0) @ turn.T
    largest = np.unravel_index(np.abs(expected).argmax(), (3, 3))
    assert abs(expected[largest]) > 100.0
    assert abs(found.row_moments_px.mean(axis=0)[largest] - expected[largest]) < 50.0
