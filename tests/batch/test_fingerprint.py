"""A fingerprint changes with everything that a verdict depends on, and with nothing else."""

import os
from dataclasses import replace

import fsspec
import pytest
from fake_audits import POLICY, make_clip

from syncaudit.batch import fingerprint, fingerprint_of
from syncaudit.model import CameraSpec


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


def test_settings_of_the_audit_are_part_of_what_was_measured(clip):
    plain = fingerprint_of(clip, POLICY)
    assert fingerprint_of(clip, POLICY, settings={}) == plain
    screened = fingerprint_of(clip, POLICY, settings={"is_screen": True})
    assert fingerprint.content_half(screened) != fingerprint.content_half(plain)
