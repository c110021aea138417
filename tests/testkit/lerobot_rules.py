"""LeRobot's requirements on a data set, reimplemented because the library is too heavy.

From `LeRobotDataset` of versions 2.1 and 3.0: the files named in the metadata, counts, the columns
that features describe, row-to-row time steps, the frame found for a row's time, and statistics.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

TOLERANCE_S = 1e-4


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def decoded(path: Path) -> tuple[list[tuple[float, np.ndarray]], float]:
    """Return the time and luma of every frame of a video, and its frame rate."""

    def luma(frame: av.VideoFrame) -> np.ndarray:
        plane = frame.planes[0]
        return np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[:, : frame.width].copy()

    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        shown = [(frame.time, luma(frame)) for frame in container.decode(stream)]
        return shown, float(stream.average_rate)


class Loaded:
    """A data set as loaded by LeRobot; raise AssertionError where its loader would fail.

    Attributes
    ----------
    rows : pyarrow.Table
        All rows.
    episodes : list of dict
        Metadata of each episode.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.info = json.loads((root / "meta/info.json").read_text())
        self.is_shared = self.info["codebase_version"].startswith("v3")
        if self.is_shared:
            (path,) = (root / "meta/episodes").rglob("*.parquet")
            self.episodes = pq.read_table(path).to_pylist()
            files = sorted((root / "data").rglob("*.parquet"))
            n_tasks = len(pq.read_table(root / "meta/tasks.parquet"))
        else:
            self.episodes = lines(root / "meta/episodes.jsonl")
            files = [self.file("data_path", k) for k in range(len(self.episodes))]
            assert sorted(files) == sorted((root / "data").rglob("*.parquet"))
            n_tasks = len(lines(root / "meta/tasks.jsonl"))
        self.rows = pa.concat_tables([pq.read_table(path) for path in files])
        lengths = [episode["length"] for episode in self.episodes]
        self.stops = np.cumsum(lengths).tolist()
        self.starts = [0, *self.stops[:-1]]
        self.fps = self.info["fps"]
        self._check_counts(lengths, n_tasks)
        self._check_columns()
        self._check_statistics()

    def file(self, template: str, number: int, key: str = "") -> Path:
        episode = self.episodes[number]
        prefix = f"videos/{key}" if key else "data"
        shared = {name: episode.get(f"{prefix}/{name}") for name in ("chunk_index", "file_index")}
        own = {"episode_index": number, "episode_chunk": number // self.info["chunks_size"]}
        path = self.root / self.info[template].format(**own, **shared, video_key=key)
        assert path.is_file(), path
        return path

    def column(self, name: str) -> np.ndarray:
        return np.array(self.rows.column(name).to_pylist())

    def span(self, number: int) -> slice:
        return slice(self.starts[number], self.stops[number])

    def _check_counts(self, lengths: list[int], n_tasks: int) -> None:
        n = len(self.episodes)
        assert [episode["episode_index"] for episode in self.episodes] == list(range(n))
        assert self.info["total_episodes"] == n
        assert self.info["total_frames"] == sum(lengths) == len(self.rows)
        assert self.info["splits"] == {"train": f"0:{n}"}
        assert self.column("index").tolist() == list(range(len(self.rows)))
        assert self.column("episode_index").tolist() == np.repeat(range(n), lengths).tolist()
        assert self.column("task_index").max() < n_tasks
        for number, episode in enumerate(self.episodes):
            frames = np.arange(lengths[number])
            assert (self.column("frame_index")[self.span(number)] == frames).all()
            stamps = self.column("timestamp")[self.span(number)]
            assert (abs(np.diff(stamps) - 1.0 / self.fps) <= TOLERANCE_S).all()
            assert stamps[0] == 0.0
            if self.is_shared:
                place = episode["dataset_from_index"], episode["dataset_to_index"]
                assert place == (self.starts[number], self.stops[number])

    def _check_columns(self) -> None:
        features = self.info["features"]
        stored = {key for key, it in features.items() if it["dtype"] != "video"}
        assert stored == set(self.rows.column_names)
        for key in stored:
            kind = self.rows.schema.field(key).type
            value = kind.value_type if hasattr(kind, "value_type") else kind
            dtype = features[key]["dtype"]
            assert dtype == "image" or dtype.replace("float32", "float") == str(value), key

    def _check_statistics(self) -> None:
        of_all = json.loads((self.root / "meta/stats.json").read_text())
        for number, episode in enumerate(self.episodes):
            if self.is_shared:
                of_episode = {key.removeprefix("stats/"): value for key, value in episode.items()}
            else:
                told = lines(self.root / "meta/episodes_stats.jsonl")[number]
                assert told["episode_index"] == number
                of_episode = {
                    f"{key}/{name}": value
                    for key, stats in told["stats"].items()
                    for name, value in stats.items()
                }
            for key in ("action", "timestamp", "episode_index"):
                values = self.column(key)[self.span(number)]
                assert np.allclose(of_episode[f"{key}/mean"], values.mean(axis=0), atol=1e-6)
                assert np.allclose(of_episode[f"{key}/max"], values.max(axis=0))
                assert of_episode[f"{key}/count"] == [len(values)]
        for key in ("action", "timestamp"):
            values = self.column(key)
            assert np.allclose(of_all[key]["std"], values.std(axis=0), atol=1e-6)
            assert np.allclose(of_all[key]["min"], values.min(axis=0))
            assert of_all[key]["count"] == [len(values)]

    def frames(self, number: int, key: str) -> list[np.ndarray]:
        """Return the frame of every row of an episode; check that both decoders agree on it."""
        begin_s = self.episodes[number].get(f"videos/{key}/from_timestamp", 0.0)
        shown, rate = decoded(self.file("video_path", number, key))
        assert rate == self.fps
        times_s = np.array([time_s for time_s, _ in shown])
        found = []
        for stamp_s in self.column("timestamp")[self.span(number)]:
            wanted_s = begin_s + float(stamp_s)
            by_number, nearest = round(wanted_s * self.fps), int(abs(times_s - wanted_s).argmin())
            assert by_number == nearest
            assert abs(times_s[nearest] - wanted_s) <= TOLERANCE_S
            found.append(shown[nearest][1])
        return found
