"""Episodes of LeRobot, as they are and re-paired, and how tables are written.

In LeRobot version 2 every episode has its own table and videos; in version 3 an episode is a range
of a shared table and a span of each shared video. Videos are cut without re-encoding them, and
statistics of features are stored per episode and for all episodes together.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from syncaudit.datasets.formats.lerobot import CHUNK_SIZE, filled
from syncaudit.datasets.source import Source, iter_json_lines
from syncaudit.errors import StreamReadError
from syncaudit.model.arrays import Floats
from syncaudit.writing import copy_file, draft_of, make_parent, replace_text, replacing
from syncaudit_calibration.apply.lerobot.rows import Pairing

_EPISODE_LINES, _STATS_LINES = "meta/episodes.jsonl", "meta/episodes_stats.jsonl"

_STATS_PREFIX = "stats/"
_EPISODE_TABLE = "meta/episodes/chunk-000/file-000.parquet"

Stats = Mapping[str, Mapping[str, Any]]
"""Feature to statistic to value: nested lists of the feature's shape, or the sample count."""

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One original episode."""

    number: int  # episode number
    row: Mapping[str, Any]  # its row of the metadata, without statistics
    table: pa.Table  # its rows
    stats: Stats  # statistics of its features; empty if there are none


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedEpisode:
    """An episode whose rows are re-paired."""

    episode: Episode  # the original
    pairing: Pairing  # of its sources
    moves: Mapping[str, int]  # number of frames by which each video feature moves, as in `Pairing`
    # Its videos by feature, if they have to be cut.
    cuts: Mapping[str, VideoPackets] = field(default_factory=dict)


def _write_parquet(table: pa.Table, path: Path) -> None:
    """Write a table atomically, creating its folder."""
    make_parent(path)
    with replacing(path) as file:
        pq.write_table(table, file)


class OwnFiles:
    """Version 2: every episode has its own table and videos."""

    def __init__(self, source: Source, out: Path, info: Mapping[str, Any]) -> None:
        root = Path(source.base_uri)
        self._source, self._root, self._out, self._info = source, root, out, info
        rows = iter_json_lines(source, _EPISODE_LINES)
        self._rows = {row["episode_index"]: row for _, row in rows}
        stats_rows = iter_json_lines(source, _STATS_LINES) if source.has(_STATS_LINES) else ()
        self._stats = {row["episode_index"]: row["stats"] for _, row in stats_rows}
        self._lines: list[str] = []
        self._stats_lines: list[str] = []

    def episode(self, number: int) -> Episode:
        """Return an episode by its number."""
        return Episode(
            number=number,
            row=self._rows[number],
            table=pq.read_table(self._root / self._place("data_path", number)),
            stats=self._stats.get(number, {}),
        )

    def _place(self, template: str, number: int, video_key: str = "") -> str:
        chunk = number // (self._info.get("chunks_size") or CHUNK_SIZE)
        place = {"episode_chunk": chunk, "episode_index": number, "video_key": video_key}
        return filled(self._source, self._info[template], place)

    def fitting(self, paired: PairedEpisode) -> PairedEpisode:
        """Return an episode with no more rows than its videos can be cut for."""
        episode, pairing, moves = paired.episode, paired.pairing, paired.moves
        cuts = {
            key: VideoPackets(self._root / self._place("video_path", episode.number, key))
            for key in moves
        }
        for key, video in cuts.items():
            if len(video) < pairing.stop + moves[key]:
                raise StreamReadError(
                    f"its video {key} holds {len(video)} frames, its table "
                    f"{len(episode.table)} rows",
                    path=self._place("video_path", episode.number, key),
                    hint="Leave the episode out of the manifest.",
                )
        stop, before = pairing.stop, -1
        while stop != before:
            before = stop
            for key, video in cuts.items():
                stop = min(stop, video.stop_before(stop + moves[key]) - moves[key])
        fitting = pairing.shortened(max(0, stop - pairing.start))
        return replace(paired, pairing=fitting, cuts=cuts)

    def add(self, paired: PairedEpisode, table: pa.Table, stats: Stats) -> None:
        """Write an episode as the next one."""
        number, pairing = len(self._lines), paired.pairing
        for key, video in paired.cuts.items():
            move = paired.moves[key]
            target = self._out / self._place("video_path", number, key)
            video.write(target, pairing.start + move, pairing.stop + move)
        _write_parquet(table, self._out / self._place("data_path", number))
        row = {**paired.episode.row, "episode_index": number, "length": pairing.n_rows}
        self._lines.append(json.dumps(row, ensure_ascii=False))
        self._stats_lines.append(json.dumps({"episode_index": number, "stats": stats}))

    def finish(self) -> None:
        """Write the metadata of all episodes."""
        replace_text(self._out / _EPISODE_LINES, "\n".join([*self._lines, ""]))
        replace_text(self._out / _STATS_LINES, "\n".join([*self._stats_lines, ""]))


class SharedFiles:
    """Version 3: an episode is a range of a table and a span of each video; videos are kept."""

    def __init__(self, source: Source, out: Path, info: Mapping[str, Any]) -> None:
        root = Path(source.base_uri)
        self._source, self._root, self._out, self._info = source, root, out, info
        rows = [
            row
            for path in sorted((root / "meta/episodes").rglob("*.parquet"))
            for row in pq.read_table(path).to_pylist()
        ]
        self._rows = {row["episode_index"]: row for row in rows}
        self._written: list[dict[str, Any]] = []
        self._n_rows = 0
        self._read: tuple[str, pa.Table] = ("", None)
        self._open: tuple[str, list[pa.Table]] = ("", [])

    def _place(self, template: str, row: Mapping[str, Any], prefix: str, key: str = "") -> str:
        place = {name: row[f"{prefix}/{name}"] for name in ("chunk_index", "file_index")}
        return filled(self._source, self._info[template], {**place, "video_key": key})

    def episode(self, number: int) -> Episode:
        """Return an episode by its number."""
        row = self._rows[number]
        path = self._place("data_path", row, "data")
        if path != self._read[0]:
            self._read = (path, pq.read_table(self._root / path))
        shared = self._read[1]
        # Rows are counted over all files; the first row of this file has its starting index.
        begin = row["dataset_from_index"] - shared["index"][0].as_py()
        n = row["dataset_to_index"] - row["dataset_from_index"]
        stats: dict[str, dict[str, Any]] = {}
        for key, value in row.items():
            if key.startswith(_STATS_PREFIX) and value is not None:
                feature, _, name = key.removeprefix(_STATS_PREFIX).rpartition("/")
                stats.setdefault(feature, {})[name] = value
        return Episode(
            number=number,
            row={key: value for key, value in row.items() if not key.startswith(_STATS_PREFIX)},
            table=shared.slice(begin, n),
            stats=stats,
        )

    def fitting(self, paired: PairedEpisode) -> PairedEpisode:
        """Return the episode unchanged: any span of a shared video is possible."""
        return paired

    def add(self, paired: PairedEpisode, table: pa.Table, stats: Stats) -> None:
        """Write an episode as the next one."""
        fps, row, pairing = self._info["fps"], dict(paired.episode.row), paired.pairing
        for key, move in paired.moves.items():
            prefix = f"videos/{key}"
            begin_s = row[f"{prefix}/from_timestamp"] + (pairing.start + move) / fps
            row[f"{prefix}/from_timestamp"] = begin_s
            row[f"{prefix}/to_timestamp"] = begin_s + pairing.n_rows / fps
            _link(self._root, self._out, self._place("video_path", row, prefix, key))
        place = self._place("data_path", row, "data")
        if place != self._open[0]:
            self._close()
            self._open = (place, [])
        self._open[1].append(table)
        row |= {
            "episode_index": len(self._written),
            "length": pairing.n_rows,
            "dataset_from_index": self._n_rows,
            "dataset_to_index": self._n_rows + pairing.n_rows,
            "meta/episodes/chunk_index": 0,
            "meta/episodes/file_index": 0,
        }
        row |= {
            f"{_STATS_PREFIX}{feature}/{name}": value
            for feature, found in stats.items()
            for name, value in found.items()
        }
        self._n_rows += pairing.n_rows
        self._written.append(row)

    def _close(self) -> None:
        path, tables = self._open
        if tables:
            _write_parquet(pa.concat_tables(tables), self._out / path)

    def finish(self) -> None:
        """Write the metadata of all episodes."""
        self._close()
        _write_parquet(pa.Table.from_pylist(self._written), self._out / _EPISODE_TABLE)


def _link(root: Path, out: Path, name: str) -> None:
    """Hard-link a file into `out`; copy it if that is not possible."""
    target = out / name
    if target.exists():
        return
    make_parent(target)
    try:
        os.link((root / name).resolve(), target)
    except OSError:  # another disk
        copy_file(root / name, target)


class VideoPackets:
    """The packets of a video, from which a span of its frames can be written.

    A span can begin at any frame: frames that must be decoded before it get times below zero,
    where an edit list of the container hides them. It can end only where no frame inside depends
    on one outside.

    Parameters
    ----------
    path : Path
        A local video.

    Raises
    ------
    StreamReadError
        If it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with av.open(str(path)) as container:
                packets = [packet for packet in container.demux(video=0) if packet.size]
                self._times = [_time(packet) for packet in packets]
                self._is_key = [packet.is_keyframe for packet in packets]
                self._shown = sorted(
                    time
                    for packet, time in zip(packets, self._times, strict=True)
                    if not packet.is_discard
                )
        except (av.FFmpegError, IndexError) as error:
            raise StreamReadError(
                f"cannot be read ({error})", path=str(path), hint="Download the video again."
            ) from error

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self._shown)

    def stop_before(self, stop: int) -> int:
        """Return the last frame at or before `stop` before which the video can be cut."""
        while 0 < stop < len(self) and not _is_clean(self._times, self._shown[stop]):
            stop -= 1
        return stop

    def write(self, target: Path, start: int, stop: int) -> None:
        """Write frames `start` to `stop` (excluded, from `stop_before`) as MP4."""
        begin = self._shown[start]
        end = self._shown[stop] if stop < len(self) else None
        key = max(
            (k for k, time in enumerate(self._times) if self._is_key[k] and time <= begin),
            default=0,
        )
        make_parent(target)
        with (
            draft_of(target) as draft,
            av.open(str(self._path)) as container,
            av.open(str(draft), "w", format="mp4") as output,
        ):
            stream = output.add_stream_from_template(container.streams.video[0], opaque=True)
            packets = (packet for packet in container.demux(video=0) if packet.size)
            for k, packet in enumerate(packets):
                time = self._times[k]
                if k < key or (end is not None and time >= end):
                    continue
                packet.pts = time - begin
                packet.dts = (time if packet.dts is None else packet.dts) - begin
                packet.stream = stream
                output.mux(packet)


