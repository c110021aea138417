"""Files of another clip, tables that end early and copies of one file cause warnings."""

from __future__ import annotations

from syncaudit.datasets import load_manifest
from syncaudit.model import Finding, Severity
from syncaudit.pipeline.contradictions import find_misplaced_files
from syncaudit.pipeline.reading import read_clip, window_of
from testkit.clip_folder import Folder

NS = 10**9


def doubts(folder: Folder) -> tuple[Finding, ...]:
    (clip,) = load_manifest(str(folder.path / "manifest.jsonl"))
    streams = read_clip(clip).streams
    return find_misplaced_files(clip, streams, window_of(clip, streams))


def add_state(clip: Folder, first_s: float, last_s: float) -> Folder:
    row = clip.row
    start_ns = int(clip.stamps("imu.csv")[0])
    stamps = range(start_ns + int(first_s * NS), start_ns + int(last_s * NS), NS // 20)
    lines = ["timestamp_ns,joint", *(f"{stamp},{k % 7}" for k, stamp in enumerate(stamps))]
    clip.overwrite("state.csv", "\n".join(lines).encode())
    row["sources"]["state"] = {"kind": "state", "uri": "state.csv"}
    return clip.write(row)


def test_a_healthy_clip_has_no_doubtful_file(clip: Folder) -> None:
    assert doubts(clip) == ()
    assert doubts(add_state(clip, 0.0, 12.0)) == ()


def test_without_a_window_the_other_sources_tell_the_end(clip: Folder) -> None:
    row = add_state(clip, 0.0, 9.0).row
    del row["start_ns"], row["end_ns"]
    (finding,) = doubts(clip.write(row))
    assert (finding.code, finding.source, finding.severity) == ("gap", "state", Severity.WARNING)
    assert "ends 3.0" in finding.message or "ends 2.9" in finding.message
    assert "before most others; the rest is missing. Find it, or shorten" in finding.message
    assert finding.value is not None
    assert 2.8 < finding.value < 3.2


def test_events_of_another_clip_are_told(clip: Folder) -> None:
    row = clip.row
    first = int(clip.stamps("imu.csv")[0]) + 300 * NS
    lines = ["timestamp_ns", *(str(first + k * NS) for k in range(5))]
    clip.overwrite("trigger.csv", "\n".join(lines).encode())
    row["sources"]["trigger"] = {"kind": "events", "uri": "trigger.csv"}
    del row["start_ns"], row["end_ns"]
    (finding,) = doubts(clip.write(row))
    assert (finding.code, finding.source) == ("length_mismatch", "trigger")
    assert "all of its timestamps are after the clip" in finding.message


def test_one_video_under_two_names_is_told(clip: Folder) -> None:
    clip.overwrite("cam_rear.mp4", (clip.path / "cam_front.mp4").read_bytes())
    (finding,) = doubts(clip)
    assert (finding.code, finding.source) == ("duplicate", "cam_rear")
    assert "cam_front and cam_rear hold the same data" in finding.message


def test_one_table_with_two_groups_of_columns_is_no_copy(clip: Folder) -> None:
    row = add_state(clip, 0.0, 12.0).row
    text = (clip.path / "state.csv").read_text().splitlines()
    text = [text[0] + ",action", *(f"{line},1" for line in text[1:])]
    clip.overwrite("state.csv", "\n".join(text).encode())
    row["sources"]["state"]["columns"] = {"joint": ["joint"]}
    row["sources"]["action"] = row["sources"]["state"] | {"columns": {"action": ["action"]}}
    assert doubts(clip.write(row)) == ()
