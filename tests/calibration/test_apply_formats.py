"""`apply` on every readable format: timestamps move as specified, and nothing else changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import can
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncaudit.model import (
    AudioStream,
    CameraStream,
    ClockMap,
    SignalStream,
    Stream,
    TranscriptStream,
)
from syncaudit.readers import read_source
from testkit import reader_samples
from testkit.apply_clips import T0, S, calibration, clips_of, corrected, manifest, stream_of
from testkit.reader_samples import Sample, write_samples


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Sample]:
    """Return a sample of every format by name."""
    return write_samples(tmp_path_factory.mktemp("made"))


KNOWN = {"offset_s": 0.0351, "drift_ppm": 120.0}
CORRECTION = ClockMap(offset_s=0.0351, drift_ppm=120.0, at_ns=T0)
# candump text with microseconds and TRC keep their resolution; MDF stores float64 seconds.
ROUNDING_NS = 1

NAMES = (
    "camera a.mp4",
    "camera images",
    "camera stamps parquet",
    *(
        f"{kind} {form}"
        for kind in ("imu", "can", "events", "state")
        for form in ("csv", "parquet")
    ),
    "camera named",
    *(f"can .{form}" for form in ("log", "asc", "blf", "trc", "mf4")),
    "audio m.wav",
    "audio mp4",
    "audio stamps",
)


def apply_to(folder: Path, samples: Mapping[str, Any], name: str, **known: Any) -> tuple[Any, Any]:
    """Apply a correction to one sample; return the stream before and after."""
    spec = samples[name].put(folder / "data")
    row = {key: value for key, value in asdict(spec).items() if value is not None}
    path = manifest(folder / "data", {"clip_id": "a", "sources": {"it": row}})
    file = calibration(folder, at_ns=T0, it=known or KNOWN)
    before = read_source("it", spec, str(folder / "data"))
    corrected(file, path, folder / "out")
    return before, stream_of(folder / "out", "it")


def assert_same_content(before: Stream, after: Stream) -> None:
    assert type(before) is type(after)
    if isinstance(before, SignalStream) and isinstance(after, SignalStream):
        assert [c.name for c in before.channels] == [c.name for c in after.channels]
        for one, other in zip(before.channels, after.channels, strict=True):
            np.testing.assert_array_equal(one.values, other.values)
            assert one.unit == other.unit
            moved = CORRECTION.apply(one.time_ns)
            np.testing.assert_allclose(other.time_ns, moved, rtol=0, atol=ROUNDING_NS)
    if isinstance(before, CameraStream) and isinstance(after, CameraStream):
        places = [[Path(path).resolve() for path in s.files.paths] for s in (before, after)]
        assert places[0] == places[1]
    if isinstance(before, AudioStream) and isinstance(after, AudioStream):
        np.testing.assert_array_equal(before.samples, after.samples)


@pytest.mark.parametrize("name", NAMES)
def test_stamps_move_and_nothing_else(samples: Any, tmp_path: Path, name: str) -> None:
    before, after = apply_to(tmp_path, samples, name)
    originals = {p: p.read_bytes() for p in (tmp_path / "data").iterdir() if p.is_file()}
    assert_same_content(before, after)
    if not (isinstance(before, AudioStream) and before.time_ns.size == 1):
        expected = CORRECTION.apply(before.time_ns)
        np.testing.assert_allclose(after.time_ns, expected, rtol=0, atol=ROUNDING_NS)
    assert originals == {p: p.read_bytes() for p in originals}


@pytest.mark.parametrize("name", [f"{k} part" for k in ("imu", "can", "events", "state", "camera")])
def test_a_part_of_a_file_becomes_a_table_of_its_own(
    samples: Any, tmp_path: Path, name: str
) -> None:
    # Seconds since the start of an episode: so far from the calibration no drift is known.
    before, after = apply_to(tmp_path, samples, name, offset_s=0.0351)
    np.testing.assert_array_equal(after.time_ns, before.time_ns + 35_100_000)
    if isinstance(before, SignalStream) and isinstance(after, SignalStream):
        for one, other in zip(before.channels, after.channels, strict=True):
            np.testing.assert_array_equal(one.values, other.values)
    found = clips_of(tmp_path / "out")[0].sources["it"]
    assert (found.stamps, found.rows) == (None, None)
    assert [finding.code for finding in after.findings] == []


def test_stamps_of_a_container_become_a_table(samples: Any, tmp_path: Path) -> None:
    spec = samples["camera a.mp4"].put(tmp_path / "data")
    row = {"kind": "camera", "uri": spec.uri, "start_ns": T0}
    path = manifest(tmp_path / "data", {"clip_id": "a", "sources": {"it": row}})
    corrected(calibration(tmp_path, at_ns=T0, it=KNOWN), path, tmp_path / "out")
    found = clips_of(tmp_path / "out")[0].sources["it"]
    assert (found.timestamps, found.start_ns) == ("a/it.timestamps.csv", None)
    pts = np.rint(np.arange(10) * 1e9 / 30).astype(np.int64)
    moved = stream_of(tmp_path / "out", "it").time_ns
    np.testing.assert_allclose(moved, CORRECTION.apply(T0 + pts), rtol=0, atol=1)


def test_a_drift_of_sound_changes_its_rate(samples: Any, tmp_path: Path) -> None:
    _, after = apply_to(tmp_path, samples, "audio m.wav")
    assert after.anchor_samples.tolist() == [0, 4000]
    ends = np.array([reader_samples.T0, reader_samples.T0 + S // 4])
    assert after.time_ns.tolist() == CORRECTION.apply(ends).tolist()
    assert clips_of(tmp_path / "out")[0].sources["it"].start_ns == after.time_ns[0]


def test_an_offset_of_sound_moves_its_start(samples: Any, tmp_path: Path) -> None:
    _, after = apply_to(tmp_path, samples, "audio m.wav", offset_s=-0.25)
    assert after.time_ns.tolist() == [reader_samples.T0 - S // 4]
    assert not (tmp_path / "out" / "a").exists()


def test_candump_keeps_every_other_byte(tmp_path: Path) -> None:
    lines = [
        "# recorded by hand",
        "(0000000012.345678) can0 024#0028E80301000000 R",
        " (12.3)  can1  18FEF1D5   [2]  00 0A   '..'",
        "(1767225600.999999999) vcan0 123##1DEADBEEF",
        "not a frame",
        "(1767225601.999999) can0 024#R",
        "(17672256",
    ]
    (tmp_path / "can.log").write_bytes("\r\n".join(lines).encode())
    row = {"kind": "can", "uri": "can.log", "dbc": "v.dbc", "signals": {"speed": "Speed"}}
    path = manifest(tmp_path, {"clip_id": "a", "sources": {"it": row}})
    corrected(calibration(tmp_path, it=0.6000004), path, tmp_path / "out")
    found = (tmp_path / "out" / "a" / "it.log").read_bytes().decode().split("\r\n")
    assert found == [
        lines[0],
        lines[1].replace("12.345678", "12.945678"),
        lines[2].replace("12.3", "12.9"),
        lines[3].replace("1767225600.999999999", "1767225601.600000399"),
        lines[4],
        lines[5].replace("1767225601.999999", "1767225602.599999"),
        lines[6],
    ]
    spec = clips_of(tmp_path / "out")[0].sources["it"]
    assert (spec.uri, spec.dbc, spec.signals) == ("a/it.log", "../v.dbc", {"speed": "Speed"})


def test_written_candump_is_read_by_others(samples: Any, tmp_path: Path) -> None:
    """python-can reads all data frames of the file written from a BLF."""
    apply_to(tmp_path, samples, "can .blf", offset_s=1.0)
    with can.CanutilsLogReader(str(tmp_path / "out" / "a" / "it.log")) as reader:
        found = list(reader)
    assert [(m.arbitration_id, m.is_extended_id) for m in found[:3]] == [
        (36, False),
        (0x18FEF1D5, True),
        (0x700, False),
    ]
    assert len(found) == 30
    assert found[0].timestamp == pytest.approx(1767225601.25, abs=1e-6)


def test_a_log_without_room_before_zero_is_told(tmp_path: Path) -> None:
    (tmp_path / "can.log").write_text("(0.5) can0 024#00\n")
    row = {"kind": "can", "uri": "can.log", "dbc": "v.dbc", "signals": {"speed": "Speed"}}
    path = manifest(tmp_path, {"clip_id": "a", "sources": {"it": row}})
    result = corrected(calibration(tmp_path, it=-1.0), path, tmp_path / "out")
    assert "cannot be written to a candump log" in result.stdout


def test_csv_keeps_every_other_byte(tmp_path: Path) -> None:
    text = (
        '\ufeffnote; timestamp_ns ;value\r\n"a;b ""c""";1767225600000000001;0.10\r\n'
        'x; "1767225600000000002" ;1e-3\r\n\r\ny;;3\r\nz;later;4\r\nu;-5;5\r\ncut;17672\r\nw;176'
    )
    (tmp_path / "e.csv").write_bytes(text.encode())
    path = manifest(
        tmp_path, {"clip_id": "a", "sources": {"it": {"kind": "events", "uri": "e.csv"}}}
    )
    result = corrected(calibration(tmp_path, it=2e-9), path, tmp_path / "out")
    expected = text.replace("00001;", "00003;").replace('00002"', '00004"').replace(";-5;", ";-3;")
    assert (tmp_path / "out" / "a" / "it.csv").read_bytes().decode() == expected
    assert "4 rows without a readable timestamp were kept unchanged" in result.stdout