def _time(packet: av.Packet[av.VideoStream]) -> int:
    """Return when the frame of a packet is shown, in ticks of its stream."""
    time = packet.dts if packet.pts is None else packet.pts
    if time is None:
        raise IndexError("a frame has no timestamp")
    return time


def _is_clean(times: Sequence[int], end: int) -> bool:
    """Return whether all packets before `end` come before all others in the file."""
    is_over = [time >= end for time in times]
    return not any(is_over[: is_over.count(False)])


def of_episode(values: Mapping[str, Floats], *, has_quantiles: bool) -> dict[str, dict[str, Any]]:
    """Return the statistics of numeric features, each of shape (n, ...), as nested lists."""
    found: dict[str, dict[str, Any]] = {}
    for name, samples in values.items():
        columns = samples.reshape(len(samples), -1)
        stats = {
            "min": columns.min(axis=0),
            "max": columns.max(axis=0),
            "mean": columns.mean(axis=0),
            "std": columns.std(axis=0),
        }
        if has_quantiles:
            stats |= {key: np.quantile(columns, at, axis=0) for key, at in QUANTILES.items()}
        shape = samples.shape[1:] or (1,)
        found[name] = {key: value.reshape(shape).tolist() for key, value in stats.items()}
        found[name]["count"] = [len(samples)]
    return found


