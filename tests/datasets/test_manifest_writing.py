"""Manifests are written so that they read back the same from any folder."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncaudit.datasets import clip_to_row, load_manifest, write_manifest
from syncaudit.datasets.manifest import clip_from_row
from syncaudit.errors import ManifestError, UsageError
from syncaudit.model import CameraSpec, StateSpec
from testkit.manifest_rows import CONTRACT, imu_row, with_source


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_written_rows_read_back_the_same(tmp_path: Path, suffix: str) -> None:
    other = {
        "clip_id": "b",
        "sources": {
            "arm": {"kind": "state", "uri": "s.parquet", "columns": {"q": ["q0", "q1"]}},
            "imu": {"kind": "imu", "uri": "i.csv", "columns": {"gyro_x": "wx"}},
        },
    }
    clips = [clip_from_row(row, base_uri=str(tmp_path)) for row in (imu_row(), CONTRACT, other)]
    path = tmp_path / f"out.{suffix}"
    write_manifest((clip_to_row(clip, relative_to=str(tmp_path)) for clip in clips), path)
    assert load_manifest(str(path)) == clips
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    state = clips[2].sources["arm"]
    assert isinstance(state, StateSpec)
    assert state.columns == {"q": ["q0", "q1"]}


def test_rows_leave_defaults_out() -> None:
    assert clip_to_row(clip_from_row(imu_row())) == imu_row()
    assert clip_to_row(clip_from_row(CONTRACT)) == {
        **CONTRACT,
        "sources": {
            **CONTRACT["sources"],
            "cam_front": {
                key: value
                for key, value in CONTRACT["sources"]["cam_front"].items()
                if key != "stamp_at"
            },
        },
    }


def test_parquet_maps_and_nulls_mean_what_they_say(tmp_path: Path) -> None:
    spec = pa.struct(
        [
            ("kind", pa.string()),
            ("uri", pa.string()),
            ("signals", pa.map_(pa.string(), pa.string())),
        ]
    )
    table = pa.table(
        {
            "clip_id": ["a"],
            "reference": pa.array([None], pa.string()),
            "start_ns": pa.array([1767225600123456789], pa.int64()),
            "sources": pa.array(
                [
                    [
                        ("can", {"kind": "can", "uri": "c.csv", "signals": [("speed", "v")]}),
                        ("imu", {"kind": "imu", "uri": "i.csv", "signals": None}),
                    ]
                ],
                pa.map_(pa.string(), spec),
            ),
        }
    )
    pq.write_table(table, tmp_path / "m.parquet")
    clip = load_manifest(str(tmp_path / "m.parquet"))[0]
    assert clip.start_ns == 1767225600123456789
    assert sorted(clip.sources) == ["can", "imu"]


def test_nulls_are_dropped_wherever_they_stand_and_the_word_is_kept() -> None:
    camera = {"kind": "camera", "uri": "null.mp4", "clock": None, "findings": ["gap: null"]}
    plain = clip_from_row({"clip_id": "null", "sources": {"a": {**camera, "stream": 1}}})
    row = {"clip_id": "null", "origin": None, "sources": {"a": {**camera, "stream": 1}, "b": None}}
    clip = clip_from_row(MappingProxyType({**row, "sources": MappingProxyType(row["sources"])}))
    assert clip == plain
    assert clip.sources["a"] == CameraSpec(uri="null.mp4", stream=1, findings=["gap: null"])


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ManifestError, match="is not plain JSON"):
        clip_from_row({"clip_id": "a", "sources": {"a": {"kind": "camera", "uri": {"b"}}}})


def test_float_stamps_of_a_parquet_manifest_are_refused(tmp_path: Path) -> None:
    sources = {"i": {"kind": "imu", "uri": "a"}}
    table = pa.table({"clip_id": ["a"], "start_ns": [1.5e18], "sources": [sources]})
    pq.write_table(table, tmp_path / "m.parquet")
    with pytest.raises(ManifestError, match=r"row 0, clip 'a': start_ns is 1\.5e\+18.*Int64"):
        load_manifest(str(tmp_path / "m.parquet"))


def test_damaged_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(ManifestError, match="Parquet file is damaged"):
        load_manifest(str(tmp_path / "m.parquet"))


def test_rows_that_no_schema_holds_ask_for_json_lines(tmp_path: Path) -> None:
    rows = [
        {"clip_id": "a", "sources": {"x": {"kind": "imu", "columns": {"a": "b"}}}},
        {"clip_id": "b", "sources": {"x": {"kind": "state", "columns": {"a": ["b"]}}}},
    ]
    with pytest.raises(UsageError, match=r"one Parquet schema.*\.jsonl"):
        write_manifest(rows, tmp_path / "m.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("imu.csv", "../in/imu.csv"),
        ("deep/../imu.csv", "../in/imu.csv"),
        ("frames/*.jpg", "../in/frames/*.jpg"),
        ("/data/imu.csv", "/data/imu.csv"),
        ("s3://bucket/imu.csv", "s3://bucket/imu.csv"),
        ("tar://imu.csv::shard.tar", "tar://imu.csv::../in/shard.tar"),
    ],
)
def test_uris_still_resolve_from_another_folder(tmp_path: Path, uri: str, expected: str) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    clip = clip_from_row(with_source(kind="imu", uri=uri), base_uri=str(tmp_path / "in"))
    row = clip_to_row(clip, relative_to=str(tmp_path / "out"))
    assert row["sources"]["x"]["uri"] == expected


def test_uris_resolve_through_linked_folders(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep" / "out").mkdir(parents=True)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "imu.csv").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real" / "deep" / "out")
    clip = clip_from_row(imu_row(), base_uri=str(tmp_path / "in"))
    uri = clip_to_row(clip, relative_to=str(tmp_path / "link"))["sources"]["imu"]["uri"]
    assert (tmp_path / "link" / uri).read_text() == "x"


def test_linked_files_keep_their_name(tmp_path: Path) -> None:
    (tmp_path / "blob").write_text("x")
    (tmp_path / "imu.csv").symlink_to(tmp_path / "blob")
    clip = clip_from_row(imu_row(), base_uri=str(tmp_path))
    row = clip_to_row(clip, relative_to=str(tmp_path / "out"))
    assert row["sources"]["imu"]["uri"] == str(Path("..") / "imu.csv")


@pytest.mark.parametrize(
    ("base_uri", "relative_to", "expected"),
    [
        ("s3://bucket/in", "s3://bucket/out", "../in/imu.csv"),
        ("s3://bucket/in", "s3://other/out", "s3://bucket/in/imu.csv"),
        ("s3://bucket/in", "/tmp/out", "s3://bucket/in/imu.csv"),  # noqa: S108  # never opened
        ("/data/in", "s3://bucket/out", "/data/in/imu.csv"),
    ],
)
def test_uris_move_between_storages(base_uri: str, relative_to: str, expected: str) -> None:
    clip = clip_from_row(imu_row(), base_uri=base_uri)
    assert clip_to_row(clip, relative_to=relative_to)["sources"]["imu"]["uri"] == expected
