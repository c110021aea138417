from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from syncaudit import audit
from syncaudit.decode import iter_luma
from syncaudit.errors import StreamReadError
from syncaudit.model import CameraSpec, CameraStream, Clip, Distortion, Severity
from syncaudit.readers import read_source
from syncaudit.readers.access import Roots, within_roots
from syncaudit.readers.camera import read_camera
from testkit.late_tracks import write_late
from testkit.places import real_recording

T0 = 1767225600123456789


def camera(spec: CameraSpec, base: Path | str = "") -> CameraStream:
    stream = read_source("cam", spec, str(base))
    assert isinstance(stream, CameraStream)
    return stream


def stamp_file(folder: Path, n_rows: int) -> None:
    rows = "".join(f"{T0 + 33333333 * k}\n" for k in range(n_rows))
    (folder / "s.csv").write_text("timestamp_ns\n" + rows)


def test_stamps_come_from_the_table_and_the_rest_from_container_and_manifest(
    samples: Mapping[str, Any], tmp_path: Path
) -> None:
    sample = samples["camera a.mp4"].changed(
        line_delay_s=2.5e-5, exposure_s=0.008, stamp_at="start_of_frame"
    )
    stream = camera(sample.put(tmp_path), tmp_path)
    assert stream.time_ns.tolist() == [T0 + 33333333 * k for k in range(10)]
    assert stream.n_frames_container == 10
    assert (stream.width_px, stream.height_px, stream.focal_px) == (64, 48, None)
    assert (stream.line_delay_s, stream.exposure_s) == (2.5e-5, 0.008)
    assert stream.stamp_at == "start_of_frame"
    assert stream.pts_s is not None
    np.testing.assert_allclose(stream.pts_s, np.arange(10) / 30, atol=1e-9)
    assert sum(1 for _ in iter_luma(stream.files)) == 10


def test_raw_stream_is_counted_without_decoding(samples: Mapping[str, Any], tmp_path: Path) -> None:
    stream = camera(samples["camera a.h264"].put(tmp_path), tmp_path)
    assert (stream.n_frames_container, stream.pts_s) == (10, None)


@pytest.mark.parametrize("n_rows", [9, 12])
def test_frames_and_stamps_that_differ_in_number_are_a_finding(
    samples: Mapping[str, Any], tmp_path: Path, n_rows: int
) -> None:
    spec = samples["camera a.mp4"].put(tmp_path)
    stamp_file(tmp_path, n_rows)
    (finding,) = camera(spec, tmp_path).findings
    assert (finding.code, finding.value, finding.limit) == ("length_mismatch", 10, n_rows)
    assert f"holds 10 frames but s.csv {n_rows} timestamps" in finding.message


def test_container_stamps_are_start_plus_exact_pts(
    samples: Mapping[str, Any], tmp_path: Path
) -> None:
    sample = samples["camera a.mp4"].changed(timestamps=None, start_ns=T0)
    stream = camera(sample.put(tmp_path), tmp_path)
    pts = [round(k * 10**9 / 30) for k in range(10)]
    assert (stream.time_ns - T0).tolist() == pts
    assert stream.findings == ()


@pytest.mark.parametrize(
    ("name", "keys", "message"),
    [
        ("camera a.mp4", {}, r"neither 'timestamps' nor 'start_ns'.*one row per frame"),
        ("camera a.h264", {"start_ns": T0}, r"no presentation times .*Give 'timestamps'"),
        ("camera images", {"start_ns": T0}, r"images carry no timestamps.*Give 'timestamps'"),
        ("camera a.mp4", {"start_ns": 2**63 - 1}, r"exceeds int64.*nanoseconds"),
        ("camera a.mp4", {"timestamps": "s.csv", "stream": 2}, r"1 video stream\(s\), stream 2"),
    ],
)
def test_manifest_that_gives_no_stamps_is_told_what_to_give(
    samples: Mapping[str, Any], tmp_path: Path, name: str, keys: dict[str, Any], message: str
) -> None:
    sample = samples[name].changed(**{"timestamps": None, **keys})
    with pytest.raises(StreamReadError, match=message) as caught:
        camera(sample.put(tmp_path), tmp_path)
    assert caught.value.code == "manifest"


