"""Episodes in LeRobot format: v2.1 with one file per episode, v3.0 with shared files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.simulate.encode import encode_frames
from syncaudit.writing import replace_text, replacing

from .arm import JOINTS
from .episode import Episode

_DATA = {
    "v2.1": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
    "v3.0": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
}
_TASK = "pick"
_VIDEO = {
    "v2.1": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
    "v3.0": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
}


def write_lerobot(
    folder: Path, episodes: Sequence[Episode], *, version: str = "v2.1", has_state: bool = True
) -> None:
    """Write a data set, rendering the images on the fly.

    Parameters
    ----------
    folder : Path
        Created.
    episodes : sequence of Episode
        At least one; all with the same size, rate and set of cameras.
    version : str
        ``v2.1`` or ``v3.0``.
    has_state : bool
        Whether the joints are stored in addition to the commands.

    Raises
    ------
    ValueError
        If the version is unknown.
    """
    if version not in _DATA:
        raise ValueError(f"version is {version!r}, expected one of {', '.join(_DATA)}")
    (folder / "meta").mkdir(parents=True)
    info = _info(episodes, version, has_state=has_state)
    replace_text(folder / "meta/info.json", json.dumps(info, indent=1))
    (_write_own if version == "v2.1" else _write_shared)(folder, episodes, has_state)


def _info(episodes: Sequence[Episode], version: str, *, has_state: bool) -> dict[str, Any]:
    config = episodes[0].config
    vector = {"dtype": "float32", "shape": [len(JOINTS)], "names": list(JOINTS)}
    features: dict[str, Any] = {"observation.state": vector} if has_state else {}
    features["action"] = vector
    for name in config.cameras:
        width, height = config.size_px
        features[f"observation.images.{name}"] = {"dtype": "video", "shape": [height, width, 3]}
    features["timestamp"] = {"dtype": "float32", "shape": [1], "names": None}
    for key in ("frame_index", "episode_index", "index", "task_index"):
        features[key] = {"dtype": "int64", "shape": [1], "names": None}
    return {
        "codebase_version": version,
        "fps": config.fps,
        "features": features,
        "total_episodes": len(episodes),
        "total_frames": sum(episode.config.n_frames for episode in episodes),
        "total_tasks": 1,
        "splits": {"train": f"0:{len(episodes)}"},
        "chunks_size": 1000,
        "data_path": _DATA[version],
        "video_path": _VIDEO[version],
    }


def _table(episode: Episode, number: int, first: int, has_state: bool) -> Any:
    import pyarrow as pa

    def vectors(values: NDArray[np.float64]) -> Any:
        flat = pa.array(values.astype(np.float32).ravel())
        return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])

    index = np.arange(episode.config.n_frames)
    columns = {"observation.state": vectors(episode.state)} if has_state else {}
    return pa.table(
        {
            **columns,
            "action": vectors(episode.action),
            "timestamp": (index / episode.config.fps).astype(np.float32),
            "frame_index": index,
            "episode_index": np.full(index.size, number),
            "index": index + first,
            "task_index": np.zeros_like(index),
        }
    )


def _write_parquet(table: Any, path: Path) -> None:
    """Write a table atomically, and not through a link."""
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        pq.write_table(table, file)


def _write_video(
    folder: Path, template: str, place: dict[str, int], name: str, episodes: Sequence[Episode]
) -> None:
    video = folder / template.format(**place, video_key=f"observation.images.{name}")
    video.parent.mkdir(parents=True, exist_ok=True)
    frames = chain.from_iterable(episode.frames(name) for episode in episodes)
    encode_frames(frames, video, episodes[0].config.camera(name))


def _write_own(folder: Path, episodes: Sequence[Episode], has_state: bool) -> None:
    first, lines = 0, []
    for number, episode in enumerate(episodes):
        place = {"episode_chunk": 0, "episode_index": number}
        table = _table(episode, number, first, has_state)
        _write_parquet(table, folder / _DATA["v2.1"].format(**place))
        for name in episode.config.cameras:
            _write_video(folder, _VIDEO["v2.1"], place, name, [episode])
        n = episode.config.n_frames
        lines.append(json.dumps({"episode_index": number, "tasks": [_TASK], "length": n}))
        first += n
    replace_text(folder / "meta/episodes.jsonl", "\n".join(lines) + "\n")
    task = json.dumps({"task_index": 0, "task": _TASK})
    replace_text(folder / "meta/tasks.jsonl", f"{task}\n")


def _write_shared(folder: Path, episodes: Sequence[Episode], has_state: bool) -> None:
    import pyarrow as pa

    place = {"chunk_index": 0, "file_index": 0}
    first, rows, tables = 0, [], []
    for number, episode in enumerate(episodes):
        stop = first + episode.config.n_frames
        row: dict[str, Any] = {
            "episode_index": number,
            "tasks": [_TASK],
            "length": stop - first,
            "dataset_from_index": first,
            "dataset_to_index": stop,
            "data/chunk_index": 0,
            "data/file_index": 0,
        }
        for name in episode.config.cameras:
            prefix = f"videos/observation.images.{name}"
            row |= {f"{prefix}/{key}": value for key, value in place.items()}
            row[f"{prefix}/from_timestamp"] = first / episode.config.fps
            row[f"{prefix}/to_timestamp"] = stop / episode.config.fps
        rows.append(row)
        tables.append(_table(episode, number, first, has_state))
        first = stop
    _write_parquet(pa.Table.from_pylist(rows), folder / "meta/episodes/chunk-000/file-000.parquet")
    task = pa.table({"task_index": [0], "__index_level_0__": [_TASK]})
    _write_parquet(task, folder / "meta/tasks.parquet")
    _write_parquet(pa.concat_tables(tables), folder / _DATA["v3.0"].format(**place))
    for name in episodes[0].config.cameras:
        _write_video(folder, _VIDEO["v3.0"], place, name, episodes)
