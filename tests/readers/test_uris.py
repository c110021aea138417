from __future__ import annotations

import os
from pathlib import Path

import fsspec
import pytest

from syncaudit.errors import StreamReadError
from syncaudit.model import CameraSpec, ImuSpec
from syncaudit.readers import read_source
from syncaudit.readers.uris import (
    keep_local,
    list_folder,
    local_file,
    name_originals,
    parent_of,
    read_bytes,
    remove_unused_copies,
    resolve,
)


@pytest.mark.parametrize(
    ("uri", "base_uri", "expected"),
    [
        ("a.csv", "", "a.csv"),
        ("a.csv", "/data", "/data/a.csv"),
        ("../a.csv", "/data/set", "/data/set/../a.csv"),
        ("/x/a.csv", "/data", "/x/a.csv"),
        ("/x/a.csv", "s3://bucket/set", "/x/a.csv"),
        ("file:///x/a.csv", "/data", "/x/a.csv"),
        ("a.csv", "file:///data", "file:///data/a.csv"),
        ("a.csv", "s3://bucket/set", "s3://bucket/set/a.csv"),
        ("../a.csv", "s3://bucket/set", "s3://bucket/a.csv"),
        ("a.csv", "memory://", "memory://a.csv"),
        ("gs://other/a.csv", "s3://bucket/set", "gs://other/a.csv"),
        ("tar://a.csv::b.tar", "/data", "tar://a.csv::/data/b.tar"),
        ("a.csv", "tar://::/data/b.tar", "tar://a.csv::/data/b.tar"),
    ],
)
def test_relative_uris_start_at_the_base(uri: str, base_uri: str, expected: str) -> None:
    assert resolve(uri, base_uri) == expected


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("/data/m.jsonl", "/data"),
        ("file:///data/m.jsonl", "/data"),
        ("s3://bucket/set/m.jsonl", "s3://bucket/set"),
        ("memory://m.jsonl", "memory://"),
        ("tar://m.jsonl::/data/b.tar", "tar://::/data/b.tar"),
    ],
)
def test_folder_of_a_uri(uri: str, expected: str) -> None:
    assert parent_of(uri) == expected


def test_folder_of_a_relative_path_is_absolute() -> None:
    assert parent_of("m.jsonl") == str(Path.cwd())


@pytest.mark.parametrize(
    ("uri", "code", "message"),
    [
        ("/nowhere/a.csv", "missing_file", "file not found"),
        ("memory://nowhere/a.csv", "missing_file", "file not found"),
        ("nosuch://a.csv", "manifest", "protocol 'nosuch' is not allowed"),
        ("a\0b", "unreadable", "cannot be read .*null byte"),
        ("tar://a.csv::/nowhere.tar", "missing_file", "file not found"),
    ],
)
def test_what_cannot_be_fetched_is_named(uri: str, code: str, message: str) -> None:
    with pytest.raises(StreamReadError, match=message) as caught:
        read_bytes(uri)
    assert (caught.value.code, caught.value.path) == (code, uri)


def test_missing_storage_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "s3fs", None)
    with pytest.raises(StreamReadError, match=r"not installed .*s3fs"):
        read_bytes("s3://bucket/a.csv")


def test_pipes_are_refused_before_they_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StreamReadError, match="not a regular file"):
        read_bytes(str(tmp_path / "pipe"))
    with pytest.raises(StreamReadError, match="not a regular file"):
        keep_local(str(tmp_path / "pipe"), tmp_path)


def test_folders_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(StreamReadError, match="is a folder, expected a file"):
        read_bytes(str(tmp_path))


def test_names_too_long_for_the_file_system_are_told() -> None:
    spec = ImuSpec(uri="x" * 5000)
    with pytest.raises(StreamReadError, match="file name is too long"):
        read_source("imu", spec, base_uri="/tmp")  # noqa: S108  # nothing is written


def test_file_without_permission_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x")

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(StreamReadError, match="no permission to read it"):
        read_bytes(str(path))


def test_remote_copy_is_removed_unless_kept(tmp_path: Path) -> None:
    with fsspec.open("memory://uris/a.csv", "wb") as file:
        file.write(b"hello")
    with local_file("memory://uris/a.csv") as path:
        assert path.read_bytes() == b"hello"
        assert path.suffix == ".csv"
    assert not path.exists()
    with local_file("memory://uris/a.csv", tmp_path / "deep") as kept:
        pass
    assert kept.read_bytes() == b"hello"
    assert keep_local("memory://uris/a.csv", tmp_path / "deep") == kept


def test_copies_are_kept_while_clips_use_them() -> None:
    for name in ("a.mp4", "b.mp4"):
        with fsspec.open(f"memory://uris/{name}", "wb") as file:
            file.write(b"hello")
    first, second = (keep_local(f"memory://uris/{name}") for name in ("a.mp4", "b.mp4"))
    remove_unused_copies()  # ends the clip that used both
    assert keep_local("memory://uris/a.mp4") == first
    remove_unused_copies()
    assert (first.exists(), second.exists()) == (True, False)
    assert name_originals(f"{first}, {second}") == f"memory://uris/a.mp4, {second}"
    remove_unused_copies()
    assert not first.exists()
    assert name_originals(str(first)) == str(first)


def test_remote_file_of_0_bytes_is_empty(tmp_path: Path) -> None:
    with fsspec.open("memory://uris/empty.csv", "wb"):
        pass
    with pytest.raises(StreamReadError, match="0 bytes"):
        keep_local("memory://uris/empty.csv", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_git_lfs_pointers_are_named_as_such(tmp_path: Path) -> None:
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 48012345\n"
    (tmp_path / "cam.mp4").write_text(text)
    with fsspec.open("memory://uris/pointer.mp4", "wb") as file:
        file.write(text.encode())
    specs = (CameraSpec(uri="cam.mp4", start_ns=0), ImuSpec(uri="cam.mp4"))
    for spec in specs:
        with pytest.raises(StreamReadError, match=r"Git LFS pointer.*git lfs pull") as caught:
            read_source("one", spec, str(tmp_path))
        assert caught.value.code == "missing_file"
    for fetch in (read_bytes, lambda uri: keep_local(uri, tmp_path / "kept")):
        with pytest.raises(StreamReadError, match="Git LFS pointer"):
            fetch("memory://uris/pointer.mp4")
    assert list((tmp_path / "kept").iterdir()) == []


def test_folders_and_globs_are_listed(tmp_path: Path) -> None:
    for name in ("a.jpg", "b.txt"):
        (tmp_path / name).write_text("x")
        with fsspec.open(f"memory://listed/{name}", "wb") as file:
            file.write(b"x")
    assert sorted(list_folder(str(tmp_path)) or []) == [
        str(tmp_path / "a.jpg"),
        str(tmp_path / "b.txt"),
    ]
    assert list_folder(str(tmp_path / "*.jpg")) == [str(tmp_path / "a.jpg")]
    assert list_folder(str(tmp_path / "a.jpg")) is None
    assert sorted(list_folder("memory://listed") or []) == [
        "memory:///listed/a.jpg",
        "memory:///listed/b.txt",
    ]
    assert list_folder("memory://listed/*.jpg") == ["memory:///listed/a.jpg"]
    assert list_folder("memory://listed/a.jpg") is None


def test_file_that_states_no_bytes_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kmsg").write_bytes(b"")
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("it may never end"))
    with pytest.raises(StreamReadError, match="is empty"):
        read_bytes(str(tmp_path / "kmsg"))
