"""Small bags, written by each format's own library."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from testkit.bags.writing import (
    COMPRESSED,
    IMU,
    Messages,
    Sent,
    arrivals,
    jpeg,
    pack,
    stamps,
    write_bag,
)


@cache
def _drive(*, is_ros1: bool) -> tuple[Messages, list[Sent]]:
    messages = Messages(is_ros1=is_ros1)
    captured = stamps(12, 20.0)
    times = list(zip(captured.tolist(), arrivals(captured).tolist(), strict=True))
    frame = jpeg(90)
    return messages, pack(
        [Sent("/cam/compressed", COMPRESSED, messages.compressed(t, frame), r) for t, r in times],
        [Sent("/imu", IMU, messages.imu(t, (1, 2, 3), (0, 0, 9)), r) for t, r in times],
    )


def write_rosbags(folder: Path, n_clips: int) -> Path:
    """Write ROS 1 bags and rosbag2 folders alternately."""
    root = folder / "bags"
    root.mkdir(parents=True)
    for number in range(n_clips):
        messages, sent = _drive(is_ros1=number % 2 == 0)
        name = f"drive_a{number:04d}" + (".bag" if messages.is_ros1 else "")
        write_bag(root / name, sent, messages)
    return root


def write_mcaps(folder: Path, n_clips: int) -> Path:
    """Write MCAP files."""
    root = folder / "recordings"
    root.mkdir(parents=True)
    messages, sent = _drive(is_ros1=False)
    for number in range(n_clips):
        write_bag(root / f"drive_a{number:04d}.mcap", sent, messages)
    return root
