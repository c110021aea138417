"""Import plain folders: every sub-folder is a clip, with its files identified by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from posixpath import join
from typing import Any

from syncaudit.datasets.loggers import logger_sources
from syncaudit.datasets.manifest import clip_from_row
from syncaudit.datasets.naming import (
    COMPANIONS,
    DEFAULT_RULES,
    OWN_SOUND,
    NamedSources,
    NamingRule,
    name_sources,
    parse_rules,
)
from syncaudit.datasets.protocol import Import, Sidecars
from syncaudit.datasets.source import Source
from syncaudit.datasets.starter_rules import columns_of, messages_in_dbc, roles_of
from syncaudit.datasets.tracks import (
    add_subtitles,
    assume_starts,
    date_sound,
    place_subtitles,
    tracks_in,
)
from syncaudit.errors import ManifestError
from syncaudit.model import Clip
from syncaudit.readers.uris import natural_key

# MARS Logger
_FRAME_STAMPS = {"frame_timestamps.txt": "Frame timestamp[nanosec]"}
# OpenCamera Sensors
_PREFIX = "VID_"
_STAMPS = "timestamp_ns"
# Suffixes of its files, and their columns.
_COLUMNS = {
    "gyro.csv": ("gyro_x", "gyro_y", "gyro_z", _STAMPS),
    "accel.csv": ("accel_x", "accel_y", "accel_z", _STAMPS),
    "_timestamps.csv": (_STAMPS,),
}
# Both write Android's SENSOR_TIMESTAMP: when the exposure of the first row began.
_OF_ANDROID = "start_of_frame"
_LONGEST_LINE = 1000
_PROBED = 20
# A flat folder with at least this many transcribed recordings is not one multi-microphone clip.
_MIN_RECORDINGS = 2
_SPOKEN = {"audio", "camera", "transcript"}


def _adapt_tables(row: dict[str, Any], source: Source, sidecars: Sidecars) -> None:
    """Name the timestamp column of a source's tables, or rewrite them with the missing header.

    Changes `row`. Tables that cannot be converted are left to their reader to report.
    """
    stamps = _FRAME_STAMPS.get(str(row.get("timestamps", "")).rpartition("/")[2])
    if stamps is not None:
        row.setdefault("stamps", stamps)
        row.setdefault("stamp_at", _OF_ANDROID)
    for key in ("uri", "timestamps"):
        name = str(row.get(key, ""))
        columns = next((names for end, names in _COLUMNS.items() if name.endswith(end)), None)
        if columns is None or not name.rpartition("/")[2].startswith(_PREFIX):
            continue
        try:
            text = source.read(name).decode("ascii")
        except (ManifestError, ValueError):
            continue
        if _is_row(text[:_LONGEST_LINE].split("\n")[0], columns):
            row[key] = sidecars.write_text(name, f"{','.join(columns)}\n{text}")
            if key == "timestamps":
                row.setdefault("stamp_at", _OF_ANDROID)


def _is_row(line: str, columns: Sequence[str]) -> bool:
    """Return whether a line holds numbers, not a header."""
    try:
        return len([float(cell) for cell in line.split(",")]) == len(columns)
    except ValueError:
        return False


class FolderFormat:
    """One clip per sub-folder, or the folder itself as one clip if none of them qualifies."""

    name = "folder"
    summary = "sub-folders with cam_*.mp4, imu*.csv, can*.log, mic*.wav ... by naming rules"
    takes_rules = True

    def probe(self, source: Source) -> str | None:
        """Accept a folder in which the default rules find anything."""
        if source.file is not None:
            return "a single file, expected a folder"
        for folder in ("", *source.folders()[:_PROBED]):
            if name_sources(_names(source, folder), DEFAULT_RULES).sources:
                return None
        return "no sub-folder holds a file with a known name (cam_*.mp4, imu*.csv, mic*.wav ...)"

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield one clip per folder that holds a source; note how files were interpreted.

        A folder without such sub-folders is one clip, or one clip per stem if it holds several
        recordings with transcripts.
        """
        rules = parse_rules(job.rules)
        importer = _Importer(source, rules, job)
        n_clips = 0
        for folder in source.folders():
            clip = importer.clip(folder, _names(source, folder))
            if clip is not None:
                n_clips += 1
                yield clip
        if n_clips:
            return
        names = _names(source, "")
        for stem, group in importer.recordings(names) or ((None, names),):
            clip = importer.clip("", group, clip_id=stem)
            if clip is not None:
                yield clip


def _names(source: Source, folder: str) -> list[str]:
    cut = len(folder) + 1 if folder else 0
    names = [name[cut:] for name in source.files(folder=folder)]
    names += [f"{name[cut:]}/" for name in source.folders(folder)]
    return names + [f"../{name}" for name in source.files("*.dbc")] if folder else names


