"""Date the sources of a folder: sound and subtitles inside videos, files without any times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from syncaudit.datasets.protocol import Import, Sidecars
from syncaudit.datasets.source import Source
from syncaudit.decode.tracks import Subtitles, Tracks, find_tracks
from syncaudit.errors import StreamReadError
from syncaudit.readers.remote import is_url
from syncaudit.readers.tables import read_table

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
                known[name] = find_tracks(source.uri_of(name))
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
