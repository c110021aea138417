"""What happened and when: dense activity, rotation increments and event trains."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import arrays

__all__ = [
    "Activity",
    "EventTrain",
    "Evidence",
    "FlashEdges",
    "FlashIntervals",
    "Quantity",
    "RotationIncrements",
]


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
    WAVEFORM = "waveform"  # sound pressure, full scale 1
    STATE = "state"  # robot state, any unit
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
        White-noise standard deviation of one sample, where the detector knows it.
    """

    source: str
    quantity: Quantity
    epoch_ns: int
    times_s: NDArray[np.float64]
    values: NDArray[np.float64]
    std: float | None = None

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        times = arrays.finite_column("times_s", self.times_s)
        if times.size > 1 and float(np.min(np.diff(times))) <= 0.0:
            raise ValueError("times_s must increase strictly")
        object.__setattr__(self, "times_s", times)
        object.__setattr__(
            self, "values", arrays.finite_matrix("values", self.values, n=times.size)
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RotationIncrements:
    """Rotation of a camera between pairs of frames, in its optical axes.

    Parameters
    ----------
    source : str
        Camera.
    epoch_ns : int
        Zero of the times on the camera's clock.
    start_s, stop_s : ndarray, shape (n,)
        When the middle rows of the two frames were exposed.
    angles_rad : ndarray, shape (n, 3)
        Rotation vector of the increment about x (right), y (down), z (forward).
    std_rad : ndarray, shape (n, 3)
        One-sigma error of each angle.
    row_moments_px, row_moves_px : ndarray, shape (n, 3, 3)
        Mean distance of the tracked points from the middle row, and mean number of rows they
        moved, each weighted by how much the points contribute: entry (i, j) tells what a rotation
        about axis j at the points' own rows does to the angle about axis i. With the line delay
        they turn frame times into row times.
    mean_row_px : float
        Plain mean distance of the picture's corners from the middle row (negative: above it).
    line_delay_s : float, optional
        Time between rows, where stated.
    has_focal : bool
        Whether the focal length was stated (else angles about x and y carry an unknown factor).
    stamp_std_s : float
        Systematic uncertainty of the frame times (exposure or read-out not stated).
    n_frames : int
        Frames decoded.
    regular_start_s, regular_stop_s : ndarray, shape (n,), optional
        The same instants by an even clock, where the stamps jitter around one.
    """

    source: str
    epoch_ns: int
    start_s: NDArray[np.float64]
    stop_s: NDArray[np.float64]
    angles_rad: NDArray[np.float64]
    std_rad: NDArray[np.float64]
    row_moments_px: NDArray[np.float64]
    row_moves_px: NDArray[np.float64]
    mean_row_px: float = 0.0
    line_delay_s: float | None = None
    has_focal: bool = False
    stamp_std_s: float = 0.0
    n_frames: int = 0
    regular_start_s: NDArray[np.float64] | None = None
    regular_stop_s: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        n = np.asarray(self.angles_rad).shape[0]
        for name in ("regular_start_s", "regular_stop_s"):
            if getattr(self, name) is not None:
                column = arrays.finite_column(name, getattr(self, name), n=n)
                object.__setattr__(self, name, column)
        for name in ("start_s", "stop_s"):
            object.__setattr__(self, name, arrays.finite_column(name, getattr(self, name), n=n))
        for name in ("angles_rad", "std_rad"):
            object.__setattr__(
                self, name, arrays.finite_matrix(name, getattr(self, name), n=n, width=3)
            )
        for name in ("row_moments_px", "row_moves_px"):
            flat = np.asarray(getattr(self, name)).reshape(n, 9)
            checked = arrays.finite_matrix(name, flat, n=n, width=9).reshape(n, 3, 3)
            checked.flags.writeable = False
            object.__setattr__(self, name, checked)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventTrain:
    """Instants of one kind on a source's own clock.

    Parameters
    ----------
    source, quantity, epoch_ns
        As in `Activity`.
    times_s, std_s : ndarray, shape (n,)
        Instants and their one-sigma errors.
    strengths : ndarray, shape (n,)
        How strong each event is, in units of its own noise.
    """

    source: str
    quantity: Quantity
    epoch_ns: int
    times_s: NDArray[np.float64]
    std_s: NDArray[np.float64]
    strengths: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        times = arrays.finite_column("times_s", self.times_s)
        object.__setattr__(self, "times_s", times)
        for name in ("std_s", "strengths"):
            object.__setattr__(
                self, name, arrays.finite_column(name, getattr(self, name), n=times.size)
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlashEdges:
    """Edges of the bright bands that light pulses leave in a rolling shutter's frames.

    An edge in row r of frame k dates the half-light instant of a pulse, when half of its light had
    arrived, on the camera's own clock:

        t = frame_s + row_px * line_delay + exposure_part * exposure

    The upper edge of a band is the end of its rows' exposure (part +1/2), the lower edge its start
    (part -1/2). The mean of both, and the edge of a light that goes on or off and stays, hold
    without the exposure (part 0).

    Parameters
    ----------
    source : str
        Camera.
    epoch_ns : int
        Zero of the times on the camera's clock.
    frame_index : ndarray of int, shape (n,)
        Position of the edge's frame in file order.
    frame_s : ndarray, shape (n,)
        Middle of the exposure of that frame's middle row.
    row_px, row_std_px : ndarray, shape (n,)
        Distance of the edge below the middle row, and its one-sigma error.
    exposure_part : ndarray, shape (n,)
        +0.5, -0.5 or 0.
    band : ndarray of int, shape (n,)
        Edges of one band carry one number: they are of one pulse.
    height_px : int
        Rows of a frame.
    watched_s : ndarray, shape (m, 2)
        Middle-row times of every two neighbouring frames that were both looked at: a pulse between
        them that neither shows fell between their exposures. Elsewhere nobody looked.
    line_delay_s, exposure_s : float, optional
        Where stated.
    half_light_s, half_light_std_s : float, optional
        From the onset of a pulse to its half-light instant, by the shape of the edges.
    stamp_part, from_stamp_s : float
        `frame_s` is the stamp plus `from_stamp_s`, and should be the stamp plus this part of
        exposure and read-out together: +0.5 where the start of a frame is stamped, -0.5 its end.
    stamp_std_s : float
        Systematic uncertainty of `frame_s` (exposure or read-out not stated).
    sense : ndarray of int, shape (n,), optional
        +1 where a light went on and stayed, -1 where it went off, 0 for pulses; None: all pulses.
    clipped_share : float
        Share of the lit cells that the light drives into clipping, median of the lit frames.
    """

    source: str
    epoch_ns: int
    frame_index: NDArray[np.int64]
    frame_s: NDArray[np.float64]
    row_px: NDArray[np.float64]
    row_std_px: NDArray[np.float64]
    exposure_part: NDArray[np.float64]
    band: NDArray[np.int64]
    height_px: int
    watched_s: NDArray[np.float64]
    line_delay_s: float | None = None
    exposure_s: float | None = None
    half_light_s: float | None = None
    half_light_std_s: float | None = None
    stamp_part: float = 0.0
    from_stamp_s: float = 0.0
    stamp_std_s: float = 0.0
    sense: NDArray[np.int64] | None = None
    clipped_share: float = 0.0

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        n = np.asarray(self.frame_s).shape[0]
        for name in ("frame_s", "row_px", "row_std_px", "exposure_part"):
            object.__setattr__(self, name, arrays.finite_column(name, getattr(self, name), n=n))
        for name in ("frame_index", "band"):
            object.__setattr__(self, name, arrays.stamps(name, getattr(self, name), n=n))
        if not np.isin(self.exposure_part, (-0.5, 0.0, 0.5)).all():
            raise ValueError("exposure_part must be -0.5, 0 or +0.5")
        _check_sense(self.sense, n)
        object.__setattr__(
            self, "watched_s", arrays.finite_matrix("watched_s", self.watched_s, width=2)
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlashIntervals:
    """Intervals of a source's own clock within each of which one pulse fell.

    A strobe counter that changed between two messages, a frame of a global shutter that was lit.
    A frame that is lit in part dates a light that goes on or off: there the interval is as short
    as its softness.

    Parameters
    ----------
    source : str
        Source they were found in.
    quantity : Quantity
        `FLASH` or `STROBE`.
    epoch_ns : int
        Zero of the times on the source's clock.
    start_s, stop_s : ndarray, shape (n,)
        The pulse fell between them.
    std_s : ndarray, shape (n,)
        One-sigma softness of both ends.
    count : ndarray of int, shape (n,)
        How many pulses fell there: a counter may jump by more than one.
    is_onset : bool
        Whether the onset of the pulse is meant (else its half-light instant).
    half_light_s, half_light_std_s : float, optional
        From the onset of a pulse to its half-light instant, where known: 0 for lights that go on
        at once and stay.
    sense : ndarray of int, shape (n,), optional
        As in `FlashEdges`.
    clipped_share : float
        Of flashes, as in `FlashEdges`.
    dead_s : ndarray, shape (m, 2), optional
        Of a camera: the times between the exposures of neighbouring frames, to one of which a
        pulse belongs that was not seen.
    """

    source: str
    quantity: Quantity
    epoch_ns: int
    start_s: NDArray[np.float64]
    stop_s: NDArray[np.float64]
    std_s: NDArray[np.float64]
    count: NDArray[np.int64]
    is_onset: bool
    half_light_s: float | None = None
    half_light_std_s: float | None = None
    sense: NDArray[np.int64] | None = None
    clipped_share: float = 0.0
    dead_s: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 2)))

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        n = np.asarray(self.start_s).shape[0]
        for name in ("start_s", "stop_s", "std_s"):
            object.__setattr__(self, name, arrays.finite_column(name, getattr(self, name), n=n))
        if n and float(np.min(self.stop_s - self.start_s)) < 0.0:
            raise ValueError("stop_s must not be before start_s")
        object.__setattr__(self, "count", arrays.stamps("count", self.count, n=n))
        object.__setattr__(self, "dead_s", arrays.finite_matrix("dead_s", self.dead_s, width=2))
        _check_sense(self.sense, n)


def _check_sense(sense: NDArray[np.int64] | None, n: int) -> None:
    if sense is not None and (sense.shape != (n,) or not np.isin(sense, (-1, 0, 1)).all()):
        raise ValueError(f"sense must have shape ({n},) and hold -1, 0 or +1")


Evidence = Activity | RotationIncrements | EventTrain | FlashEdges | FlashIntervals
