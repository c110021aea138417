"""Videos whose tracks start late."""

from __future__ import annotations

from pathlib import Path

import av


def write_late(path: Path, kind: str, late_ticks: int) -> str:
    """Copy the first track of a kind (audio, video) into a late.mkv beside it; return that name."""
    with av.open(str(path)) as source, av.open(str(path.with_name("late.mkv")), "w") as target:
        track = getattr(source.streams, kind)[0]
        out = target.add_stream_from_template(track)
        for packet in source.demux(track):
            if packet.dts is not None and packet.pts is not None:
                packet.pts += late_ticks
                packet.dts += late_ticks
                packet.stream = out
                target.mux(packet)
    return "late.mkv"
