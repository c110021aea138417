"""Find the audio and subtitles stored beside the frames of a video file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from syncaudit.decode.container import open_container

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet

# Audio that never exceeds -80 dB of full scale is silence.
_SILENT_PEAK = 1e-4
# Codecs whose packets hold text; others (DVD, Blu-ray) hold images of it.
_TEXTS = frozenset({"subrip", "srt", "text", "webvtt", "mov_text", "ass", "ssa"})
# Commas in front of the text of an ASS packet.
_ASS_FIELDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtitles:
    """A subtitle stream."""

    codec: str
    language: str  # '' if the container does not state it
    # start, stop (presentation time) and text; empty for image codecs
    lines: tuple[tuple[float, float, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracks:
    """What a file holds besides frames.

    Starts are presentation times of the first frame and of the first sample, including edit lists
    and priming; None: there is no such stream.
    """

    video_start_s: float | None = None
    sound_start_s: float | None = None
    is_silent: bool = False  # the first audio track holds nothing but silence
    subtitles: tuple[Subtitles, ...] = ()  # in file order


def find_tracks(path: str) -> Tracks:
    """Return the tracks of a local file; audio is decoded up to the first audible sound."""
    with open_container(path) as container:
        videos, sounds = container.streams.video, container.streams.audio
        starts = [
            None
            if not streams
            else float((streams[0].start_time or 0) * (streams[0].time_base or 0))
            for streams in (videos, sounds)
        ]
        subtitles = tuple(_read_subtitles(container))
    is_silent = False
    if sounds:
        with open_container(path) as container:
            is_silent = _is_silent(container)
    return Tracks(
        video_start_s=starts[0],
        sound_start_s=starts[1],
        is_silent=is_silent,
        subtitles=subtitles,
    )


def _read_subtitles(container: InputContainer) -> Iterator[Subtitles]:
    import av

    streams = container.streams.subtitles
    lines: dict[int, list[tuple[float, float, str]]] = {stream.index: [] for stream in streams}
    texts = [stream for stream in streams if stream.codec_context.name in _TEXTS]
    if texts:
        try:
            for packet in container.demux(texts):
                text = _text_of(packet, packet.stream.codec_context.name)
                if text and packet.pts is not None and packet.time_base:
                    start_s = float(packet.pts * packet.time_base)
                    stop_s = start_s + float((packet.duration or 0) * packet.time_base)
                    lines[packet.stream.index].append((start_s, stop_s, text))
        except (av.FFmpegError, OSError, ValueError):
            pass  # use what could be read; the frame audit reports the damage
    for stream in streams:
        yield Subtitles(
            codec=stream.codec_context.name,
            language=str(stream.metadata.get("language", "")),
            lines=tuple(lines[stream.index]),
        )


def _text_of(packet: Packet[Any], codec: str) -> str:
    content = bytes(packet)
    if codec == "mov_text":  # length prefix first, styles after the text
        content = content[2 : 2 + int.from_bytes(content[:2], "big")]
    text = content.decode("utf-8", errors="replace")
    if codec in ("ass", "ssa"):
        text = text.split(",", _ASS_FIELDS)[-1].replace("\\N", "\n")
    return text.strip()


def _is_silent(container: InputContainer) -> bool:
    import av
    import numpy as np

    resampler = av.AudioResampler(format="flt")
    try:
        for frame in container.decode(container.streams.audio[0]):
            for part in resampler.resample(frame):
                if np.abs(part.to_ndarray()).max(initial=0.0) > _SILENT_PEAK:
                    return False
    except (av.FFmpegError, OSError, ValueError, EOFError):
        return False  # its reader reports what is wrong
    return True
