"""Clips that are meant to crash an audit, with the real pipeline and a real limit."""

import ctypes
import json
import os
import struct
from pathlib import Path

import pytest

from syncaudit.batch import run_batch
from syncaudit.datasets import load_manifest
from syncaudit.pipeline import audit
from syncaudit.policy import load_policy

START_NS = 1_767_225_600_000_000_000
LIMIT = "512M"


def crashing_audit(clip, policy, *, calibration=None):
    """Audit, simulating a decoder that crashes."""
    if "segfault" in clip.clip_id:
        ctypes.string_at(0)
    return audit(clip, policy, calibration=calibration)


def endless_sound(path: Path) -> None:
    """Write a sparse WAV of 40 GB that takes no disk space."""
    size = 40 << 30
    head = b"RF64" + struct.pack("<I", 2**32 - 1) + b"WAVE"
    head += b"ds64" + struct.pack("<IQQQI", 28, size, size, size // 2, 0)
    head += b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16)
    path.write_bytes(head + b"data" + struct.pack("<I", 2**32 - 1))
    os.truncate(path, size)


def healthy_table(path: Path) -> None:
    rows = [f"{START_NS + k * 10_000_000},0.1,0,0,0,0,9.8" for k in range(300)]
    names = "timestamp_ns,gyro_x,gyro_y,gyro_z,accel_x,accel_y,accel_z"
    path.write_text("\n".join([names, *rows]) + "\n")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("poison")
    healthy_table(folder / "imu.csv")
    endless_sound(folder / "mic.wav")
    os.mkfifo(folder / "pipe.csv")
    imu = {"kind": "imu", "uri": "imu.csv"}
    mic = {"kind": "audio", "uri": "mic.wav", "start_ns": START_NS}
    clips = {
        "first": {"imu": imu},
        "sound": {"imu": imu, "mic": mic},
        "segfault": {"imu": imu},
        "pipe": {"imu": {"kind": "imu", "uri": "pipe.csv"}},
        "last": {"imu": imu},
    }
    lines = [json.dumps({"clip_id": name, "sources": s}) + "\n" for name, s in clips.items()]
    (folder / "manifest.jsonl").write_text("".join(lines))
    run_batch(
        load_manifest(str(folder / "manifest.jsonl")),
        load_policy(None),
        out=folder / "out",
        workers=1,
        timeout_s=60.0,
        memory_limit=LIMIT,
        audit=crashing_audit,
    )
    text = (folder / "out" / "verdicts.jsonl").read_text()
    return {row["clip_id"]: row for row in map(json.loads, text.splitlines())}


def test_the_other_clips_get_the_verdict_that_they_deserve(rows):
    assert list(rows) == ["first", "sound", "segfault", "pipe", "last"]
    for name in ("first", "last"):
        assert [reason["code"] for reason in rows[name]["reasons"]] == ["unobservable"]


def test_a_clip_that_takes_too_much_memory_is_told_so(rows):
    (reason,) = rows["sound"]["reasons"]
    assert reason["code"] == "unreadable"
    assert "more memory than its limit of 512 MiB while reading source 'mic'" in reason["message"]
    assert "--memory-limit" in reason["message"]
    assert rows["sound"]["fingerprint"] is None  # another limit may be enough: never cached


def test_a_decoder_that_crashes_is_named_by_its_signal(rows):
    (reason,) = rows["segfault"]["reasons"]
    assert reason["code"] == "unreadable"
    assert "SIGSEGV" in reason["message"]


def test_a_pipe_instead_of_a_file_is_not_waited_for(rows):
    (reason,) = rows["pipe"]["reasons"]
    assert reason["code"] == "unreadable"
    assert "not a regular file" in reason["message"]