def together(episodes: Sequence[Stats]) -> dict[str, dict[str, Any]]:
    """Combine the statistics of the episodes into those of all samples.

    The variance combines the variances within and between episodes; quantiles are averaged over
    the episodes, weighted by the number of samples, as LeRobot does.
    """
    found: dict[str, list[Mapping[str, Any]]] = {}
    for stats in episodes:
        for name, values in stats.items():
            if "count" in values:  # otherwise their weight is unknown
                found.setdefault(name, []).append(values)
    return {name: _pooled(parts) for name, parts in found.items()}


def _pooled(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    keys = [key for key in parts[0] if all(key in part for part in parts)]
    stacked = {key: np.array([part[key] for part in parts], dtype=np.float64) for key in keys}
    counts = stacked.pop("count").ravel()
    share = counts / counts.sum()

    def mean_of(values: Floats) -> Floats:
        return np.asarray(np.tensordot(share, values, axes=1))

    found = {key: mean_of(values) for key, values in stacked.items()}
    found["min"], found["max"] = stacked["min"].min(axis=0), stacked["max"].max(axis=0)
    between = (stacked["mean"] - found["mean"]) ** 2
    found["std"] = np.sqrt(mean_of(stacked["std"] ** 2 + between))
    return {
        **{key: value.tolist() for key, value in found.items()},
        "count": [int(counts.sum())],
    }
