"""Restrict streams to the window that a clip judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.model import (
    AudioStream,
    CameraStream,
    Channel,
    Clip,
    EventStream,
    SignalStream,
    Stream,
)

__all__ = ["Window", "crop", "window_of"]

# Kept on either side of a stated window, so that shifted clocks still overlap.
MARGIN_S = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Interval judged, on the reported time base.

    Parameters
    ----------
    start_ns, stop_ns : int
        Half open.
    """

    start_ns: int
    stop_ns: int

    @property
    def at_ns(self) -> int:
        """Middle of the window."""
        return self.start_ns + (self.stop_ns - self.start_ns) // 2

    @property
    def span_s(self) -> float:
        """Length in seconds."""
        return (self.stop_ns - self.start_ns) * 1e-9


def window_of(clip: Clip, streams: Mapping[str, Stream]) -> Window:
    """Return the window of a clip: as stated, else the overlap of all sources.

    Where the sources do not overlap at all (unrelated epochs) it is the extent of the source
    that has the longest recording.
    """
    extents = [extent for stream in streams.values() if (extent := _extent(stream)) is not None]
    if not extents:
        start_ns = clip.start_ns or 0
        return Window(start_ns=start_ns, stop_ns=clip.end_ns or start_ns)
    start_ns = max(extent[0] for extent in extents)
    stop_ns = min(extent[1] for extent in extents)
    if stop_ns <= start_ns:
        start_ns, stop_ns = max(extents, key=lambda extent: extent[1] - extent[0])
    if clip.start_ns is not None:
        start_ns = clip.start_ns
    if clip.end_ns is not None:
        stop_ns = clip.end_ns
    return Window(start_ns=start_ns, stop_ns=max(start_ns, stop_ns))


def _extent(stream: Stream) -> tuple[int, int] | None:
    if isinstance(stream, EventStream) or stream.time_ns.size == 0:
        return None
    first = int(np.quantile(stream.time_ns, 0.001, method="nearest"))
    last = int(np.quantile(stream.time_ns, 0.999, method="nearest"))
    if isinstance(stream, AudioStream):
        last = max(last, first + int(stream.samples.size / stream.rate_hz * 1e9))
    return first, last


def crop(stream: Stream, clip: Clip) -> Stream:
    """Return `stream` without what lies far outside the clip's stated window.

    Nothing is cropped where the manifest states no window, where it would leave nothing (a clock
    of another epoch), or from cameras and audio files, which are decoded by position.
    """
    if clip.start_ns is None and clip.end_ns is None:
        return stream
    if isinstance(stream, CameraStream | AudioStream) or stream.time_ns.size == 0:
        return stream
    margin_ns = int(MARGIN_S * 1e9)
    low = np.iinfo(np.int64).min if clip.start_ns is None else clip.start_ns - margin_ns
    high = np.iinfo(np.int64).max if clip.end_ns is None else clip.end_ns + margin_ns
    keep = (stream.time_ns >= low) & (stream.time_ns < high)
    if not keep.any() or keep.all():
        return stream
    if isinstance(stream, SignalStream):
        channels = tuple(_crop_channel(channel, low, high) for channel in stream.channels)
        return replace(stream, time_ns=stream.time_ns[keep], channels=channels)
    return replace(stream, time_ns=stream.time_ns[keep])


def _crop_channel(channel: Channel, low: int, high: int) -> Channel:
    keep = (channel.time_ns >= low) & (channel.time_ns < high)
    return replace(channel, time_ns=channel.time_ns[keep], values=channel.values[keep])
