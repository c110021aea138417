"""WebDataset shards, written by the library itself."""

from __future__ import annotations

import io
import wave
from pathlib import Path

import pytest

PER_SHARD = 40


def sound(n_samples: int = 800) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(2 * n_samples))
    return buffer.getvalue()


def imu(number: int) -> bytes:
    rows = "".join(f"{10**18 + number * 10**9 + k * 10**7},0,0,{number}\n" for k in range(4))
    return ("timestamp_ns,gyro_x,gyro_y,gyro_z\n" + rows).encode()


def write_webdataset(folder: Path, n_clips: int) -> Path:
    webdataset = pytest.importorskip("webdataset")
    root = folder / "shards"
    root.mkdir(parents=True)
    wav = sound()
    for begin in range(0, n_clips, PER_SHARD):
        path = root / f"train-{begin // PER_SHARD:06d}.tar"
        with webdataset.TarWriter(str(path)) as writer:
            for number in range(begin, min(begin + PER_SHARD, n_clips)):
                writer.write(
                    {
                        "__key__": f"drive/{number:06d}",
                        "cam_front.mp4": b"not looked at",
                        "cam_front.csv": b"timestamp_ns\n1\n2\n",
                        "imu.csv": imu(number),
                        "wav": wav,
                        "txt": b"a caption",
                        "json": {"recording_id": "drive", "label": 3},
                    }
                )
    return root