def test_late_first_pts_is_remarked(samples: Mapping[str, Any], tmp_path: Path) -> None:
    samples["camera a.mp4"].put(tmp_path)
    late = write_late(tmp_path / "a.mp4", "video", 15360)
    stream = camera(CameraSpec(uri=late, start_ns=T0), tmp_path)
    (finding,) = stream.findings
    assert (finding.code, finding.severity, finding.value) == ("manifest", "warning", 1.0)
    assert stream.time_ns[0] == T0 + 10**9


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, None),
        ({"focal_px": 570.0}, 570.0),
        ({"fov_deg": 90.0}, 32.0),
        ({"fov_deg": 60.0}, 32 / math.tan(math.radians(30))),
        # an equidistant fisheye: half of the width is half of the angle
        (
            {"fov_deg": 150.0, "distortion": Distortion(model="fisheye", k=[0.0] * 4)},
            32 / math.radians(75),
        ),
    ],
)
def test_focal_length_comes_from_either_key(
    samples: Mapping[str, Any], tmp_path: Path, keys: dict[str, Any], expected: float | None
) -> None:
    stream = camera(samples["camera a.mp4"].changed(**keys).put(tmp_path), tmp_path)
    assert stream.focal_px == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("uri", ["frames", "frames/", "frames/*.jpg", "frames/f*", "**/*.jpg"])
def test_images_come_in_natural_order(samples: Mapping[str, Any], tmp_path: Path, uri: str) -> None:
    sample = samples["camera images"].changed(uri=uri)
    frame = sample.content
    sample.put(tmp_path)
    for k in (10, 11, 100):
        (tmp_path / "frames" / f"f{k}.jpg").write_bytes(frame)
    (tmp_path / "frames" / "notes.txt").write_text("no image")
    stamp_file(tmp_path, 13)
    stream = camera(sample.spec, tmp_path)
    names = [Path(path).name for path in stream.files.paths]
    assert names == [f"f{k}.jpg" for k in (*range(12), 100)]
    assert stream.files.is_images
    assert (stream.n_frames_container, stream.width_px, stream.height_px) == (13, 64, 48)
    assert stream.pts_s is None
    assert stream.findings == ()


def test_folder_without_images_is_empty(tmp_path: Path) -> None:
    (tmp_path / "frames").mkdir()
    (tmp_path / "frames" / "a.txt").write_text("x")
    (tmp_path / "s.csv").write_text("timestamp_ns\n1\n")
    with pytest.raises(StreamReadError, match=r"holds no images \(1 other files\)") as caught:
        camera(CameraSpec(uri="frames", timestamps="s.csv"), tmp_path)
    assert caught.value.code == "empty"


def test_file_whose_name_looks_like_a_glob_is_a_file(
    samples: Mapping[str, Any], tmp_path: Path
) -> None:
    sample = samples["camera a.mp4"]
    sample = replace(sample, file="a[1].mp4", spec=replace(sample.spec, uri="a[1].mp4"))
    assert camera(sample.put(tmp_path), tmp_path).n_frames_container == 10


def test_table_beside_timestamps_is_reported_as_a_camera_without_images(tmp_path: Path) -> None:
    stamp_file(tmp_path, 4)
    (tmp_path / "images.csv").write_text("image\na.png\n")
    stream = camera(CameraSpec(uri="images.csv", timestamps="s.csv"), tmp_path)
    assert (stream.time_ns.size, stream.files.paths) == (4, ())
    (finding,) = stream.findings
    assert "images.csv is a table, so this camera has no images" in finding.message
    assert finding.severity is Severity.WARNING
    assert camera(CameraSpec(uri="s.csv"), tmp_path).findings == ()


def test_stamp_table_without_rows_is_empty(samples: Mapping[str, Any], tmp_path: Path) -> None:
    spec = samples["camera a.mp4"].put(tmp_path)
    stamp_file(tmp_path, 0)
    stream = camera(spec, tmp_path)
    assert [finding.code for finding in stream.findings] == ["empty", "length_mismatch"]


