"""Any source may state when its samples arrived, and what its importer found wrong."""

from __future__ import annotations

import pytest

from syncaudit.datasets.manifest import clip_from_row
from syncaudit.errors import ManifestError
from syncaudit.model import Severity
from syncaudit.pipeline import read_clip

TIMES = [1_767_225_600_000_000_000 + k * 10_000_000 for k in range(5)]


def clip_of(tmp_path, **fields):
    (tmp_path / "imu.csv").write_text(
        "timestamp_ns,gyro_x,gyro_y,gyro_z\n" + "".join(f"{t},1,2,3\n" for t in TIMES)
    )
    row = {"kind": "imu", "uri": "imu.csv", **fields}
    return clip_from_row({"clip_id": "a", "sources": {"imu": row}}, base_uri=str(tmp_path))


@pytest.mark.parametrize("has_publish", [False, True])
def test_times_of_arrival_are_read_exactly(tmp_path, has_publish):
    names = ["timestamp_ns", "receive_ns", *(["publish_ns"] if has_publish else [])]
    lines = [",".join(names)] + [",".join(str(t + k) for k in range(len(names))) for t in TIMES]
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    arrivals = read_clip(clip_of(tmp_path, arrivals="in.csv")).streams["imu"].arrivals
    assert arrivals.capture_ns.tolist() == TIMES
    assert arrivals.receive_ns.tolist() == [t + 1 for t in TIMES]
    published = None if arrivals.publish_ns is None else arrivals.publish_ns.tolist()
    assert published == ([t + 2 for t in TIMES] if has_publish else None)


@pytest.mark.parametrize(
    ("table", "code", "text"),
    [
        (None, "missing_file", "file not found"),
        ("timestamp_ns\n5\n", "unreadable", "no column 'receive_ns'"),
        ("timestamp_ns,receive_ns\n5,x\n", "corrupt", "'receive_ns' is 'x'"),
    ],
)
def test_times_of_arrival_that_cannot_be_read_leave_the_source(tmp_path, table, code, text):
    if table is not None:
        (tmp_path / "in.csv").write_text(table)
    read = read_clip(clip_of(tmp_path, arrivals="in.csv"))
    assert read.streams["imu"].time_ns.tolist() == TIMES
    assert [str(finding.code) for finding in read.findings] == [code]
    assert text in read.findings[0].message


def test_what_an_importer_found_is_told_again_as_a_warning(tmp_path):
    read = read_clip(clip_of(tmp_path, findings=["corrupt: a.bag: it breaks off at byte 9"]))
    (finding,) = read.findings
    assert (str(finding.code), finding.source) == ("corrupt", "imu")
    assert finding.message == "a.bag: it breaks off at byte 9"
    assert finding.severity is Severity.WARNING


def test_what_an_importer_could_not_read_is_why_a_source_is_empty(tmp_path):
    clip = clip_of(tmp_path, findings=["corrupt: a.tar is cut off", "rate: counted"])
    (tmp_path / "imu.csv").write_text("timestamp_ns,gyro_x,gyro_y,gyro_z\n")
    (finding,) = read_clip(clip).findings
    assert finding.message == "a.tar is cut off"
    assert finding.severity is Severity.DEFECT


@pytest.mark.parametrize("line", ["what: else", "no code", ""])
def test_a_finding_without_a_known_code_is_refused(tmp_path, line):
    with pytest.raises(ManifestError, match="expected 'code: text'"):
        clip_of(tmp_path, findings=[line])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_camera_of_stamps_alone_is_audited_by_them(tmp_path, suffix):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = tmp_path / f"cam.{suffix}"
    if suffix == "csv":
        table.write_text("timestamp_ns\n" + "".join(f"{t}\n" for t in TIMES))
    else:
        pq.write_table(pa.table({"timestamp_ns": TIMES}), table)
    row = {"kind": "camera", "uri": table.name}
    clip = clip_from_row({"clip_id": "a", "sources": {"cam": row}}, base_uri=str(tmp_path))
    read = read_clip(clip)
    assert not read.findings
    assert read.streams["cam"].time_ns.tolist() == TIMES
    assert read.streams["cam"].files.paths == ()
