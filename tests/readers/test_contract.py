"""The contract of every reader, whatever its format."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncaudit.errors import ClipInputError, StreamReadError, SyncAuditError
from syncaudit.model import SignalStream, SourceKind, Stream
from syncaudit.readers import READERS, read_source

# asammdf's destructor fails on objects whose constructor failed, and such objects leave their
# temporary files open.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:Exception ignored in. {what}:{category}")
    for category in ("pytest.PytestUnraisableExceptionWarning",)
    for what in ("<function MDF4.__del__", "<_io.FileIO name=./tmp")
]

BUDGET = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

NAMES = (
    *(f"camera a.{suffix}" for suffix in ("mp4", "mkv", "avi", "webm", "h264", "hevc", "mjpeg")),
    "camera images",
    *(
        f"{kind} {suffix}"
        for kind in ("imu", "camera stamps", "can", "events", "state")
        for suffix in ("csv", "parquet")
    ),
    *(f"{kind} part" for kind in ("imu", "can", "events", "state", "camera")),
    "camera named",
    "camera stored",
    *(f"can {suffix}" for suffix in (".log", ".asc", ".blf", ".trc", ".mf4", "dbc")),
    *(f"audio {name}" for name in ("m.wav", "f.wav", "m.flac", "m.ogg", "m.mp3", "mp4", "stamps")),
    *(
        f"transcript {name}"
        for name in (
            *("long.TextGrid", "short.TextGrid", "w.ctm", "w.csv", "mfa.csv", "mfa.json"),
            *("whisper.json", "s.srt", "s.vtt", "a.eaf", "a.lab", "a.txt"),
        )
    ),
)

every_format = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def _collect_what_asammdf_leaves(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run asammdf's failing destructors here, where they are expected."""
    yield
    if ".mf4" in request.node.name:
        gc.collect()


def read(sample: Any, folder: Path, content: bytes | None = None) -> Stream:
    return read_source("src", sample.put(folder, content), str(folder))


def read_or_refuse(sample: Any, folder: Path, content: bytes) -> None:
    """Check that damaged content gives a stream or a readable error, and nothing else."""
    sample.put(folder, b"-")
    (folder / sample.file).write_bytes(content)
    try:
        stream = read_source("src", sample.spec, str(folder))
    except SyncAuditError as error:
        assert error.source == "src"  # noqa: PT017  # either outcome is right
        assert len(str(error)) < 1500  # noqa: PT017
    else:
        assert stream.time_ns.dtype == np.int64
        assert all(finding.source == "src" for finding in stream.findings)


def test_every_kind_has_a_reader_and_a_sample(samples: Mapping[str, Any]) -> None:
    assert set(READERS) == set(SourceKind)
    assert set(samples) == set(NAMES)
    assert {sample.spec.kind for sample in samples.values()} == {str(kind) for kind in SourceKind}


@every_format
def test_intact_file_is_read_without_findings(
    name: str, samples: Mapping[str, Any], tmp_path: Path
) -> None:
    stream = read(samples[name], tmp_path)
    spec = samples[name].spec
    assert (stream.name, stream.clock, stream.kind) == ("src", "src", spec.kind)
    remarks = [finding for finding in stream.findings if finding.severity != "warning"]
    assert remarks == []
    assert not stream.time_ns.flags.writeable


@every_format
def test_clock_and_stamp_kind_are_passed_on(
    name: str, samples: Mapping[str, Any], tmp_path: Path
) -> None:
    sample = samples[name].changed(clock="ptp", stamp_kind="receive")
    stream = read(sample, tmp_path)
    assert (stream.clock, stream.stamp_kind) == ("ptp", "receive")


@every_format
def test_missing_file_is_named(name: str, samples: Mapping[str, Any], tmp_path: Path) -> None:
    sample = samples[name]
    sample.put(tmp_path)
    if name == "camera images":
        for path in (tmp_path / "frames").iterdir():
            path.unlink()
        (tmp_path / "frames").rmdir()
        sample = replace(sample, file="frames")
    else:
        (tmp_path / sample.file).unlink()
    with pytest.raises(StreamReadError, match="file not found") as caught:
        read_source("src", sample.spec, str(tmp_path))
    assert (caught.value.code, caught.value.source) == ("missing_file", "src")
    assert caught.value.path == str(tmp_path / sample.file)
    assert caught.value.hint


