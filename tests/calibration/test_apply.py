"""`syncaudit apply` removes known offsets and drifts from the timestamps."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

from syncaudit.model import SignalStream
from testkit.apply_clips import (
    AT,
    EVENTS,
    STAMPS,
    T0,
    S,
    calibration,
    clips_of,
    corrected,
    events,
    manifest,
    one_clip,
    stream_of,
    tree,
    verdict,
    verdicts,
    write_summary,
)
from testkit.command_line import run_command


def test_offset_and_drift_of_a_calibration_are_taken_out(data: Path, tmp_path: Path) -> None:
    before = tree(data)
    known = calibration(tmp_path, trigger={"offset_s": 0.0351, "drift_ppm": 19.8})
    result = corrected(known, one_clip(data), tmp_path / "out")
    expected = [T0 + 35_100_000 - 198_000, T0 + S + 35_100_000 - 178_200, T0 + 20 * S + 35_298_000]
    assert stream_of(tmp_path / "out", "trigger").time_ns.tolist() == expected
    assert "35.1 ms later, drift 19.8 ppm taken out" in result.stdout
    assert tree(data) == before | {"manifest.jsonl": (data / "manifest.jsonl").read_bytes()}


def test_each_clip_is_corrected_by_its_own_verdict(data: Path, tmp_path: Path) -> None:
    row = {"sources": {"trigger": EVENTS}}
    path = manifest(data, *({"clip_id": name} | row for name in "abc"))
    known = verdicts(
        tmp_path,
        verdict("a", trigger={"offset_s": 0.25, "drift_ppm": None}),
        verdict("b", trigger={"offset_s": -0.5, "drift_ppm": 10.0}),
    )
    result = corrected(known, path, tmp_path / "out")
    found = [stream_of(tmp_path / "out", "trigger", k).time_ns - STAMPS for k in range(3)]
    assert found[0].tolist() == [250_000_000] * 3
    assert found[1].tolist() == [-500_100_000, -500_090_000, -499_900_000]
    assert found[2].tolist() == [0, 0, 0]
    assert "500 ms earlier, drift 10 ppm taken out" in result.stdout
    assert "this clip has no verdict" in result.stdout


@pytest.mark.parametrize("own", [{"recording_id": "tuesday"}, {"recording_id": "a"}])
def test_verdicts_of_another_manifest_with_the_same_ids_correct_nothing(
    data: Path, tmp_path: Path, own: dict[str, str]
) -> None:
    path = manifest(data, {"clip_id": "a", "sources": {"trigger": EVENTS}})
    row = verdict("a", trigger={"offset_s": 0.25, "drift_ppm": None}) | own
    if own["recording_id"] == "a":  # a clip of its own
        row["sources"]["trigger"]["kind"] = "can"
    result = corrected(verdicts(tmp_path, row), path, tmp_path / "out")
    found = stream_of(tmp_path / "out", "trigger").time_ns - STAMPS
    assert found.tolist() == [0, 0, 0]
    assert "of this id is on a" in result.stdout


def test_parquet_and_folders_of_verdicts_are_read(data: Path, tmp_path: Path) -> None:
    from syncaudit.batch.tables import write_parquet

    row = verdict("a", trigger={"offset_s": 0.25, "drift_ppm": 5.0})
    reason = {"code": "jitter", "source": "trigger", "message": "it jitters", "value": 1.0}
    row["reasons"] = [reason | {"limit": 0.5}]
    (tmp_path / "p").mkdir()
    write_parquet([row], tmp_path / "p" / "verdicts.parquet")
    write_summary(tmp_path / "p", row)
    known = verdicts(tmp_path / "j", row)
    found = []
    places = [known, str(tmp_path / "j"), str(tmp_path / "p"), f"{tmp_path}/p/verdicts.parquet"]
    for k, place in enumerate(places):
        result = corrected(place, one_clip(data), tmp_path / f"out{k}")
        assert "its timestamps jitter: an offset and a drift cannot correct that" in result.stdout
        found.append((tmp_path / f"out{k}" / "a" / "trigger.csv").read_bytes())
    assert len(set(found)) == 1


def test_figures_within_their_error_stay_unless_asked_for(data: Path, tmp_path: Path) -> None:
    figures = {"offset_s": 0.001, "offset_std_s": 0.001, "drift_ppm": 3.0, "drift_std_ppm": 2.0}
    known, path = verdicts(tmp_path, verdict("a", trigger=figures)), one_clip(data)
    result = corrected(known, path, tmp_path / "out")
    assert "unchanged: 1.0 ± 1.0 ms early, within its own error" in result.stdout
    assert stream_of(tmp_path / "out", "trigger").time_ns.tolist() == STAMPS
    assert run_command("apply", known, path, "--out", tmp_path / "all", "--all").exit_code == 0
    moved = stream_of(tmp_path / "all", "trigger").time_ns - STAMPS
    assert moved.tolist() == [970_000, 973_000, 1_030_000]


def test_sources_of_one_clock_share_its_correction(data: Path, tmp_path: Path) -> None:
    events(data, "f.csv")
    sources = {
        "first": EVENTS | {"clock": "recorder"},
        "second": {"kind": "events", "uri": "f.csv", "clock": "recorder"},
        "third": EVENTS,
    }
    result = corrected(calibration(tmp_path, first=0.1), one_clip(data, **sources), tmp_path / "o")
    assert (stream_of(tmp_path / "o", "second").time_ns - STAMPS).tolist() == [100_000_000] * 3
    assert "with the correction of first, whose clock it shares" in result.stdout
    assert stream_of(tmp_path / "o", "third").time_ns.tolist() == STAMPS
    assert "unchanged: the calibration does not list it" in result.stdout


def test_an_intended_offset_stays_in_the_stamps(data: Path, tmp_path: Path) -> None:
    path = one_clip(data, trigger=EVENTS | {"expected_offset_s": 0.02})
    # A calibration measures the whole offset, a verdict what is left beyond the intention.
    found = []
    for k, known in enumerate(
        [
            calibration(tmp_path, trigger=0.055),
            verdicts(tmp_path, verdict("a", trigger={"offset_s": 0.035})),
        ]
    ):
        corrected(known, path, tmp_path / f"out{k}")
        found += (stream_of(tmp_path / f"out{k}", "trigger").time_ns - STAMPS).tolist()
        assert clips_of(tmp_path / f"out{k}")[0].sources["trigger"].expected_offset_s == 0.02
    assert found == [35_000_000] * 6


def test_the_intention_of_the_reference_moves_nobody(data: Path, tmp_path: Path) -> None:
    sources = {"ref": EVENTS | {"expected_offset_s": 0.02}, "trigger": EVENTS}
    known = calibration(tmp_path, ref=0.0, trigger=0.015)
    result = corrected(known, one_clip(data, **sources), tmp_path / "out")
    # Beyond the intention the reference is 20 ms off, so that 15 ms of the other are 35 ms.
    assert (stream_of(tmp_path / "out", "trigger").time_ns - STAMPS).tolist() == [35_000_000] * 3
    assert stream_of(tmp_path / "out", "ref").time_ns.tolist() == STAMPS
    assert "unchanged: it is the reference" in result.stdout


def test_a_drift_measured_long_ago_stays(data: Path, tmp_path: Path) -> None:
    known = calibration(
        tmp_path, at_ns=T0 - 3 * 86_400 * S, trigger={"offset_s": 0.1, "drift_ppm": 9.0}
    )
    result = corrected(known, one_clip(data), tmp_path / "out")
    assert (stream_of(tmp_path / "out", "trigger").time_ns - STAMPS).tolist() == [100_000_000] * 3
    assert "its drift is kept, since it was measured more than a day away" in result.stdout


def test_a_source_that_states_its_own_epoch_is_corrected_there(data: Path, tmp_path: Path) -> None:
    source = {"offset_s": 0.1, "drift_ppm": 10.0, "at_ns": T0}
    known = calibration(tmp_path, at_ns=T0 + 500 * S, trigger=source)
    corrected(known, one_clip(data), tmp_path / "out")
    moved = stream_of(tmp_path / "out", "trigger").time_ns - STAMPS
    assert moved.tolist() == [100_000_000, 100_010_000, 100_200_000]


def test_a_step_of_the_calibration_is_told(data: Path, tmp_path: Path) -> None:
    known = calibration(tmp_path, trigger={"offset_s": 0.1, "steps": [{"step_s": 0.02}]})
    result = corrected(known, one_clip(data), tmp_path / "out")
    assert "its clock jumped during the calibration" in result.stdout


def test_window_and_recording_stay(data: Path, tmp_path: Path) -> None:
    row = {"clip_id": "a", "recording_id": "r", "start_ns": T0, "end_ns": AT, "reference": "ref"}
    sources = {"trigger": EVENTS, "ref": EVENTS}
    path = manifest(data, row | {"sources": sources})
    corrected(calibration(tmp_path, trigger=1.0, ref=0.0), path, tmp_path / "out")
    (clip,) = clips_of(tmp_path / "out")
    assert (clip.recording_id, clip.start_ns, clip.end_ns, clip.reference) == ("r", T0, AT, "ref")


def test_a_broken_source_is_told_and_the_run_goes_on(data: Path, tmp_path: Path) -> None:
    sources = {"trigger": EVENTS, "gone": {"kind": "events", "uri": "gone.csv"}}
    path = manifest(data, *({"clip_id": name, "sources": sources} for name in "ab"))
    result = corrected(calibration(tmp_path, trigger=1.0, gone=1.0), path, tmp_path / "out")
    assert "gone.csv: file not found" in result.stdout
    assert "2 clips: 2 sources corrected, 0 unchanged, 2 could not be corrected" in result.stdout
    assert clips_of(tmp_path / "out")[1].sources["gone"].uri == "../data/gone.csv"


def test_a_second_run_writes_the_same(data: Path, tmp_path: Path) -> None:
    known, path = calibration(tmp_path, trigger=1.0), one_clip(data)
    corrected(known, path, tmp_path / "out")
    first = tree(tmp_path / "out")
    corrected(known, path, tmp_path / "out")
    assert tree(tmp_path / "out") == first
    assert sorted(first) == ["a/trigger.csv", "corrections.jsonl", "manifest.jsonl"]


def test_what_was_done_is_written_down(data: Path, tmp_path: Path) -> None:
    known = calibration(tmp_path, trigger={"offset_s": 0.5, "drift_ppm": 2.0})
    corrected(known, one_clip(data), tmp_path / "out")
    row = json.loads((tmp_path / "out" / "corrections.jsonl").read_text())
    assert row["clip_id"] == "a"
    assert row["sources"]["trigger"] == {
        "offset_s": 0.5,
        "drift_ppm": 2.0,
        "at_ns": AT,
        "unchanged": None,
        "remarks": [],
    }


def test_a_file_of_many_clips_is_written_once(data: Path, tmp_path: Path) -> None:
    path = manifest(data, *({"clip_id": n, "sources": {"trigger": EVENTS}} for n in "abc"))
    corrected(calibration(tmp_path, trigger=1.0), path, tmp_path / "out")
    assert [clip.sources["trigger"].uri for clip in clips_of(tmp_path / "out")] == [
        "a/trigger.csv"
    ] * 3


def test_ids_become_safe_and_distinct_folders(data: Path, tmp_path: Path) -> None:
    names = ["a/b", "a_b", "../up", "..", "Ä ö", "X", "x", "con", "manifest.jsonl", "é", "e\u0301"]
    names += ["long" * 100, "."]
    rows = []
    for k, name in enumerate(names):
        events(data, f"{k}.csv")
        sources = {"s/../x": {"kind": "events", "uri": f"{k}.csv"}}
        rows.append({"clip_id": name, "sources": sources})
    corrected(calibration(tmp_path, **{"s/../x": 1.0}), manifest(data, *rows), tmp_path / "out")
    entries = sorted(entry.name for entry in (tmp_path / "out").iterdir())
    assert len({entry.casefold() for entry in entries}) == len(names) + 2
    assert {"a_b", "é"} < set(entries)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["calibration.json", "data", "out"]
    for k in range(len(names)):
        moved = stream_of(tmp_path / "out", "s/../x", k).time_ns - STAMPS
        assert moved.tolist() == [S] * 3


@pytest.fixture
def memory() -> Iterator[str]:
    """Return a folder with a clip in fsspec's memory file system."""
    system = fsspec.filesystem("memory")
    stamps = "".join(f"{t}\n" for t in STAMPS)
    system.pipe("/apply/e.csv", f"timestamp_ns\n{stamps}".encode())
    row = {"clip_id": "a", "sources": {"trigger": EVENTS, "other": EVENTS}}
    system.pipe("/apply/m.jsonl", json.dumps(row).encode())
    source = {"offset_s": 1.0, "drift_ppm": None}
    known = {"version": 1, "at_ns": AT, "sources": {"trigger": source}}
    system.pipe("/apply/c.json", json.dumps(known).encode())
    yield "memory://apply"
    system.rm("/apply", recursive=True)


