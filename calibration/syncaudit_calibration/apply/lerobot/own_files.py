"""LeRobot version 2: every episode has its own table and videos."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from syncaudit.datasets.formats.lerobot import CHUNK_SIZE, filled
from syncaudit.datasets.source import Source, iter_json_lines
from syncaudit.errors import StreamReadError
from syncaudit.writing import replace_text
from syncaudit_calibration.apply.lerobot.cutting import VideoPackets
from syncaudit_calibration.apply.lerobot.files import Episode, PairedEpisode, write_parquet
from syncaudit_calibration.apply.lerobot.statistics import Stats

_EPISODES, _STATS = "meta/episodes.jsonl", "meta/episodes_stats.jsonl"


class OwnFiles:
    """Version 2: every episode has its own table and videos."""

    def __init__(self, source: Source, out: Path, info: Mapping[str, Any]) -> None:
        root = Path(source.base_uri)
        self._source, self._root, self._out, self._info = source, root, out, info
        rows = iter_json_lines(source, _EPISODES)
        self._rows = {row["episode_index"]: row for _, row in rows}
        stats_rows = iter_json_lines(source, _STATS) if source.has(_STATS) else ()
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
        write_parquet(table, self._out / self._place("data_path", number))
        row = {**paired.episode.row, "episode_index": number, "length": pairing.n_rows}
        self._lines.append(json.dumps(row, ensure_ascii=False))
        self._stats_lines.append(json.dumps({"episode_index": number, "stats": stats}))

    def finish(self) -> None:
        """Write the metadata of all episodes."""
        replace_text(self._out / _EPISODES, "\n".join([*self._lines, ""]))
        replace_text(self._out / _STATS, "\n".join([*self._stats_lines, ""]))
