"""Decode the sound of any container that FFmpeg knows, as float samples."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.container import audio_stream, open_container

__all__ = ["SoundTrack", "decode_sound"]

_MAX_ERRORS = 100_000  # a demuxer that fails for ever must not hang


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SoundTrack:
    """First audio track of a file.

    Parameters
    ----------
    rate_hz : int
        Sampling rate.
    samples : ndarray of float32, shape (n,)
        Mean of the channels, full scale 1.
    n_channels : int
        Channels in the file.
    n_errors : int
        Packets that could not be decoded.
    start_s : float
        Presentation time of the first sample.
    """

    rate_hz: int
    samples: NDArray[np.float32]
    n_channels: int
    n_errors: int
    start_s: float


def decode_sound(path: str) -> SoundTrack:
    """Decode the first audio track of a local file.

    Raises
    ------
    StreamReadError
        If the file cannot be opened or has no audio track.
    """
    import av

    failures = (av.FFmpegError, OSError, ValueError, MemoryError)
    blocks: list[NDArray[np.float32]] = []
    n_errors, n_channels, start_s = 0, 0, 0.0
    with open_container(path) as container:
        stream = audio_stream(container, path)
        rate_hz = int(stream.rate or 0)
        resampler = av.AudioResampler(format="fltp")

        def keep(frame: av.AudioFrame | None) -> None:
            nonlocal n_channels
            for part in resampler.resample(frame):
                planes = part.to_ndarray()
                n_channels = max(n_channels, planes.shape[0])
                with np.errstate(all="ignore"):  # float sound may hold inf and NaN
                    blocks.append(planes.mean(axis=0, dtype=np.float32))

        packets = container.demux(stream)
        while True:
            try:
                packet = next(packets)
                for frame in packet.decode():
                    if not blocks and frame.time is not None:
                        start_s = float(frame.time)
                    keep(frame)
            except (StopIteration, EOFError):
                break
            except failures:
                n_errors += 1
                if n_errors > _MAX_ERRORS:
                    break
        if blocks:
            with suppress(*failures):
                keep(None)
    return SoundTrack(
        rate_hz=rate_hz,
        samples=np.concatenate(blocks) if blocks else np.empty(0, np.float32),
        n_channels=n_channels or int(stream.channels or 1),
        n_errors=n_errors,
        start_s=start_s,
    )