def test_times_that_select_no_frame_are_told_with_those_that_would(
    samples: Mapping[str, Any], tmp_path: Path
) -> None:
    spec = samples["camera a.mp4"].changed(pts_ns=[10**12, 2 * 10**12]).put(tmp_path)
    where = r"a\.mp4: no frame .* in 'pts_ns' \[1000000000000, 2000000000000\]: they run from 0 to "
    with pytest.raises(StreamReadError, match=where) as caught:
        camera(spec, tmp_path)
    assert caught.value.code == "empty"


def test_remote_video_lies_in_the_scratch_folder(
    samples: Mapping[str, Any], tmp_path: Path
) -> None:
    import fsspec

    sample = samples["camera a.mp4"]
    for name, content in {**sample.beside, sample.file: sample.content}.items():
        with fsspec.open(f"memory://scratch-test/{name}", "wb") as file:
            file.write(content)
    stream = read_camera("cam", sample.spec, "memory://scratch-test", scratch=tmp_path / "scratch")
    assert Path(stream.files.paths[0]).parent == tmp_path / "scratch"
    assert len(list((tmp_path / "scratch").iterdir())) == 1
    again = camera(sample.spec, "memory://scratch-test")
    assert sum(1 for _ in iter_luma(again.files)) == 10


def test_member_of_a_tar_is_read(samples: Mapping[str, Any], tmp_path: Path) -> None:
    import tarfile

    sample = samples["camera a.mp4"]
    sample.put(tmp_path)
    with tarfile.open(tmp_path / "shard.tar", "w") as shard:
        shard.add(tmp_path / "a.mp4", "000.cam.mp4")
    spec = CameraSpec(uri="tar://000.cam.mp4::shard.tar", timestamps="s.csv")
    assert camera(spec, tmp_path).findings == ()


@pytest.mark.parametrize(("stop", "message"), [(500, "moov atom"), (None, r"\(first: tar:")])
def test_faults_of_a_member_of_a_tar_are_told_by_its_name(
    samples: Mapping[str, Any], tmp_path: Path, stop: int | None, message: str
) -> None:
    import tarfile

    sample = samples["camera a.mp4"]
    sample.put(tmp_path)
    content = bytearray((tmp_path / "a.mp4").read_bytes())
    data = content.index(b"mdat") + 4
    content[data + 900 : data + 9000] = b"\xff" * 8100
    (tmp_path / "a.mp4").write_bytes(content[:stop])
    with tarfile.open(tmp_path / "shard.tar", "w") as shard:
        shard.add(tmp_path / "a.mp4", "000.cam.mp4")
    spec = CameraSpec(uri="tar://000.cam.mp4::shard.tar", timestamps="s.csv")
    clip = Clip(clip_id="a", recording_id="a", sources={"cam": spec}, base_uri=f"{tmp_path}/")
    with within_roots(Roots(places=(str(tmp_path),))):
        verdict = audit(clip)
    faults = [f.message for f in verdict.reasons if f.code in ("corrupt", "unreadable")]
    assert any(re.search(message, fault) for fault in faults)
    assert all(fault.startswith("tar://000.cam.mp4::shard.tar: ") for fault in faults)
    assert not any("syncaudit-" in fault for fault in faults)


@pytest.mark.realdata
def test_real_images_of_a_phone() -> None:
    folder = real_recording("phone_gyro")
    stream = camera(CameraSpec(uri="frames/*.jpg", timestamps="frames.csv"), folder)
    assert (len(stream.time_ns), stream.time_ns[0]) == (103, 4328043690897000)
    assert (stream.width_px, stream.height_px, stream.findings) == (800, 600, ())


@pytest.mark.realdata
def test_real_video_of_a_drone() -> None:
    path = real_recording("drone_gimbal/karma.mp4")
    stream = camera(CameraSpec(uri=str(path), start_ns=T0))
    assert (stream.n_frames_container, stream.width_px, stream.height_px) == (362, 854, 480)
