"""Clips shared with another split are never used for training."""

from __future__ import annotations

from pathlib import Path

from syncaudit.ingest import VerdictIndex

VERDICTS = [("a", "pass"), ("b", "pass"), ("c", "reject")]


def test_leaked_clips_are_left_out_and_counted() -> None:
    index = VerdictIndex(VERDICTS, without={"b"})
    assert [index.admits(name) for name in "abc"] == [True, False, False]
    assert list(index.admitted()) == ["a"]
    assert index.dropped == {"leaked": 1, "reject": 1}


def test_the_list_of_check_split_is_read(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    path.write_text("".join(f'{{"clip_id": "{i}", "verdict": "{v}"}}\n' for i, v in VERDICTS))
    leaks = tmp_path / "leaks.txt"
    leaks.write_text("# by 'syncaudit check-split': train, val\na\n")
    index = VerdictIndex.load(path, without=leaks, partial=True)
    assert list(index.admitted()) == ["b"]
    leaks.write_text("# by 'syncaudit check-split': train, val\n")
    assert list(VerdictIndex.load(path, without=leaks, partial=True).admitted()) == ["a", "b"]
