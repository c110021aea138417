"""Import LeRobot v2 and v3: episodes in Parquet and video, many in one file since v3.

``meta/info.json`` is read with every type checked; paths are templates in it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Annotated, Any, ClassVar, TypeGuard

from pydantic import Field

from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source, iter_json_lines
from syncaudit.datasets.wording import checked, describe
from syncaudit.errors import ManifestError, one_line
from syncaudit.model import CameraSpec, Clip, Origin, SourceSpec, StateSpec
from syncaudit.model.clip import MOST_EPISODES

_VERSIONS = ("v2", "v3")

INFO = "meta/info.json"
_NUMBERS = ("float16", "float32", "float64")
# Names of state and command vectors in LeRobot, and in openpi and DROID.
STATES = ("observation", "action", "state", "joint", "gripper", "cartesian")
_BOOKKEEPING = frozenset({"timestamp", "frame_index", "episode_index", "index", "task_index"})
CHUNK_SIZE = 1000
# ``03d``, ``06d``: widths in LeRobot's templates. An untrusted width could be anything.
_WIDTH = re.compile(r"(0?[1-9]?[0-9]d?)?")
_LOOSE: dict[str, Any] = {"extra": "ignore", "strict": True}


class LeRobotFormat:
    """One clip per episode; video features are cameras, vectors of floats are state.

    LeRobot writes ``timestamp = frame_index / fps`` (float32 seconds since the start of the
    episode): the timestamps of every source are a counter, and marked as such.
    """

    name = "lerobot"
    summary = "LeRobot v2.0, v2.1 and v3.0: meta/info.json, data/, videos/"
    takes_rules = False

    def probe(self, source: Source) -> str | None:
        """Accept a folder with the ``meta/info.json`` of a known version."""
        if not source.has(INFO):
            return f"no {INFO}"
        try:
            content = source.read_json(INFO)
        except ManifestError as error:
            return str(error)
        version = content.get("codebase_version") if isinstance(content, dict) else None
        if isinstance(version, str) and version.startswith(_VERSIONS):
            return None
        return f"{INFO} states codebase_version {describe(version)}, expected v2.x or v3.x"

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the episodes in the order of the metadata."""
        info = read_info(source)
        layout = Layout.of(info)
        layout.tell(job)
        is_shared = info.codebase_version.startswith("v3")
        episodes = _shared_files(source, layout) if is_shared else _own_files(source, layout)
        for number, sources in episodes:
            origin = Origin(
                dataset=source.base_uri,
                episode_index=number,
                total_episodes=layout.total_episodes,
            )
            yield source.clip(f"episode_{number:06d}", sources, origin=origin)


def _sources(
    source: Source,
    layout: Layout,
    data: str,
    rows: list[int] | None,
    videos: Mapping[str, tuple[str, list[int] | None]],
) -> dict[str, SourceSpec]:
    """Return the sources of an episode; `videos` maps feature to (file, pts range)."""
    sources: dict[str, SourceSpec] = {
        layout.videos[key]: CameraSpec(
            uri=uri,
            timestamps=data,
            stamps="timestamp",
            rows=rows,
            pts_ns=pts_ns,
            stamp_kind="counter",
        )
        for key, (uri, pts_ns) in videos.items()
    }
    for key, name in layout.images.items():
        sources[name] = CameraSpec(
            uri=data,
            pictures=key,
            picture_rows=rows,
            timestamps=data,
            stamps="timestamp",
            rows=rows,
            stamp_kind="counter",
        )
    for key, name in layout.states.items():
        sources[name] = StateSpec(
            uri=data,
            stamps="timestamp",
            rows=rows,
            columns={name: [key]},
            stamp_kind="counter",
        )
    if not sources:
        raise ManifestError(
            "names nothing to compare: no video, no image, no vector called "
            f"{', '.join(STATES)}...; it has {', '.join(layout.ignored) or 'no feature'}",
            path=source.uri_of(INFO),
            hint="Name the sources in a manifest of your own (docs/manifest.md).",
        )
    return sources


