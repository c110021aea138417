"""The timestamps of every recording of ../shared/realdata: whole, and cut into windows.

All of them count as true: the content, the hardware or the origin of the recording confirms each to
within its limit (README of that folder).
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from recordings import (
    EPOCH_NS,
    REALDATA,
    drive_clip,
    gimbal_clip,
    gopro_samples,
    mocap_clip,
    phone_clip,
    pose_clip,
    two_imus_clip,
)

from syncaudit.model import Clip, Stream
from syncaudit.pipeline.reading import read_clip

WINDOWS_S = (5.0, 10.0, 20.0)
MIN_STAMPS = 12


def real_columns() -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    """Yield (name, kind, timestamps) of every column, whole and cut into windows."""
    for name, kind, stamps in _whole():
        yield name, kind, stamps
        since_s = (stamps - stamps[0]) * 1e-9
        for length_s in WINDOWS_S:
            for k in range(int(since_s[-1] // length_s)):
                cut = stamps[(since_s >= k * length_s) & (since_s < (k + 1) * length_s)]
                if cut.size >= MIN_STAMPS:
                    yield f"{name}, {length_s:.0f} s", kind, cut


def _whole() -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    with tempfile.TemporaryDirectory() as folder:
        clips = {
            "phone_gyro": phone_clip(Path(folder) / "phone"),
            "two_imus": two_imus_clip(Path(folder) / "two")[0],
            "imu_mocap": mocap_clip(Path(folder) / "mocap"),
            "drive_can_imu": drive_clip(),
            "drive_can_imu pose": pose_clip(Path(folder) / "pose"),
            "drone_gimbal": gimbal_clip(Path(folder) / "gimbal"),
        }
        for name, clip in clips.items():
            for source, stream in _streams(clip).items():
                yield from _columns(f"{name} {source}", stream)
    yield "phone_gyro whole", "imu", _column(REALDATA / "phone_gyro" / "imu_72s.csv")
    for path in sorted((REALDATA / "drive_can_imu").glob("*.csv")):
        if path.name != "imu.csv":
            yield f"drive_can_imu {path.name}", "can", _column(path)
    yield from _videos()
    yield from _episodes()
    yield from _racebox()


def _streams(clip: Clip) -> dict[str, Stream]:
    return dict(read_clip(clip).streams)


def _columns(name: str, stream: Stream) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    channels = getattr(stream, "channels", ())
    if str(stream.kind) == "can" and channels:
        for channel in channels:
            yield f"{name} {channel.name}", "can", channel.time_ns
    elif stream.time_ns.size > 2:
        yield name, str(stream.kind), stream.time_ns


def _column(path: Path) -> NDArray[np.int64]:
    with path.open(encoding="utf-8", newline="") as file:
        return np.array([int(row["timestamp_ns"]) for row in csv.DictReader(file)], dtype=np.int64)


def _nanos(seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    return EPOCH_NS + np.rint(seconds * 1e9).astype(np.int64)


def _videos() -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    import av

    paths = [
        *sorted((REALDATA / "fixed_cameras").glob("*.mp4")),
        *sorted((REALDATA / "hero8_racebox").glob("*.mp4")),
        *sorted((REALDATA / "lerobot_g1").glob("videos/**/*.mp4")),
    ]
    for path in paths:
        with av.open(str(path)) as container:
            (video,) = container.streams.video[:1]
            base = float(video.time_base or 1)
            pts = [p.pts * base for p in container.demux(video) if p.pts is not None]
        yield f"{path.parents[0].name} {path.stem}", "camera", _nanos(np.sort(pts))


def _episodes() -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    import pyarrow.parquet as pq

    for path in sorted((REALDATA / "lerobot_g1" / "data").glob("**/*.parquet")):
        times = pq.read_table(path, columns=["timestamp"])["timestamp"].to_numpy()
        yield f"lerobot_g1 {path.stem}", "state", _nanos(times.astype(np.float64))


def _racebox() -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    folder = REALDATA / "hero8_racebox"
    with (folder / "racebox.csv").open(encoding="utf-8", newline="") as file:
        times = np.array([float(row["Time"]) for row in csv.DictReader(file)])
    yield "hero8_racebox log", "imu", _nanos(times)
    for path in sorted(folder.glob("*.mp4")):
        yield "hero8_racebox gyro", "imu", _nanos(gopro_samples(path)[0])