class _Importer:
    """Makes the clips of one source with one set of rules."""

    def __init__(self, source: Source, rules: Sequence[NamingRule], job: Import) -> None:
        self._source, self._rules, self._job = source, rules, job
        self._tracks = tracks_in(source, job.note)

    def recordings(self, names: Sequence[str]) -> list[tuple[str, list[str]]]:
        """Return the files of each stem, if several stems have a sound and a transcript."""
        found = self._sources("", names).sources
        spoken = {row["audio"] for row in found.values() if row["kind"] == "transcript"}
        stems = [found[title]["uri"].rpartition(".")[0] for title in spoken]
        if len(stems) < _MIN_RECORDINGS or not {row["kind"] for row in found.values()} <= _SPOKEN:
            return []
        stems.sort(key=natural_key)
        return [(stem, [name for name in names if name.startswith(f"{stem}.")]) for stem in stems]

    def clip(self, folder: str, names: Sequence[str], *, clip_id: str | None = None) -> Clip | None:
        """Return the clip of some files in a folder, or None if no rule takes any."""
        job, source = self._job, self._source
        self._tracks = tracks_in(source, job.note)  # for this clip only: drops the cache
        found = self._sources(folder, names)
        logs = {} if job.rules else self._logs(folder, found.ignored)
        for name in found.ignored:
            if name not in logs:
                job.note(f"ignored {_kind_of(name)}: no rule matches it")
        if not found.sources and not logs:
            if folder:
                job.note("ignored a folder in which no rule matches anything")
            return None
        rows: dict[str, dict[str, Any]] = {}
        for title, spec in found.sources.items():
            row = dict(spec)
            for key in ("uri", *COMPANIONS):
                if key in row:
                    row[key] = _beside(folder, row[key])
            if row["kind"] == "can" and "signals" not in row:
                row["signals"] = _signals(source, row)
                if not row["signals"]:
                    job.note(
                        f"ignored {title}: no signal is known by its name; name them in a rule "
                        "(signals = {yaw_rate = 'YourSignal'})"
                    )
                    continue
                for role, name in row["signals"].items():
                    job.note(f"signal {name} -> {role}")
            _adapt_tables(row, source, job.sidecars)
            job.note(f"{' '.join(found.rules[title].match)} -> {row['kind']}")
            rows[title] = row
        for logged in logs.values():
            rows |= {title: row for title, row in logged.items() if title not in rows}
        if not rows:
            return None
        self._add_tracks(folder, rows)
        if not assume_starts(rows, job):
            uris = [row["uri"] for row in found.sources.values()]
            job.undated.add(folder, uris, [name for name in found.ignored if name not in logs])
        name = clip_id or folder or source.base_uri.rstrip("/").rpartition("/")[2]
        return clip_from_row(
            {"clip_id": name, "sources": rows}, base_uri=source.base_uri, where=f"folder {folder}"
        )

    def _logs(self, folder: str, names: Sequence[str]) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the sources in logs of known loggers, by file."""
        job = self._job
        logs = {
            name: logger_sources(self._source, _beside(folder, name), job.sidecars, job.note)
            for name in names
            if name.endswith(".csv")
        }
        return {name: rows for name, rows in logs.items() if rows}

    def _sources(self, folder: str, names: Sequence[str]) -> NamedSources:
        def has_sound(name: str) -> bool:
            tracks = self._tracks(_beside(folder, name))
            return tracks.sound_start_s is not None and not tracks.is_silent

        return name_sources(names, self._rules, has_sound)

    def _add_tracks(self, folder: str, rows: dict[str, dict[str, Any]]) -> None:
        """Set the start of sound inside videos, and add their subtitles."""
        cameras = {row["uri"]: row for row in rows.values() if row["kind"] == "camera"}
        for title, row in list(rows.items()):
            if row["kind"] != "audio" or row["uri"] not in cameras:
                continue
            tracks = self._tracks(row["uri"])
            date_sound(row, cameras[row["uri"]], self._source, tracks)
            for other in rows.values():
                if other["kind"] == "transcript" and other["audio"] == title:
                    place_subtitles(other, tracks)
            place = folder or title.removesuffix(OWN_SOUND)
            job = self._job
            rows |= add_subtitles(title, place, tracks, job.sidecars, job.note)


def _signals(source: Source, row: Mapping[str, Any]) -> dict[str, str]:
    """Return role to signal, judging by the names in the DBC or in the header of a table."""
    if "dbc" not in row:
        return roles_of(columns_of(source, row["uri"]))
    try:
        messages = messages_in_dbc(source.read(row["dbc"])).values()
        return roles_of(name for _, names in messages for name in names)
    except (ManifestError, OSError, ValueError):
        return {}


def _beside(folder: str, name: str) -> str:
    return name[3:] if name.startswith("../") else join(folder, name)


def _kind_of(name: str) -> str:
    """Return a common label for files like this, so that a note counts them together."""
    if name.endswith("/"):
        return "a folder"
    suffix = name.rpartition(".")[2]
    return f"*.{suffix}" if suffix != name else "files without a suffix"
