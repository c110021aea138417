"""Cut videos without re-encoding them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import av

from syncaudit.errors import StreamReadError
from syncaudit.writing import draft_of, make_parent


class VideoPackets:
    """The packets of a video, from which a span of its frames can be written.

    A span can begin at any frame: frames that must be decoded before it get times below zero,
    where an edit list of the container hides them. It can end only where no frame inside depends
    on one outside.

    Parameters
    ----------
    path : Path
        A local video.

    Raises
    ------
    StreamReadError
        If it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with av.open(str(path)) as container:
                packets = [packet for packet in container.demux(video=0) if packet.size]
                self._times = [_time(packet) for packet in packets]
                self._is_key = [packet.is_keyframe for packet in packets]
                self._shown = sorted(
                    time
                    for packet, time in zip(packets, self._times, strict=True)
                    if not packet.is_discard
                )
        except (av.FFmpegError, IndexError) as error:
            raise StreamReadError(
                f"cannot be read ({error})", path=str(path), hint="Download the video again."
            ) from error

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self._shown)

    def stop_before(self, stop: int) -> int:
        """Return the last frame at or before `stop` before which the video can be cut."""
        while 0 < stop < len(self) and not _is_clean(self._times, self._shown[stop]):
            stop -= 1
        return stop

    def write(self, target: Path, start: int, stop: int) -> None:
        """Write frames `start` to `stop` (excluded, from `stop_before`) as MP4."""
        begin = self._shown[start]
        end = self._shown[stop] if stop < len(self) else None
        key = max(
            (k for k, time in enumerate(self._times) if self._is_key[k] and time <= begin),
            default=0,
        )
        make_parent(target)
        with (
            draft_of(target) as draft,
            av.open(str(self._path)) as container,
            av.open(str(draft), "w", format="mp4") as output,
        ):
            stream = output.add_stream_from_template(container.streams.video[0], opaque=True)
            packets = (packet for packet in container.demux(video=0) if packet.size)
            for k, packet in enumerate(packets):
                time = self._times[k]
                if k < key or (end is not None and time >= end):
                    continue
                packet.pts = time - begin
                packet.dts = (time if packet.dts is None else packet.dts) - begin
                packet.stream = stream
                output.mux(packet)


def _time(packet: av.Packet[av.VideoStream]) -> int:
    """Return when the frame of a packet is shown, in ticks of its stream."""
    time = packet.dts if packet.pts is None else packet.pts
    if time is None:
        raise IndexError("a frame has no timestamp")
    return time


def _is_clean(times: Sequence[int], end: int) -> bool:
    """Return whether all packets before `end` come before all others in the file."""
    is_over = [time >= end for time in times]
    return not any(is_over[: is_over.count(False)])
