"""Model of a manifest row: one clip, where each of its sources is, and how its cameras see.

The classes are plain frozen dataclasses; `syncaudit.datasets.manifest` validates rows against their
annotations (unknown keys are rejected through `__pydantic_config__`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from syncaudit.model.arrays import Floats
from syncaudit.model.field_names import field_names

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


MOST_EPISODES = 2_000_000
"""Twice the largest known data set (AgiBot World); ``keep.json`` lists every episode."""

_STRICT: dict[str, Any] = {"extra": "forbid", "strict": True}

StampAt = Literal["mid_exposure_mid_row", "start_of_frame", "end_of_frame"]
StampKind = Literal["capture", "receive", "counter", "index"]

Scan = Literal["down", "up", "right", "left"]
"""Across the stored image: sensors read `down`; images rotated by 180 degrees since run `up`."""

SCAN_DIRECTIONS: Mapping[Scan, tuple[int, int]] = {
    "down": (0, 1),
    "up": (0, -1),
    "right": (1, 0),
    "left": (-1, 0),
}
"""Steps from one line to the next, to the right and down."""

OPPOSITE_SCANS: Mapping[Scan, Scan] = {
    "down": "up",
    "up": "down",
    "right": "left",
    "left": "right",
}

LensModel = Literal["radtan", "fisheye"]
# How many coefficients each model takes.
N_COEFFICIENTS: dict[str, tuple[int, ...]] = {"radtan": (4, 5, 8), "fisheye": (4,)}


class SourceKind(StrEnum):
    """Closed set of source kinds (formats, section 2)."""

    CAMERA = "camera"
    IMU = "imu"
    CAN = "can"
    AUDIO = "audio"
    TRANSCRIPT = "transcript"
    EVENTS = "events"
    STATE = "state"


@dataclass(frozen=True, slots=True, kw_only=True)
class _AnySpec:
    """Keys that every kind of source takes.

    `units` gives the units of a table that are neither nanoseconds nor SI: it maps ``stamps``, a
    triple of an IMU, or a role of a bus to its unit (`syncaudit.model.units`). `stamp_std_s` is the
    standard error of the whole stream's timestamps, in seconds, that the recorder leaves unknown.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    clock: str | None = None
    expected_offset_s: float = 0.0
    stamp_std_s: float = 0.0
    stamp_kind: StampKind = "capture"
    arrivals: str | None = None
    findings: list[str] = field(default_factory=list)
    units: Mapping[str, str] = field(default_factory=dict)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle in half the time that dataclasses take: clips are sent to every worker."""
        kind: type[DataclassInstance] = type(self)
        return _unpickled, (kind, attrgetter(*field_names(kind))(self))


def _unpickled(kind: type[DataclassInstance], values: tuple[object, ...]) -> object:
    spec: object = object.__new__(kind)
    for name, value in zip(field_names(kind), values, strict=True):
        object.__setattr__(spec, name, value)  # frozen for all others
    return spec


@dataclass(frozen=True, slots=True, kw_only=True)
class _TableSpec(_AnySpec):
    """Keys of sources that are columns of a table.

    `stamps` names the column of timestamps if it is not ``timestamp_ns``: integers are
    nanoseconds, floats seconds. `rows` is the half-open range of rows that belong to the clip, if
    a file holds several. `is_start_assumed` means that the timestamps count from a start of their
    own that is not stated.
    """

    stamps: str | None = None
    rows: list[int] | None = None
    is_start_assumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraSpec(_AnySpec):
    """A video file, or a folder or glob of images, with one timestamp per frame.

    `stamps` and `rows` refer to the table `timestamps`, as for other tables. `pts_ns` is the
    half-open range of the container's presentation times, in ns, that belongs to the clip if a
    video holds several. `pictures` is the column of a Parquet file (`uri`) that holds the encoded
    images, `picture_rows` the half-open range of its rows that belongs to the clip.
    `is_start_assumed` means that `start_ns` is not stated anywhere: whoever wrote the row assumed
    it. `scan` is the direction across the stored images in which a rolling shutter reads one line
    after another; images that were rotated by 180 degrees after readout are read `up`. None is
    unknown, and taken as `down`.
    """

    kind: Literal["camera"] = "camera"
    uri: str
    stream: int = 0
    timestamps: str | None = None
    stamps: str | None = None
    rows: list[int] | None = None
    start_ns: int | None = None
    is_start_assumed: bool = False
    pts_ns: list[int] | None = None
    pictures: str | None = None
    picture_rows: list[int] | None = None
    stamp_at: StampAt = "mid_exposure_mid_row"
    line_delay_s: float | None = None
    exposure_s: float | None = None
    scan: Scan | None = None
    fov_deg: float | None = None
    focal_px: float | None = None
    distortion: Distortion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImuSpec(_TableSpec):
    """Gyroscope in rad/s and accelerometer in m/s^2; either triple may be absent."""

    kind: Literal["imu"] = "imu"
    uri: str
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CanSpec(_TableSpec):
    """A raw bus log with its DBC, or decoded columns; `signals` maps role to name."""

    kind: Literal["can"] = "can"
    uri: str
    dbc: str | None = None
    signals: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioSpec(_AnySpec):
    """A sound file or the audio track of a video; `is_start_assumed` as for a camera.

    `start_at` defines what `start_ns` is the time of: the first sample, or presentation time 0 of
    the container, as for a camera.
    """

    kind: Literal["audio"] = "audio"
    uri: str
    start_ns: int | None = None
    start_at: Literal["first_sample", "presentation_zero"] = "first_sample"
    is_start_assumed: bool = False
    timestamps: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptSpec(_AnySpec):
    """Words or phones with times in seconds after the start of `audio`."""

    kind: Literal["transcript"] = "transcript"
    audio: str
    uri: str | None = None
    tier: str | None = None
    text: str | None = None
    language: str = "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsSpec(_TableSpec):
    """Instants: a trigger log, a GPIO line."""

    kind: Literal["events"] = "events"
    uri: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSpec(_TableSpec):
    """Robot state or action channels; `columns` maps a group name to its columns.

    `is_command` distinguishes commands to the robot from its measured state, `is_rate` velocities
    or steps from positions; None is guessed by name.
    """

    kind: Literal["state"] = "state"
    uri: str
    columns: Mapping[str, list[str]] | None = None
    is_command: bool | None = None
    is_rate: bool | None = None


SourceSpec = CameraSpec | ImuSpec | CanSpec | AudioSpec | TranscriptSpec | EventsSpec | StateSpec

SPEC_OF_KIND: Mapping[str, type] = {
    spec.__dataclass_fields__["kind"].default: spec for spec in get_args(SourceSpec)
}


"""Specification class of a source, by its kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a clip comes from, for handing the verdict back; no verdict depends on it.

    Parameters
    ----------
    dataset : str
        The LeRobot data set: its folder or URL.
    episode_index : int
        The clip's episode in it.
    total_episodes : int, optional
        How many episodes the data set holds.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    dataset: str
    episode_index: int
    total_episodes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """One clip of a manifest.

    Parameters
    ----------
    clip_id : str
        Unique in its manifest.
    recording_id : str
        Clips of one recording share their clocks.
    start_ns, end_ns : int, optional
        Window to judge; default is the overlap of all sources.
    reference : str, optional
        Clock that reference time is read from; default by consensus.
    origin : Origin, optional
        Episode of a data set that the clip is.
    sources : mapping of str to SourceSpec
        Name to source.
    about : mapping of str to str
        What it was recorded with: vehicle, rig, software version ... No verdict depends on it; the
        report compares by it.
    base_uri : str
        Folder that relative URIs are relative to ("" for the working folder).
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    clip_id: str
    recording_id: str
    sources: Mapping[str, SourceSpec]
    start_ns: int | None = None
    end_ns: int | None = None
    reference: str | None = None
    origin: Origin | None = None
    about: Mapping[str, str] = field(default_factory=dict)
    base_uri: str = ""

    @property
    def clocks(self) -> dict[str, str]:
        """Clock of every source."""
        return {name: clock_of(name, spec) for name, spec in self.sources.items()}

    @property
    def states_window(self) -> bool:
        """Whether the manifest states where the clip begins or ends."""
        return self.start_ns is not None or self.end_ns is not None

    @property
    def intended_s(self) -> dict[str, float]:
        """Intended offset of every source."""
        return {name: spec.expected_offset_s for name, spec in self.sources.items()}


def clock_of(name: str, spec: SourceSpec) -> str:
    """Return the clock that stamps source `name`: the one it states, or its own.

    A transcript's times relate to its audio's clock only through the text, so it is a clock of
    its own like every other source.
    """
    return spec.clock if spec.clock is not None else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Distortion:
    """Distortion of a lens as calibration tools state it, coefficients in OpenCV's order.

    Parameters
    ----------
    model : str
        ``radtan`` (Brown, "Decentering distortion of lenses", 1966): k1, k2, p1, p2, then k3, or
        k3 to k6. ``fisheye`` (Kannala & Brandt, "A generic camera model and calibration method for
        conventional, wide-angle, and fish-eye lenses", IEEE Trans. PAMI 28, 2006,
        doi:10.1109/TPAMI.2006.153): k1 to k4 of the angle.
    k : list of float
        The coefficients.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True}

    model: LensModel
    k: list[float]

    @property
    def decentring(self) -> tuple[float, float]:
        """Return the tangential coefficients p1 and p2."""
        return (self.k[2], self.k[3]) if self.model == "radtan" else (0.0, 0.0)

    def radius(self, angle_rad: Floats) -> Floats:
        """Return how far from the middle rays land, in focal lengths.

        Parameters
        ----------
        angle_rad : ndarray
            Angles from the optical axis; for ``radtan`` below a right angle.
        """
        if self.model == "fisheye":
            square, even = angle_rad**2, self.k
            return np.asarray(angle_rad * (1.0 + square * _series(even, square)))
        plane = np.tan(angle_rad)
        square = plane**2
        k = [*self.k, *[0.0] * (8 - len(self.k))]
        bent = 1.0 + square * _series([k[0], k[1], k[4]], square)
        return np.asarray(plane * bent / (1.0 + square * _series(k[5:], square)))


def _series(coefficients: list[float], square: Floats) -> Floats:
    """Return ``c0 + c1 s + c2 s^2 ...``."""
    total = np.zeros_like(square)
    for coefficient in reversed(coefficients):
        total = total * square + coefficient
    return total


def direction_of(scan: Scan | None) -> tuple[int, int]:
    """Return the step from one line to the next, to the right and down; unknown scans run down."""
    return SCAN_DIRECTIONS[scan or "down"]
