"""Apply naming rules that turn the file names of one clip into its sources."""

from __future__ import annotations

import fnmatch
import glob
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from syncaudit.errors import UsageError, nearest_name
from syncaudit.model import SourceKind

COMPANIONS = ("timestamps", "dbc")
"""Keys that name a companion file, by glob; the first that exists is used."""

# Transcripts without times.
_TEXT_ONLY = (".txt", ".lab")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamingRule:
    """Rule that turns files with matching names into sources.

    `spec` holds ``kind`` and any other key of the manifest. ``timestamps``, ``dbc`` and ``audio``
    may be lists of globs with ``{stem}``, of which the first that exists is used.
    """

    match: tuple[str, ...]  # globs; one that ends in ``/`` means a folder of images
    name: str  # of the source; ``{stem}`` is the file's name up to its last dot
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSources:
    """Sources made from the file names of one clip."""

    sources: dict[str, dict[str, Any]]  # name to manifest row
    rules: dict[str, NamingRule]  # by the source made with it
    ignored: tuple[str, ...]  # names that no rule takes


def _rule(match: str, kind: str, name: str = "{stem}", **spec: Any) -> NamingRule:
    return NamingRule(match=tuple(match.split()), name=name, spec={"kind": kind, **spec})


def _triple(name: str, columns: str) -> dict[str, str]:
    """Return the columns of a sensor's axes; ``#`` stands for the axis."""
    return {f"{name}_{axis}": columns.replace("#", axis) for axis in "xyz"}


_STAMPS = ["{stem}.csv", "{stem}.parquet", "{stem}_timestamps.csv", "{stem}.timestamps.csv"]

# In order; the first rule that matches takes the file.
DEFAULT_RULES: tuple[NamingRule, ...] = (
    # MARS Logger (Android and iOS)
    _rule("movie.mp4", "camera", timestamps=["frame_timestamps.txt", *_STAMPS]),
    _rule(
        "gyro_accel.csv",
        "imu",
        stamps="Timestamp[nanosec]",
        columns=_triple("gyro", "g#[rad/s]") | _triple("accel", "a#[m/s^2]"),
    ),
    # Sensor Logger (Android and iOS); its "Accelerometer" is without gravity.
    _rule("Gyroscope.csv", "imu", stamps="time", columns=_triple("gyro", "#")),
    _rule("TotalAcceleration.csv", "imu", stamps="time", columns=_triple("accel", "#")),
    # OpenCamera Sensors (Android)
    _rule("VID_*gyro.csv VID_*accel.csv", "imu"),
    _rule("*.mp4 *.mkv *.avi *.mov *.webm *.h264 *.hevc *.mjpeg", "camera", timestamps=_STAMPS),
    _rule("cam*/ image*/ *_cam/", "camera", timestamps=_STAMPS),
    _rule("*.wav *.flac *.ogg *.mp3", "audio", timestamps=_STAMPS),
    _rule("can*.log can*.asc can*.blf can*.mf4", "can", dbc=["{stem}.dbc", "*.dbc", "../*.dbc"]),
    _rule("can*.csv can*.parquet", "can"),
    _rule("imu*.csv imu*.parquet", "imu"),
    _rule("trigger*.csv trigger*.parquet event*.csv gpio*.csv", "events"),
    _rule(
        "state*.csv state*.parquet joint*.csv joint*.parquet action*.csv action*.parquet", "state"
    ),
    _rule(
        "*.TextGrid *.ctm *.srt *.vtt",
        "transcript",
        "{stem}_text",
        audio=["{stem}", "{stem}_sound", "*"],
    ),
    _rule("*.txt *.lab", "transcript", "{stem}_text", audio=["{stem}", "{stem}_sound"]),
)
# Suffix for the sound inside a video, after the name of its camera.
OWN_SOUND = "_sound"


def parse_rules(content: Mapping[str, Any]) -> tuple[NamingRule, ...]:
    """Return the rules in a rules file, which holds only a list ``source`` of tables."""
    if not content:
        return DEFAULT_RULES
    listed = content.get("source")
    unknown = sorted(set(content) - {"source"})
    if unknown or not isinstance(listed, list) or not listed:
        raise UsageError(
            f"the rules hold the unknown key {unknown[0]!r}"
            if unknown
            else "the rules hold no list 'source'",
            hint="Expected tables [[source]] with match = 'cam_*.mp4' and kind = 'camera'.",
        )
    return tuple(_parse(number, rule) for number, rule in enumerate(listed, start=1))


