"""Small recordings for the viewer: cameras with barcodes, an IMU, sound and a transcript."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import soundfile

from testkit.barcodes import write_barcodes
from testkit.json_lines import write_json_lines

START_NS = 1_767_225_600_000_000_000
RATE_HZ = 20
N_FRAMES = 60
# The timestamps of camera k begin this much later than those of camera 0.
APART_S = 0.007

TEXT_GRID = """File type = "ooTextFile"
Object class = "TextGrid"

0
3
<exists>
1
"IntervalTier"
"words"
0
3
3
0
1
""
1
1.5
"turn"
1.5
3
"left"
"""


def write_clip(
    folder: Path,
    *,
    n_cameras: int = 6,
    has_imu: bool = True,
    has_sound: bool = True,
    clip_id: str = "clip",
    changes: dict[str, object] | None = None,
) -> dict[str, object]:
    """Write the files of a 3 s clip and return its manifest row; `changes` replace sources."""
    folder.mkdir(parents=True, exist_ok=True)
    sources: dict[str, object] = {}
    if n_cameras and not (folder / "barcode.mp4").exists():
        write_barcodes(folder / "barcode.mp4", N_FRAMES, gop=12, rate=RATE_HZ)
    for k in range(n_cameras):
        stamps = START_NS + np.rint((np.arange(N_FRAMES) / RATE_HZ + k * APART_S) * 1e9).astype(int)
        write_stamps(folder / f"cam{k}.csv", stamps)
        sources[f"cam{k}"] = {
            "kind": "camera",
            "uri": f"{folder.name}/barcode.mp4",
            "timestamps": f"{folder.name}/cam{k}.csv",
        }
    if has_imu:
        write_imu(folder / "imu.csv")
        sources["imu"] = {"kind": "imu", "uri": f"{folder.name}/imu.csv"}
    if has_sound:
        times_s = np.arange(3 * 8000) / 8000
        sound = 0.3 * np.sin(2 * np.pi * 440 * times_s) * (times_s > 1.0)
        soundfile.write(folder / "mic.wav", sound, 8000)
        sources["mic"] = {"kind": "audio", "uri": f"{folder.name}/mic.wav", "start_ns": START_NS}
        (folder / "words.TextGrid").write_text(TEXT_GRID, encoding="utf-8")
        uri = f"{folder.name}/words.TextGrid"
        sources["words"] = {"kind": "transcript", "uri": uri, "audio": "mic"}
    sources.update(changes or {})
    return {
        "clip_id": clip_id,
        "start_ns": START_NS,
        "end_ns": START_NS + 3 * 10**9,
        "sources": {name: source for name, source in sources.items() if source is not None},
    }


def write_stamps(path: Path, stamps: np.ndarray) -> None:
    """Write a timestamp table."""
    path.write_text("timestamp_ns\n" + "".join(f"{x}\n" for x in stamps), encoding="utf-8")


def write_imu(path: Path, rate_hz: int = 100, seconds: float = 3.0) -> None:
    """Write an IMU that oscillates in rotation and is shaken twice."""
    times_s = np.arange(int(seconds * rate_hz)) / rate_hz
    turn = 0.3 * np.sin(2 * np.pi * 0.4 * times_s)
    shake = 9.8 + 12.0 * ((np.abs(times_s - 1.0) < 0.02) | (np.abs(times_s - 2.2) < 0.02))
    stamps = START_NS + np.rint(times_s * 1e9).astype(np.int64)
    lines = ["timestamp_ns,gyro_x,gyro_y,gyro_z,accel_x,accel_y,accel_z"]
    lines += [f"{t},0,0,{w:.5f},0,0,{a:.3f}" for t, w, a in zip(stamps, turn, shake, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_manifest(path: Path, *clips: dict[str, object]) -> str:
    """Write a manifest and return its path."""
    return write_json_lines(path, *clips)