def test_remote_manifests_and_calibrations_are_read(memory: str, tmp_path: Path) -> None:
    corrected(f"{memory}/c.json", f"{memory}/m.jsonl", tmp_path / "out")
    assert (stream_of(tmp_path / "out", "trigger").time_ns - STAMPS).tolist() == [S] * 3
    assert stream_of(tmp_path / "out", "other").time_ns.tolist() == STAMPS
    assert clips_of(tmp_path / "out")[0].sources["other"].uri == f"{memory}/e.csv"


def test_quiet_prints_nothing(data: Path, tmp_path: Path) -> None:
    known = calibration(tmp_path, trigger=1.0)
    result = run_command("apply", known, one_clip(data), "--out", tmp_path / "out", "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_long_manifests_show_only_what_is_remarkable(data: Path, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"clip_id": f"c{k:02d}", "sources": {"trigger": EVENTS}} for k in range(25)
    ]
    rows[7]["sources"] = {"trigger": {"kind": "events", "uri": "gone.csv"}}
    result = corrected(calibration(tmp_path, trigger=1.0), manifest(data, *rows), tmp_path / "out")
    assert "c07" in result.stdout
    assert "c08" not in result.stdout
    assert "25 clips: 24 sources corrected" in result.stdout


def test_signals_and_channels_move_together(data: Path, tmp_path: Path) -> None:
    (data / "i.csv").write_text(
        "#t,gyro_x,gyro_y,gyro_z\n" + "".join(f"{t},1,2,3\n" for t in STAMPS)
    )
    spec = {"kind": "imu", "uri": "i.csv", "columns": {"timestamp_ns": "#t"}}
    corrected(calibration(tmp_path, imu=1.0), one_clip(data, imu=spec), tmp_path / "out")
    stream = stream_of(tmp_path / "out", "imu")
    assert isinstance(stream, SignalStream)
    np.testing.assert_array_equal(stream.channels[0].time_ns, np.array(STAMPS) + S)
    assert os.path.basename(stream.uri) == "imu.csv"  # noqa: PTH119
