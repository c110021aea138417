"""The table of formats, and formats added by other packages."""

from __future__ import annotations

from importlib import metadata

import pytest

from syncaudit.datasets.formats import Import, all_formats, get_format
from syncaudit.datasets.importing import import_dataset
from syncaudit.datasets.protocol import Sidecars
from syncaudit.datasets.source import Source
from syncaudit.errors import ManifestError, UsageError
from syncaudit.model import Clip, ImuSpec
from syncaudit.plugins import FORMATS


class _One:
    """A format of another package: every file is a clip."""

    name = "one"
    summary = "one file, one clip"
    takes_rules = False

    def probe(self, source):
        return None if source.files("*.one") else "no *.one"

    def clips(self, source, job):  # noqa: ARG002  # one signature for every format
        for name in source.files("*.one"):
            sources = {"imu": ImuSpec(uri=name)}
            yield Clip(clip_id=name, recording_id=name, sources=sources, base_uri=source.base_uri)


@pytest.fixture
def plugin(monkeypatch):
    """Return a function that installs an entry point."""
    real = metadata.entry_points

    def install(value):
        point = metadata.EntryPoint(name="one", group=FORMATS, value=value)
        monkeypatch.setattr(
            metadata,
            "entry_points",
            lambda **wanted: [point] if wanted == {"group": FORMATS} else real(**wanted),
        )

    return install


def test_packages_add_formats(plugin, monkeypatch, tmp_path):
    plugin("here:format")
    monkeypatch.setattr(metadata.EntryPoint, "load", lambda _: _One())
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.one").write_text("x")
    done = import_dataset(str(tmp_path / "data"), tmp_path / "m.jsonl")
    assert (done.format, done.n_clips) == ("one", 1)


def test_a_format_that_cannot_be_imported_says_why(plugin, tmp_path):
    plugin("no_such_package:format")
    reason = all_formats()["one"].probe(Source(str(tmp_path)))
    assert "unavailable: No module named 'no_such_package'" in str(reason)
    with pytest.raises(UsageError, match="the format one is unavailable"):
        get_format("one").clips(Source(str(tmp_path)), Import(sidecars=Sidecars(tmp_path / "side")))


def test_notes_are_counted_and_limited(tmp_path):
    job = Import(sidecars=Sidecars(tmp_path))
    for number in range(5000):
        job.note(f"odd thing {number}")
        job.note("usual thing")
    assert job.notes["usual thing"] == 5000
    assert len(job.notes) == 1000


def test_a_folder_that_cannot_be_listed_is_told(tmp_path, monkeypatch):
    from pathlib import Path

    def refuse(_):
        raise PermissionError(13, "Permission denied")

    source = Source(str(tmp_path))
    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(ManifestError, match=r"cannot be listed \(PermissionError"):
        source.files()
