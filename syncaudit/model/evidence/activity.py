"""Dense signals and instants on a source's own clock."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from syncaudit.model import arrays
from syncaudit.model.arrays import Floats


class Quantity(StrEnum):
    """Physical quantity of an activity."""

    ANGULAR_RATE = "angular_rate"  # rad/s, three axes of the sensor
    SPECIFIC_FORCE = "specific_force"  # m/s^2, three axes of the sensor
    SPEED = "speed"  # m/s
    WHEEL_SPEED = "wheel_speed"  # m/s
    YAW_RATE = "yaw_rate"  # rad/s
    STEERING_ANGLE = "steering_angle"  # rad
    BRAKE = "brake"  # any unit, more is harder
    LONG_ACCEL = "long_accel"  # m/s^2
    LATERAL_ACCEL = "lateral_accel"  # m/s^2
    LOUDNESS = "loudness"  # log energy of sound
    STATE = "state"  # where a robot is: joints or a pose, any unit
    COMMAND = "command"  # where it is commanded to be
    FLASH = "flash"
    CLICK = "click"
    STROBE = "strobe"
    TRIGGER = "trigger"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Activity:
    """A dense signal on a source's own clock.

    Parameters
    ----------
    source : str
        Source it was found in.
    quantity : Quantity
        What it measures.
    epoch_ns : int
        Zero of `times_s` on the source's own clock.
    times_s : ndarray, shape (n,)
        Strictly increasing seconds since the epoch.
    values : ndarray, shape (n, d)
        Finite samples.
    std : float, optional
        White-noise standard deviation of one sample, if the detector knows it.
    is_si : bool
        Whether the values are known to be in SI units: the channel states its unit.
    """

    source: str
    quantity: Quantity
    epoch_ns: int
    times_s: Floats
    values: Floats
    std: float | None = None
    is_si: bool = False

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        arrays.freeze_columns(self, "times_s")
        if self.times_s.size > 1 and float(np.min(np.diff(self.times_s))) <= 0.0:
            raise ValueError("times_s must be strictly increasing")
        arrays.freeze_matrices(self, "values", n=self.times_s.size)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventTrain:
    """Instants of one kind on a source's own clock.

    Parameters
    ----------
    source, quantity, epoch_ns
        As in `Activity`.
    times_s, std_s : ndarray, shape (n,)
        Instants and their one-sigma errors.
    systematic_std_s : float
        One-sigma error that all instants have in common; not part of `std_s`.
    """

    source: str
    quantity: Quantity
    epoch_ns: int
    times_s: Floats
    std_s: Floats
    systematic_std_s: float = 0.0

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        arrays.freeze_columns(self, "times_s")
        arrays.freeze_columns(self, "std_s", n=self.times_s.size)
