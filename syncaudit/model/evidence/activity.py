"""Dense signals, increments from frame to frame, and instants on a source's own clock.

Speech has two sides: what a tier states was spoken and when, and what the audio contains.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from syncaudit.model import arrays
from syncaudit.model.arrays import Bools, Floats


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
        moved, each weighted by how much the points contribute: entry (i, j) is the effect of a
        rotation about axis j at the points' own rows on the angle about axis i. With the line delay
        they convert frame times into row times.
    mean_row_px : float
        Plain mean distance of the image's corners from the middle row (negative: above it).
    height_px : int
        Rows of the image.
    line_delay_s : float, optional
        Time between rows, if stated.
    has_focal : bool
        Whether the focal length was stated (else angles about x and y carry an unknown factor).
    stamp_std_s : float
        Systematic uncertainty of the frame times (exposure or readout not stated).
    regular_start_s, regular_stop_s : ndarray, shape (n,), optional
        The same instants by an even clock, if the timestamps jitter around one.
    """

    source: str
    epoch_ns: int
    start_s: Floats
    stop_s: Floats
    angles_rad: Floats
    std_rad: Floats
    row_moments_px: Floats
    row_moves_px: Floats
    height_px: int
    mean_row_px: float = 0.0
    line_delay_s: float | None = None
    has_focal: bool = False
    stamp_std_s: float = 0.0
    regular_start_s: Floats | None = None
    regular_stop_s: Floats | None = None

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        n = np.asarray(self.angles_rad).shape[0]
        times = ("start_s", "stop_s", "regular_start_s", "regular_stop_s")
        arrays.freeze_columns(self, *times, n=n)
        arrays.freeze_matrices(self, "angles_rad", "std_rad", n=n, width=3)
        for name in ("row_moments_px", "row_moves_px"):
            flat = np.asarray(getattr(self, name)).reshape(n, 9)
            checked = arrays.finite_matrix(name, flat, n=n, width=9).reshape(n, 3, 3)
            checked.flags.writeable = False
            object.__setattr__(self, name, checked)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageMotion:
    """Mean displacement of every cell of an image between pairs of frames.

    Parameters
    ----------
    source : str
        Camera.
    epoch_ns : int
        Zero of the times on the camera's clock.
    start_s, stop_s : ndarray, shape (n,)
        When the middle rows of the two frames were exposed.
    moves : ndarray, shape (n, m)
        Displacements, in parts of the image's width: right and down of every cell in turn, as if
        all cells were exposed with the middle row where the line delay is known.
    stamp_std_s : float
        Systematic uncertainty of the frame times (exposure or readout not stated).
    coding_std_s : float
        How long video coding may hold slow motion back; 0 for independent images.
    """

    source: str
    epoch_ns: int
    start_s: Floats
    stop_s: Floats
    moves: Floats
    stamp_std_s: float = 0.0
    coding_std_s: float = 0.0

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        arrays.freeze_matrices(self, "moves")
        arrays.freeze_columns(self, "start_s", "stop_s", n=self.moves.shape[0])


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
    is_si : bool
        Whether the values are known to be in SI units: the channel states its unit.
    """

    source: str
    quantity: Quantity
    epoch_ns: int
    times_s: Floats
    values: Floats
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpokenTier:
    """A tier as a sequence of broad phone classes.

    Parameters
    ----------
    source, audio : str
        Transcript, and the microphone that its times refer to.
    tier : str
        Name of the tier.
    start_s, stop_s : ndarray, shape (n,)
        Each sound, in order, disjoint, in seconds of the audio file.
    is_stated : ndarray of bool, shape (n,)
        Whether the tier itself states when the sound starts; else that was guessed (the burst of a
        stop, sounds inside a word).
    classes : tuple of str, length n
        Broad class of each (`syncaudit.speech.phonetics.PhoneClass`).
    is_words : bool
        Whether sounds were spread over words, so that their boundaries are guesses.
    n_labels : int
        Words or phones in the tier, without silences.
    """

    source: str
    audio: str
    tier: str
    start_s: Floats
    stop_s: Floats
    is_stated: Bools
    classes: tuple[str, ...]
    is_words: bool = False
    n_labels: int = 0

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        n = len(self.classes)
        arrays.freeze_columns(self, "start_s", "stop_s", n=n)
        stated = np.asarray(self.is_stated, dtype=np.bool_).view()
        if stated.shape != (n,):
            raise ValueError(f"is_stated must have shape ({n},), got {stated.shape}")
        stated.flags.writeable = False
        object.__setattr__(self, "is_stated", stated)
        if n and float(np.min(self.stop_s - self.start_s)) < 0.0:
            raise ValueError("stop_s must not be before start_s")
        if n > 1 and float(np.min(self.start_s[1:] - self.stop_s[:-1])) < -1e-9:
            raise ValueError("sounds must be in order and disjoint")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BandEnergies:
    """Log energies of audio in frequency bands, at even steps of the audio file.

    Parameters
    ----------
    source : str
        Microphone.
    epoch_ns : int
        Timestamp of second 0 of the audio file, on the microphone's clock.
    start_s : float
        Middle of the first frame, in seconds of the audio file.
    hop_s : float
        From frame to frame.
    values : ndarray, shape (n, d)
        Nepers of energy, finite.
    centres_hz : ndarray, shape (d,)
        Middle of each band.
    """

    source: str
    epoch_ns: int
    start_s: float
    hop_s: float
    values: Floats
    centres_hz: Floats

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        if not self.hop_s > 0.0:
            raise ValueError(f"hop_s must be positive, got {self.hop_s}")
        arrays.freeze_columns(self, "centres_hz")
        arrays.freeze_matrices(self, "values", width=self.centres_hz.size)
