"""Hostile input and starved machines cause a clear message and an exit code."""

from __future__ import annotations

import errno
import json
import os
import re
import sqlite3
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
import soundfile

from syncaudit.cli.app import run, worded_system_error
from syncaudit.cli.rooted import tell_outside
from syncaudit.datasets import formats
from syncaudit.errors import SyncAuditError
from syncaudit.model import Clip, ImuSpec
from syncaudit.readers.access import Roots

CANARY = "WORDS-17c3"


def write_clip(folder: Path, imu: str, **source: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    row = {"clip_id": "a", "sources": {"imu": {"kind": "imu", "uri": imu} | source}}
    (folder / "manifest.jsonl").write_text(json.dumps(row))
    return folder / "manifest.jsonl"


def said(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    return captured.out + captured.err


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (errno.EACCES, 2, "Check its permissions"),
        (errno.EISDIR, 2, "Name a file"),
        (errno.EFBIG, 3, "limit on file sizes"),
        (errno.ENOSPC, 3, "make room"),
        (errno.EROFS, 3, "choose a place that can be written to"),
        (errno.EMFILE, 3, "open files"),
    ],
)
def test_system_errors_name_place_and_cure(number, code, words):
    sentence, exit_code = worded_system_error(OSError(number, os.strerror(number), "/data/x"))
    assert sentence.startswith("/data/x: ")
    assert words in sentence
    assert exit_code == code


def test_other_errors_are_no_system_errors():
    assert worded_system_error(KeyError("a")) is None
    assert worded_system_error(OSError("no number")) is None


def test_a_folder_in_place_of_a_policy_is_told(tmp_path, capsys):
    manifest = write_clip(tmp_path, "imu.csv")
    argv = ["validate", str(manifest), "--out", str(tmp_path / "out"), "--policy", str(tmp_path)]
    assert run(argv) == 2
    assert "defect" not in said(capsys)


def test_the_log_of_a_defect_has_a_name_that_nobody_foresees(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("syncaudit.cli.app.build_app", lambda: 1 / 0)
    assert run([]) == 3
    (log,) = tmp_path.glob("syncaudit-*.log")
    assert log.stat().st_mode & 0o777 == 0o600
    assert str(log) in said(capsys)
    assert str(os.getpid()) not in log.name


class _Raises(metadata.EntryPoint):
    def load(self):
        raise ZeroDivisionError("a plug-in of others")


class _Leaves(metadata.EntryPoint):
    def load(self):
        raise BaseException("a plug-in of others")  # as others may


@pytest.mark.parametrize("kind", [_Raises, _Leaves])
@pytest.mark.parametrize("group", ["syncaudit.commands", "syncaudit.formats"])
def test_plug_ins_that_raise_break_themselves_alone(kind, group, monkeypatch, capsys):
    point = kind(name="bad", value="bad:bad", group=group)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point] * (group == point.group))
    assert "lerobot" in formats.all_formats()
    assert run(["--help"]) == 0
    if group == "syncaudit.commands":
        capsys.readouterr()
        assert run(["bad"]) == 2
        assert re.search("(ZeroDivisionError|BaseException): a plug-in of others", said(capsys))


@pytest.mark.parametrize(
    "name",
    ["a\nError: forged", "a\x1b[2J", "a\u202eb", "a\u200eb", "a\u00adb", "a\ufeffb", "a\U000e0041"],
)
def test_ids_with_unseen_characters_are_refused(name, tmp_path, capsys):
    row = {"clip_id": name, "sources": {"imu": {"kind": "imu", "uri": "imu.csv"}}}
    (tmp_path / "m.jsonl").write_text(json.dumps(row))
    assert run(["validate", str(tmp_path / "m.jsonl"), "--out", str(tmp_path / "out")]) == 2
    text = said(capsys)
    assert "invisible characters" in text
    assert "\nError: forged" not in text


