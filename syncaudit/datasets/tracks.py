"""Date the sources of a folder: sound and subtitles inside videos, files without any times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from syncaudit.datasets.protocol import Import, Sidecars
from syncaudit.datasets.source import Source
from syncaudit.decode.container import open_container
from syncaudit.errors import StreamReadError
from syncaudit.readers.access import is_url
from syncaudit.readers.tables import read_table

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet

# Subtitles count from presentation time 0, transcripts from the first sample of their sound.
_SUBTITLES = (".srt", ".vtt")
_LATE_S = 0.001
_PLACED = ("camera", "audio")  # kinds that do not need a timestamp per sample


def tracks_in(source: Source, note: Callable[[str], None]) -> Callable[[str], Tracks]:
    """Return a function that lists a video's other tracks; none if it cannot be opened."""
    known: dict[str, Tracks] = {}

    def tracks_of(name: str) -> Tracks:
        if name not in known:
            known[name] = Tracks()
            if is_url(source.uri_of(name)):
                note("videos are remote: sound and subtitles inside them are not looked for")
                return known[name]
            with suppress(StreamReadError):  # the audit reports the fault
                known[name] = _find_tracks(source.uri_of(name))
            if known[name].is_silent:
                note("ignored the sound of a video: it is silent")
        return known[name]

    return tracks_of


def date_sound(
    row: dict[str, Any], camera: Mapping[str, Any], source: Source, tracks: Tracks
) -> None:
    """Set the start of a video's own sound from the timestamp of its first frame, if any.

    Presentation times relate the two, which is assumed to be correct. Changes `row`.
    """
    row["start_at"] = "presentation_zero"
    table = camera.get("timestamps")
    if table is None or tracks.video_start_s is None:
        return
    try:
        first_ns = int(read_table(source.uri_of(table)).stamps()[0])
    except (StreamReadError, IndexError):
        return
    row["start_ns"] = first_ns - round(tracks.video_start_s * 1e9)
    row["is_start_assumed"] = True


def place_subtitles(row: dict[str, Any], tracks: Tracks) -> None:
    """Set the offset of subtitles from the first sample of the video's own sound."""
    late_s = tracks.sound_start_s or 0.0
    if str(row["uri"]).lower().endswith(_SUBTITLES) and abs(late_s) > _LATE_S:
        row["expected_offset_s"] = -late_s


def add_subtitles(
    title: str, folder: str, tracks: Tracks, sidecars: Sidecars, note: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Write the subtitle streams of a video beside the manifest, and return their sources.

    `title` names the sound they belong to, `folder` separates the files of clips.
    """
    rows: dict[str, dict[str, Any]] = {}
    for number, track in enumerate(tracks.subtitles, start=1):
        if not track.lines:
            note(f"ignored subtitles inside a video ({track.codec}): they hold no text")
            continue
        name = f"{title}_subtitles" + (f"_{number}" if len(tracks.subtitles) > 1 else "")
        uri = sidecars.write_text(f"{folder}/{name}.srt", _as_srt(track))
        rows[name] = {"kind": "transcript", "uri": uri, "audio": title}
        place_subtitles(rows[name], tracks)
        note(f"subtitles inside a video ({track.codec}) -> transcript")
    return rows


def _as_srt(track: Subtitles) -> str:
    blocks = [
        f"{number}\n{_clock(start_s)} --> {_clock(stop_s)}\n{text}\n"
        for number, (start_s, stop_s, text) in enumerate(track.lines, start=1)
    ]
    return "\n".join(blocks)


def _clock(seconds: float) -> str:
    total_ms = round(1e3 * max(0.0, seconds))
    minutes, ms = divmod(total_ms, 60_000)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{ms // 1000:02d},{ms % 1000:03d}"


def assume_starts(rows: Mapping[str, dict[str, Any]], job: Import, *, start_ns: int = 0) -> bool:
    """Mark undated cameras and sounds: they are assumed to begin with the others.

    The start of a single file is the zero of its clip, and not an assumption. If nothing is dated,
    all begin at `start_ns`. Changes `rows` and returns whether any source of the clip is dated.
    """
    undated = {
        name: row
        for name, row in rows.items()
        if row["kind"] in _PLACED and "timestamps" not in row and "start_ns" not in row
    }
    is_any_dated = any(
        row["kind"] != "transcript" and name not in undated for name, row in rows.items()
    )
    is_assumed = is_any_dated or len({row["uri"] for row in undated.values()}) > 1
    for name, row in undated.items():
        if is_assumed:
            row["is_start_assumed"] = True
        if not is_any_dated:
            row["start_ns"] = start_ns
        else:
            job.note(f"nothing states when {name} began: assumed to begin with the others")
    if is_assumed and not is_any_dated:
        job.note(
            f"no file holds timestamps: all sources are assumed to start together, at {start_ns}; "
            "such sources never pass"
        )
    return is_any_dated


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


def _find_tracks(path: str) -> Tracks:
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
