"""Packet faults: copy a video with some packets changed or dropped, as by a bad link or disk."""

from collections.abc import Callable
from pathlib import Path

import av
import numpy as np

PacketChange = Callable[[int, bytes], bytes | None]


def copy_packets(video: Path, copy: Path, change: PacketChange) -> None:
    """Copy a video packet by packet, in decoding order.

    `video`, `copy`: files, with the container given by the suffix. `change`: takes number and
    content of a packet; returns the content to write, None to drop it.
    """
    with av.open(str(video)) as source, av.open(str(copy), "w") as target:
        stream = source.streams.video[0]
        track = target.add_stream_from_template(stream)
        n_packets = 0
        for packet in source.demux(stream):
            if not packet.size:
                continue
            content = change(n_packets, bytes(packet))
            n_packets += 1
            if content is None:
                continue
            written = av.Packet(content)
            written.pts, written.dts, written.time_base = packet.pts, packet.dts, packet.time_base
            written.duration, written.is_keyframe = packet.duration, packet.is_keyframe
            written.stream = track
            target.mux(written)


def with_flipped_bytes(content: bytes, rng: np.random.Generator, *, n_bytes: int = 20) -> bytes:
    """Return a packet with bytes of its last two thirds inverted, leaving headers intact."""
    damaged = bytearray(content)
    for place in rng.integers(len(content) // 3, len(content), n_bytes).tolist():
        damaged[place] ^= 0xFF
    return bytes(damaged)