def test_an_endless_view_of_a_bag_is_refused(tmp_path, capsys):
    base = sqlite3.connect(tmp_path / "x.db3")
    base.executescript(
        "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT,"
        " serialization_format TEXT);"
        "INSERT INTO topics VALUES (1, '/imu', 'sensor_msgs/msg/Imu', 'cdr');"
        "CREATE VIEW messages AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
        " SELECT 1 AS topic_id, x AS timestamp, zeroblob(100) AS data FROM c;"
    )
    base.close()
    out = tmp_path / "out" / "m.jsonl"
    assert run(["manifest", "rosbag", str(tmp_path / "x.db3"), "--out", str(out)]) == 0
    assert "'messages' is a program, not a table" in said(capsys)


def audit(manifest: Path, out: Path, *options: str) -> tuple[int, str]:
    code = run(["validate", str(manifest), "--out", str(out), "--workers", "0", *options])
    return code, (out / "verdicts.jsonl").read_text()


def test_files_from_outside_are_told_of_and_never_quoted(tmp_path, capsys):
    secret = tmp_path / "home" / "secret.csv"
    secret.parent.mkdir()
    secret.write_text(f"{CANARY},b\n{CANARY},2\n")
    manifest = write_clip(tmp_path / "data", "../home/secret.csv")
    code, verdicts = audit(manifest, tmp_path / "out")
    text = said(capsys)
    assert code == 1
    assert "1 file of 1 clip outside" in text
    assert str(secret.name) in text
    assert CANARY not in text + verdicts
    assert "nothing of it is quoted" in verdicts
    code, verdicts = audit(manifest, tmp_path / "own", "--root", str(secret.parent))
    assert CANARY in verdicts  # what the user trusts is quoted, because that helps


def test_a_fault_of_a_file_from_outside_names_the_file_and_how_to_see_more(tmp_path):
    manifest = write_clip(tmp_path / "data", "../imu.csv")
    (tmp_path / "imu.csv").write_text("timestamp_ns,gyro_x,gyro_y,gyro_z\n1,1,1,nan\n2,1,1,1\n")
    _, verdicts = audit(manifest, tmp_path / "out")
    reason = json.loads(verdicts)["reasons"][0]
    assert reason["code"] == "non_finite"
    assert reason["message"] == (
        "../imu.csv: has a fault of kind 'non_finite'; it lies outside of the manifest's "
        "folder, so nothing of it is quoted. Name its folder with --root to see why."
    )


def test_a_package_that_a_url_needs_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    _, verdicts = audit(write_clip(tmp_path, "s3://bucket/imu.csv"), tmp_path / "out")
    assert "Install s3fs" in json.loads(verdicts)["reasons"][0]["message"]