def test_parquet_keeps_other_columns_types_and_blanks(tmp_path: Path) -> None:
    stamps = pa.array([T0, None, T0 + S], pa.int64())
    others = {"q": pa.array([[1.0, 2.0], None, [3.0, 4.0]]), "n": pa.array([1, 2, 3], pa.int8())}
    table = pa.table({"n": others["n"], "timestamp_ns": stamps, "q": others["q"]})
    table = table.replace_schema_metadata({"made": "by hand"})
    pq.write_table(table, tmp_path / "q.parquet")
    row = {"kind": "state", "uri": "q.parquet"}
    path = manifest(tmp_path, {"clip_id": "a", "sources": {"it": row}})
    result = corrected(calibration(tmp_path, it=1.0), path, tmp_path / "out")
    found = pq.read_table(tmp_path / "out" / "a" / "it.parquet")
    assert found.column("timestamp_ns").to_pylist() == [T0 + S, None, T0 + 2 * S]
    original = pq.read_table(tmp_path / "q.parquet")
    assert found.schema.equals(original.schema, check_metadata=True)
    assert found.drop(["timestamp_ns"]).equals(table.drop(["timestamp_ns"]))
    assert "1 row without a readable timestamp was kept unchanged" in result.stdout


def test_parquet_timestamps_get_room_for_nanoseconds(tmp_path: Path) -> None:
    stamps = pa.array([1767225600000001, 1767225600000002], pa.timestamp("us", tz="UTC"))
    pq.write_table(pa.table({"timestamp_ns": stamps}), tmp_path / "e.parquet")
    row = {"kind": "events", "uri": "e.parquet"}
    path = manifest(tmp_path, {"clip_id": "a", "sources": {"it": row}})
    corrected(calibration(tmp_path, it=7e-9), path, tmp_path / "out")
    expected = [1767225600000001007, 1767225600000002007]
    assert stream_of(tmp_path / "out", "it").time_ns.tolist() == expected


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("e.csv", "time\n1\n", "has no column 'timestamp_ns'"),
        ("e.csv", "timestamp_ns\n1767225600.5\n", "expected integer nanoseconds"),
        ("e.csv", "timestamp_ns\n", "holds no timestamps"),
        ("e.csv", "timestamp_ns,timestamp_ns\n1,2\n", "appears 2 times"),
        ("e.parquet", "PAR1", "is not an intact Parquet file"),
    ],
)
def test_tables_without_stamps_are_told(
    tmp_path: Path, file: str, content: str, message: str
) -> None:
    (tmp_path / file).write_text(content)
    row = {"kind": "events", "uri": file}
    path = manifest(tmp_path, {"clip_id": "a", "sources": {"it": row}})
    result = corrected(calibration(tmp_path, it=1.0), path, tmp_path / "out")
    assert message in result.stdout
    assert clips_of(tmp_path / "out")[0].sources["it"].uri == f"../{file}"


