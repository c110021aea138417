"""Decode the audio of any container that FFmpeg supports, as float samples."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.container import audio_stream, open_container
from syncaudit.errors import StreamReadError
from syncaudit.limits import SOUND_SAMPLES

# Encoders that prepend 256 to 2112 samples, and containers that do not record how many.
_PRIMED_CODECS = frozenset({"aac", "mp3", "mp3float", "mp2", "mp2float", "ac3", "eac3"})
_PRIMING_UNKNOWN = frozenset({"aac", "mpegts", "mpeg", "avi", "flv", "asf"})
# Presentation times are rounded to 1 ms in Matroska; packets are at least 20 ms long.
_JUMP_S = 0.005
_MAX_ERRORS = 100_000  # a demuxer that fails forever must not hang


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SoundTrack:
    """First audio track of a file.

    Before each sample in `jumps`, presentation time jumps ahead of the sample count (or back) by
    this many seconds: packets that the recorder lost.
    """

    rate_hz: int
    samples: NDArray[np.float32]  # mean of the channels, full scale 1, shape (n,)
    n_errors: int  # packets that could not be decoded
    start_s: float  # presentation time of the first sample
    jumps: tuple[tuple[int, float], ...] = ()
    # the codec prepends samples, and the container does not record how many
    is_priming_unknown: bool = False


def decode_sound(path: str) -> SoundTrack:
    """Decode the first audio track of a local file."""
    import av

    failures = (av.FFmpegError, OSError, ValueError, MemoryError)
    blocks: list[NDArray[np.float32]] = []
    jumps: list[tuple[int, float]] = []
    n_errors, start_s, n_samples = 0, 0.0, 0
    due_s: float | None = None
    with open_container(path) as container:
        stream = audio_stream(container, path)
        rate_hz = int(stream.rate or 0)
        has_clock = not _PRIMING_UNKNOWN & set(container.format.name.split(","))
        is_priming_unknown = not has_clock and stream.codec_context.name in _PRIMED_CODECS
        resampler = av.AudioResampler(format="fltp")

        def keep(frame: av.AudioFrame | None) -> None:
            for part in resampler.resample(frame):
                with np.errstate(all="ignore"):  # float sound may hold inf and NaN
                    blocks.append(part.to_ndarray().mean(axis=0, dtype=np.float32))

        packets = container.demux(stream)
        while True:
            try:
                packet = next(packets)
                for frame in packet.decode():
                    if not blocks and frame.time is not None:
                        start_s = float(frame.time)
                    rate_hz = rate_hz or int(frame.sample_rate)
                    if frame.time is not None and frame.sample_rate:
                        if has_clock and due_s is not None and abs(frame.time - due_s) > _JUMP_S:
                            jumps.append((n_samples, float(frame.time) - due_s))
                        due_s = float(frame.time) + frame.samples / frame.sample_rate
                    n_samples += frame.samples
                    refuse_endless(path, n_samples)
                    keep(frame)
            except (StopIteration, EOFError):
                break
            except StreamReadError:
                raise
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
        n_errors=n_errors,
        start_s=start_s,
        jumps=tuple(jumps),
        is_priming_unknown=is_priming_unknown,
    )


def refuse_endless(path: str, n_samples: int) -> None:
    """Reject audio with more samples than are ever decoded at once."""
    if n_samples > SOUND_SAMPLES:
        raise StreamReadError(
            f"holds more than {SOUND_SAMPLES} samples of audio (6 hours at 48 kHz)",
            path=path,
            hint="Split the recording into hours.",
        )