def test_a_stated_root_is_a_border(tmp_path):
    (tmp_path / "imu.csv").write_text("timestamp_ns,gyro_x\n1,2\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "link.csv").symlink_to(tmp_path / "imu.csv")
    for uri in ("../imu.csv", "link.csv", str(tmp_path / "imu.csv")):
        manifest = write_clip(tmp_path / "data", uri)
        _, verdicts = audit(manifest, tmp_path / "out", "--root", str(tmp_path / "data"))
        assert "is not opened" in verdicts
        assert '"code":"manifest"' in verdicts.replace(" ", "")


def test_what_a_root_refused_is_opened_without_it_and_the_other_way_round(tmp_path):
    manifest = write_clip(tmp_path / "data", "../imu.csv")
    rows = "".join(f"{k}0000000,{k % 7},1,{k % 5}\n" for k in range(99))
    (tmp_path / "imu.csv").write_text("timestamp_ns,gyro_x,gyro_y,gyro_z\n" + rows)
    out = tmp_path / "out"
    for root in ([], ["--root", str(tmp_path / "data")], [], ["--root", str(tmp_path)]):
        _, verdicts = audit(manifest, out, *root)
        assert ("is not opened" in verdicts) == (root[1:] == [str(tmp_path / "data")])
    for root in ([], ["--root", str(tmp_path)]):
        _, verdicts = audit(manifest, out, *root)
    assert json.loads((out / "summary.json").read_text())["clips"]["reused"] == 0


def test_a_root_that_is_named_later_lets_a_file_be_quoted(tmp_path):
    manifest = write_clip(tmp_path / "data", "../imu.csv")
    (tmp_path / "imu.csv").write_text(f"timestamp_ns,{CANARY}\n1,2\n")
    for root, is_quoted in ([], False), (["--root", str(tmp_path)], True), ([], False):
        _, verdicts = audit(manifest, tmp_path / "out", *root)
        assert (CANARY in verdicts) == is_quoted


def test_a_image_named_by_a_table_is_held_to_the_root(tmp_path):
    folder = tmp_path / "data"
    (folder / "images").mkdir(parents=True)
    (folder / "cam.csv").write_text("timestamp_ns,file\n1,../../secret.png\n")
    row = {"kind": "camera", "uri": "images", "timestamps": "cam.csv"}
    (folder / "m.jsonl").write_text(json.dumps({"clip_id": "a", "sources": {"cam": row}}))
    _, verdicts = audit(folder / "m.jsonl", tmp_path / "out", "--root", str(folder))
    assert "secret.png: lies outside" in verdicts


@pytest.mark.parametrize(
    "uri", ["webhdfs://127.0.0.1/a.csv", "simplecache::file:///etc/passwd", "reference://a.csv"]
)
def test_protocols_that_do_more_than_read_are_refused(uri, tmp_path):
    _, verdicts = audit(write_clip(tmp_path, uri), tmp_path / "out")
    assert "is not allowed" in verdicts


def test_a_playlist_is_no_video(tmp_path):
    (tmp_path / "cam.mp4").write_text("ffconcat version 1.0\nfile other.mp4\n")
    row = {"kind": "camera", "uri": "cam.mp4", "start_ns": 1}
    (tmp_path / "m.jsonl").write_text(json.dumps({"clip_id": "a", "sources": {"cam": row}}))
    _, verdicts = audit(tmp_path / "m.jsonl", tmp_path / "out")
    assert "playlists are not followed" in verdicts


def test_a_store_that_never_answers_is_asked_once():
    from syncaudit.readers.access import answer_within

    asked = []

    def ask() -> int:
        asked.append(1)
        import time

        time.sleep(0.5)
        return 7

    assert answer_within(0.05, "s3://dead-17c3/a", ask, None) is None
    assert answer_within(0.05, "s3://dead-17c3/b", ask, None) is None
    assert len(asked) == 1
    assert answer_within(5.0, "s3://alive-17c3/b", lambda: 7, None) == 7


def test_an_import_that_holds_too_much_is_stopped(tmp_path):
    from syncaudit.batch.worker import Lost
    from syncaudit.cli.isolated_import import _result

    with pytest.raises(SyncAuditError, match="used more memory than its limit of 1"):
        _result(Lost(limit_bytes=2**30), "x")


def test_tables_beside_a_source_are_not_quoted_either(tmp_path):
    (tmp_path / "secret.csv").write_text(f"{CANARY},b\n1,2\n")
    manifest = write_clip(tmp_path / "data", "imu.csv", arrivals="../secret.csv")
    (tmp_path / "data" / "imu.csv").write_text(
        "timestamp_ns,gyro_x\n" + "".join(f"{k}0000000,{k % 7}\n" for k in range(99))
    )
    _, verdicts = audit(manifest, tmp_path / "out")
    assert CANARY not in verdicts


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"])
def test_images_of_impossible_names_are_told(name, tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "cam.csv").write_text(f"timestamp_ns,file\n1,{name}\n2,{name}\n")
    row = {"kind": "camera", "uri": "images", "timestamps": "cam.csv"}
    (tmp_path / "m.jsonl").write_text(json.dumps({"clip_id": "a", "sources": {"cam": row}}))
    code, verdicts = audit(tmp_path / "m.jsonl", tmp_path / "out")
    assert code == 1
    assert "defect of syncaudit" not in verdicts


@pytest.mark.parametrize(
    "row",
    [
        {"kind": "imu", "uri": "x" * 70_000},
        {"kind": "imu", "uri": f"a/{'x' * 300}[0].csv"},
        {"kind": "camera", "uri": "x" * 300, "timestamps": "c.csv"},
        {"kind": "camera", "uri": "c.mp4", "timestamps": "x" * 300},
        {"kind": "can", "uri": "c.log", "dbc": "x" * 300, "signals": {"yaw_rate": "y"}},
    ],
)
def test_names_that_no_file_can_have_are_told(row, tmp_path):
    (tmp_path / "m.jsonl").write_text(json.dumps({"clip_id": "a", "sources": {"it": row}}))
    for _ in range(2):  # the second one computes fingerprints first
        code, verdicts = audit(tmp_path / "m.jsonl", tmp_path / "out")
        assert code == 1
    reason = json.loads(verdicts)["reasons"][0]
    assert reason["code"] == "missing_file"
    assert len(reason["message"]) < 2000
    assert (
        "the file name is too long. Correct it" in reason["message"]
        or "not found" in reason["message"]
    )


def test_files_from_outside_are_not_packed(tmp_path, capsys):
    (tmp_path / "secret.csv").write_text(f"{CANARY},b\n1,2\n")
    audit(write_clip(tmp_path / "data", "../secret.csv"), tmp_path / "out")
    shards = tmp_path / "shards"
    argv = ["export-shards", str(tmp_path / "out"), "--out", str(shards), "--include", "reject"]
    assert run(argv) == 1
    assert "lies outside of" in said(capsys)
    assert all(CANARY.encode() not in path.read_bytes() for path in shards.iterdir())
    assert run([*argv, "--root", str(tmp_path)]) in (0, 1)
    packed = (path.read_bytes() for path in shards.iterdir())
    assert any(CANARY.encode() in data for data in packed)


def test_align_and_calibrate_are_held_to_the_root(tmp_path, capsys):
    soundfile.write(tmp_path / "a.wav", np.zeros(8000), 8000)
    (tmp_path / "own").mkdir()
    border = ("--root", str(tmp_path / "own"))
    argv = ["align", str(tmp_path / "a.wav"), "hello", "--out", str(tmp_path / "a.json"), *border]
    assert run(argv) in (1, 2)
    assert "lies outside of" in said(capsys)
    assert not (tmp_path / "a.json").exists()
    manifest = write_clip(tmp_path / "data", "../a.wav")
    assert run(["calibrate", str(manifest), "--out", str(tmp_path / "c.json"), *border]) == 4
    assert "lies outside of" in said(capsys)


def test_paths_that_no_manifest_can_name_are_refused_before_the_work(tmp_path, capsys):
    folder = tmp_path / os.fsdecode(b"d\xffx")
    manifest = write_clip(folder, "imu.csv")
    argv = ["validate", str(manifest), "-j", "0", "-q", "--out"]
    assert run([*argv, str(tmp_path / "out")]) == 2
    assert "bytes that are not UTF-8" in said(capsys)
    assert run([*argv, str(folder / "out")]) == 1  # its file is missing, which is judged


def test_files_outside_are_named_in_the_order_of_the_manifest():
    """The order of sets depends on the hash seed of the process."""
    sources = {f"imu{k}": ImuSpec(uri=f"../{k}.csv") for k in range(9)}
    clip = Clip(clip_id="c", recording_id="c", sources=sources, base_uri="/data/here")
    message = tell_outside([clip], Roots(places=("/data/here",)))
    assert message is not None
    assert "outside /data/here: /data/here/../0.csv, /data/here/../1.csv, " in message