@every_format
def test_file_of_0_bytes_is_empty(name: str, samples: Mapping[str, Any], tmp_path: Path) -> None:
    sample = samples[name]
    sample.put(tmp_path)
    (tmp_path / sample.file).write_bytes(b"")
    with pytest.raises(ClipInputError, match="0 bytes") as caught:
        read_source("src", sample.spec, str(tmp_path))
    assert caught.value.code == "empty"


@every_format
def test_folder_in_place_of_a_file_is_refused(
    name: str, samples: Mapping[str, Any], tmp_path: Path
) -> None:
    sample = samples[name]
    sample.put(tmp_path)
    (tmp_path / sample.file).unlink()
    (tmp_path / sample.file).mkdir()
    if name == "camera images":
        assert read_source("src", sample.spec, str(tmp_path)).findings[0].code == "length_mismatch"
        return
    with pytest.raises(ClipInputError, match=r"is a folder|holds no images"):
        read_source("src", sample.spec, str(tmp_path))


@every_format
def test_remote_file_reads_as_the_local_one(
    name: str, samples: Mapping[str, Any], tmp_path: Path
) -> None:
    sample = samples[name]
    local = read(sample, tmp_path)
    base = f"memory://{name.replace(' ', '_')}"
    for file, content in {**sample.beside, sample.file: sample.content}.items():
        with fsspec.open(f"{base}/{file}", "wb") as target:
            target.write(content)
    remote = read_source("src", sample.spec, base)
    np.testing.assert_array_equal(remote.time_ns, local.time_ns)
    assert [finding.code for finding in remote.findings] == [f.code for f in local.findings]
    if isinstance(local, SignalStream) and isinstance(remote, SignalStream):
        for ours, theirs in zip(local.channels, remote.channels, strict=True):
            np.testing.assert_array_equal(ours.values, theirs.values)
    with pytest.raises(StreamReadError, match="file not found"):
        read_source("src", replace(sample.spec, uri=f"gone-{sample.spec.uri}"), base)


@every_format
def test_truncation_anywhere_is_survived(
    name: str, samples: Mapping[str, Any], tmp_path: Path
) -> None:
    content = samples[name].content
    cuts = {*range(1, min(len(content), 24)), *np.linspace(1, len(content) - 1, 24).astype(int)}
    for cut in sorted(cuts):
        read_or_refuse(samples[name], tmp_path, content[:cut])


@every_format
@BUDGET
@given(data=st.data())
def test_flipped_bytes_are_survived(
    name: str, samples: Mapping[str, Any], tmp_path: Path, data: st.DataObject
) -> None:
    content = bytearray(samples[name].content)
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(
            st.integers(0, 255) | st.sampled_from(b'0123456789,;. \n\r\t"-xeR')
        )
    read_or_refuse(samples[name], tmp_path, bytes(content))


@every_format
@BUDGET
@given(content=st.binary(min_size=1, max_size=400))
def test_random_bytes_are_survived(
    name: str, samples: Mapping[str, Any], tmp_path: Path, content: bytes
) -> None:
    read_or_refuse(samples[name], tmp_path, content)


@every_format
def test_spliced_files_are_survived(name: str, samples: Mapping[str, Any], tmp_path: Path) -> None:
    content = samples[name].content
    for filler in (b"\0", b"\xff", b"\n", b'"', b"1"):
        half = len(content) // 2
        read_or_refuse(samples[name], tmp_path, content[:half] + filler * 64 + content[half:])
        read_or_refuse(samples[name], tmp_path, content + filler * 64)
        read_or_refuse(samples[name], tmp_path, filler * 64 + content)


def test_finding_of_another_source_keeps_its_name() -> None:
    with pytest.raises(ValueError, match="lidar"):
        READERS[SourceKind("lidar")]
