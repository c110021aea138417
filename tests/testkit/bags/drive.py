"""A sample clip with known truth as messages of a bag, with faults injected."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import cv2
import numpy as np

from syncaudit.datasets import load_manifest
from syncaudit.decode import iter_luma
from syncaudit.pipeline import read_clip
from testkit.bags.writing import COMPRESSED, FRAME, IMU, Messages, Sent, arrivals, pack
from testkit.places import SAMPLE_DATA

SAMPLE = SAMPLE_DATA / "good"
CAMERAS = tuple(
    f"cam_{name}"
    for name in ("front", "front_left", "front_right", "rear", "rear_left", "rear_right")
)


@cache
def _recorded() -> tuple[Any, Mapping[str, Any]]:
    clip = load_manifest(str(SAMPLE / "manifest.jsonl"))[0]
    return clip, read_clip(clip).streams


@cache
def _pictures(camera: str) -> tuple[bytes, ...]:
    stream = _recorded()[1][camera]
    return tuple(
        bytes(cv2.imencode(".jpg", frame.luma, [cv2.IMWRITE_JPEG_QUALITY, 92])[1])
        for frame in iter_luma(stream.files)
    )


def rules() -> dict[str, Any]:
    """Return what a bag does not hold: the camera geometry and the CAN description."""
    clip = _recorded()[0]
    keys = ("line_delay_s", "exposure_s", "focal_px")
    return {
        "sources": {
            name: {key: getattr(clip.sources[name], key) for key in keys} for name in CAMERAS
        },
        "dbc": str(SAMPLE / clip.sources["can"].dbc),
        "signals": dict(clip.sources["can"].signals),
    }


def drive(
    messages: Messages,
    cameras: tuple[str, ...] = CAMERAS,
    *,
    late_ns: Mapping[str, int] | None = None,
) -> list[Sent]:
    """Return the messages of the sample.

    Parameters
    ----------
    messages : Messages
        ROS generation.
    cameras : tuple of str
        Cameras to include.
    late_ns : mapping of str to int, optional
        How much older than its timestamp the content of each camera's frames is; timestamps and
        arrival times themselves are correct.
    """
    late_ns = late_ns or {}
    _, streams = _recorded()
    parts = []
    for seed, name in enumerate(cameras):
        captured = streams[name].time_ns + late_ns.get(name, 0)
        received = arrivals(captured, seed=seed)
        parts.append(
            [
                Sent(f"/{name}/image_raw/compressed", COMPRESSED, messages.compressed(t, data), r)
                for t, r, data in zip(
                    captured.tolist(), received.tolist(), _pictures(name), strict=True
                )
            ]
        )
    imu = streams["imu"]
    received = arrivals(imu.time_ns, seed=10, floor_s=0.001, mean_s=2e-4)
    parts.append(
        [
            Sent("/imu/data", IMU, messages.imu(t, gyro, accel), r)
            for t, r, gyro, accel in zip(
                imu.time_ns.tolist(),
                received.tolist(),
                imu.channel("gyro").values,
                imu.channel("accel").values,
                strict=True,
            )
        ]
    )
    stamps, frames = bus_frames()
    received = arrivals(stamps, seed=11, floor_s=5e-4, mean_s=2e-4)
    parts.append(
        [
            Sent("/can/received", FRAME, messages.can(t, number, data), r)
            for t, r, (number, data) in zip(stamps.tolist(), received.tolist(), frames, strict=True)
        ]
    )
    return pack(*parts)


@cache
def bus_frames() -> tuple[np.ndarray, list[tuple[int, bytes]]]:
    """Return the timestamps and (identifier, data) of every frame in the sample's bus log."""
    text = (SAMPLE / "can.log").read_text()
    found = re.findall(r"\((\d+)\.(\d+)\) \S+ ([0-9A-F]+)#([0-9A-F]*)", text)
    stamps = [int(s) * 10**9 + int(f.ljust(9, "0")) for s, f, _, _ in found]
    frames = [(int(number, 16), bytes.fromhex(data)) for _, _, number, data in found]
    return np.array(stamps), frames
