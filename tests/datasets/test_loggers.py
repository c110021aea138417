"""Logs of car loggers are recognised by their header and read in SI units."""

from __future__ import annotations

import numpy as np
import pytest

from syncaudit.datasets.loggers import logger_sources
from syncaudit.datasets.manifest import clip_from_row
from syncaudit.datasets.protocol import Sidecars
from syncaudit.datasets.source import Source
from syncaudit.detectors import detect_motion
from syncaudit.errors import StreamReadError
from syncaudit.model import Quantity
from syncaudit.readers import read_source
from testkit.data_sets.logger_data import AIM, RACEBOX, RACEBOX_DATED, RACECHRONO


@pytest.fixture
def read(tmp_path):
    """Return a function that gives the streams of a log by source name."""
    (tmp_path / "data").mkdir()

    def streams(text, name="log.csv"):
        (tmp_path / "data" / name).write_text(text)
        source = Source(str(tmp_path / "data"))
        rows = logger_sources(source, name, Sidecars(tmp_path / "side"), lambda _: None)
        if not rows:
            return {}
        clip = clip_from_row({"clip_id": "c", "sources": rows}, base_uri=source.base_uri)
        return {
            title: read_source(title, spec, clip.base_uri) for title, spec in clip.sources.items()
        }

    return streams


# Without a time zone, a date may be hours off.
RACEBOX_LOCAL = RACEBOX_DATED.replace("0Z,", "0,")


@pytest.mark.parametrize(
    ("text", "first_ns", "step_ns", "names", "is_dated"),
    [
        (RACEBOX, 0, 40_000_000, {"gyro", "accel", "speed"}, False),
        (RACEBOX_DATED, 1_783_689_379_480_000_000, 40_000_000, {"gyro", "accel"}, True),
        (RACEBOX_LOCAL, 1_783_689_379_480_000_000, 40_000_000, {"gyro", "accel"}, False),
        (RACECHRONO, 1_767_150_797_440_000_000, 20_000_000, {"accel", "speed"}, True),
        (AIM, 0, 20_000_000, {"gyro", "accel", "speed"}, False),
    ],
)
def test_each_logger_is_known(read, text, first_ns, step_ns, names, is_dated):
    streams = read(text)
    assert {channel.name for stream in streams.values() for channel in stream.channels} == names
    assert {stream.is_start_assumed for stream in streams.values()} == {not is_dated}
    assert {stream.clock for stream in streams.values()} == {"log"}
    assert all(stream.findings == () for stream in streams.values())
    assert streams["log"].time_ns[:2].tolist() == [first_ns, first_ns + step_ns]


@pytest.mark.parametrize("text", [RACEBOX, RACECHRONO, AIM])
def test_values_are_in_si_units(read, text):
    """The logs are too short for evidence, so their last sample is repeated."""
    lines = text.rstrip("\n").split("\n")
    body = [lines[-1].replace("0.080", f"{k}.0").replace("0.020", f"{k}.0") for k in range(20)]
    body = [line.replace("797.460", f"{800 + k}.0") for k, line in enumerate(body)]
    streams = read("\n".join([*lines[:-3], *body]) + "\n")
    found = {
        activity.quantity: np.linalg.norm(activity.values[-1])
        for stream in streams.values()
        for activity in detect_motion(stream)
    }
    assert found[Quantity.SPECIFIC_FORCE] == pytest.approx(9.81, rel=0.01)
    assert found[Quantity.SPEED] == pytest.approx(10.0, rel=1e-4)
    if Quantity.ANGULAR_RATE in found:
        assert found[Quantity.ANGULAR_RATE] == pytest.approx(np.radians(201.25), rel=1e-3)


def test_a_column_of_an_unknown_unit_is_left_out(read):
    assert {*read(AIM.replace('"mph"', '"kn"'))} == {"log"}


def test_a_plain_log_is_read_where_it_lies(read, tmp_path):
    read(RACEBOX)
    assert not (tmp_path / "side").exists()


def test_a_log_that_breaks_off_is_told(read):
    streams = read(RACEBOX.rpartition(",")[0])
    assert [finding.code for finding in streams["log"].findings] == ["corrupt"]


def test_an_empty_log_is_told(read):
    assert [finding.code for finding in read(RACEBOX.split("\n")[0])["log"].findings] == ["empty"]


@pytest.mark.parametrize("text", ["", "no log", "a,b\n1,2\n", "\0\0\0"])
def test_other_tables_are_none(read, text):
    assert read(text) == {}


def test_a_cell_that_is_no_time_is_told(read):
    with pytest.raises(StreamReadError, match=r"line 3.*no time"):
        read(RACEBOX.replace("0.040", "no time"))
