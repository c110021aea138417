"""Files written by syncaudit may be overwritten; nothing else is."""

from __future__ import annotations

import os
import re

import pytest

from syncaudit.errors import UsageError
from syncaudit.writing import (
    Signature,
    append_line,
    check_target,
    claim_folder,
    draft_of,
    is_ours,
    note_written,
    remove_ours,
    replace_text,
    replacing,
    replacing_text,
    sweep_drafts,
    write_new,
)

MANIFEST = '{"clip_id": "a", "sources": {}}\n'


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.raises(TypeError), replacing(path) as file:
        file.write("half")
    with pytest.raises(TypeError), replacing_text(path) as file:
        file.write(b"half")
    with pytest.raises(ZeroDivisionError), draft_of(path):
        raise ZeroDivisionError
    assert names(tmp_path) == []
    with draft_of(path) as draft:
        draft.write_text("whole")
    replace_text(path, f"{path.read_text()} again", is_durable=True)
    assert path.read_text() == "whole again"
    assert names(tmp_path) == ["a.txt"]


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to("mine")
    replace_text(tmp_path / "link", "new")
    assert (tmp_path / "mine").read_text() == "mine"
    (tmp_path / "log").symlink_to("mine")
    with pytest.raises(OSError, match="symbolic"):
        append_line(tmp_path / "log", "new\n")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "log", b"new")
    assert (tmp_path / "mine").read_text() == "mine"


def test_names_of_drafts_cannot_be_guessed(tmp_path):
    seen = set()
    for _ in range(3):
        with draft_of(tmp_path / "a.txt") as draft:
            seen.add(draft.name)
    assert len(seen) == 3
    assert all(re.fullmatch(r"\.a\.txt\.[0-9a-f]{16}\.part", name) for name in seen)


def test_drafts_of_killed_runs_are_swept(tmp_path):
    (tmp_path / f".a.txt.{'0' * 16}.part").touch()
    (tmp_path / f".b.txt.{'0' * 16}.part").touch()
    (tmp_path / ".a.txt.mine.part").touch()
    sweep_drafts(tmp_path, ["a.txt"])
    assert names(tmp_path) == [".a.txt.mine.part", f".b.txt.{'0' * 16}.part"]


def test_very_long_names_have_drafts(tmp_path):
    replace_text(tmp_path / ("ä" * 120), "text")
    assert (tmp_path / ("ä" * 120)).read_text() == "text"


@pytest.mark.parametrize(
    ("signature", "ours"),
    [
        (Signature.REPORT, "<!doctype html>\n<title>syncaudit: 3 clips</title>"),
        (Signature.JUNIT, '<?xml version="1.0"?>\n<testsuites name="syncaudit" tests="1">'),
        (Signature.SARIF, '{"runs": [{"tool": {"driver": {"name": "syncaudit"}}}]}'),
        (Signature.SUMMARY, '{\n "version": 1, "complete": true, "clips": {}}'),
        (Signature.VERDICTS, '{"clip_id": "a", "verdict": "pass"}\n'),
        (Signature.VERDICTS, '{"clip_id": "a", "verdict": "pass", "reas'),  # the disk was full
        (Signature.MANIFEST, MANIFEST),
        (Signature.CALIBRATION, '{"version": 1, "reference": "a", "sources": {}}'),
        (Signature.KEEP, '{\n "dataset": "a", "keep": []}'),
        (Signature.RECORDINGS, '{"recording_id": "a", "clocks": {}}\n'),
    ],
)
def test_marks_tell_ours_from_others(tmp_path, signature, ours):
    path = tmp_path / "file"
    path.write_text(ours)
    assert is_ours(path, signature)
    check_target(path, signature)
    for other in (
        "stranger\n",
        '{"clip": 1}\n',
        '["clip_id", "verdict", "sources"]\n',
        "{" * 90000,
    ):
        path.write_text(other)
        with pytest.raises(UsageError, match=r"syncaudit did not write it .* --force"):
            check_target(path, signature)
        remove_ours(path, signature)
        assert path.read_text() == other
    check_target(path, signature, is_forced=True)


def test_an_edited_file_is_the_users(tmp_path):
    path = tmp_path / "manifest.jsonl"
    path.write_text(MANIFEST)
    with pytest.raises(UsageError, match="did not write"):
        check_target(path)
    note_written(path)
    check_target(path)
    path.write_text(MANIFEST * 2)
    with pytest.raises(UsageError, match="did not write"):
        check_target(path)
    note_written(path)
    check_target(path)
    assert (tmp_path / ".syncaudit-files").read_text().endswith("  manifest.jsonl\n")


def test_an_empty_file_holds_nothing_to_lose(tmp_path):
    (tmp_path / "new").touch()
    check_target(tmp_path / "new", Signature.SUMMARY)


def test_links_folders_and_pipes_are_refused(tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="is a symbolic link"):
        check_target(tmp_path / "link")
    check_target(tmp_path / "link", is_forced=True)
    for name in ("folder", "pipe"):
        with pytest.raises(UsageError, match="cannot be written: it is"):
            check_target(tmp_path / name, is_forced=True)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be created"):
        check_target(tmp_path / "file" / "a")


def test_a_folder_of_others_is_not_filled(tmp_path):
    claim_folder(tmp_path / "new" / "sim", ".mark")
    (tmp_path / "new" / "sim" / "a").touch()
    claim_folder(tmp_path / "new" / "sim", ".mark")
    with pytest.raises(UsageError, match=r"files that this command did not write \('sim'\)"):
        claim_folder(tmp_path / "new", ".mark")
    claim_folder(tmp_path / "new", ".mark", is_forced=True)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError):
        claim_folder(tmp_path / "file", ".mark")


def test_manifest_of_an_older_version_is_told_with_its_cure(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_text('{"clip_id": "a", "sources": {}}\n')
    with pytest.raises(UsageError, match=r"older version .* overwrite it with --force"):
        check_target(path)
    check_target(path, is_forced=True)
    replace_text(path, '{"clip_id": "b", "sources": {}}\n')
    note_written(path)
    check_target(path)  # known from then on
    path.write_text('{"clip_id": "c", "sources": {}}\n')
    with pytest.raises(UsageError, match="It was changed since"):
        check_target(path)
