"""Manifests are read, and their faults are reported."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import fsspec
import pytest

from syncaudit.datasets import clip_to_row, iter_manifest, load_manifest
from syncaudit.datasets.manifest import clip_from_row
from syncaudit.errors import ManifestError
from syncaudit.model import CameraSpec, CanSpec, Distortion
from syncaudit.readers.uris import resolve
from testkit.json_lines import write_json_lines
from testkit.manifest_rows import CONTRACT, imu_row, with_source
from testkit.places import real_recording


def test_example_of_the_contract_is_read(tmp_path: Path) -> None:
    clip = load_manifest(write_json_lines(tmp_path / "m.jsonl", CONTRACT))[0]
    assert (clip.clip_id, clip.recording_id, clip.reference) == (
        "drive07/000123",
        "drive07",
        "imu",
    )
    assert clip.start_ns == 1767225600000000000
    assert clip.base_uri == str(tmp_path)
    camera = clip.sources["cam_front"]
    assert isinstance(camera, CameraSpec)
    assert camera.line_delay_s == 2.5e-5
    can = clip.sources["can"]
    assert isinstance(can, CanSpec)
    assert can.signals["strobe"] == "StrobeCount"


def with_lens(**distortion: object) -> dict[str, object]:
    return with_source(kind="camera", uri="a", focal_px=500.0, distortion=distortion)


def test_defaults_are_filled() -> None:
    clip = clip_from_row(imu_row())
    assert clip.recording_id == "a"
    assert clip.start_ns is None
    assert clip.sources["imu"].stamp_kind == "capture"


def test_blank_lines_and_byte_order_mark_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    rows = [json.dumps(imu_row()), json.dumps(imu_row(clip_id="b"))]
    path.write_bytes(b"\xef\xbb\xbf\r\n" + "\r\n\n   \n".join(rows).encode())
    assert [clip.clip_id for clip in iter_manifest(str(path))] == ["a", "b"]


def test_whole_numbers_are_taken_for_floats_and_huge_stamps_stay_exact() -> None:
    row = with_source(kind="camera", uri="a", start_ns=2**63 - 1, exposure_s=0, fov_deg=90)
    spec = clip_from_row(row).sources["x"]
    assert isinstance(spec, CameraSpec)
    assert spec.start_ns == 9223372036854775807
    assert spec.fov_deg == 90.0


def test_distortion_is_read_and_written_again() -> None:
    clip = clip_from_row(with_lens(model="radtan", k=[-0.28, 0.07, 0, 0, 0.01]))
    spec = clip.sources["x"]
    assert isinstance(spec, CameraSpec)
    assert spec.distortion == Distortion(model="radtan", k=[-0.28, 0.07, 0.0, 0.0, 0.01])
    again = clip_from_row(clip_to_row(clip, relative_to=""))
    assert again.sources == clip.sources
    assert pickle.loads(pickle.dumps(clip)) == clip  # noqa: S301  # our own bytes


@pytest.mark.parametrize("k", [float("inf"), float("nan"), 1e308])
def test_coefficients_of_a_lens_are_those_of_a_lens(k: float) -> None:
    with pytest.raises(ManifestError, match=r"distortion\.k is .*expected numbers up to 1e\+09"):
        clip_from_row(with_lens(model="radtan", k=[0.1, 0.2, k, 0.0]))


def test_limit_stops_before_later_faults(tmp_path: Path) -> None:
    uri = write_json_lines(tmp_path / "m.jsonl", imu_row(), {"no": "clip"})
    assert len(load_manifest(uri, limit=1)) == 1
    with pytest.raises(ManifestError, match="limit is 0"):
        load_manifest(uri, limit=0)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (imu_row(clipid="a"), r"unknown key clipid.*'clip_id'"),
        (imu_row(base_uri="x"), r"unknown key base_uri"),
        (imu_row(startns=5), r"unknown key startns.*'start_ns'"),
        (imu_row(start_ns=1.5), r"start_ns is 1\.5, expected a whole number.*integers"),
        (imu_row(start_ns=1767225600000000000.0), r"start_ns is 1\.7672256e\+18, expected a whole"),
        (imu_row(start_ns="5"), r"start_ns is '5', expected a whole number.*without quotes"),
        (imu_row(start_ns=True), r"start_ns is true, expected a whole number"),
        (imu_row(start_ns=2**63), r"start_ns is 9223372036854775808, too large for int64"),
        (imu_row(start_ns=10**40), r"too large for int64"),
        (imu_row(start_ns=5, end_ns=5), r"end_ns \(5\) is not after start_ns \(5\)"),
        (
            imu_row(sources={"c": {"kind": "camera", "uri": "p.parquet", "picture_rows": [-1, 4]}}),
            r"sources\.c\.picture_rows begins at -1",
        ),
        (
            imu_row(sources={"c": {"kind": "camera", "uri": "p.parquet", "pictures": " "}}),
            r"sources\.c\.pictures is ' '",
        ),
        (
            imu_row(origin={"dataset": "d", "episode_index": -1}),
            r"origin\.episode_index is -1",
        ),
        (
            imu_row(origin={"dataset": "d", "episode_index": 0, "total_episodes": 10**12}),
            r"origin\.total_episodes is 1000000000000, expected 1 to 2000000",
        ),
        (imu_row(reference="imo"), r"reference is 'imo'.*Did you mean 'imu'"),
        (imu_row(sources={}), r"sources is empty"),
        (imu_row(sources=[]), r"sources is a list, expected an object"),
        (imu_row(sources={"": {"kind": "imu", "uri": "a"}}), r"empty name"),
        (imu_row(sources={"imu": 5}), r"sources\.imu is 5, expected an object"),
        (imu_row(recording_id=""), r"recording_id is empty"),
        (imu_row(recording_id=7), r"recording_id is 7, expected text"),
        ({"sources": {"imu": {"kind": "imu", "uri": "a"}}}, r"clip_id is missing"),
        ({"clip_id": "", "sources": {}}, r"clip_id is empty"),
        ({"clip_id": "a"}, r"sources is missing"),
        (with_source(uri="a"), r"sources\.x\.kind is missing.*camera, imu, can"),
        (with_source(kind="camra", uri="a"), r"sources\.x\.kind is 'camra'.*'camera'"),
        (with_source(kind="imu"), r"sources\.x\.uri is missing"),
        (with_source(kind="imu", uri=5), r"sources\.x\.uri is 5, expected text"),
        (with_source(kind="imu", uri=" "), r"sources\.x\.uri is ' '"),
        (with_source(kind="can", uri="a", singals={}), r"unknown key sources\.x\.singals.*'signal"),
        (
            with_source(kind="can", uri="a", signals={"yawrate": "Y"}),
            r"signals\.yawrate.*'yaw_rate'",
        ),
        (with_source(kind="can", uri="a", signals={"Y": "yaw_rate"}), r"Swap them"),
        (with_source(kind="can", uri="a", signals={"wheel_speed_*": "Y"}), r"no such role"),
        (with_source(kind="can", uri="a", signals={"speed": 5}), r"signals\.speed is 5"),
        (
            with_source(kind="camera", uri="a", stamp_at="start_frame"),
            r"stamp_at is 'start_frame', expected .*Did you mean 'start_of_frame'",
        ),
        (with_source(kind="camera", uri="a", stream=-1), r"stream is -1.*counted from 0"),
        (with_source(kind="camera", uri="a", line_delay_s=25), r"line_delay_s is 25.*seconds"),
        (with_source(kind="camera", uri="a", exposure_s="8"), r"exposure_s is '8'.*quotes"),
        (with_source(kind="camera", uri="a", fov_deg=180), r"fov_deg is 180.*between 0 and 180"),
        (with_source(kind="camera", uri="a", focal_px=0), r"focal_px is 0.*positive"),
        (with_source(kind="camera", uri="a", focal_px=5, fov_deg=5), r"both fov_deg and focal_px"),
        (
            with_lens(model="radtan", k=[0.1, 0.2]),
            r"distortion\.k has 2 coeff.*4 or 5 or 8 for radt",
        ),
        (with_lens(model="fisheye", k=[0.1] * 5), r"has 5 coefficients, expected 4 for fisheye"),
        (with_lens(model="brown", k=[0.1] * 4), r"distortion\.model is 'brown'.*'radtan'"),
        (with_lens(model="radtan", k=["0", 0.2, 0, 0]), r"distortion\.k\.0 is '0'.*quotes"),
        (with_lens(model="radtan", k1=0.1), r"unknown key sources\.x\.distortion\.k1"),
        (with_lens(model="radtan"), r"sources\.x\.distortion\.k is missing"),
        (
            with_source(kind="camera", uri="a", distortion={"model": "fisheye", "k": [0.0] * 4}),
            r"distortion without focal_px or fov_deg",
        ),
        (with_source(kind="camera", uri="a", start_ns=-(2**63) - 1), r"x\.start_ns.*int64"),
        (with_source(kind="imu", uri="a", expected_offset_s=None, clock=""), r"x\.clock is ''"),
        (with_source(kind="imu", uri="a", stamp_std_s=-1.0), r"stamp_std_s is -1\.0, expected 0 s"),
        (with_source(kind="imu", uri="a", stamp_kind="made"), r"stamp_kind is 'made'"),
        (with_source(kind="state", uri="a", columns={"q": "q0"}), r"columns\.q is 'q0'.*list"),
        (with_source(kind="transcript", uri="a", audio="mic"), r"'mic', which is not a source"),
        (with_source(kind="transcript", uri="a", audio="x"), r"of kind transcript, not audio"),
        (5, r"expected an object with 'clip_id' and 'sources', found 5"),
    ],
)
def test_fault_is_named_with_file_line_key_and_cure(tmp_path: Path, row: Any, message: str) -> None:
    uri = write_json_lines(tmp_path / "m.jsonl", imu_row(clip_id="first"), row)
    with pytest.raises(ManifestError, match=message) as caught:
        load_manifest(uri)
    text = str(caught.value)
    assert "m.jsonl: line 2" in text
    assert caught.value.path == uri
    assert caught.value.hint
    if isinstance(row, dict) and row.get("clip_id"):
        assert "clip 'a'" in text


def test_transcript_needs_file_or_text() -> None:
    sources = {
        "mic": {"kind": "audio", "uri": "a.wav"},
        "words": {"kind": "transcript", "audio": "mic"},
    }
    with pytest.raises(ManifestError, match=r"sources\.words has neither uri nor text"):
        clip_from_row(imu_row(sources=sources))


def test_reference_may_name_a_clock() -> None:
    sources = {"imu": {"kind": "imu", "uri": "imu.csv", "clock": "ptp"}}
    assert clip_from_row(imu_row(sources=sources, reference="ptp")).reference == "ptp"
    assert clip_from_row(imu_row(sources=sources, reference="imu")).reference == "imu"


def test_further_faults_of_a_row_are_counted() -> None:
    with pytest.raises(ManifestError, match=r"unknown key sources\.x\.urii \(and 1 more fault"):
        clip_from_row(with_source(kind="imu", urii="a"))


def test_infinite_numbers_are_refused() -> None:
    row = with_source(kind="imu", uri="a", expected_offset_s=float("inf"))
    with pytest.raises(ManifestError, match=r"expected_offset_s is .*finite"):
        clip_from_row(row)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no clips"),
        (b"\n \r\n\n", "holds no clips"),
        (b'{"clip_id": "a",\n', r"line 1: is not valid JSON .*one whole clip on every line"),
        (b'{\n  "clip_id": "a"\n}', r"line 1: is not valid JSON .*spreads it over several"),
        (b'{"clip_id": "\xff"}', r"line 1: is not UTF-8 text \(byte 0xff\).*Save"),
        (b'\n{"clip_id": "a", "clip_id": "b"}', r"line 2: the key 'clip_id' appears twice"),
        (b'{"clip_id": "a", "start_ns": NaN}', r"line 1: NaN is not a JSON number"),
        (b"[" * 100_000, r"line 1"),
    ],
)
def test_broken_file_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "m.jsonl"
    path.write_bytes(content)
    with pytest.raises(ManifestError, match=message):
        load_manifest(str(path))


def test_duplicate_clip_names_both_lines(tmp_path: Path) -> None:
    uri = write_json_lines(tmp_path / "m.jsonl", imu_row(), imu_row(clip_id="b"), imu_row())
    with pytest.raises(ManifestError, match="line 3: clip_id 'a' is already taken by line 1"):
        load_manifest(uri)


def test_missing_manifest_says_so(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"nowhere\.jsonl: .*file not found"):
        load_manifest(str(tmp_path / "nowhere.jsonl"))


def test_missing_data_files_are_no_manifest_error(tmp_path: Path) -> None:
    assert load_manifest(write_json_lines(tmp_path / "m.jsonl", imu_row()))


def test_manifest_of_a_url_resolves_beside_itself() -> None:
    with fsspec.open("memory://data/set/m.jsonl", "w") as file:
        file.write(json.dumps(imu_row()))
    clip = load_manifest("memory://data/set/m.jsonl")[0]
    assert resolve("../imu.csv", clip.base_uri) == "memory://data/imu.csv"


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["phone_gyro", "two_imus", "drive_can_imu"])
def test_real_manifests_load(name: str) -> None:
    path = real_recording(f"{name}/manifest.jsonl")
    assert load_manifest(str(path))[0].clip_id == name


@pytest.mark.parametrize("key", ["rows", "pts_ns"])
def test_ranges_beyond_int64_are_refused(key: str, tmp_path: Path) -> None:
    spec = {"kind": "camera", "uri": "a.mp4", "timestamps": "a.csv", key: [0, 10**30]}
    uri = write_json_lines(tmp_path / "m.jsonl", {"clip_id": "a", "sources": {"cam": spec}})
    with pytest.raises(ManifestError, match="too large for int64"):
        load_manifest(uri)
