"""`apply --as lerobot`: rows are paired again, and LeRobot loads the data set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syncaudit_calibration.apply.lerobot.files import VideoPackets, of_episode, together
from syncaudit_calibration.apply.lerobot.rows import pair_rows

from syncaudit.datasets.importing import import_dataset
from testkit.apply_clips import calibration
from testkit.command_line import run_command
from testkit.data_sets.lerobot_data import (
    FPS,
    N_FRAMES,
    still,
    video,
    write_lerobot_v2,
    write_lerobot_v3,
)
from testkit.lerobot_rules import Loaded, lines

EXAMPLES = pytest.mark.parametrize("write", [write_lerobot_v2, write_lerobot_v3])
LATE = 4
N_LEFT = N_FRAMES - LATE


def complete(root: Path) -> Path:
    """Add what the loader requires to an example of the importer, which requires less."""
    path = root / "meta/info.json"
    info = json.loads(path.read_text())
    del info["features"]["observation.images.depth"]
    path.write_text(json.dumps(info))
    (root / "meta/tasks.jsonl").write_text('{"task_index": 0, "task": "push"}\n')
    pq.write_table(pa.table({"task_index": [0]}), root / "meta/tasks.parquet")
    return root


def repaired(root: Path, folder: Path, *options: str, **offsets_s: float) -> Path:
    """Apply a calibration to a data set; return the folder of the new one."""
    known = calibration(folder, **offsets_s)
    manifest, out = folder / "m.jsonl", folder / "repaired"
    import_dataset(str(root), manifest, format_name="lerobot")
    words = ("apply", known, manifest, "--as", "lerobot", "--out", out, *options)
    run_command(*words, expected=0)
    return out


def recorded(out: Path) -> list[dict[str, Any]]:
    return lines(out / "corrections.jsonl")


def levels(loaded: Loaded, episode: int, camera: str) -> list[int]:
    frames = loaded.frames(episode, f"observation.images.{camera}")
    return [round(float(frame.mean())) for frame in frames]


def first_level(root: Path, episode: int) -> int:
    return 40 if root.name == "pusht" else 40 + 5 * episode


@EXAMPLES
def test_rows_get_the_later_frames_of_a_late_camera(write, tmp_path):
    root = complete(write(tmp_path, 3))
    loaded = Loaded(repaired(root, tmp_path, wrist=-LATE / FPS))
    for episode in range(3):
        first = first_level(root, episode)
        assert levels(loaded, episode, "top") == list(range(first, first + N_LEFT))
        assert levels(loaded, episode, "wrist") == list(range(first + LATE, first + N_FRAMES))
        was = loaded.column("original_timestamp.wrist")[loaded.span(episode)]
        assert np.allclose(was, np.arange(LATE, N_FRAMES) / FPS)


@EXAMPLES
def test_rows_get_the_earlier_states_of_early_ones_and_stay_with_their_frames(write, tmp_path):
    root = complete(write(tmp_path, 2))
    before = [pq.read_table(path) for path in sorted((root / "data").rglob("*.parquet"))]
    states = np.array(pa.concat_tables(before).column("observation.state").to_pylist())
    loaded = Loaded(repaired(root, tmp_path, state=2.2 / FPS))
    for episode in range(2):
        first, begin = first_level(root, episode), N_FRAMES * episode
        assert levels(loaded, episode, "wrist") == list(range(first + 2, first + N_FRAMES))
        now = loaded.column("observation.state")[loaded.span(episode)]
        assert np.allclose(now, states[begin : begin + N_FRAMES - 2])
        action = loaded.column("action")[loaded.span(episode)]
        assert np.allclose(action, states[begin + 2 : begin + N_FRAMES])
        images = loaded.rows.column("observation.images.still").to_pylist()[loaded.span(episode)]
        assert [image["bytes"] for image in images] == [
            still(episode, k) for k in range(2, N_FRAMES)
        ]


def test_states_are_interpolated_where_that_is_asked_for(tmp_path):
    root = complete(write_lerobot_v3(tmp_path, 1))
    states = np.array(
        pq.read_table(root / "data/chunk-000/file-000.parquet")["observation.state"].to_pylist()
    )
    loaded = Loaded(repaired(root, tmp_path, "--interpolate", state=-1.25 / FPS))
    assert np.allclose(
        loaded.column("observation.state"), 0.75 * states[1:-1] + 0.25 * states[2:], atol=1e-6
    )
    assert np.allclose(loaded.column("action"), states[:-2])


def test_original_and_its_videos_are_untouched(tmp_path):
    root = complete(write_lerobot_v3(tmp_path, 2))
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    out = repaired(root, tmp_path, top=2.0 / FPS)
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    name = "videos/observation.images.top/chunk-000/file-000.mp4"
    assert (out / name).samefile(root / name)


def test_episode_without_its_video_is_left_out_and_the_next_takes_its_number(tmp_path):
    root = complete(write_lerobot_v2(tmp_path, 3))
    (root / "videos/chunk-000/observation.images.top/episode_000001.mp4").unlink()
    out = repaired(root, tmp_path, wrist=-LATE / FPS)
    assert len(Loaded(out).episodes) == 2
    assert [row.get("original_episode_index") for row in recorded(out)] == [0, None, 2]


def test_less_than_half_a_row_changes_nothing_and_is_told(tmp_path):
    root = complete(write_lerobot_v2(tmp_path, 1))
    out = repaired(root, tmp_path, wrist=-0.4 / FPS)
    (told,) = recorded(out)
    assert told["original_rows"] == [0, N_FRAMES]
    assert "13.3 ms late, less than half a row" in told["sources"]["wrist"]["unchanged"]


def test_episode_shorter_than_the_lag_leaves_nothing(tmp_path):
    root = complete(write_lerobot_v2(tmp_path, 1))
    with pytest.raises(AssertionError, match=r"no episode could be paired[^|]*table above"):
        repaired(root, tmp_path, wrist=-1.0)


def test_folder_that_holds_something_is_refused(tmp_path):
    root = complete(write_lerobot_v2(tmp_path, 1))
    (tmp_path / "repaired").mkdir()
    (tmp_path / "repaired/mine").touch()
    with pytest.raises(AssertionError, match=r"something already.*new folder"):
        repaired(root, tmp_path, wrist=-0.1)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--as", "lerobot"), "not the episodes of one LeRobot"),
        (("--interpolate",), "applies to rows"),
    ],
)
def test_what_has_no_rows_is_refused(options, told, tmp_path):
    row = {"clip_id": "a", "sources": {"t": {"kind": "events", "uri": "t.csv"}}}
    (tmp_path / "m.jsonl").write_text(json.dumps(row) + "\n")
    known = calibration(tmp_path, t=0.1)
    words = ("apply", known, tmp_path / "m.jsonl", "-o", tmp_path / "out")
    assert told in run_command(*words, *options, expected=2).stderr


def test_several_clips_of_an_episode_are_refused(tmp_path):
    import_dataset(str(complete(write_lerobot_v2(tmp_path, 1))), tmp_path / "m.jsonl")
    (row,) = lines(tmp_path / "m.jsonl")
    twice = (json.dumps(row | {"clip_id": name}) + "\n" for name in "ab")
    (tmp_path / "m.jsonl").write_text("".join(twice))
    known = calibration(tmp_path, top=0.1)
    words = ("apply", known, tmp_path / "m.jsonl", "--as", "lerobot")
    told = run_command(*words, "-o", tmp_path / "out", expected=2).stderr
    assert "several clips are cut from the same episode" in told


def test_episode_that_the_data_set_lost_is_left_out(tmp_path):
    root = complete(write_lerobot_v3(tmp_path, 2))
    import_dataset(str(root), tmp_path / "old.jsonl", format_name="lerobot")
    rows = pq.read_table(root / "meta/episodes/chunk-000/file-000.parquet").slice(0, 1)
    pq.write_table(rows, root / "meta/episodes/chunk-000/file-000.parquet")
    known = calibration(tmp_path, top=0.1)
    words = ("apply", known, tmp_path / "old.jsonl", "--as", "lerobot")
    run_command(*words, "-o", tmp_path / "out", expected=0)
    lost = recorded(tmp_path / "out")[1]["sources"]["top"]["unchanged"]
    assert "left out" in lost
    assert "it cannot be read (KeyError: 1). Download the data set" in lost
    assert len(Loaded(tmp_path / "out").episodes) == 1


@pytest.mark.parametrize("options", [{"bf": "0"}, {"bf": "3", "b_strategy": "0"}])
def test_video_is_cut_at_any_frame(options, tmp_path):
    video(tmp_path / "a.mp4", list(range(40, 70)), **options)
    packets = VideoPackets(tmp_path / "a.mp4")
    stop = packets.stop_before(24)
    assert 20 < stop <= 24
    packets.write(tmp_path / "b.mp4", 7, stop)
    assert len(VideoPackets(tmp_path / "b.mp4")) == stop - 7


@given(
    offsets=st.lists(st.floats(-0.3, 0.3), min_size=1, max_size=4),
    is_interpolated=st.booleans(),
)
def test_every_row_gets_the_nearest_sample_that_there_is(offsets, is_interpolated):
    named = {f"s{k}": offset for k, offset in enumerate(offsets)}
    vectors = set(named) - {"s0"} if is_interpolated else set()
    pairing = pair_rows(60, 30.0, named, cameras={"s0"}, interpolated=vectors)
    assert pairing.n_rows >= 60 - 2 * 10
    rows_s = np.arange(pairing.start, pairing.stop) / 30.0
    shifts_s = []
    for name, offset_s in named.items():
        samples = pairing.samples(name)
        assert samples[0] >= 0
        assert samples[-1] <= 59
        assert abs(pairing.left_s[name]) <= (1e-9 if vectors else 0.5 / 30.0 + 1e-9)
        shifts_s.append(samples / 30.0 + offset_s - pairing.left_s[name] - rows_s)
    assert np.allclose(shifts_s, shifts_s[0][0])  # all rows hold one instant


def test_statistics_of_parts_come_to_those_of_all():
    values = np.random.default_rng(1).normal(size=(50, 3))
    parts = [of_episode({"a": part}, has_quantiles=True) for part in (values[:20], values[20:])]
    found, expected = together(parts)["a"], of_episode({"a": values}, has_quantiles=False)["a"]
    for name in ("min", "max", "mean", "std"):
        assert np.allclose(found[name], expected[name])
    assert found["count"] == [50]
    assert np.allclose(found["q50"], expected["mean"], atol=0.3)
