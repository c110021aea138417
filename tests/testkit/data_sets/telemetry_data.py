"""A memory card of an action camera, with the log of a car logger beside its videos."""

from __future__ import annotations

from pathlib import Path

from testkit.data_sets.logger_data import RACEBOX
from testkit.gopro_video import gyro_payloads, write_gopro


def write_telemetry(folder: Path, n_clips: int) -> Path:
    """Write half-second videos with an embedded gyroscope track."""
    root = folder / "card"
    for number in range(1, n_clips + 1):
        write_gopro(root / f"DCIM/100GOPRO/GX01{number:04d}.MP4", gyro_payloads(2), n_frames=15)
    (root / "DCIM/100GOPRO/racebox.csv").write_text(RACEBOX)
    return root
