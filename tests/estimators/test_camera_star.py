"""Which cameras are measured against each other."""

import numpy as np

from syncaudit.estimators.pairs import measure_cameras
from syncaudit.model import ClipEvidence
from testkit.moving_body import Motion, camera, imu, shaking

REACH_S = 0.5


def smoothed(motion, time_s):
    damped = np.exp(-0.5 * (2.0 * np.pi * motion.hz * time_s) ** 2)
    return Motion(hz=motion.hz, size=motion.size * damped, phase=motion.phase)


def measured(*, has_imu):
    """Return the pairs of a camera that is fixed to the body and one whose image is stabilised."""
    motion = shaking(1, highest_hz=1.5, rms=0.3)
    gyro = imu(motion, 1)
    cameras = (camera(motion, 1, name="a"), camera(smoothed(motion, 0.3), 9, name="b"))
    evidence = ClipEvidence(
        rotations={cam.source: cam for cam in cameras},
        motion={"imu": {gyro.quantity: gyro}} if has_imu else {},
    )
    pairs = measure_cameras(evidence, (), REACH_S)
    return {frozenset((pair.source, pair.target)): pair.accepted for pair in pairs}


def test_a_camera_that_a_gyroscope_explains_is_no_witness_for_one_that_it_does_not():
    assert measured(has_imu=True) == {frozenset(("a", "imu")): True, frozenset(("b", "imu")): False}


def test_without_a_gyroscope_cameras_are_measured_against_each_other():
    assert measured(has_imu=False) == {frozenset(("a", "b")): True}
