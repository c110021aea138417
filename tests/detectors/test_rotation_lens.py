"""A lens without a stated model, and images through one: rotations are not reduced."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from syncaudit.detectors.rotation.lens import find_radial_term
from syncaudit.model import Distortion
from testkit.seen_points import FOCAL_PX, bent, texture, tracks, turned_behind_lens
from testkit.turning_camera import ANGLE_TOL_RAD, FULL_FOCAL_PX, detected, directions, stream

# From the calibration of a drone's camera of 90 degrees; at the edge a third of the distortion of a
# fisheye with the same field of view.
WIDE = (-0.283, 0.074)


def seen(lens, seed, *, turn=0.03, travel=0.05, n_pairs=16, noise_px=0.07):
    rng = np.random.default_rng(seed)
    pairs = [
        tracks(
            100 * seed + k,
            turn * rng.normal(size=3),
            travel * rng.normal(size=3),
            n=80,
            gross=0.03,
        )
        for k in range(n_pairs)
    ]
    places = np.array(pairs).transpose(1, 0, 2, 3)
    places = bent(places, *lens) + noise_px / FOCAL_PX * rng.normal(size=places.shape)
    return find_radial_term(*places, np.ones(places.shape[1:3], dtype=bool), focal_px=FOCAL_PX)


@pytest.mark.parametrize("travel", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_wide_lens_is_found_from_points_alone(seed, travel):
    term = seen(WIDE, seed, travel=travel)
    assert term.is_known
    assert term.is_needed
    # one term instead of two: positions agree to a hundredth up to 35 degrees
    places = np.column_stack([np.linspace(0.05, 0.7, 20), np.zeros(20)])
    seen_there = bent(places, *WIDE)
    undone = seen_there / (1.0 + term.value * np.sum(seen_there**2, axis=1, keepdims=True))
    assert np.max(np.abs(undone[:, 0] / places[:, 0] - 1.0)) < 0.02


@pytest.mark.parametrize("travel", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("turn", [0.001, 0.01, 0.03])
@pytest.mark.parametrize("seed", range(3))
def test_pinhole_stays_one(seed, turn, travel):
    assert not seen((0.0, 0.0), seed, turn=turn, travel=travel).is_needed


@pytest.mark.parametrize("seed", range(3))
def test_travel_ahead_tells_of_no_lens(seed):
    """Points that move outwards may be near, or the lens may distort."""
    term = seen(WIDE, seed, turn=1e-4)
    assert not (term.is_known and abs(term.value) > 0.4)


TURNS_RAD = 2.0 * directions()


@pytest.fixture(scope="module")
def frames():
    """Return what a wide lens shows of a turning camera."""
    scene = texture(5, height=1100, width=1900)
    return [turned_behind_lens(scene, turn, FULL_FOCAL_PX, WIDE) for turn in TURNS_RAD]


def turns_behind(frames, **fields):
    found = detected(stream(**fields), frames)
    there = Rotation.from_rotvec(TURNS_RAD)
    truth = (there[:-1].inv() * there[1:]).as_rotvec()
    return np.sum(found.angles_rad * truth, axis=0) / np.sum(truth**2, axis=0), found, truth


def test_stated_lens_gives_whole_turns(frames):
    stated = Distortion(model="radtan", k=[*WIDE, 0.0, 0.0])
    gains, found, truth = turns_behind(frames, distortion=stated)
    assert np.max(np.abs(found.angles_rad - truth)) < 2 * ANGLE_TOL_RAD
    assert gains == pytest.approx(np.ones(3), abs=0.01)


def test_unstated_lens_gives_whole_turns(frames):
    gains, *_ = turns_behind(frames)
    assert gains == pytest.approx(np.ones(3), abs=0.03)


def test_taken_for_a_pinhole_a_lens_makes_turns_small(frames):
    """Such footage was mistaken for stabilised: the reason for this correction."""
    none = Distortion(model="radtan", k=[0.0, 0.0, 0.0, 0.0])
    gains, *_ = turns_behind(frames, distortion=none)
    assert np.all(gains[:2] < 0.96)
