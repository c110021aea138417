"""Failures of the machine: no verdict depends on them, and none is cached."""

from __future__ import annotations

import errno
import json
import os
import socket
from pathlib import Path
from typing import ClassVar
from unittest import mock

import fsspec
import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from syncaudit.batch import run_batch, task
from syncaudit.datasets import load_manifest
from syncaudit.errors import StreamReadError
from syncaudit.machine_faults import machine_fault
from syncaudit.policy import load_policy
from testkit import fake_audits
from testkit.fake_audits import POLICY, make_clip
from testkit.json_lines import read_verdicts

MACHINE = (
    *("ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "ENOMEM", "EACCES", "EPERM", "EIO", "ESTALE"),
    *("ETIMEDOUT", "ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "EROFS"),
)
START_NS = 1_767_225_600_000_000_000


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(task.time, "sleep", lambda _: None)


class ServerError(Exception):
    """Stand-in for an exception of storage packages."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


class FSTimeoutError(Exception):
    """Stand-in for an exception recognised by its name."""


def raising(error: BaseException, *, is_worded: bool):
    def audit(clip, policy, *, calibration=None):
        if not is_worded:
            raise error
        try:
            raise error
        except Exception as cause:
            raise StreamReadError("cannot be read", path="imu.csv") from cause

    return audit


@pytest.mark.parametrize("is_worded", [True, False])
@pytest.mark.parametrize(
    "error",
    [
        *(OSError(getattr(errno, name), os.strerror(getattr(errno, name))) for name in MACHINE),
        *(ServerError(status) for status in (401, 403, 408, 429, 500, 503, 504)),
        TimeoutError(),
        ConnectionError(),
        FSTimeoutError(),
        MemoryError(),
        socket.gaierror(-3, "Temporary failure in name resolution"),
        FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']"),
    ],
    ids=repr,
)
def test_the_machine_is_to_blame(tmp_path, error, is_worded):
    clips = [make_clip("pass1")]
    run_batch(clips, POLICY, out=tmp_path, workers=0, audit=raising(error, is_worded=is_worded))
    (row,) = read_verdicts(tmp_path)
    assert (row["verdict"], row["fingerprint"]) == ("unverified", None)
    (reason,) = row["reasons"]
    assert reason["code"] == "unreadable"
    assert "nothing can be said of this clip" in reason["message"]
    assert "run it again" in reason["message"]
    assert not (tmp_path / "errors.log").exists()
    # Once the failure is fixed, it is measured again.
    summary = run_batch(clips, POLICY, out=tmp_path, workers=0, audit=fake_audits.audit)
    assert (summary.reused, summary.counts["pass"]) == (0, 1)


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(errno.ENOENT, "No such file"),
        IsADirectoryError(errno.EISDIR, "Is a directory"),
        ServerError(404),
        ValueError("bad header"),
        OSError(errno.EINVAL, "Invalid argument"),
    ],
    ids=repr,
)
def test_the_data_are_to_blame(tmp_path, error):
    audit = raising(error, is_worded=True)
    run_batch([make_clip("pass1")], POLICY, out=tmp_path, workers=0, audit=audit)
    assert read_verdicts(tmp_path)[0]["verdict"] == "reject"


def test_a_file_that_asks_for_more_than_the_machine_has_is_to_blame():
    with pytest.raises(MemoryError) as caught:
        np.empty(1 << 50, np.float64)
    assert machine_fault(caught.value) is None


def test_it_is_tried_again_with_longer_and_longer_waits(tmp_path, monkeypatch):
    waits, errors = [], [OSError(errno.EIO, "I/O error"), ServerError(503)]
    monkeypatch.setattr(task.time, "sleep", waits.append)

    def audit(clip, policy, *, calibration=None):
        if errors:
            raise errors.pop()
        return fake_audits.audit(clip, policy)

    summary = run_batch([make_clip("pass1")], POLICY, out=tmp_path, workers=0, audit=audit)
    assert summary.counts["pass"] == 1
    assert waits == sorted(waits)
    assert len(waits) == 2


def write_imu(path: Path) -> None:
    rows = [f"{START_NS + k * 10_000_000},0.1,0,0,0,0,9.8" for k in range(300)]
    names = "timestamp_ns,gyro_x,gyro_y,gyro_z,accel_x,accel_y,accel_z"
    path.write_text("\n".join([names, *rows]) + "\n")


def audit_really(folder: Path, sources: dict) -> dict:
    row = {"clip_id": "a", "sources": sources}
    (folder / "manifest.jsonl").write_text(json.dumps(row) + "\n")
    clips = load_manifest(str(folder / "manifest.jsonl"))
    run_batch(clips, load_policy(), out=folder / "out", workers=0)
    return read_verdicts(folder / "out")[0]


class _BusyStore(MemoryFileSystem):
    """A store that answers with status 503 while it is busy."""

    protocol = "busy"
    store: ClassVar[dict] = {}
    is_busy = True

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.replace("busy://", "memory://"))

    def _open(self, path, *args, **kwargs):
        if type(self).is_busy:
            raise ServerError(503)
        return super()._open(path, *args, **kwargs)


@pytest.fixture
def store(tmp_path, monkeypatch):
    fsspec.register_implementation("busy", _BusyStore, clobber=True)
    monkeypatch.setenv("SYNCAUDIT_PROTOCOLS", "busy")
    monkeypatch.setattr(_BusyStore, "is_busy", False)
    write_imu(tmp_path / "imu.csv")
    _BusyStore().pipe("/imu.csv", (tmp_path / "imu.csv").read_bytes())
    return {"imu": {"kind": "imu", "uri": "busy://imu.csv"}}


def test_a_busy_store_is_not_the_clips_fault(store, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(_BusyStore, "is_busy", True)
        row = audit_really(tmp_path, store)
    assert (row["verdict"], row["fingerprint"]) == ("unverified", None)
    assert "the server answers with status 503" in row["reasons"][0]["message"]
    assert audit_really(tmp_path, store)["reasons"][0]["code"] == "unobservable"


def test_a_full_temporary_folder_is_not_the_clips_fault(store, tmp_path, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("shutil.copyfileobj", "tempfile.TemporaryDirectory"):
        with monkeypatch.context() as patched:
            patched.setattr(f"syncaudit.readers.uris.{name}", full)
            sound = {"kind": "audio", "uri": "busy://imu.csv", "start_ns": START_NS}
            row = audit_really(tmp_path, store | {"mic": sound})
        assert (row["verdict"], row["fingerprint"]) == ("unverified", None)
        assert "no space left on device" in row["reasons"][0]["message"]
    assert audit_really(tmp_path, store)["reasons"][0]["code"] == "unobservable"


@pytest.mark.parametrize("suffix", ["csv", "parquet", "wav", "mp4", "png"])
def test_a_file_that_may_not_be_read_is_not_the_clips_fault(tmp_path, suffix):
    """Root may read everything, so opening is made to fail."""
    write_imu(tmp_path / "imu.csv")
    (tmp_path / f"bad.{suffix}").write_bytes(b"x" * 4096)
    kind = {"wav": "audio", "mp4": "camera", "png": "camera"}.get(suffix, "imu")
    spec = {"kind": kind, "uri": f"bad.{suffix}"}
    if kind in ("audio", "camera"):
        spec["start_ns"] = START_NS
    sources = {"imu": {"kind": "imu", "uri": "imu.csv"}, "bad": spec}
    real = Path.open

    def refused(self, *args, **kwargs):
        if self.name.startswith("bad."):
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        return real(self, *args, **kwargs)

    with mock.patch.object(Path, "open", refused):
        row = audit_really(tmp_path, sources)
    assert (row["verdict"], row["fingerprint"]) == ("unverified", None)
    assert "permission denied" in row["reasons"][0]["message"]
    assert audit_really(tmp_path, sources)["verdict"] == "reject"
