"""Packets of a part of a video: sought from the key frame before it, not read from the start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.stream import VideoStream

__all__ = ["has_clock", "in_ns", "is_inside", "packets_of", "ticks_of"]

# Elementary streams: their demuxers invent pts from a nominal rate.
_CLOCKLESS_FORMATS = frozenset({"h264", "hevc", "mjpeg", "m4v", "mpegvideo", "vvc", "obu", "h263"})


def has_clock(container: InputContainer) -> bool:
    """Return whether the container's pts were recorded rather than made up by the demuxer."""
    return container.format.name not in _CLOCKLESS_FORMATS


def in_ns(pts: int, time_base: Fraction) -> int:
    """Return a presentation time in whole nanoseconds, rounded to nearest."""
    up, down = time_base.numerator * 10**9, time_base.denominator
    return (2 * pts * up + down) // (2 * down)


def is_inside(pts: int | None, time_base: Fraction, span_ns: tuple[int, int] | None) -> bool:
    """Return whether a presentation time lies in a span; without a span every one does."""
    if span_ns is None or pts is None:
        return True
    return span_ns[0] <= in_ns(pts, time_base) < span_ns[1]


def ticks_of(span_ns: tuple[int, int] | None, time_base: Fraction) -> range:
    """Return the presentation times of a span in units of the container: exactly `is_inside`.

    A look-up in such a range costs no fraction. Without a span it holds all times.
    """
    if span_ns is None:
        return range(-(2**63), 2**63)
    up, down = 2 * time_base.numerator * 10**9, time_base.denominator
    begin, stop = (-((1 - 2 * end_ns) * down // up) for end_ns in span_ns)
    return range(begin, stop)


def packets_of(
    container: InputContainer, stream: VideoStream, span_ns: tuple[int, int] | None
) -> Iterator[Packet[VideoStream]]:
    """Yield the packets that frames of a span need, from the key frame before it on.

    Without a span, and where the container cannot be sought in, from the beginning. The last packet
    is empty: it flushes the decoder. Nothing was read from the container yet.
    """
    import av

    time_base = Fraction(stream.time_base or 1)
    if span_ns is None or not has_clock(container):
        yield from container.demux(stream)
        return
    start = int(Fraction(span_ns[0], 10**9) / time_base)
    packets: Iterator[Packet[VideoStream]]
    try:
        container.seek(max(start, stream.start_time or 0), stream=stream)
        packets = container.demux(stream)
        first = next(packets)
        is_before = first.pts is not None and in_ns(first.pts, time_base) <= span_ns[0]
    except (av.FFmpegError, OSError, ValueError, StopIteration):
        is_before = False
    if not is_before:  # sought too far, or not at all
        with suppress(av.FFmpegError, OSError, ValueError):
            container.seek(0)
        packets = container.demux(stream)
        first = next(packets)
    for packet in chain([first], packets):
        # No frame is shown before it is decoded, so nothing of the span comes after this.
        if packet.dts is not None and in_ns(packet.dts, time_base) >= span_ns[1]:
            break
        yield packet
