"""Bags of timestamps only, in which functions alter the timestamps of one camera."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from syncaudit.datasets import load_manifest
from syncaudit.datasets.importing import import_dataset
from syncaudit.model import ClipVerdict
from syncaudit.pipeline import audit
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

SPAN_S, CAMERA_HZ, IMU_HZ = 30.0, 20.0, 100.0
BAD = "/cam2/image_raw/compressed"


def stamped(
    tmp_path: Path,
    *,
    capture: Callable[[np.ndarray], np.ndarray] | None = None,
    receive: Callable[[np.ndarray], np.ndarray] | None = None,
    publish: Callable[[np.ndarray], np.ndarray] | None = None,
    keep: Callable[[int], np.ndarray] | None = None,
    everyone: bool = False,
    seed: int = 0,
) -> ClipVerdict:
    """Audit the timestamps of six cameras and an IMU, with those of camera 2 altered."""
    messages = Messages(is_ros1=False)
    frame, parts = jpeg(90, width=16, height=16), []
    topics = [(f"/cam{k}/image_raw/compressed", CAMERA_HZ) for k in range(6)]
    for number, (topic, rate) in enumerate([*topics, ("/imu/data", IMU_HZ)]):
        times = stamps(int(SPAN_S * rate), rate, seed=seed + number)
        received = arrivals(times, seed=seed + number)
        sent = received - 1_000_000
        if topic == BAD or everyone:
            received = receive(received) if receive else received
            sent = publish(received) if publish else sent
            times = capture(times) if capture else times
        columns = np.stack([times, received, sent], axis=1)
        if topic == BAD and keep:
            columns = columns[keep(len(columns))]
        is_imu = topic == "/imu/data"
        name = IMU if is_imu else COMPRESSED
        message = (
            messages.imu(0, (0, 0, 0), (0, 0, 9.8)) if is_imu else messages.compressed(0, frame)
        )
        raw = messages.serialize(message, name)
        parts.append(
            [
                Sent(topic, name, None, r, publish_ns=p, raw=with_stamp(raw, t))
                for t, r, p in columns.tolist()
            ]
        )
    write_bag(tmp_path / "a.mcap", pack(*parts), messages)
    return judged(tmp_path / "a.mcap", tmp_path, stamps_only=True)


def with_stamp(raw: bytes, stamp_ns: int) -> bytes:
    seconds, rest = divmod(stamp_ns, 10**9)
    return raw[:4] + seconds.to_bytes(4, "little") + rest.to_bytes(4, "little") + raw[12:]


def judged(source: Path, tmp_path: Path, **choices: object) -> ClipVerdict:
    out = tmp_path / "out" / "m.jsonl"
    import_dataset(str(source), out, rules=choices)
    return audit(load_manifest(str(out))[0])


def told(verdict: ClipVerdict) -> dict[tuple[str, str], float | None]:
    """Return the findings as (source, code) to value, without those that are unobservable."""
    return {
        (str(finding.source), str(finding.code)): finding.value
        for finding in (*verdict.reasons, *verdict.warnings)
        if finding.code != "unobservable"
    }
