"""LeRobot data sets in the documented layout, written by hand because the library is heavy."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from testkit.videos import exact_frame, write_video

FPS = 30
N_FRAMES = 20
DIMS = 6
FEATURES = {
    "observation.state": {"dtype": "float32", "shape": [DIMS], "names": None},
    "action": {"dtype": "float32", "shape": [DIMS], "names": None},
    "observation.images.top": {"dtype": "video", "shape": [48, 64, 3], "names": None},
    "observation.images.wrist": {"dtype": "video", "shape": [48, 64, 3], "names": None},
    "observation.images.depth": {
        "dtype": "video",
        "shape": [48, 64, 1],
        "names": None,
        "info": {"is_depth_map": True},
    },
    "observation.images.still": {"dtype": "image", "shape": [48, 64, 3], "names": None},
    "next.reward": {"dtype": "float32", "shape": [1], "names": None},
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    "frame_index": {"dtype": "int64", "shape": [1], "names": None},
    "episode_index": {"dtype": "int64", "shape": [1], "names": None},
    "index": {"dtype": "int64", "shape": [1], "names": None},
    "task_index": {"dtype": "int64", "shape": [1], "names": None},
}


def still(episode: int, frame: int) -> bytes:
    """Return an encoded image of distinct brightness, alternately PNG and JPEG."""
    level = 40 + 5 * (episode % 20) + frame
    image = np.full((48, 64, 3), level, np.uint8)
    return cv2.imencode((".png", ".jpg")[frame % 2], image)[1].tobytes()


def table(episode: int, n_frames: int = N_FRAMES) -> pa.Table:
    """Return the rows of an episode as LeRobot writes them, images in the Hugging Face layout."""
    rng = np.random.default_rng(episode)
    lists = [pa.array(rng.normal(size=DIMS).astype(np.float32).tolist()) for _ in range(n_frames)]
    vectors = pa.FixedSizeListArray.from_arrays(pa.concat_arrays(lists).cast(pa.float32()), DIMS)
    frames = np.arange(n_frames)
    return pa.table(
        {
            "observation.state": vectors,
            "action": vectors,
            "observation.images.still": pa.array(
                [
                    {"bytes": still(episode, k), "path": f"frame_{k:06d}.png"}
                    for k in range(n_frames)
                ],
                pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
            ),
            "next.reward": pa.array(np.zeros(n_frames, np.float32)),
            "timestamp": pa.array((frames / FPS).astype(np.float32)),
            "frame_index": pa.array(frames),
            "episode_index": pa.array(np.full(n_frames, episode)),
            "index": pa.array(frames + episode * n_frames),
            "task_index": pa.array(np.zeros(n_frames, np.int64)),
        }
    )


def video(path: Path, levels: list[int], **options: str) -> None:
    """Write a video with one frame of uniform brightness per level."""
    path.parent.mkdir(parents=True, exist_ok=True)
    frames = (exact_frame(np.full((48, 64), level, np.uint8)) for level in levels)
    write_video(path, frames, rate=FPS, options={"g": "10", "crf": "10", **options})


def info(version: str, n_episodes: int, data_path: str, video_path: str) -> str:
    """Return the content of meta/info.json."""
    return json.dumps(
        {
            "codebase_version": version,
            "fps": FPS,
            "features": FEATURES,
            "total_episodes": n_episodes,
            "total_frames": n_episodes * N_FRAMES,
            "chunks_size": 1000,
            "data_path": data_path,
            "video_path": video_path,
        }
    )


def write_lerobot_v2(folder: Path, n_clips: int) -> Path:
    """Write separate files for every episode; the videos are copies of one."""
    root = folder / "pusht"
    (root / "meta").mkdir(parents=True)
    (root / "meta/info.json").write_text(
        info(
            "v2.1",
            n_clips,
            "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
            "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
        )
    )
    lines = [
        json.dumps({"episode_index": n, "tasks": ["push"], "length": N_FRAMES})
        for n in range(n_clips)
    ]
    (root / "meta/episodes.jsonl").write_text("\n".join(lines) + "\n")
    first = folder / "first.mp4"
    video(first, list(range(40, 40 + N_FRAMES)))
    content = first.read_bytes()
    first.unlink()
    for number in range(n_clips):
        (root / "data/chunk-000").mkdir(parents=True, exist_ok=True)
        pq.write_table(table(number), root / f"data/chunk-000/episode_{number:06d}.parquet")
        for key in ("observation.images.top", "observation.images.wrist"):
            path = root / f"videos/chunk-000/{key}/episode_{number:06d}.mp4"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return root


def write_lerobot_v3(folder: Path, n_clips: int) -> Path:
    """Write two data files and one video file per camera that hold all episodes.

    Frame k of episode e has the level 40 + 5 e + k, and the wrist camera's file begins with
    7 frames of a deleted episode.
    """
    root = folder / "aloha"
    (root / "meta/episodes/chunk-000").mkdir(parents=True)
    data = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
    videos = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
    (root / "meta/info.json").write_text(info("v3.0", n_clips, data, videos))
    n_in_first = (n_clips + 1) // 2
    rows = []
    levels = []
    for number in range(n_clips):
        file = int(number >= n_in_first)
        row = {
            "episode_index": number,
            "tasks": ["fold"],
            "length": N_FRAMES,
            "dataset_from_index": number * N_FRAMES,
            "dataset_to_index": (number + 1) * N_FRAMES,
            "data/chunk_index": 0,
            "data/file_index": file,
            "stats/action/mean": [0.0] * DIMS,
        }
        for key, lead in (("top", 0), ("wrist", 7)):
            prefix = f"videos/observation.images.{key}"
            first = number * N_FRAMES + lead
            row |= {
                f"{prefix}/chunk_index": 0,
                f"{prefix}/file_index": 0,
                f"{prefix}/from_timestamp": first / FPS,
                f"{prefix}/to_timestamp": (first + N_FRAMES) / FPS,
            }
        rows.append(row)
        levels += [40 + 5 * (number % 20) + k for k in range(N_FRAMES)]
    pq.write_table(pa.Table.from_pylist(rows), root / "meta/episodes/chunk-000/file-000.parquet")
    (root / "data/chunk-000").mkdir(parents=True)
    for file, numbers in ((0, range(n_in_first)), (1, range(n_in_first, n_clips))):
        if len(numbers):
            pq.write_table(
                pa.concat_tables([table(number) for number in numbers]),
                root / f"data/chunk-000/file-{file:03d}.parquet",
                row_group_size=50,
            )
    for key, lead in (("top", 0), ("wrist", 7)):
        path = root / f"videos/observation.images.{key}/chunk-000/file-000.mp4"
        video(path, [200] * lead + levels)
    return root
