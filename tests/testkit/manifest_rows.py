"""Rows of manifests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from syncaudit.datasets import load_manifest
from syncaudit.model import Clip
from testkit.json_lines import write_json_lines

# The example in formats.md, section 2.
CONTRACT: dict[str, Any] = {
    "clip_id": "drive07/000123",
    "recording_id": "drive07",
    "start_ns": 1767225600000000000,
    "end_ns": 1767225620000000000,
    "reference": "imu",
    "sources": {
        "cam_front": {
            "kind": "camera",
            "uri": "cam_front.mp4",
            "timestamps": "cam_front.csv",
            "stamp_at": "mid_exposure_mid_row",
            "line_delay_s": 2.5e-5,
            "exposure_s": 0.008,
        },
        "imu": {"kind": "imu", "uri": "imu.csv"},
        "can": {
            "kind": "can",
            "uri": "can.log",
            "dbc": "vehicle.dbc",
            "signals": {
                "speed": "Speed",
                "yaw_rate": "YawRate",
                "steering_angle": "SteeringWheelAngle",
                "brake": "BrakePressure",
                "strobe": "StrobeCount",
            },
        },
        "mic": {"kind": "audio", "uri": "mic.wav", "start_ns": 1767225600000000000},
        "phones": {
            "kind": "transcript",
            "uri": "mic.TextGrid",
            "tier": "phones",
            "audio": "mic",
        },
        "trigger": {"kind": "events", "uri": "trigger.csv"},
    },
}


def imu_row(**keys: Any) -> dict[str, Any]:
    """Return a row with one IMU and these keys."""
    return {"clip_id": "a", "sources": {"imu": {"kind": "imu", "uri": "imu.csv"}}, **keys}


def with_source(**spec: Any) -> dict[str, Any]:
    """Return a row with a single source `x`."""
    return imu_row(sources={"x": spec})


def clip_of_row(folder: Path, row: dict[str, Any]) -> Clip:
    """Write a manifest of one row into the folder of its files and read it back."""
    (clip,) = load_manifest(write_json_lines(folder / "m.jsonl", row))
    return clip
