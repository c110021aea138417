"""The inertial measurement unit: angular rate and specific force with realistic errors."""

from dataclasses import dataclass, field

import numpy as np

from .clocks import ClockFault
from .motion import FloatArray, Motion

COLUMNS = ("gyro_x", "gyro_y", "gyro_z", "accel_x", "accel_y", "accel_z")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImuConfig:
    """Describe an IMU at the body origin (no lever arm), axes x forward, y left, z up."""

    rate_hz: float = 200.0
    # white noise per sample, standard deviation (MEMS at 200 Hz: 0.1 deg/s and 0.03 m/s^2)
    gyro_noise_rad_s: float = 0.0015
    accel_noise_mps2: float = 0.03
    # standard deviation of the constant bias of each axis
    gyro_bias_rad_s: float = 0.003
    accel_bias_mps2: float = 0.05
    # standard deviation of the bias walk after one second
    gyro_walk_rad_s: float = 1e-4
    accel_walk_mps2: float = 1e-3
    misalignment: float = 0.005  # standard deviation of cross-axis and scale errors
    # quantisation (16 bits over 500 deg/s and 8 g)
    gyro_step_rad_s: float = 2.66e-4
    accel_step_mps2: float = 2.4e-3
    n_nan: int = 0  # samples replaced by NaN, for broken clips
    stamp_jitter_s: float = 3e-5  # standard deviation of a healthy driver's timestamps
    clock: ClockFault = field(default_factory=ClockFault)

    def __post_init__(self) -> None:
        if not 10.0 <= self.rate_hz <= 2000.0:
            raise ValueError(f"rate_hz is {self.rate_hz}, expected 10 to 2000")


def measure_imu(
    motion: Motion,
    times_s: FloatArray,
    config: ImuConfig,
    rng: np.random.Generator,
    *,
    shocks: FloatArray | None = None,
) -> FloatArray:
    """Return the IMU's readings at true times, columns as in `COLUMNS`, shape (n, 6).

    `shocks` are accelerations on top of the motion's, body axes, shape (n, 3).
    """
    force = motion.specific_force(times_s)
    if shocks is not None:
        force = force + shocks
    parts = []
    for truth, noise, bias, walk, step in (
        (
            motion.angular_rate(times_s),
            config.gyro_noise_rad_s,
            config.gyro_bias_rad_s,
            config.gyro_walk_rad_s,
            config.gyro_step_rad_s,
        ),
        (
            force,
            config.accel_noise_mps2,
            config.accel_bias_mps2,
            config.accel_walk_mps2,
            config.accel_step_mps2,
        ),
    ):
        mixing = np.eye(3) + rng.normal(0, config.misalignment, (3, 3))
        drift = np.cumsum(rng.normal(0, walk / np.sqrt(config.rate_hz), truth.shape), axis=0)
        reading = truth @ mixing.T + rng.normal(0, bias, 3) + drift
        reading = reading + rng.normal(0, noise, truth.shape)
        parts.append(np.rint(reading / step) * step if step else reading)
    reading = np.concatenate(parts, axis=1)
    if config.n_nan:
        reading[rng.choice(len(reading), config.n_nan, replace=False)] = np.nan
    return reading
