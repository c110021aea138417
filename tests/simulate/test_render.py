"""Frames obey geometry: rotation, rolling shutter, parallax, and occlusion changes nothing else."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from syncaudit.simulate import render
from syncaudit.simulate.camera import SIX_CAMERAS, CameraConfig
from syncaudit.simulate.driving import simulate_motion
from syncaudit.simulate.furnish import build_world
from syncaudit.simulate.motion import Motion
from syncaudit.simulate.textures import facade
from syncaudit.simulate.visibility import Extents
from syncaudit.simulate.world import Block, World

FLOW_TOLERANCE_PX = 0.05
CAMERA = CameraConfig(
    size_px=(428, 240), lever_arm_m=(0.0, 0.0, 1.5), mount_pitch_rad=0.0, line_delay_s=0.0
)
TIMES_S = np.arange(-1.0, 2.0, 0.02)


def moving(rates_rad_s: tuple[float, float, float], speed_mps: tuple[float, float]) -> Motion:
    """Turn and travel at constant rates of yaw, pitch, roll."""
    euler = TIMES_S[:, None] * np.array(rates_rad_s)
    velocity = np.tile([*speed_mps, 0.0], (TIMES_S.size, 1))
    return Motion.from_samples(TIMES_S, euler, velocity)


def world_of(motion: Motion) -> World:
    return build_world(motion, np.random.default_rng(5), n_movers=0)


def median_flow(first: np.ndarray, second: np.ndarray, box: tuple[slice, slice]) -> np.ndarray:
    mask = np.zeros_like(first)
    mask[box] = 255
    points = cv2.goodFeaturesToTrack(first, 200, 0.005, 6, mask=mask)
    start = np.asarray(points, dtype=np.float32)
    moved, is_found, _ = cv2.calcOpticalFlowPyrLK(
        first, second, start, np.empty_like(start), winSize=(21, 21)
    )
    flow = (np.asarray(moved) - start)[np.asarray(is_found) == 1]
    assert len(flow) > 15
    return np.asarray(np.median(flow.reshape(-1, 2), axis=0))


CENTRE = (slice(60, 180), slice(154, 274))


@pytest.mark.parametrize(
    ("rates", "direction"),
    [
        ((0.2, 0.0, 0.0), (1.0, 0.0)),  # turning left moves the scene to the right
        ((0.0, 0.2, 0.0), (0.0, -1.0)),  # nose down moves it up
    ],
)
def test_rotation_moves_the_centre_by_focal_length_times_angle(
    rates: tuple[float, float, float], direction: tuple[float, float]
) -> None:
    renderer = render.Renderer(world_of(moving(rates, (0.0, 0.0))), CAMERA)
    step_s = 0.04
    first, second = renderer.render(-step_s / 2), renderer.render(step_s / 2)
    flow = median_flow(first, second, (slice(95, 145), slice(170, 258)))
    expected = CAMERA.focal_px * 0.2 * step_s * np.array(direction)
    # off the axis, x*x/f^2 adds up to 5 % at the box's edge, half of that at the median
    np.testing.assert_allclose(flow, expected, rtol=0, atol=FLOW_TOLERANCE_PX)


def test_rolling_shutter_shifts_late_rows_further() -> None:
    world = world_of(moving((0.4, 0.0, 0.0), (0.0, 0.0)))
    rolling = replace(CAMERA, line_delay_s=1e-4)
    still, skewed = (render.Renderer(world, camera).render(0.0) for camera in (CAMERA, rolling))
    for rows in (slice(20, 60), slice(100, 140), slice(125, 165)):
        middle_s = ((rows.start + rows.stop - 1) / 2 - 119.5) * 1e-4
        flow = median_flow(still, skewed, (rows, slice(154, 274)))
        expected_px = CAMERA.focal_px * 0.4 * middle_s
        assert flow[0] == pytest.approx(expected_px, abs=0.25)  # points are dense within a box
    assert rolling.row_times_s(1.0)[0] < rolling.row_times_s(1.0)[-1]


def test_wall_moves_by_focal_length_times_travel_over_depth() -> None:
    motion = moving((0, 0, 0), (10.0, 0.0))
    depth_m, step_s = 10.0, 0.03
    texture = facade(40.0, 9.0, np.random.default_rng(1))
    wall = Block(
        centre_m=np.array([0.0, depth_m + 3.0]),
        yaw_rad=0.0,
        half_size_m=np.array([20.0, 3.0]),
        height_m=9.0,
        sides=(texture,) * 4,
    )
    world = replace(world_of(motion), blocks=(wall,), marks=())
    left = replace(CAMERA, mount_yaw_rad=np.pi / 2)
    renderer = render.Renderer(world, left)
    flow = median_flow(renderer.render(0.0), renderer.render(step_s), CENTRE)
    expected_px = -CAMERA.focal_px * 10.0 * step_s / depth_m  # forwards is to the right in it
    np.testing.assert_allclose(flow, [expected_px, 0.0], rtol=0, atol=FLOW_TOLERANCE_PX)


def test_far_world_has_no_parallax() -> None:
    renderer = render.Renderer(world_of(moving((0, 0, 0), (10.0, 0.0))), CAMERA)
    sky = (slice(0, 40), slice(174, 254))
    change = renderer.render(0.0)[sky].astype(int) - renderer.render(0.03)[sky]
    assert np.abs(change).mean() < 0.5


def test_skipping_hidden_planes_changes_no_pixel(monkeypatch: pytest.MonkeyPatch) -> None:
    motion = simulate_motion("city", 6.0, np.random.default_rng(11))
    world = build_world(motion, np.random.default_rng(12))
    cameras = [SIX_CAMERAS["cam_front"], SIX_CAMERAS["cam_rear_left"]]
    quick = [render.Renderer(world, c).render(t) for c in cameras for t in (0.5, 2.5, 5.0)]

    def hide_nothing(extents: Extents, *_: object) -> np.ndarray:
        return np.zeros(len(extents.boxes), dtype=bool)

    monkeypatch.setattr(render, "find_hidden", hide_nothing)
    full = [render.Renderer(world, c).render(t) for c in cameras for t in (0.5, 2.5, 5.0)]
    for fast, slow in zip(quick, full, strict=True):
        # edges of nearer outlines are blended over the background
        assert np.mean(np.abs(fast.astype(int) - slow) > 2) < 1e-3


def test_subexposures_blur_motion() -> None:
    world = world_of(moving((1.0, 0.0, 0.0), (0.0, 0.0)))
    sharp, blurred = (
        render.Renderer(world, replace(CAMERA, exposure_s=0.02, n_subexposures=n)).render(0.0)
        for n in (1, 4)
    )
    detail = [np.abs(np.diff(p[60:180].astype(int), axis=1)).mean() for p in (sharp, blurred)]
    assert detail[1] < 0.8 * detail[0]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"size_px": (427, 240)}, "even numbers"),
        ({"fov_deg": 179.0}, "fov_deg"),
        ({"fps": 0.0}, "fps"),
        ({"exposure_s": 0.0}, "exposure_s must be positive"),
        ({"line_delay_s": 1e-3}, "longer than a frame period"),
        ({"n_subexposures": 0}, "n_subexposures"),
        ({"stamp_at": "whenever"}, "stamp_at is 'whenever'"),
        ({"codec": "gif"}, "codec is 'gif'"),
    ],
)
def test_impossible_cameras_are_refused(fields: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CameraConfig(**fields)  # type: ignore[arg-type]  # fields vary by case
