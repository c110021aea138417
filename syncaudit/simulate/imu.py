"""The inertial measurement unit: angular rate and specific force with realistic errors."""

from dataclasses import dataclass, field

import numpy as np

from .clocks import ClockFault
from .motion import FloatArray, Motion

COLUMNS = ("gyro_x", "gyro_y", "gyro_z", "accel_x", "accel_y", "accel_z")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImuConfig:
    """Describe an IMU at the body origin (no lever arm), axes x forward, y left, z up.

    Attributes
    ----------
    rate_hz : float
    gyro_noise_rad_s, accel_noise_mps2 : float
        White noise per sample, standard deviation (MEMS at 200 Hz: 0.1 deg/s and 0.03 m/s^2).
    gyro_bias_rad_s, accel_bias_mps2 : float
        Standard deviation of the constant bias of each axis.
    gyro_walk_rad_s, accel_walk_mps2 : float
        Standard deviation of the bias walk after one second.
    misalignment : float
        Standard deviation of cross-axis and scale errors.
    gyro_step_rad_s, accel_step_mps2 : float
        Quantisation (16 bits over 500 deg/s and 8 g).
    n_nan : int
        Samples replaced by NaN, for broken clips.
    stamp_jitter_s : float
        Standard deviation of a healthy driver's timestamps.
    clock : ClockFault
    """

    rate_hz: float = 200.0
    gyro_noise_rad_s: float = 0.0015
    accel_noise_mps2: float = 0.03
    gyro_bias_rad_s: float = 0.003
    accel_bias_mps2: float = 0.05
    gyro_walk_rad_s: float = 1e-4
    accel_walk_mps2: float = 1e-3
    misalignment: float = 0.005
    gyro_step_rad_s: float = 2.66e-4
    accel_step_mps2: float = 2.4e-3
    n_nan: int = 0
    stamp_jitter_s: float = 3e-5
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
