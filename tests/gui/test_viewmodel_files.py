"""Labels, nudges and verdict lists on disk."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from syncaudit_gui.viewmodel.batch import BatchList, ClipRow, Show, SortBy, read_verdict_rows
from syncaudit_gui.viewmodel.collection import open_collection
from syncaudit_gui.viewmodel.labels import Label, Labels, Nudges

from syncaudit.errors import UsageError
from testkit.json_lines import write_json_lines


def test_label_is_on_disk_at_once(tmp_path):
    labels = Labels(tmp_path / "labels.jsonl")
    labels.give("a", Label.REJECT, note="dunkel", verdict_shown="pass")
    line = json.loads((tmp_path / "labels.jsonl").read_text(encoding="utf-8"))
    time = line.pop("time")
    assert line == {
        "clip_id": "a",
        "label": "reject",
        "note": "dunkel",
        "blind": False,
        "verdict_shown": "pass",
    }
    assert abs(datetime.now(UTC) - datetime.fromisoformat(time)) < timedelta(minutes=1)
    assert time[19:] == f"{time[19:23]}+00:00"  # milliseconds, in UTC


def test_blind_label_never_names_the_verdict(tmp_path):
    row = Labels(tmp_path / "l.jsonl").give("a", Label.ACCEPT, is_blind=True, verdict_shown="pass")
    assert (row.is_blind, row.verdict_shown) == (True, None)


def test_last_label_counts_and_can_be_taken_back(tmp_path):
    labels = Labels(tmp_path / "l.jsonl")
    for label in (Label.ACCEPT, Label.UNSURE):
        labels.give("a", label)
    labels.give("b", Label.REJECT)
    labels.give("b", None, note="kept")
    again = Labels(tmp_path / "l.jsonl")
    row = again.of("a")
    assert row is not None
    assert row.label is Label.UNSURE
    assert again.of("b") is None
    assert again.note_of("b") == "kept"
    assert len(again) == 1


def test_half_a_line_of_a_crash_costs_only_itself(tmp_path):
    path = tmp_path / "l.jsonl"
    Labels(path).give("a", Label.ACCEPT)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"clip_id": "b", "label": "rej')
    Labels(path).give("c", Label.REJECT)
    again = Labels(path)
    assert [again.of(name) is not None for name in "abc"] == [True, False, True]


def test_foreign_lines_are_passed_over(tmp_path):
    path = tmp_path / "l.jsonl"
    path.write_bytes(b'[]\n{"clip_id": "a", "label": "maybe"}\n{"label": "accept"}\n\xff\xfe\n')
    assert len(Labels(path)) == 0


def test_unwritable_file_says_so_and_gives_no_label(tmp_path):
    labels = Labels(tmp_path / "there" / "l.jsonl")
    (tmp_path / "there").write_text("a file, no folder")
    with pytest.raises(UsageError, match=r"cannot be written.*--labels"):
        labels.give("a", Label.ACCEPT)
    assert labels.of("a") is None


def test_unreadable_file_says_so(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        Labels(tmp_path)


def test_nudges_come_back(tmp_path):
    nudges = Nudges(tmp_path / "n.jsonl")
    nudges.put("a", "can", 0.003)
    nudges.put("a", "can", 0.1 + 0.2)
    again = Nudges(tmp_path / "n.jsonl")
    assert again.of("a", "can") == 0.3
    assert again.of("a", "imu") == 0.0


def rows(n: int) -> list[ClipRow]:
    verdicts = ("pass", "reject", "unverified")
    return [
        ClipRow(
            clip_id=f"drive_{k:06d}",
            verdict=verdicts[k % 3],
            headline="cam_rear is early" if k % 3 == 1 else "",
            worst_s=(k * 7919 % 1000) * 1e-3,
        )
        for k in range(n)
    ]


def test_list_filters_by_verdict_word_and_label():
    batch = BatchList(rows(9), {"drive_000000": "accept"}.get)
    batch.show = Show.REJECT
    batch.arrange()
    assert [batch[k].clip_id[-1] for k in range(len(batch))] == ["1", "4", "7"]
    batch.text = "REAR 7"
    batch.arrange()
    assert [batch[k].clip_id[-1] for k in range(len(batch))] == ["7"]
    batch.show, batch.text = Show.UNLABELLED, ""
    batch.arrange()
    assert len(batch) == 8
    assert batch.line_of("drive_000000") is None


def test_list_sorts_and_finds_neighbours():
    batch = BatchList(rows(9), lambda _: None)
    batch.sort_by = SortBy.VERDICT
    batch.arrange()
    assert [batch[k].verdict for k in range(9)] == ["reject"] * 3 + ["unverified"] * 3 + [
        "pass"
    ] * 3
    first = batch[0].clip_id
    after = batch.neighbour(first, 1)
    assert after is not None
    assert after.clip_id == batch[1].clip_id
    last = batch.neighbour(first, 100)
    assert last is not None
    assert last.clip_id == batch[8].clip_id
    batch.sort_by, batch.is_descending = SortBy.WORST, True
    batch.arrange()
    assert batch[8].worst_s == max(row.worst_s for row in rows(9))


def test_hundred_thousand_clips_are_arranged_without_losing_one():
    batch = BatchList(rows(100_000), lambda _: None)
    for order in SortBy:
        batch.sort_by = order
        batch.arrange()
        assert len({batch[k].clip_id for k in range(0, 100_000, 97)}) == 1031
    batch.show, batch.text = Show.REJECT, "drive_09"
    batch.arrange()
    assert len(batch) == 3333


def verdict_line(clip_id: str, verdict: str = "reject") -> str:
    sources = {"can": {"verdict": verdict, "offset_s": -0.088, "offset_std_s": 0.002}}
    reasons = [{"code": "offset", "source": "can", "message": "can is late"}]
    row = {"clip_id": clip_id, "verdict": verdict, "sources": sources}
    return json.dumps(row | ({"reasons": reasons} if verdict == "reject" else {"reasons": []}))


def test_verdict_rows_tell_the_reason_or_the_worst(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    lines = [verdict_line("a", "pass"), "not json", verdict_line("b"), verdict_line("a")]
    path.write_text("\n".join(lines) + "\n" + verdict_line("c"), encoding="utf-8")
    found = {row.clip_id: row for row in read_verdict_rows(path)}
    assert list(found) == ["a", "b"]
    assert found["a"].verdict == "reject"
    assert found["b"].headline == "can is late"
    assert found["b"].worst_s == 0.088


def write_run(folder: Path) -> Path:
    folder.mkdir()
    clip = {"clip_id": "a", "sources": {"imu": {"kind": "imu", "uri": "imu.csv"}}}
    (folder / "rejected.jsonl").write_text(json.dumps(clip) + "\n", encoding="utf-8")
    lines = f"{verdict_line('a')}\n{verdict_line('gone')}\n"
    (folder / "verdicts.jsonl").write_text(lines, encoding="utf-8")
    return folder


def test_run_folder_opens_with_its_verdicts(tmp_path):
    opened = open_collection(str(write_run(tmp_path / "out")))
    assert [row.clip_id for row in opened.rows] == ["a", "gone"]
    assert opened.clip("a") is not None
    assert opened.clip("gone") is None
    row = opened.verdict_row(opened.rows[1])
    assert row is not None
    assert row["clip_id"] == "gone"
    assert opened.labels_path == tmp_path / "out" / "labels.jsonl"


def test_a_run_that_was_not_finished_is_called_so(tmp_path):
    folder = write_run(tmp_path / "out")
    assert open_collection(str(folder)).name == f"{folder} (run not finished)"
    clips = {"total": 2, "pass": 0, "reject": 2, "unverified": 0}
    summary = {"version": 1, "complete": True, "clips": clips}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    assert open_collection(str(folder)).name == str(folder)


def test_manifest_opens_with_verdicts_of_a_run(tmp_path):
    run = write_run(tmp_path / "out")
    clips = [
        {"clip_id": name, "sources": {"imu": {"kind": "imu", "uri": "i.csv"}}} for name in "ab"
    ]
    path = tmp_path / "m.jsonl"
    write_json_lines(path, *clips)
    opened = open_collection(str(path), verdicts=run)
    assert [(row.clip_id, row.verdict) for row in opened.rows] == [("a", "reject"), ("b", None)]
    assert opened.labels_path == tmp_path / "m.labels.jsonl"


def test_folder_without_verdicts_says_what_is_expected(tmp_path):
    write_run(tmp_path / "out")
    with pytest.raises(UsageError, match=r"no verdicts.jsonl.*validate"):
        open_collection(str(tmp_path / "out" / "rejected.jsonl"), verdicts=tmp_path)


def test_a_data_set_is_opened_by_its_rules(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "imu.csv").write_text("timestamp_ns,gyro_x,gyro_y,gyro_z\n1,0,0,0\n")
    rules = {"source": [{"match": "imu.csv", "kind": "imu", "name": "board"}]}
    (clip,) = open_collection(str(data), rules=rules).clips
    assert {*clip.sources} == {"board"}


def test_a_run_takes_no_rules(tmp_path: Path) -> None:
    (tmp_path / "verdicts.jsonl").write_text("")
    (tmp_path / "manifest.jsonl").write_text("")
    with pytest.raises(UsageError, match="this is a manifest, which takes no rules"):
        open_collection(str(tmp_path), rules={"source": []})
