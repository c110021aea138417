"""A shaken camera and gyroscope, measured."""

from syncaudit.estimators.rotation import measure_camera_gyro
from testkit.moving_body import camera, imu, shaking

# 0.3 mrad per frame give 0.1 ms in 20 s of this motion (the claimed error); five times that.
OFFSET_TOL_S = 5e-4
REACH_S = 0.5


def measured(seed, *, cam=None, gyro=None, **options):
    """Measure a camera against a gyroscope on the same shaken body, with these faults of each."""
    motion = shaking(seed)
    return measure_camera_gyro(
        camera(motion, seed, **(cam or {})),
        imu(motion, seed, **(gyro or {})),
        **({"max_offset_s": REACH_S} | options),
    )
