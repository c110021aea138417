"""One drive as a bag in every storage format."""

from __future__ import annotations

from pathlib import Path

from mcap.writer import CompressionType
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import CompressionFormat, CompressionMode

from syncaudit.datasets import load_manifest
from syncaudit.datasets.importing import import_dataset
from testkit.bags.writing import (
    COMPRESSED,
    FRAME,
    IMU,
    JOINTS,
    START_NS,
    Messages,
    Sent,
    arrivals,
    jpeg,
    pack,
    stamps,
    write_bag,
)

N_PICTURES, N_SAMPLES = 40, 400


def rig(messages: Messages) -> list[Sent]:
    """Return two seconds of a camera, an IMU, joints, a CAN bus and another topic."""
    cam, imu = stamps(N_PICTURES, 20.0), stamps(N_SAMPLES, 200.0, seed=1)
    cam_in, imu_in = arrivals(cam), arrivals(imu, seed=1)
    return pack(
        [
            Sent(
                "/cam/front/image_raw/compressed",
                COMPRESSED,
                messages.compressed(t, jpeg(4 * k)),
                r,
            )
            for k, (t, r) in enumerate(zip(cam.tolist(), cam_in.tolist(), strict=True))
        ],
        [
            Sent("/imu/data", IMU, messages.imu(t, (k, 2.0, 3.0), (0.0, -k, 9.81)), r)
            for k, (t, r) in enumerate(zip(imu.tolist(), imu_in.tolist(), strict=True))
        ],
        [
            Sent("/joint_states", JOINTS, messages.joints(t, ("hip", "knee"), (k, -k)), r)
            for k, (t, r) in enumerate(zip(imu.tolist(), imu_in.tolist(), strict=True))
        ],
        [
            Sent("/can", FRAME, messages.can(t, 291, (k).to_bytes(2, "little") + bytes(6)), r)
            for k, (t, r) in enumerate(zip(imu.tolist(), imu_in.tolist(), strict=True))
        ],
        [
            Sent(
                "/chatter",
                "std_msgs/msg/String",
                messages.make("std_msgs/msg/String", data="hi"),
                START_NS,
            )
        ],
    )


STORAGES = {
    "ros1": ("drive.bag", True, {}),
    "ros1_bz2": ("drive.bag", True, {"compression": Writer1.CompressionFormat.BZ2}),
    "ros1_lz4": ("drive.bag", True, {"compression": Writer1.CompressionFormat.LZ4}),
    "sqlite3": ("drive", False, {}),
    "sqlite3_v8": ("drive", False, {"version": 8}),
    "sqlite3_zstd_file": (
        "drive",
        False,
        {"compression": (CompressionMode.FILE, CompressionFormat.ZSTD)},
    ),
    "sqlite3_zstd_message": (
        "drive",
        False,
        {"compression": (CompressionMode.MESSAGE, CompressionFormat.ZSTD)},
    ),
    "rosbag2_mcap": ("drive", False, {"storage": "mcap"}),
    "mcap_zstd": ("drive.mcap", False, {"chunk_size": 1 << 13}),
    "mcap_lz4": ("drive.mcap", False, {"compression": CompressionType.LZ4}),
    "mcap_plain": ("drive.mcap", False, {"use_chunking": False}),
    "mcap_ros1": ("drive.mcap", True, {}),
}


def write_rig(folder: Path, name: str) -> Path:
    """Write the drive in one of `STORAGES`."""
    place, is_ros1, options = STORAGES[name]
    messages = Messages(is_ros1=is_ros1)
    folder.mkdir(exist_ok=True)
    return write_bag(folder / place, rig(messages), messages, **options)


def take_in(source: Path, out: Path, **rules):
    """Import a bag with these rules; return the import result and the clips."""
    done = import_dataset(str(source), out / "m.jsonl", rules=rules)
    return done, load_manifest(str(out / "m.jsonl"))
