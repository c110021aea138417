"""What splits share by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncaudit.errors import UsageError
from syncaudit.model import CameraSpec, Clip, ImuSpec, Origin
from syncaudit.splits.duplicates import Duplicate
from syncaudit.splits.shared import find_shared, leaked_clips
from syncaudit.splits.split_lists import Split, splits_of_hugging_face, splits_stated


def clip(clip_id: str, **fields: Any) -> Clip:
    known = {"recording_id": clip_id, "sources": {"cam": CameraSpec(uri=f"{clip_id}.mp4")}}
    return Clip(clip_id=clip_id, **(known | fields))


def shared(*splits: list[Clip]) -> list[tuple[str, str]]:
    parts = [Split(name=f"s{k}", clips=clips) for k, clips in enumerate(splits)]
    return [(found.kind, found.what) for found in find_shared(parts)]


def test_distinct_clips_share_nothing() -> None:
    assert shared([clip("a"), clip("b")], [clip("c")]) == []


def test_what_one_split_has_twice_is_not_shared() -> None:
    assert shared([clip("a", recording_id="r"), clip("b", recording_id="r")], [clip("c")]) == []


def test_a_clip_in_both_is_told_once() -> None:
    assert shared([clip("a")], [clip("a")]) == [("clip", "a")]


def test_recordings_are_told_with_their_clips() -> None:
    parts = [
        Split(name="train", clips=[clip("a", recording_id="r"), clip("b", recording_id="r")]),
        Split(name="val", clips=[clip("c", recording_id="r"), clip("d")]),
    ]
    (found,) = find_shared(parts)
    assert (found.kind, found.what) == ("recording", "r")
    assert found.clips == {"train": ("a", "b"), "val": ("c",)}


def test_episodes() -> None:
    one, other = (clip(name, origin=Origin(dataset="/d", episode_index=4)) for name in ("a", "b"))
    assert shared([one], [other]) == [("episode", "/d, episode 4")]


@pytest.mark.parametrize(
    ("one", "other", "is_shared"),
    [
        ({}, {}, True),
        ({"pts_ns": [0, 100]}, {"pts_ns": [100, 200]}, False),
        ({"pts_ns": [0, 101]}, {"pts_ns": [100, 200]}, True),
    ],
)
def test_files_count_where_the_parts_that_are_used_overlap(
    one: dict[str, Any], other: dict[str, Any], is_shared: bool
) -> None:
    clips = [
        [clip(name, sources={"cam": CameraSpec(uri="/data/x.mp4", **part)})]
        for name, part in (("a", one), ("b", other))
    ]
    assert shared(*clips) == ([("file", "/data/x.mp4")] if is_shared else [])


def test_windows_part_a_file_that_states_no_rows() -> None:
    sources = {"imu": ImuSpec(uri="/data/imu.csv")}

    def part(name: str, start_ns: int, end_ns: int) -> Clip:
        return clip(name, sources=sources, start_ns=start_ns, end_ns=end_ns)

    assert shared([part("a", 0, 10)], [part("b", 10, 20)]) == []
    assert shared([part("a", 0, 10)], [part("b", 9, 20)]) == [("file", "/data/imu.csv")]


def lerobot(tmp_path: Path, splits: dict[str, str]) -> list[Clip]:
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta" / "info.json").write_text(json.dumps({"splits": splits}))
    return [clip(f"e{k}", origin=Origin(dataset=str(tmp_path), episode_index=k)) for k in range(5)]


def test_a_lerobot_data_set_states_its_splits(tmp_path: Path) -> None:
    found = splits_stated(lerobot(tmp_path, {"train": "0:4", "val": "3:5"}))
    assert [[c.clip_id for c in split.clips] for split in found] == [
        ["e0", "e1", "e2", "e3"],
        ["e3", "e4"],
    ]


@pytest.mark.parametrize(
    ("splits", "words"), [({"train": "0:5"}, "states 1 split"), ({"a": "0:2", "b": "x"}, "'x'")]
)
def test_splits_that_are_none_are_told(splits: dict[str, str], words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        splits_stated(lerobot(tmp_path, splits))


def test_clips_of_no_data_set_have_no_splits() -> None:
    with pytest.raises(UsageError, match="Name at least two splits"):
        splits_stated([clip("a")])


def test_shards_and_folders_are_told_by_their_names() -> None:
    names = ("train-000000/a", "train-000001/b", "val-000000/c", "readme/d", "trained/e")
    found = splits_stated([clip(name) for name in names])
    assert {split.name: len(split.clips) for split in found} == {"train": 2, "val": 1}
    with pytest.raises(UsageError, match="several of its own"):
        splits_stated([clip("train-0/a"), clip("b")])


@pytest.mark.parametrize("is_saved", [True, False])
def test_hugging_face_splits_by_their_column(tmp_path: Path, is_saved: bool) -> None:
    for name, ids in {"train": ["a", "b"], "validation": ["b", "c"]}.items():
        table = pa.table({"clip_id": ids, "x": [0, 1]})
        if is_saved:
            (tmp_path / name).mkdir()
            path = tmp_path / name / "data-00000-of-00001.arrow"
            with pa.ipc.new_stream(path, table.schema) as stream:
                stream.write_table(table)
        else:
            (tmp_path / "data").mkdir(exist_ok=True)
            pq.write_table(table, tmp_path / "data" / f"{name}-00000-of-00001.parquet")
    assert splits_of_hugging_face(str(tmp_path)) == {"train": ["a", "b"], "validation": ["b", "c"]}


def test_hugging_face_splits_without_the_column_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds 0 split"):
        splits_of_hugging_face(str(tmp_path))
    pq.write_table(pa.table({"x": [1]}), tmp_path / "train-00000-of-00001.parquet")
    with pytest.raises(UsageError, match="'clip_id'"):
        splits_of_hugging_face(str(tmp_path))


@pytest.mark.parametrize(("start_ns", "is_shared"), [(50, True), (100, False)])
def test_one_device_records_one_place_at_a_time(start_ns: int, is_shared: bool) -> None:
    one = clip("a", about={"vehicle": "7"}, start_ns=0, end_ns=100)
    other = clip("b", about={"vehicle": "7"}, start_ns=start_ns, end_ns=start_ns + 100)
    assert shared([one], [other]) == ([("device", "7 at one time")] if is_shared else [])


def test_later_splits_lose_what_they_share() -> None:
    parts = [
        Split(name="train", clips=[clip("a", recording_id="r"), clip("x")]),
        Split(name="val", clips=[clip("b", recording_id="r"), clip("c"), clip("d")]),
    ]
    copy = Duplicate(
        splits=("val", "train"), clips=("c", "x"), sources=("cam", "cam"),
        agreement=0.9, start_s=0.0, common_s=9.0,
    )  # fmt: skip
    assert leaked_clips(parts, find_shared(parts), [copy]) == ["b", "c"]
