"""A fingerprint changes with everything that a verdict depends on, and with nothing else."""

import os
from dataclasses import replace

import fsspec
import pytest

from syncaudit.batch import fingerprint, fingerprint_of
from syncaudit.model import CameraSpec
from testkit.fake_audits import POLICY, make_clip


@pytest.fixture
def clip(tmp_path):
    for name in ("cam.mp4", "cam.csv", "imu.csv"):
        (tmp_path / name).write_text("data")
    return make_clip("a", base_uri=str(tmp_path))


def test_the_same_circumstances_give_the_same(clip):
    assert fingerprint_of(clip, POLICY) == fingerprint_of(clip, replace(POLICY))


def test_everything_that_matters_changes_it(clip, tmp_path, monkeypatch):
    prints = [
        fingerprint_of(clip, POLICY),
        fingerprint_of(replace(clip, reference="imu"), POLICY),
        fingerprint_of(clip, replace(POLICY, confidence=0.9)),
        fingerprint_of(clip, POLICY, calibration={"version": 1}),
    ]
    os.utime(tmp_path / "cam.csv", ns=(1, 1))
    prints.append(fingerprint_of(clip, POLICY))
    (tmp_path / "imu.csv").unlink()
    prints.append(fingerprint_of(clip, POLICY))
    monkeypatch.setattr(fingerprint, "__version__", "9.9.9")
    prints.append(fingerprint_of(clip, POLICY))
    assert len(set(prints)) == len(prints)


@pytest.mark.parametrize("uri", ["images", "images/*.png"])
def test_new_images_change_it(tmp_path, uri):
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / "0.png").write_text("a")
    clip = make_clip("a", base_uri=str(tmp_path), uri=uri)
    before = fingerprint_of(clip, POLICY)
    (folder / "1.png").write_text("b")
    assert fingerprint_of(clip, POLICY) != before


def test_a_member_changes_with_its_archive(tmp_path):
    (tmp_path / "shard.tar").write_text("a")
    clip = make_clip("a", base_uri=str(tmp_path), uri="tar://cam.mp4::shard.tar")
    before = fingerprint_of(clip, POLICY)
    (tmp_path / "shard.tar").write_text("longer")
    assert fingerprint_of(clip, POLICY) != before


def test_remote_files_count_too():
    files = fsspec.filesystem("memory")
    files.pipe("/fp/cam.mp4", b"a")
    spec = {"cam": CameraSpec(uri="memory://fp/cam.mp4")}
    clip = replace(make_clip("a"), sources=spec)
    before = fingerprint_of(clip, POLICY)
    assert before is not None
    files.pipe("/fp/cam.mp4", b"longer")
    assert fingerprint_of(clip, POLICY) != before


def test_remote_files_that_cannot_be_asked_reuse_nothing():
    spec = {"cam": CameraSpec(uri="memory://fp/no_such_file.mp4")}
    assert fingerprint_of(replace(make_clip("a"), sources=spec), POLICY) is None


def camera_of_named_pictures(uri, timestamps):
    spec = {"cam": CameraSpec(uri=uri, timestamps=timestamps)}
    return replace(make_clip("a"), sources=spec)


def test_images_that_a_table_names_count_and_their_neighbours_do_not(tmp_path):
    """In nuScenes the images of all scenes share one folder."""
    folder = tmp_path / "samples"
    folder.mkdir()
    for name in ("a.jpg", "b.jpg", "other.jpg"):
        (folder / name).write_text("picture")
    table = tmp_path / "stamps.csv"
    table.write_text("timestamp_ns,file\n1,samples/a.jpg\n2,samples/b.jpg\n")
    clip = camera_of_named_pictures(str(tmp_path), str(table))
    before = fingerprint_of(clip, POLICY)
    (folder / "other.jpg").write_text("another scene's image")
    (tmp_path / "new.txt").write_text("")
    assert fingerprint_of(clip, POLICY) == before
    (folder / "b.jpg").write_text("another image")
    changed = fingerprint_of(clip, POLICY)
    assert changed != before
    (folder / "a.jpg").unlink()
    assert fingerprint_of(clip, POLICY) not in (before, changed)


def test_remote_images_that_a_table_names_are_looked_up_in_one_listing(monkeypatch):
    files = fsspec.filesystem("memory")
    for name in ("a", "b", "c"):
        files.pipe(f"/named/pictures/{name}.jpg", b"picture")
    files.pipe("/named/s.csv", b"timestamp_ns,file\n1,pictures/a.jpg\n2,pictures/b.jpg\n")
    clip = camera_of_named_pictures("memory://named", "memory://named/s.csv")
    listed = []
    list_one = type(files).ls
    monkeypatch.setattr(
        type(files), "ls", lambda self, path, **k: listed.append(path) or list_one(self, path, **k)
    )
    before = fingerprint_of(clip, POLICY)
    assert len(listed) == 1
    files.pipe("/named/pictures/c.jpg", b"no part of the clip")
    assert fingerprint_of(clip, POLICY) == before
    files.pipe("/named/pictures/b.jpg", b"longer image")
    assert fingerprint_of(clip, POLICY) != before


def test_a_folder_that_cannot_be_listed_reuses_nothing(monkeypatch):
    files = fsspec.filesystem("memory")
    files.pipe("/gone/s.csv", b"timestamp_ns,file\n1,no_such_folder/a.jpg\n")
    clip = camera_of_named_pictures("memory://gone", "memory://gone/s.csv")
    assert fingerprint_of(clip, POLICY) is None


def test_settings_of_the_audit_are_part_of_what_was_measured(clip):
    plain = fingerprint_of(clip, POLICY)
    assert fingerprint_of(clip, POLICY, settings={}) == plain
    screened = fingerprint_of(clip, POLICY, settings={"is_screen": True})
    assert fingerprint.content_half(screened) != fingerprint.content_half(plain)