def _parse(number: int, rule: object) -> NamingRule:
    where = f"rule {number}"
    if not isinstance(rule, Mapping):
        raise UsageError(f"{where} is not a table", hint="Write [[source]] tables.")
    rest = dict(rule)
    match, name = rest.pop("match", None), rest.pop("name", "{stem}")
    patterns = [match] if isinstance(match, str) else match
    if not isinstance(patterns, list) or not patterns or not all(map(_is_text, patterns)):
        raise UsageError(f"{where} has no 'match'", hint="Give a glob such as 'cam_*.mp4'.")
    if not _is_text(name):
        raise UsageError(f"{where}: name is {name!r}, expected text", hint="E.g. '{stem}'.")
    if rest.get("kind") not in set(SourceKind):
        kind = str(rest.get("kind", ""))
        raise UsageError(f"{where}: kind is '{kind}'", hint=nearest_name(kind, SourceKind))
    for key in (*COMPANIONS, "audio"):
        globs = rest.get(key, [])
        if not isinstance(globs, str) and not (
            isinstance(globs, list) and all(map(_is_text, globs))
        ):
            raise UsageError(
                f"{where}: {key} is {globs!r}, expected a glob or a list of them",
                hint="E.g. '{stem}.csv'.",
            )
    return NamingRule(match=tuple(patterns), name=name, spec=rest)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def name_sources(
    names: Sequence[str],
    rules: Sequence[NamingRule],
    has_sound: Callable[[str], bool] = lambda _: False,
) -> NamedSources:
    """Return the sources for the file names of one clip.

    Folders end in ``/``, files beside the clip begin with ``../``. The first rule that matches
    takes a file. `has_sound` returns whether the video with a name has a sound track, which is a
    source of its own.
    """
    sources: dict[str, dict[str, Any]] = {}
    made_by: dict[str, NamingRule] = {}
    taken: set[str] = set()
    for name in names:
        rule = next((r for r in rules if any(_fits(name, p) for p in r.match)), None)
        if rule is None:
            continue
        stem = stem_of(name)
        row = {"uri": name.rstrip("/"), **rule.spec}
        for key in COMPANIONS:
            if key in row:
                found = _first(row.pop(key), stem, names)
                if found is not None:
                    row[key] = found
                    taken.add(found)
        title = _free(rule.name.replace("{stem}", stem), sources)
        sources[title], made_by[title] = row, rule
        taken.add(name)
        if row["kind"] == "camera" and not name.endswith("/") and has_sound(name):
            sound = _free(f"{title}{OWN_SOUND}", sources)
            sources[sound] = {"uri": name, "kind": "audio"}
            match = ("sound of", *rule.match)
            made_by[sound] = NamingRule(match=match, name=sound, spec=sources[sound])
    _attach_transcripts(sources)
    # A timestamp table that also matched a broader rule is not a source of its own.
    companions = {row[key] for row in sources.values() for key in COMPANIONS if key in row}
    for title in [title for title, row in sources.items() if row["uri"] in companions]:
        del sources[title]
    used = companions | {row["uri"] for row in sources.values()}
    ignored = tuple(n for n in names if n.rstrip("/") not in used and not n.startswith("../"))
    return NamedSources(
        sources=sources, rules={title: made_by[title] for title in sources}, ignored=ignored
    )


def _fits(name: str, pattern: str) -> bool:
    return name.endswith("/") == pattern.endswith("/") and fnmatch.fnmatchcase(name, pattern)


def stem_of(name: str) -> str:
    """Return the name of a file up to its last dot."""
    bare = name.rstrip("/")
    return bare.rpartition(".")[0] or bare


def _free(title: str, sources: Mapping[str, object]) -> str:
    """Return `title`, numbered if it is already taken (``mic.wav``, ``mic.mp3``)."""
    number, free = 1, title
    while free in sources:
        number += 1
        free = f"{title}_{number}"
    return free


def _first(patterns: str | Sequence[str], stem: str, names: Sequence[str]) -> str | None:
    """Return the first name that matches the first pattern with a match."""
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        # The stem is text, not a glob: only the parts around it may hold wildcards.
        parts = pattern.split("{stem}")
        for name in names:
            if len(parts) == 2 and not name.startswith(parts[0] + stem):
                continue
            if fnmatch.fnmatchcase(name, pattern.replace("{stem}", glob.escape(stem))):
                return name
    return None


def _attach_transcripts(sources: dict[str, dict[str, Any]]) -> None:
    """Assign sound to transcripts; drop those without any, and text beside a timed one."""
    audio = [title for title, row in sources.items() if row["kind"] == "audio"]
    spoken: set[str] = set()
    for title, row in list(sources.items()):
        if row["kind"] != "transcript":
            continue
        stem = stem_of(row["uri"])
        wanted = row.get("audio", "*")
        # ``talk.en.srt`` belongs to ``talk``.
        stems = [stem.rsplit(".", n)[0] for n in range(stem.count(".") + 1)]
        found = next((name for s in stems if (name := _first(_named(wanted), s, audio))), None)
        found = found or _first(wanted, stem, audio)
        is_text = row["uri"].lower().endswith(_TEXT_ONLY)
        if found is None or (is_text and found in spoken):
            del sources[title]
        else:
            row["audio"] = found
            spoken.add(found)


def _named(patterns: str | Sequence[str]) -> list[str]:
    """Return the patterns that depend on the stem."""
    listed = [patterns] if isinstance(patterns, str) else patterns
    return [pattern for pattern in listed if "{stem}" in pattern]
