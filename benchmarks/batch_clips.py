"""Manifests of many small clips, cut from the recordings of ``sample_data`` by hard links."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parents[1] / "sample_data"
START_NS = 1_767_225_600_000_000_000
SPAN_S = 2.0
SIGNALS = {"speed": "Speed", "yaw_rate": "YawRate"}


def _cut(text: str, at_s: float) -> list[str]:
    """Return the header and the rows of a few seconds of a table."""
    head, *rows = text.splitlines()
    begin = START_NS + round(at_s * 1e9)
    end = begin + round(SPAN_S * 1e9)
    return [head, *[row for row in rows if begin <= int(row.split(",", 1)[0]) < end]]


def _with_gap(lines: list[str]) -> list[str]:
    return lines[:40] + lines[110:]


def _with_nan(lines: list[str]) -> list[str]:
    stamp, _, rest = lines[60].partition(",")
    return [*lines[:60], f"{stamp},nan,{rest.partition(',')[2]}", *lines[61:]]


# What is done to the IMU's table; the IMU of the recording imu_shifted is off by 39 ms.
_KINDS: Mapping[str, tuple[str, Callable[[list[str]], list[str]] | None]] = {
    "good": ("cam_rear_early", lambda lines: lines),
    "shifted": ("imu_shifted", lambda lines: lines),
    "gap": ("cam_rear_early", _with_gap),
    "nan": ("cam_rear_early", _with_nan),
    "missing": ("cam_rear_early", None),
}


def link_clips(folder: Path, n_clips: int, *, per_recording: int = 3) -> Path:
    """Write `n_clips` clips of an IMU and a bus, 2 s long, and return their manifest.

    There are 45 different ones: five kinds (flawless, shifted by 39 ms, with a gap, with a NaN,
    with a missing file) at nine times each.
    """
    templates = []
    for moment in range(9):
        for kind, (sample, change) in _KINDS.items():
            place = folder / "templates" / f"{kind}{moment}"
            place.mkdir(parents=True)
            for name in ("imu", "can"):
                lines = _cut((SAMPLES / sample / f"{name}.csv").read_text(), 2.0 + moment)
                if name == "imu" and change is not None:
                    lines = change(lines)
                if name == "can" or change is not None:
                    (place / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
            templates.append(place)

    def rows() -> Iterator[Mapping[str, Any]]:
        for k in range(n_clips):
            recording = f"r{k // per_recording:05d}"
            place = folder / "clips" / f"{k:05d}"
            place.mkdir(parents=True)
            for file in templates[k % len(templates)].iterdir():
                os.link(file, place / file.name)
            yield {
                "clip_id": f"{recording}/{k:05d}",
                "recording_id": recording,
                "sources": {
                    "imu": {"kind": "imu", "uri": f"clips/{k:05d}/imu.csv"},
                    "can": {"kind": "can", "uri": f"clips/{k:05d}/can.csv", "signals": SIGNALS},
                },
            }

    return write_rows(folder / "manifest.jsonl", rows())


def video_clips(folder: Path, n_clips: int) -> Path:
    """Write a manifest of 5 s windows of one recording: a camera, the IMU and the bus."""
    sample = SAMPLES / "good"
    sources = json.loads((sample / "manifest.jsonl").read_text(encoding="utf-8"))["sources"]
    for name in ("cam_front.mp4", "cam_front.csv", "imu.csv", "can.log", "vehicle.dbc"):
        shutil.copy(sample / name, folder / name)
    picked = {name: sources[name] for name in ("cam_front", "imu", "can")}
    step_ns = round(15e9 / n_clips)
    rows = (
        {
            "clip_id": f"window{k:04d}",
            "start_ns": START_NS + k * step_ns,
            "end_ns": START_NS + k * step_ns + 5_000_000_000,
            "sources": picked,
        }
        for k in range(n_clips)
    )
    return write_rows(folder / "manifest.jsonl", rows)


def one_clip(folder: Path) -> Mapping[str, Any]:
    """Return the manifest row of a template, for damage to rows."""
    row: Mapping[str, Any] = json.loads((folder / "manifest.jsonl").read_text().splitlines()[0])
    return row


def write_rows(path: Path, rows: Iterator[Mapping[str, Any]]) -> Path:
    """Write manifest rows as JSON Lines."""
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")
    return path
