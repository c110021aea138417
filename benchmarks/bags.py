"""Measure the cost of a bag: 10 min, six cameras, IMU and CAN, 318,000 messages.

    python benchmarks/bags.py [--images] [--storage mcap|sqlite3|ros1]

Writes the bag into a temporary folder (not included in the measurement), imports it and audits the
timestamps of all its sources; prints the CPU seconds of this process.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
import tests_on_path  # noqa: F401  # before testkit
from mcap.writer import CompressionType

from syncaudit.datasets import load_manifest
from syncaudit.datasets.importing import import_dataset
from syncaudit.pipeline import audit
from testkit.bags.writing import (
    COMPRESSED,
    FRAME,
    IMU,
    Messages,
    Sent,
    arrivals,
    stamps,
    write_bag,
)

SPAN_S = 600
CAMERAS, CAMERA_HZ, IMU_HZ, CAN_HZ = 6, 30, 200, 150


def noise_jpeg() -> bytes:
    """Return a JPEG of about 10 kB, as from a camera with 480 lines at low quality."""
    noise = np.random.default_rng(0).integers(0, 256, (120, 160), dtype=np.uint8)
    return bytes(cv2.imencode(".jpg", noise)[1])


def sent(messages: Messages, frame: bytes):
    """Yield the messages in order of arrival; each kind's payload is built only once."""
    parts = []
    samples = [
        (f"/cam{k}/compressed", COMPRESSED, messages.compressed(0, frame), CAMERA_HZ)
        for k in range(CAMERAS)
    ]
    samples.append(("/imu", IMU, messages.imu(0, (0.1, 0.2, 0.3), (0.0, 0.0, 9.8)), IMU_HZ))
    samples.append(("/can", FRAME, messages.can(0, 291, bytes(8)), CAN_HZ))
    for seed, (topic, name, message, rate) in enumerate(samples):
        raw = messages.serialize(message, name)
        captured = stamps(SPAN_S * rate, float(rate), seed=seed)
        received = arrivals(captured, seed=seed)
        parts.append((captured, received, np.full(captured.size, seed)))
        samples[seed] = (topic, name, raw)
    captured, received, number = (np.concatenate(column) for column in zip(*parts, strict=True))
    at = 4
    for k in np.argsort(received, kind="stable").tolist():
        topic, name, raw = samples[number[k]]
        seconds, rest = divmod(int(captured[k]), 10**9)
        head = seconds.to_bytes(4, "little") + rest.to_bytes(4, "little")
        data = raw[:at] + head + raw[at + 8 :]
        yield Sent(topic, name, None, int(received[k]), raw=data)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", action="store_true", help="keep the images")
    parser.add_argument("--storage", default="mcap", choices=["mcap", "sqlite3", "ros1"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / {"mcap": "a.mcap", "sqlite3": "a", "ros1": "a.bag"}[options.storage]
        messages = Messages(is_ros1=options.storage == "ros1")
        # Not compressed: the images are all identical and would compress to almost nothing.
        plain = {"compression": CompressionType.NONE} if options.storage == "mcap" else {}
        write_bag(place, sent(messages, noise_jpeg()), messages, **plain)
        size = sum(f.stat().st_size for f in [place, *place.rglob("*")] if f.is_file())
        out = Path(folder) / "out" / "m.jsonl"
        start = time.process_time()
        import_dataset(str(place), out, rules={"stamps_only": not options.images})
        imported = time.process_time()
        clip = load_manifest(str(out))[0]
        if options.images:
            print(f"{options.storage}, {size / 1e6:.0f} MB: {imported - start:.2f} s CPU import")
            return
        verdict = audit(clip)
        done = time.process_time()
        n = sum(s.timing.samples for s in verdict.sources.values() if s.timing is not None)
        said = [f.message for f in (*verdict.reasons, *verdict.warnings)]
        print(f"{options.storage}, {size / 1e6:.0f} MB, {n} messages with header stamps:")
        print(
            f"  import {imported - start:.2f} s, audit {done - imported:.2f} s CPU, "
            f"together {done - start:.2f} s"
        )
        print(f"  verdict {verdict.verdict}; told: {said}")


if __name__ == "__main__":
    main()