def test_decoded_mdf_becomes_a_table_in_si_units(tmp_path: Path) -> None:
    asammdf = pytest.importorskip("asammdf")
    mdf = asammdf.MDF()
    times = np.arange(5) * 0.5
    for name, unit, step in (("v", "km/h", 0.0), ("w", "rad/s", 0.25)):
        mdf.append([asammdf.Signal(np.arange(5) * 3.6, times + step, name=name, unit=unit)])
    mdf.save(tmp_path / "c.mf4")
    mdf.close()
    row = {"kind": "can", "uri": "c.mf4", "signals": {"speed": "v", "yaw_rate": "w"}}
    path = manifest(tmp_path, {"clip_id": "a", "sources": {"it": row}})
    (clip,) = clips_of_path(path)
    before = read_source("it", clip.sources["it"], clip.base_uri)
    corrected(calibration(tmp_path, it=1.0), path, tmp_path / "out")
    after = stream_of(tmp_path / "out", "it")
    assert isinstance(before, SignalStream)
    assert isinstance(after, SignalStream)
    for one, other, factor in zip(before.channels, after.channels, (1 / 3.6, 1.0), strict=True):
        assert other.time_ns.tolist() == (one.time_ns + S).tolist()
        np.testing.assert_allclose(other.values, one.values * factor)


