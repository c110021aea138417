"""Calibrations are checked before they are subtracted."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from syncaudit.errors import UsageError
from syncaudit.model import Arrivals, CameraSpec, Channel, Clip, ImuSpec, SignalStream, SourceKind
from syncaudit.pipeline.known_corrections import (
    apply_calibration,
    check_calibration,
    windows_before,
)
from testkit.streams import signal_stream

T0 = 1_767_225_600_000_000_000
CLIP = Clip(clip_id="c", recording_id="c", sources={"imu": ImuSpec(uri="imu.csv")})


def imu() -> SignalStream:
    stamps = T0 + np.arange(3, dtype=np.int64) * 10**9
    channel = Channel(name="gyro", time_ns=stamps, values=np.zeros((3, 3)))
    return signal_stream(SourceKind.IMU, stamps, channel)


@pytest.mark.parametrize(
    ("calibration", "message"),
    [
        ({}, "has no 'sources' object"),
        ({"sources": []}, "has no 'sources' object"),
        ({"sources": {"imu": {}}}, "no numeric 'offset_s' for source 'imu'"),
        ({"sources": {"imu": {"offset_s": "0.1"}}}, "no numeric 'offset_s' for source 'imu'"),
        ({"sources": {"imu": {"offset_s": math.nan}}}, "no numeric 'offset_s' for source 'imu'"),
        ({"sources": {"imu": {"offset_s": True}}}, "no numeric 'offset_s' for source 'imu'"),
        ({"sources": {"imu": {"offset_s": 0.0, "drift_ppm": "x"}}}, "drift_ppm of source 'imu'"),
    ],
)
def test_wrong_calibrations_are_refused(calibration: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_calibration(calibration)


def test_offset_and_drift_are_added() -> None:
    known = {
        "at_ns": T0 + 10**9,
        "sources": {"imu": {"offset_s": 0.5, "drift_ppm": 10.0}, "other": {"offset_s": 9.0}},
    }
    check_calibration(known)
    found = apply_calibration(imu(), known, CLIP)
    assert isinstance(found, SignalStream)
    expected = [T0 + 500_000_000 - 10_000, T0 + 1_500_000_000, T0 + 2_500_000_000 + 10_000]
    assert found.time_ns.tolist() == found.channels[0].time_ns.tolist() == expected


def test_stamps_are_corrected_where_arrivals_name_them_too() -> None:
    arrivals = Arrivals(capture_ns=imu().time_ns, receive_ns=imu().time_ns + 5)
    stream = replace(imu(), arrivals=arrivals)
    found = apply_calibration(stream, {"sources": {"imu": {"offset_s": 0.5}}}, CLIP).arrivals
    assert found is not None
    assert found.capture_ns.tolist() == (imu().time_ns + 500_000_000).tolist()
    assert found.receive_ns.tolist() == arrivals.receive_ns.tolist()


def test_unknown_sources_stay_as_they_are() -> None:
    stream = imu()
    assert apply_calibration(stream, {"sources": {"can": {"offset_s": 1.0}}}, CLIP) is stream


@pytest.mark.parametrize("at_ns", [None, T0 - 2 * 86_400 * 10**9])
def test_drift_counts_only_near_its_epoch(at_ns: int | None) -> None:
    known = {"at_ns": at_ns, "sources": {"imu": {"offset_s": 0.5, "drift_ppm": 10.0}}}
    found = apply_calibration(imu(), known, CLIP)
    assert (found.time_ns - imu().time_ns).tolist() == [500_000_000] * 3


def clip_of(**sources):
    return Clip(clip_id="c", recording_id="c", sources=sources)


def test_sources_of_one_clock_share_a_correction():
    clip = clip_of(
        cam=CameraSpec(uri="cam.mp4", clock="imu"), imu=ImuSpec(uri="imu.csv", clock="imu")
    )
    stream = imu()
    found = apply_calibration(stream, {"sources": {"cam": {"offset_s": 0.5}}}, clip)
    assert np.array_equal(found.time_ns - stream.time_ns, np.full(stream.time_ns.size, 500_000_000))


def test_an_intended_offset_stays_in():
    clip = clip_of(imu=ImuSpec(uri="imu.csv", expected_offset_s=0.2), cam=CameraSpec(uri="cam.mp4"))
    stream = imu()
    known = {"reference": "cam", "sources": {"imu": {"offset_s": 0.5}}}
    found = apply_calibration(stream, known, clip)
    assert np.array_equal(found.time_ns - stream.time_ns, np.full(stream.time_ns.size, 300_000_000))


def test_a_source_may_have_an_epoch_of_its_own():
    stream = imu()
    at_ns = int(stream.time_ns[0])
    known = {
        "at_ns": 0,
        "sources": {"imu": {"offset_s": 0.0, "drift_ppm": 1000.0, "at_ns": at_ns}},
    }
    found = apply_calibration(stream, known, CLIP)
    since_ns = stream.time_ns - at_ns
    assert np.max(np.abs(found.time_ns - stream.time_ns - since_ns // 1000)) <= 1


@pytest.mark.parametrize("at_ns", [T0, T0 - 80_000 * 10**9, T0 - 90_000 * 10**9, None])
@pytest.mark.parametrize(("offset_s", "drift_ppm"), [(0.5, None), (-1e8, 40.0), (3.25, -9000.0)])
def test_all_that_is_moved_into_a_window_lies_in_the_window_before(at_ns, offset_s, drift_ppm):
    source = {"offset_s": offset_s, "drift_ppm": drift_ppm, "at_ns": at_ns}
    calibration = {"sources": {"imu": source}}
    check_calibration(calibration)
    clip = Clip(clip_id="a", recording_id="a", sources={"imu": ImuSpec(uri="imu.csv")})
    stamps = T0 + np.arange(0, 3600, 2, dtype=np.int64) * 10**9
    stream = replace(imu(), time_ns=stamps, channels=())
    moved = apply_calibration(stream, calibration, clip).time_ns
    near_ns = int(moved[700]), int(moved[710])
    low, high = windows_before(near_ns, calibration, clip)["imu"]
    first, stop = np.searchsorted(stamps, [low, high])
    assert first <= 700
    assert stop >= 710
    # If it is unknown whether a drift applies, both windows are read: 823 s of 9,000 ppm in 25
    # hours.
    assert stop - first <= 10 + 2 + (830 // 2 if drift_ppm == -9000.0 else 4)
    cut = replace(stream, time_ns=stamps[first:stop])
    again = apply_calibration(cut, calibration, clip).time_ns
    assert again[700 - first : 710 - first].tolist() == moved[700:710].tolist()


def test_windows_of_sources_without_a_correction_stay():
    clip = Clip(clip_id="a", recording_id="a", sources={"imu": ImuSpec(uri="imu.csv")})
    known = {"sources": {"other": {"offset_s": 1.0}}}
    assert windows_before((1, 2), known, clip) == {"imu": (1, 2)}
    assert windows_before((1, 2), None, clip) == {"imu": (1, 2)}
