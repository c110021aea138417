"""LeRobot version 3: an episode is a range of a shared table and a span of each shared video."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from syncaudit.datasets.formats.lerobot import filled
from syncaudit.datasets.source import Source
from syncaudit.writing import copy_file, make_parent
from syncaudit_calibration.apply.lerobot.files import Episode, PairedEpisode, write_parquet
from syncaudit_calibration.apply.lerobot.statistics import Stats

_STATS = "stats/"
_EPISODES = "meta/episodes/chunk-000/file-000.parquet"


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
            if key.startswith(_STATS) and value is not None:
                feature, _, name = key.removeprefix(_STATS).rpartition("/")
                stats.setdefault(feature, {})[name] = value
        return Episode(
            number=number,
            row={key: value for key, value in row.items() if not key.startswith(_STATS)},
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
            f"{_STATS}{feature}/{name}": value
            for feature, found in stats.items()
            for name, value in found.items()
        }
        self._n_rows += pairing.n_rows
        self._written.append(row)

    def _close(self) -> None:
        path, tables = self._open
        if tables:
            write_parquet(pa.concat_tables(tables), self._out / path)

    def finish(self) -> None:
        """Write the metadata of all episodes."""
        self._close()
        write_parquet(pa.Table.from_pylist(self._written), self._out / _EPISODES)


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
