"""A plain folder of clips, as a logger leaves it."""

from __future__ import annotations

import wave
from pathlib import Path

DBC = (
    'VERSION ""\nBU_: ECU\nBO_ 291 Motion: 8 ECU\n'
    ' SG_ YawRate : 0|16@1- (0.01,0) [-300|300] "deg/s" ECU\n'
)


def write_plain_folder(folder: Path, n_clips: int) -> Path:
    """Write subfolders with a camera, an IMU, a CAN log, a microphone and a transcript."""
    root = folder / "drives"
    for number in range(n_clips):
        clip = root / f"clip_{number:06d}"
        clip.mkdir(parents=True)
        start_ns = 1_767_225_600_000_000_000 + number * 10**10
        (clip / "cam_front.mp4").write_bytes(b"not looked at")
        stamps = "".join(f"{start_ns + k * 10**8}\n" for k in range(3))
        (clip / "cam_front.csv").write_text("timestamp_ns\n" + stamps)
        (clip / "imu.csv").write_text(
            "timestamp_ns,gyro_x,gyro_y,gyro_z\n"
            + "".join(f"{start_ns + k * 10**7},0.1,0.2,0.{k}\n" for k in range(5))
        )
        (clip / "can.log").write_text(f"({start_ns // 10**9}.000000) can0 123#0100000000000000\n")
        with wave.open(str(clip / "mic.wav"), "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(8000)
            sound.writeframes(bytes(160))
        (clip / "mic.TextGrid").write_text("")
        (clip / "notes.txt").write_text("ignored")
    (root / "vehicle.dbc").write_text(DBC)
    return root
