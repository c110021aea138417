"""`syncaudit apply` preserves originals and foreign files, and refuses unusable corrections."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testkit.apply_clips import (
    calibration,
    corrected,
    events,
    manifest,
    one_clip,
    tree,
    verdict,
    verdicts,
    write_summary,
)
from testkit.command_line import run_command


def test_a_folder_that_holds_originals_is_refused(data: Path, tmp_path: Path) -> None:
    events(data / "a", "trigger.csv")
    known = calibration(tmp_path, trigger=1.0)
    path = one_clip(data, trigger={"kind": "events", "uri": "a/trigger.csv"})
    before = tree(data)
    result = run_command("apply", known, path, "--out", data)
    assert result.exit_code == 2
    assert "is an original and would be overwritten" in result.stderr
    other = manifest(
        tmp_path / "m",
        {
            "clip_id": "a",
            "sources": {"trigger": {"kind": "events", "uri": "../data/a/trigger.csv"}},
        },
    )
    (tmp_path / "link").symlink_to(data)
    for place in (data, tmp_path / "link"):
        result = run_command("apply", known, other, "--out", place)
        assert result.exit_code == 2
        assert "is an original and would be overwritten" in result.stderr
    assert tree(data) == before


def test_an_applied_manifest_is_not_corrected_in_place(data: Path, tmp_path: Path) -> None:
    known = calibration(tmp_path, trigger=1.0)
    corrected(known, one_clip(data), tmp_path / "out")
    before = tree(tmp_path / "out")
    for again in (tmp_path / "out", tmp_path / "out" / "manifest.jsonl"):
        result = run_command("apply", known, again, "--out", tmp_path / "out")
        assert result.exit_code == 2
        assert "is an original and would be overwritten" in result.stderr
    assert tree(tmp_path / "out") == before


def test_files_of_others_are_not_overwritten(data: Path, tmp_path: Path) -> None:
    known, path = calibration(tmp_path, trigger=1.0), one_clip(data)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.jsonl").write_text("mine")
    result = run_command("apply", known, path, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "'manifest.jsonl' already exists" in result.stderr
    assert tree(tmp_path / "out") == {"manifest.jsonl": b"mine"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: file not found"),
        ("", "cannot be read: the file is empty"),
        ("{", "line 1 is not a JSON object"),
        ("[]", "line 1 is not a JSON object"),
        ("{}", "is neither a calibration nor verdicts"),
        ('{"version": 2, "sources": {}}', "calibration version 2 is unknown"),
        ('{"version": 1, "sources": {"trigger": {}}}', "no numeric 'offset_s'"),
        (
            '{"version": 1, "sources": {"trigger": {"offset_s": 1, "drift_ppm": 3}}}',
            "no integer 'at_ns'",
        ),
        (
            '{"version": 1, "sources": {"cam": {"offset_s": 1}}}',
            "the calibration corrects cam, but the clips hold trigger",
        ),
        ('{"clip_id": "a"}', "line 1 is not a verdict"),
        ('{"clip_id": "a", "sources": {"trigger": {"uri": "x"}}}', "a manifest row"),
        (
            '{"clip_id": "z", "verdict": "pass", "sources": {}}',
            "none of its 1 clips is in the manifest",
        ),
        ("PAR1", "is not an intact Parquet file"),
    ],
)
def test_unusable_corrections_are_refused(
    data: Path, tmp_path: Path, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "known").write_text(content)
    known = (tmp_path / "known", "--partial")  # these come from no run
    result = run_command("apply", *known, one_clip(data), "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_verdicts_on_calibrated_stamps_are_refused(data: Path, tmp_path: Path) -> None:
    known = verdicts(tmp_path / "v", verdict("a", trigger={"offset_s": 0.1}))
    summary = {"calibrated": True, "calibration": "rig.json"}
    (tmp_path / "v" / "summary.json").write_text(json.dumps(summary))
    result = run_command("apply", known, one_clip(data), "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "these verdicts judge what the calibration 'rig.json' left" in result.stderr
    write_summary(tmp_path / "v", verdict("a"))
    corrected(known, one_clip(data), tmp_path / "out")


def test_a_linked_original_is_spared(data: Path, tmp_path: Path) -> None:
    """An original may be a link into the folder written by an earlier run."""
    known, path = calibration(tmp_path, trigger=1.0), one_clip(data)
    corrected(known, path, tmp_path / "out")
    (data / "link.csv").symlink_to(tmp_path / "out" / "a" / "trigger.csv")
    path = one_clip(data, trigger={"kind": "events", "uri": "link.csv"})
    result = run_command("apply", known, path, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "is an original and would be overwritten" in result.stderr


def test_wrong_places_are_refused(data: Path, tmp_path: Path) -> None:
    known, path = calibration(tmp_path, trigger=1.0), one_clip(data)
    (tmp_path / "file").write_text("")
    for out, message in (
        (tmp_path / "file", "is not a folder"),
        ("s3://bucket/out", "expected a local folder"),
    ):
        result = run_command("apply", known, path, "--out", out)
        assert result.exit_code == 2
        assert message in result.stderr
    result = run_command("apply", tmp_path / "data", path, "--out", tmp_path / "out")
    assert "holds neither verdicts.jsonl nor verdicts.parquet" in result.stderr
    result = run_command("apply", known, tmp_path / "none.jsonl", "--out", tmp_path / "out")
    assert result.exit_code == 2
