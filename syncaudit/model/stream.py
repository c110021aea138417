"""The streams of a clip with their timestamps as the readers found them, unrepaired."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import arrays
from syncaudit.model.arrays import Floats, Ints
from syncaudit.model.clip import Distortion, Scan, SourceKind, direction_of
from syncaudit.model.findings import Finding


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Channel:
    """One timestamped signal: a triple of an IMU, a role of a CAN bus.

    Parameters
    ----------
    name : str
        ``gyro``, ``accel``, or the role of the contract (``yaw_rate``, ``speed`` ...).
    time_ns : ndarray of int64, shape (n,)
        Timestamps in file order, on the source's own clock.
    values : ndarray of float64, shape (n, d)
        Samples; NaN and inf are kept: they are evidence.
    unit : str
        Unit of the values as read ("" if the file does not state it).
    """

    name: str
    time_ns: Ints
    values: Floats
    unit: str = ""

    def __post_init__(self) -> None:
        """Freeze the arrays and check their shapes."""
        object.__setattr__(self, "time_ns", arrays.stamps(f"{self.name}.time_ns", self.time_ns))
        values = np.asarray(self.values, dtype=np.float64)
        if values.ndim != 2 or values.shape[0] != self.time_ns.shape[0]:
            raise ValueError(
                f"{self.name}.values must have shape ({self.time_ns.shape[0]}, d), "
                f"got {values.shape}"
            )
        view = values.view()
        view.flags.writeable = False
        object.__setattr__(self, "values", view)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arrivals:
    """When each sample was stamped, sent and received, in file order.

    Parameters
    ----------
    capture_ns : ndarray of int64, shape (n,)
        The source's own timestamps.
    receive_ns : ndarray of int64, shape (n,)
        When the recorder received the samples, on its own clock.
    publish_ns : ndarray of int64, shape (n,), optional
        When they were sent, on the sender's clock.
    """

    capture_ns: Ints
    receive_ns: Ints
    publish_ns: Ints | None = None

    def __post_init__(self) -> None:
        """Freeze the timestamps and check that they belong together."""
        for name in ("capture_ns", "receive_ns", "publish_ns"):
            stamps = getattr(self, name)
            if stamps is None:
                continue
            if stamps.shape != self.capture_ns.shape:
                raise ValueError(
                    f"{name} must have shape {self.capture_ns.shape}, got {stamps.shape}"
                )
            object.__setattr__(self, name, arrays.stamps(name, stamps))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stream:
    """Fields that every stream has.

    Parameters
    ----------
    name, clock : str
        Source name and the clock that stamps it.
    kind : SourceKind
        Kind of the source.
    time_ns : ndarray of int64, shape (n,)
        Every timestamp of the source in file order (frames, samples, messages, events).
    uri : str
        Where it was read from, for messages.
    stamp_kind : str
        ``capture``, ``receive``, ``counter`` or ``index``: kind of timestamps per the manifest.
    findings : tuple of Finding
        What was found wrong while reading; the rest is still usable.
    arrivals : Arrivals, optional
        When the samples reached the recorder, if stated in the manifest.
    is_start_assumed : bool
        Whether its start is not stated, so that its timestamps are only relative to each other.
    """

    name: str
    clock: str
    kind: SourceKind
    time_ns: Ints
    uri: str = ""
    stamp_kind: str = "capture"
    findings: tuple[Finding, ...] = ()
    arrivals: Arrivals | None = None
    is_start_assumed: bool = False

    def __post_init__(self) -> None:
        """Freeze the timestamps."""
        object.__setattr__(self, "time_ns", arrays.stamps(f"{self.name}.time_ns", self.time_ns))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SignalStream(Stream):
    """IMU, CAN or robot state: one or more timestamped channels.

    `time_ns` of the stream holds the timestamps that are audited: the samples of an IMU, all
    decoded messages of a bus in file order. Each channel has its own timestamps.

    Parameters
    ----------
    channels : tuple of Channel
        As read.
    is_command, is_rate : bool, optional
        For robot state, as stated in the manifest; None: decided by names.
    """

    channels: tuple[Channel, ...] = ()
    is_command: bool | None = None
    is_rate: bool | None = None

    def channel(self, name: str) -> Channel | None:
        """Return the channel called `name`, or None."""
        return next((c for c in self.channels if c.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameFiles:
    """Where the frames of a camera are, as local paths that decoders open.

    Parameters
    ----------
    paths : tuple of str
        One video file, or the images in frame order.
    is_images : bool
        Whether `paths` are single images.
    stream : int
        Index among the video streams of the file.
    span_ns : tuple of int, optional
        Half-open range of the container's presentation times, in ns, to decode; None is the whole
        video.
    first : int
        Index of the first frame of the span.
    column : str, optional
        Column of a Parquet file, the only path, that holds the encoded images.
    rows : tuple of int, optional
        Half-open range of rows to decode; None is all.
    n_bytes : int, optional
        Size of the only file when it was read, if checked.
    """

    paths: tuple[str, ...]
    is_images: bool = False
    stream: int = 0
    span_ns: tuple[int, int] | None = None
    first: int = 0
    column: str | None = None
    rows: tuple[int, int] | None = None
    n_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CameraStream(Stream):
    """A camera: one timestamp per frame in order, and where the frames are.

    Parameters
    ----------
    files : FrameFiles
        Frames, decoded later and once.
    n_frames_container : int, optional
        Frames (packets) that the container holds, counted without decoding.
    pts_s : ndarray of float64, shape (m,), optional
        Presentation times of the container's frames in seconds, sorted.
    width_px, height_px : int
        Frame size.
    stamp_at, line_delay_s, exposure_s, scan
        As in the manifest; None is unknown.
    focal_px : float, optional
        Focal length in pixels of the full image, from the manifest.
    distortion : Distortion, optional
        Of the lens, from the manifest; None is unknown.
    """

    files: FrameFiles
    n_frames_container: int | None = None
    pts_s: Floats | None = None
    width_px: int = 0
    height_px: int = 0
    stamp_at: str = "mid_exposure_mid_row"
    line_delay_s: float | None = None
    exposure_s: float | None = None
    scan: Scan | None = None
    focal_px: float | None = None
    distortion: Distortion | None = None

    @property
    def n_lines(self) -> int:
        """Return the number of lines that a rolling shutter reads one after another."""
        is_across, is_down = direction_of(self.scan)
        return abs(is_across) * self.width_px + abs(is_down) * self.height_px

    @property
    def readout_lines(self) -> int:
        """Return how many line delays after its first line the last is read."""
        return max(self.n_lines - 1, 0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AudioStream(Stream):
    """Audio, mixed down to one channel.

    Parameters
    ----------
    time_ns
        Timestamps of `anchor_samples`, or the only timestamp, of sample 0.
    anchor_samples : ndarray of int64, shape (n,)
        Sample index that each timestamp belongs to ([0] without a timestamp table).
    rate_hz : float
        Sampling rate from the header.
    samples : ndarray of float32, shape (m,)
        Mean of the channels, full scale 1.
    first_sample : int
        Position in the file of the first of `samples`: a window may have cut off what is before.
    file_seconds : float, optional
        Length of the whole file if a window has cut it.
    """

    rate_hz: float
    samples: NDArray[np.float32]
    anchor_samples: Ints
    first_sample: int = 0
    file_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """One word or phone, `[start_s, stop_s)` seconds after the start of its audio."""

    start_s: float
    stop_s: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A named sequence of intervals in file order."""

    name: str
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TranscriptStream(Stream):
    """Words or phones with times, from any aligner, ASR or hand.

    `time_ns` is empty: a transcript's times are relative to its audio.
    """

    audio: str
    tiers: tuple[Tier, ...] = ()
    tier: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventStream(Stream):
    """Instants without values: only `time_ns`."""