def _own_files(source: Source, layout: Layout) -> Iterator[tuple[int, dict[str, SourceSpec]]]:
    """Yield the episodes of v2, in files of their own."""
    name = "meta/episodes.jsonl"
    for where, row in iter_json_lines(source, name):
        number = _whole(source, name, where, row, "episode_index")
        place = {"episode_chunk": number // layout.chunks_size, "episode_index": number}
        videos: dict[str, tuple[str, list[int] | None]] = {
            key: (filled(source, layout.video_path, {**place, "video_key": key}), None)
            for key in layout.videos
        }
        data = filled(source, layout.data_path, place)
        yield number, _sources(source, layout, data, None, videos)


def _shared_files(source: Source, layout: Layout) -> Iterator[tuple[int, dict[str, SourceSpec]]]:
    """Yield the episodes of v3, each some rows of a Parquet file and a span of each video."""
    first_rows: dict[str, int] = {}
    for name, where, row in _episode_rows(source):

        def whole(key: str, place: tuple[str, str, dict[str, Any]] = (name, where, row)) -> int:
            return _whole(source, *place, key)

        number = whole("episode_index")
        first, stop = whole("dataset_from_index"), whole("dataset_to_index")
        data = filled(source, layout.data_path, _file_of("data", whole))
        if data not in first_rows:
            found = _first_index(source, data)
            first_rows[data] = first if found is None else found
        begin = first_rows[data]
        if not begin <= first < stop:
            raise ManifestError(
                f"{where}: episode {number} is rows {first} to {stop} of a file from row {begin}",
                path=source.uri_of(name),
                hint="The metadata contradict each other: download them again.",
            )
        videos: dict[str, tuple[str, list[int] | None]] = {}
        for key in layout.videos:
            prefix = f"videos/{key}"
            place = {**_file_of(prefix, whole), "video_key": key}
            from_s, to_s = (row.get(f"{prefix}/{side}_timestamp") for side in ("from", "to"))
            if not _is_time(from_s) or not _is_time(to_s) or to_s < from_s:
                raise _incomplete(source, name, where, f"{prefix}/from_timestamp, to_timestamp")
            # Some writers give the time of the last frame as the end: one frame short. Larger
            # errors are left to the audit, which counts frames and timestamps.
            stop_s = from_s + (stop - first) / layout.fps
            if abs(to_s - stop_s) > 1.5 / layout.fps:
                stop_s = to_s
            # Half a frame early at both ends, so that frames are selected by nearest time.
            pts_ns = [round((value - 0.5 / layout.fps) * 1e9) for value in (from_s, stop_s)]
            videos[key] = (filled(source, layout.video_path, place), pts_ns)
        rows = [first - begin, stop - begin]
        yield number, _sources(source, layout, data, rows, videos)


def _is_time(value: object) -> TypeGuard[float]:
    return isinstance(value, float) and math.isfinite(value)


def _first_index(source: Source, data: str) -> int | None:
    """Return the index of a file's first row over all files; None if it cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with source.open(data) as opened:
            batch = next(pq.ParquetFile(opened).iter_batches(1, columns=["index"]))
            return int(batch.column(0)[0].as_py())
    except (ManifestError, pa.ArrowException, OSError, LookupError, TypeError, StopIteration):
        return None  # the audit of its episodes reports the fault


def _file_of(prefix: str, whole: Callable[[str], int]) -> dict[str, int]:
    return {key: whole(f"{prefix}/{key}") for key in ("chunk_index", "file_index")}


def _episode_rows(source: Source) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (file, "row 3", episode) of the metadata, without its statistics."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = [
        name
        for folder in source.folders("meta/episodes")
        for name in source.files("*.parquet", folder)
    ]
    if not files:
        raise ManifestError(
            "holds no episodes (meta/episodes/chunk-000/file-000.parquet)",
            path=source.uri,
            hint="Download the data set with its folder 'meta'.",
        )
    for name in files:
        number = 0
        try:
            with source.open(name) as opened:
                file = pq.ParquetFile(opened)
                columns = [key for key in file.schema_arrow.names if not key.startswith("stats/")]
                for batch in file.iter_batches(32, columns=columns, use_threads=False):
                    for place in range(batch.num_rows):
                        yield name, f"row {number}", batch.slice(place, 1).to_pylist()[0]
                        number += 1
        except (pa.ArrowException, OSError, MemoryError) as error:
            raise ManifestError(
                f"row {number}: is not an intact Parquet file ({one_line(error)})",
                path=source.uri_of(name),
                hint="Download it again.",
            ) from error


def _whole(source: Source, name: str, where: str, row: Mapping[str, Any], key: str) -> int:
    value = row.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise _incomplete(source, name, where, key)
    return value


def _incomplete(source: Source, name: str, where: str, key: str) -> ManifestError:
    return ManifestError(
        f"{where}: '{key}' is missing or not a valid number",
        path=source.uri_of(name),
        hint="Download the metadata again.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Feature:
    __pydantic_config__: ClassVar[dict[str, Any]] = _LOOSE

    dtype: str | None = None
    shape: list[int] | None = None
    info: dict[str, Any] | None = None
    video_info: dict[str, Any] | None = None

    @property
    def is_depth(self) -> bool:
        """Whether the images are distances, which do not show light and have little texture."""
        about = {**(self.video_info or {}), **(self.info or {})}
        return bool(about.get("is_depth_map") or about.get("video.is_depth_map"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    """The part of ``meta/info.json`` that is used."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _LOOSE

    codebase_version: str
    fps: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    features: dict[str, _Feature | None]
    data_path: str | None = None
    video_path: str | None = None
    chunks_size: Annotated[int, Field(ge=0)] | None = None
    total_episodes: int | None = None


def read_info(source: Source) -> Info:
    """Read ``meta/info.json`` and check the type of every key."""
    return checked(Info, source.read_json(INFO), path=source.uri_of(INFO))


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Locations of episodes, and the roles of features."""

    fps: float
    data_path: str
    video_path: str
    chunks_size: int
    total_episodes: int | None
    videos: Mapping[str, str]  # feature to source name
    images: Mapping[str, str]
    states: Mapping[str, str]
    ignored: tuple[str, ...]

    @classmethod
    def of(cls, info: Info) -> Layout:
        """Derive the layout from a data set's info."""
        features = {key: value for key, value in info.features.items() if value is not None}
        total = info.total_episodes

        def cameras(kind: str) -> list[str]:
            return [key for key, it in features.items() if it.dtype == kind and not it.is_depth]

        videos, images = cameras("video"), cameras("image")
        states = [
            key
            for key, it in features.items()
            if it.dtype in _NUMBERS and key.startswith(STATES) and len(it.shape or ()) == 1
        ]
        names = _short_names([*videos, *images, *states])
        return cls(
            fps=info.fps,
            data_path=info.data_path or "",
            video_path=info.video_path or "",
            chunks_size=info.chunks_size or CHUNK_SIZE,
            total_episodes=total if total is not None and 0 < total <= MOST_EPISODES else None,
            videos={key: names[key] for key in videos},
            images={key: names[key] for key in images},
            states={key: names[key] for key in states},
            ignored=tuple(
                f"{key} ({it.dtype})"
                for key, it in features.items()
                if key not in {*videos, *images, *states, *_BOOKKEEPING}
            ),
        )

    def tell(self, job: Import) -> None:
        """Note how features were interpreted."""
        for key, name in {**self.videos, **self.images}.items():
            job.note(f"{key} -> camera {name}")
        for key, name in self.states.items():
            job.note(f"{key} -> state {name}")
        for text in self.ignored:
            job.note(f"ignored {text}")
        job.note("timestamps are frame_index / fps: a counter, not capture times")


def _short_names(keys: list[str]) -> dict[str, str]:
    """Return source names: keys without their common prefix, where that stays unique."""
    short = {key: key.removeprefix("observation.").removeprefix("images.") for key in keys}
    taken = list(short.values())
    return {key: name if taken.count(name) == 1 else key for key, name in short.items()}


def filled(source: Source, template: str, values: Mapping[str, object]) -> str:
    """Return the file that a path template of the data set names.

    ManifestError if it uses unknown fields, formats other than digits, or leaves the data set.
    """
    try:
        parts = list(Formatter().parse(template))
        is_plain = all(
            name is None or (name in values and not kind and _WIDTH.fullmatch(width or ""))
            for _, name, width, kind in parts
        )
        name = template.format(**values) if is_plain else ""
    except ValueError:
        is_plain, name = False, ""
    shown = json.dumps(template[:80])
    if not is_plain:
        raise _broken(
            source,
            f"the path template {shown} cannot be filled: expected names among "
            f"{', '.join(values)}, with widths such as :03d",
        )
    is_inside = name and not name.startswith("/") and ".." not in name.split("/")
    if not is_inside or "://" in name or "::" in name or not name.isprintable():
        raise _broken(source, f"the path template {shown} leads out of the data set")
    return name


def _broken(source: Source, what: str) -> ManifestError:
    return ManifestError(what, path=source.uri_of(INFO), hint="Copy it again, or correct it.")
