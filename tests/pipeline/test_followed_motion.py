"""An image at rest is frozen only if the robot moved what this camera sees."""

from __future__ import annotations

import numpy as np
import pytest

from syncaudit.model import Activity, ImageMotion, Quantity
from syncaudit.pipeline.camera_evidence import had_to_move

PERIOD_S, SPAN_S = 1.0 / 30.0, 20.0
STILL_S = (9.0, 11.0)
STILL_NS = (9_000_000_000, 11_000_000_000)


def moves(rng: np.random.Generator, n_joints: int, *, rests: bool) -> np.ndarray:
    """Return joint positions at every frame: moves of a second, at rest in between or not."""
    times_s = np.arange(0.0, SPAN_S, PERIOD_S)
    ends = np.cumsum(rng.normal(0.0, 0.4, (int(SPAN_S) + 1, n_joints)), axis=0)
    if rests:
        ends[10:12] = ends[9]  # from 9 to 11 s
    share = times_s % 1.0
    smooth = (share**3 * (10.0 - 15.0 * share + 6.0 * share**2))[:, None]
    at = times_s.astype(int)
    return np.asarray(ends[at] + smooth * (ends[at + 1] - ends[at]))


def activity(source: str, positions: np.ndarray) -> Activity:
    times_s = PERIOD_S * np.arange(len(positions))
    return Activity(
        source=source, quantity=Quantity.STATE, epoch_ns=0, times_s=times_s, values=positions
    )


def seen(rng: np.random.Generator, positions: np.ndarray) -> ImageMotion:
    """Return the motion of an image that follows joints through a Jacobian that bends."""
    change = np.diff(positions, axis=0)
    jacobian, bend = rng.normal(0.0, 0.1, (2, positions.shape[1], 24))
    shown = change @ jacobian + 0.3 * np.sin(positions[1:]) * change @ bend
    times_s = PERIOD_S * np.arange(len(positions))
    return ImageMotion(
        source="wrist",
        epoch_ns=0,
        start_s=times_s[:-1],
        stop_s=times_s[1:],
        moves=shown + rng.normal(0.0, 2e-4, shown.shape),
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_wrist_at_rest_beside_an_arm_at_work_is_not_frozen(seed: int) -> None:
    rng = np.random.default_rng(seed)
    own, other = moves(rng, 6, rests=True), moves(rng, 6, rests=False)
    states = [activity("left", own), activity("right", other)]
    assert not had_to_move(seen(rng, own), states, STILL_NS)


@pytest.mark.parametrize("seed", range(20))
def test_an_image_that_ignores_its_own_arm_is_frozen(seed: int) -> None:
    rng = np.random.default_rng(seed)
    own = moves(rng, 6, rests=False)
    image = seen(rng, own)
    shown = image.moves.copy()
    shown[(image.start_s >= STILL_S[0] - 0.3) & (image.stop_s <= STILL_S[1] + 0.3)] = 0.0
    frozen = ImageMotion(
        source="wrist", epoch_ns=0, start_s=image.start_s, stop_s=image.stop_s, moves=shown
    )
    assert had_to_move(frozen, [activity("arm", own)], STILL_NS)


def test_a_joint_that_moves_only_in_the_still_proves_nothing() -> None:
    rng = np.random.default_rng(1)
    own = moves(rng, 6, rests=True)
    gripper = np.interp(PERIOD_S * np.arange(len(own)), [9.5, 10.0], [0.0, 1.0])
    states = [activity("arm", np.column_stack([own, gripper]))]
    assert not had_to_move(seen(rng, own), states, STILL_NS)


def test_without_joints_or_beyond_the_clip_nothing_is_proven() -> None:
    rng = np.random.default_rng(2)
    own = moves(rng, 6, rests=False)
    image = seen(rng, own)
    assert not had_to_move(image, [], STILL_NS)
    assert not had_to_move(image, [activity("arm", own)], (19_500_000_000, 21_000_000_000))
