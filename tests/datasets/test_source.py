from __future__ import annotations

import fsspec
import pytest

from syncaudit.datasets.protocol import Sidecars
from syncaudit.datasets.source import Source
from syncaudit.errors import ManifestError, UsageError


@pytest.fixture(params=["local", "remote"])
def source(request, tmp_path):
    """Return the same small tree, local and remote."""
    files = {"a/e10.csv": b"x", "a/e9.csv": b"y", "a/deep/z.txt": b"z", "top.json": b"[1]"}
    if request.param == "local":
        for name, content in files.items():
            path = tmp_path / "tree" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return Source(str(tmp_path / "tree"))
    memory = fsspec.filesystem("memory")
    for name, content in files.items():
        memory.pipe(f"/source_tree/{name}", content)
    return Source("memory://source_tree/")


def test_names_come_in_natural_order(source):
    assert source.files("*.csv", "a") == ["a/e9.csv", "a/e10.csv"]
    assert source.folders() == ["a"]
    assert source.folders("a") == ["a/deep"]
    assert source.files(folder="nowhere") == source.folders("nowhere") == []


def test_contents_are_read(source):
    assert source.has("a/deep/z.txt")
    assert not source.has("a/deep/y.txt")
    assert source.read("a/e9.csv") == b"y"
    assert source.read_json("top.json") == [1]
    with source.open("a/e10.csv") as file:
        assert file.read() == b"x"
    with source.local("a/e10.csv") as path:
        assert path.read_bytes() == b"x"


def test_missing_and_broken_files_are_told(source):
    with pytest.raises(ManifestError, match="file not found"):
        source.read("gone.json")
    with pytest.raises(ManifestError, match="file not found"), source.open("gone.json"):
        pass
    with pytest.raises(ManifestError, match="not valid JSON"):
        source.read_json("a/e9.csv")


def test_one_file_is_a_source_of_its_own(tmp_path):
    for name in ("a.tar", "b.tar"):
        (tmp_path / name).write_bytes(b"x")
    source = Source(str(tmp_path / "a.tar"))
    assert (source.file, source.files("*.tar"), source.files("*.csv")) == ("a.tar", ["a.tar"], [])
    assert source.has("a.tar")
    assert not source.has("b.tar")


def test_what_is_not_there_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="no such file or folder"):
        Source(str(tmp_path / "gone"))
    with pytest.raises(UsageError, match="cannot be reached"):
        Source("nosuchscheme://bucket/data")


def test_sidecars_stay_in_their_folder(tmp_path):
    sidecars = Sidecars(tmp_path / "m_files")
    assert not (tmp_path / "m_files").exists()
    uri = sidecars.write_table("../../etc/a|b:c.parquet", {"timestamp_ns": [1, 2]})
    assert uri == str(tmp_path / "m_files" / "etc" / "a_b_c.parquet")
    assert [path.name for path in (tmp_path / "m_files").rglob("*.part")] == []