def clips_of_path(path: str) -> list[Any]:
    from syncaudit.datasets import load_manifest

    return load_manifest(path)


def transcribed(samples: Any, folder: Path, name: str, **known: Any) -> tuple[Any, Any, str]:
    """Apply corrections to a transcript and its sound."""
    spec = samples[name].put(folder / "data")
    samples["audio m.wav"].put(folder / "data")
    sources = {
        "text": {"kind": "transcript", "uri": spec.uri, "audio": "mic"},
        "mic": {"kind": "audio", "uri": "m.wav", "start_ns": T0},
    }
    path = manifest(folder / "data", {"clip_id": "a", "sources": sources})
    before = read_source("text", spec, str(folder / "data"))
    result = corrected(calibration(folder, at_ns=T0, **known), path, folder / "out")
    return before, stream_of(folder / "out", "text"), result.stdout


@pytest.mark.parametrize("name", ["long.TextGrid", "w.ctm", "mfa.csv", "whisper.json", "a.eaf"])
def test_a_transcript_is_shifted_against_its_sound(samples: Any, tmp_path: Path, name: str) -> None:
    known = {"text": 0.3, "mic": {"offset_s": 0.1, "drift_ppm": 200.0}}
    before, after, _ = transcribed(samples, tmp_path, f"transcript {name}", **known)
    assert isinstance(before, TranscriptStream)
    assert [tier.name for tier in after.tiers] == [tier.name for tier in before.tiers]
    for one, other in zip(before.tiers, after.tiers, strict=True):
        assert [i.label for i in one.intervals] == [i.label for i in other.intervals]
        old = np.array([(i.start_s, i.stop_s) for i in one.intervals])
        new = np.array([(i.start_s, i.stop_s) for i in other.intervals])
        # The sound's corrected clock maps the new time to the original instant.
        there = 0.1 + new * (1 + 200e-6)
        np.testing.assert_allclose(there, old + 0.3, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"mic": 0.1}, "unchanged: its times count from mic"),
        (
            {"mic": 0.1, "text": 0.1},
            "its times count from mic, which was corrected in the same way",
        ),
        ({"mic": 0.0, "text": 0.0}, "its correction is zero"),
    ],
)
def test_a_transcript_follows_its_sound(
    samples: Any, tmp_path: Path, known: dict[str, Any], message: str
) -> None:
    before, after, told = transcribed(samples, tmp_path, "transcript long.TextGrid", **known)
    assert before.tiers == after.tiers
    assert message in told


def test_text_without_times_stays(samples: Any, tmp_path: Path) -> None:
    _, after, told = transcribed(samples, tmp_path, "transcript a.txt", text=0.1)
    assert after.text == "hello world"
    assert "it is text without times" in told


def test_a_transcript_of_broken_sound_is_told(samples: Any, tmp_path: Path) -> None:
    spec = samples["transcript w.csv"].put(tmp_path)
    sources = {
        "text": {"kind": "transcript", "uri": spec.uri, "audio": "mic"},
        "mic": {"kind": "audio", "uri": "m.wav", "timestamps": "gone.csv"},
    }
    path = manifest(tmp_path, {"clip_id": "a", "sources": sources})
    result = corrected(calibration(tmp_path, text=0.1, mic=0.2), path, tmp_path / "out")
    assert "2 could not be corrected" in result.stdout
