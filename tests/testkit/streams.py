"""Streams and detector results, built from the fields that a test is about."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from syncaudit.model import (
    Activity,
    AudioStream,
    CameraStream,
    Channel,
    EventTrain,
    FrameFiles,
    Interval,
    Quantity,
    SignalStream,
    SourceKind,
    Tier,
    TranscriptStream,
)

EPOCH_NS = 1_767_225_600_000_000_000


def camera_stream(
    time_ns: NDArray[np.int64], *, name: str = "cam", video: str = "cam.mp4", **fields: Any
) -> CameraStream:
    """Return a camera on its own clock with a frame at each of `time_ns`, shape (n,)."""
    return CameraStream(
        name=name,
        clock=name,
        kind=SourceKind.CAMERA,
        time_ns=time_ns,
        files=FrameFiles(paths=(video,)),
        **fields,
    )


def sound_stream(
    samples: ArrayLike,
    rate_hz: float,
    *,
    name: str = "mic",
    start_ns: int = EPOCH_NS,
    **fields: Any,
) -> AudioStream:
    """Return sound, shape (n,), with only its first sample stamped unless `fields` override it."""
    fields = {"time_ns": np.array([start_ns]), "anchor_samples": np.array([0])} | fields
    return AudioStream(
        name=name,
        clock=name,
        kind=SourceKind.AUDIO,
        rate_hz=float(rate_hz),
        samples=np.asarray(samples, dtype=np.float32),
        **fields,
    )


def tier_of(*rows: tuple[float, float, str], name: str = "phones") -> Tier:
    """Return a tier of (start, stop, label), in seconds."""
    intervals = tuple(Interval(start_s=a, stop_s=b, label=c) for a, b, c in rows)
    return Tier(name=name, intervals=intervals)


def transcript_stream(*tiers: Tier, name: str = "text", **fields: Any) -> TranscriptStream:
    """Return a transcript of the microphone `mic` with some tiers."""
    return TranscriptStream(
        name=name,
        clock=name,
        kind=SourceKind.TRANSCRIPT,
        time_ns=np.empty(0, np.int64),
        audio="mic",
        tiers=tiers,
        **fields,
    )


def signal_stream(
    kind: SourceKind, time_ns: NDArray[np.int64], *channels: Channel, **fields: Any
) -> SignalStream:
    """Return signals on their own clock; the source is named after its kind."""
    fields = {"name": str(kind), "clock": str(kind), "channels": channels} | fields
    return SignalStream(kind=kind, time_ns=time_ns, **fields)


def activity(
    source: str, quantity: Quantity, times_s: ArrayLike, values: ArrayLike, *, epoch_ns: int = 0
) -> Activity:
    """Return an activity with `values`, shape (n, d), at `times_s`, shape (n,)."""
    return Activity(
        source=source,
        quantity=quantity,
        epoch_ns=epoch_ns,
        times_s=np.asarray(times_s),
        values=np.asarray(values),
    )


def event_train(
    times_s: NDArray[np.float64],
    *,
    source: str = "trigger",
    quantity: Quantity = Quantity.TRIGGER,
    std_s: float = 1e-4,
) -> EventTrain:
    """Return equally strong events at `times_s`, shape (n,), seconds since the Unix epoch."""
    return EventTrain(
        source=source,
        quantity=quantity,
        epoch_ns=0,
        times_s=times_s,
        std_s=np.full(times_s.size, std_s),
    )
