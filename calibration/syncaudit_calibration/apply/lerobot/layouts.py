"""Where LeRobot keeps an episode: in files of its own (v2), or in parts of shared ones (v3)."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from syncaudit.datasets.formats.lerobot_info import CHUNK_SIZE, filled
from syncaudit.datasets.json_lines import iter_json_lines
from syncaudit.datasets.source import Source
from syncaudit.errors import StreamReadError
from syncaudit.writing import make_parent, replace_text, replacing
from syncaudit_calibration.apply.lerobot.cutting import VideoPackets
from syncaudit_calibration.apply.lerobot.pairing import Pairing
from syncaudit_calibration.apply.lerobot.statistics import Stats

__all__ = ["Episode", "Files", "OwnFiles", "SharedFiles"]

_STATS = "stats/"
_OWN_EPISODES, _OWN_STATS = "meta/episodes.jsonl", "meta/episodes_stats.jsonl"
_EPISODES = "meta/episodes/chunk-000/file-000.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One episode as it was.

    Attributes
    ----------
    number : int
        Its number.
    row : mapping of str to object
        What the metadata say of it, without statistics.
    table : pyarrow.Table
        Its rows.
    stats : mapping
        Statistics of its features; empty if there are none.
    """

    number: int
    row: Mapping[str, Any]
    table: pa.Table
    stats: Stats


class Files(Protocol):
    """Read episodes of one data set, and write them into another."""

    def episode(self, number: int) -> Episode:
        """Return an episode by its number."""
        ...

    def fitting(self, episode: Episode, pairing: Pairing, moves: Mapping[str, int]) -> Pairing:
        """Return the pairing with no more rows than the videos can be cut for.

        `moves`: by video feature, as in `Pairing`.
        """
        ...

    def add(
        self,
        episode: Episode,
        pairing: Pairing,
        *,
        moves: Mapping[str, int],
        table: pa.Table,
        stats: Stats,
    ) -> None:
        """Write an episode as the next one."""
        ...

    def finish(self) -> None:
        """Write what is said of all episodes."""
        ...


class OwnFiles:
    """Version 2: a table and videos of its own for every episode."""

    def __init__(self, source: Source, out: Path, info: Mapping[str, Any]) -> None:
        root = Path(source.base_uri)
        self._source, self._root, self._out, self._info = source, root, out, info
        rows = iter_json_lines(source, _OWN_EPISODES)
        self._rows = {row["episode_index"]: row for _, row in rows}
        told = iter_json_lines(source, _OWN_STATS) if source.has(_OWN_STATS) else ()
        self._stats = {row["episode_index"]: row["stats"] for _, row in told}
        self._lines: list[str] = []
        self._stats_lines: list[str] = []
        self._cut: dict[str, VideoPackets] = {}

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

    def fitting(self, episode: Episode, pairing: Pairing, moves: Mapping[str, int]) -> Pairing:
        """Return the pairing with no more rows than the videos can be cut for."""
        self._cut = {
            key: VideoPackets(self._root / self._place("video_path", episode.number, key))
            for key in moves
        }
        for key, video in self._cut.items():
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
            for key, video in self._cut.items():
                stop = min(stop, video.stop_before(stop + moves[key]) - moves[key])
        return pairing.shortened(max(0, stop - pairing.start))

    def add(
        self,
        episode: Episode,
        pairing: Pairing,
        *,
        moves: Mapping[str, int],
        table: pa.Table,
        stats: Stats,
    ) -> None:
        """Write an episode as the next one."""
        number = len(self._lines)
        for key, video in self._cut.items():
            target = self._out / self._place("video_path", number, key)
            video.write(target, pairing.start + moves[key], pairing.stop + moves[key])
        _write_parquet(table, self._out / self._place("data_path", number))
        row = {**episode.row, "episode_index": number, "length": pairing.n_rows}
        self._lines.append(json.dumps(row, ensure_ascii=False))
        self._stats_lines.append(json.dumps({"episode_index": number, "stats": stats}))

    def finish(self) -> None:
        """Write what is said of all episodes."""
        replace_text(self._out / _OWN_EPISODES, "\n".join([*self._lines, ""]))
        replace_text(self._out / _OWN_STATS, "\n".join([*self._stats_lines, ""]))


class SharedFiles:
    """Version 3: an episode is rows of a table and a span of each video, which stay as they are."""

    def __init__(self, source: Source, out: Path, info: Mapping[str, Any]) -> None:
        root = Path(source.base_uri)
        self._source, self._root, self._out, self._info = source, root, out, info
        rows = [
            row
            for path in sorted((root / "meta/episodes").rglob("*.parquet"))
            for row in pq.read_table(path).to_pylist()
        ]
        self._rows = {row["episode_index"]: row for row in rows}
        # Rows are counted over all files: where the first of each file is.
        self._first: dict[str, int] = {}
        for row in rows:
            path = self._place("data_path", row, "data")
            first = row["dataset_from_index"]
            self._first[path] = min(self._first.get(path, first), first)
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
        begin = row["dataset_from_index"] - self._first[path]
        n = row["dataset_to_index"] - row["dataset_from_index"]
        stats: dict[str, dict[str, Any]] = {}
        for key, value in row.items():
            if key.startswith(_STATS) and value is not None:
                feature, _, name = key.removeprefix(_STATS).rpartition("/")
                stats.setdefault(feature, {})[name] = value
        return Episode(
            number=number,
            row={key: value for key, value in row.items() if not key.startswith(_STATS)},
            table=self._read[1].slice(begin, n),
            stats=stats,
        )

    def fitting(
        self,
        episode: Episode,  # noqa: ARG002  # of a shared video any span will do
        pairing: Pairing,
        moves: Mapping[str, int],  # noqa: ARG002
    ) -> Pairing:
        """Return the pairing as it is: any span of a shared video will do."""
        return pairing

    def add(
        self,
        episode: Episode,
        pairing: Pairing,
        *,
        moves: Mapping[str, int],
        table: pa.Table,
        stats: Stats,
    ) -> None:
        """Write an episode as the next one."""
        fps, row = self._info["fps"], dict(episode.row)
        for key, move in moves.items():
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
            f"{_STATS}{feature}/{name}": value
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
        """Write what is said of all episodes."""
        self._close()
        _write_parquet(pa.Table.from_pylist(self._written), self._out / _EPISODES)


def _write_parquet(table: pa.Table, path: Path) -> None:
    make_parent(path)
    with replacing(path) as file:
        pq.write_table(table, file)


def _link(root: Path, out: Path, name: str) -> None:
    """Let a file stand in `out`, too: the same one, a copy where that cannot be."""
    target = out / name
    if target.exists():
        return
    make_parent(target)
    try:
        os.link((root / name).resolve(), target)
    except OSError:  # another disk
        shutil.copyfile(root / name, target)
