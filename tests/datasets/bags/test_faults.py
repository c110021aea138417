"""Faults injected into bags are found and named; clean bags cause no finding."""

from __future__ import annotations

import numpy as np
import pytest

from syncaudit.model import Verdict
from testkit.bags.drive import CAMERAS, drive, rules
from testkit.bags.stamped import CAMERA_HZ, judged, stamped, told
from testkit.bags.writing import (
    COMPRESSED,
    IMU,
    Messages,
    Sent,
    arrivals,
    jpeg,
    pack,
    stamps,
    write_bag,
)


@pytest.mark.parametrize("seed", [0, 100])
def test_clean_stamps_are_told_nothing(tmp_path, seed):
    assert told(stamped(tmp_path, seed=seed)) == {}


def test_a_gap_is_found_and_named(tmp_path):
    verdict = stamped(tmp_path, keep=lambda n: np.r_[: n // 2, n // 2 + 12 : n])
    assert ("cam2", "gap") in told(verdict)
    assert verdict.verdict is Verdict.REJECT
    assert {source for source, _ in told(verdict)} == {"cam2"}


def test_a_back_step_is_found_and_named(tmp_path):
    verdict = stamped(
        tmp_path, capture=lambda t: t - 300_000_000 * (np.arange(t.size) >= t.size // 2)
    )
    found = told(verdict)
    assert {("cam2", "backwards"), ("cam2", "step")} <= set(found)
    assert verdict.verdict is Verdict.REJECT
    assert {source for source, _ in found} == {"cam2"}


def test_duplicate_stamps_are_found_and_named(tmp_path):
    def repeat(times: np.ndarray) -> np.ndarray:
        times = times.copy()
        times[20::40] = times[19::40]
        return times

    verdict = stamped(tmp_path, capture=repeat)
    assert ("cam2", "duplicate") in told(verdict)
    assert verdict.verdict is Verdict.REJECT


@pytest.mark.parametrize("offset_s", [0.05, -0.05])
def test_an_offset_of_the_header_is_found_against_the_other_cameras(tmp_path, offset_s):
    verdict = stamped(tmp_path, capture=lambda t: t + round(offset_s * 1e9))
    found = told(verdict)
    assert set(found) == {("cam2", "offset")}
    # What has to be added to the timestamps; the minimum latencies of two cameras differ by about
    # 0.1 ms.
    assert abs(found["cam2", "offset"] + offset_s) < 1e-3
    assert verdict.verdict is Verdict.UNVERIFIED  # arrival alone rejects nothing


def test_an_imu_that_is_stamped_early_is_found_against_the_cameras(tmp_path):
    messages = Messages(is_ros1=False)
    times, imu = stamps(200, 20.0), stamps(1000, 100.0, seed=9)
    sent = [
        [
            Sent(f"/cam{k}", COMPRESSED, messages.compressed(t, jpeg(9, width=16, height=16)), r)
            for t, r in zip(times.tolist(), arrivals(times, seed=k).tolist(), strict=True)
        ]
        for k in range(2)
    ]
    late = arrivals(imu, seed=9) + 60_000_000
    sent.append(
        [
            Sent("/imu", IMU, messages.imu(t, (0, 0, 0), (0, 0, 0)), r)
            for t, r in zip(imu.tolist(), late.tolist(), strict=True)
        ]
    )
    write_bag(tmp_path / "a.mcap", pack(*sent), messages)
    found = told(judged(tmp_path / "a.mcap", tmp_path, stamps_only=True))
    assert set(found) == {("imu", "offset")}
    assert abs(found["imu", "offset"] - 0.06) < 1e-3


@pytest.mark.parametrize("drift_ppm", [200.0, -200.0])
def test_a_drift_of_the_header_is_found_with_its_size(tmp_path, drift_ppm):
    def drift(times: np.ndarray) -> np.ndarray:
        since = times - times[times.size // 2]
        return times - np.round(since * drift_ppm * 1e-6).astype(np.int64)

    verdict = stamped(tmp_path, capture=drift)
    found = told(verdict)
    assert set(found) == {("cam2", "drift")}
    audit_of = verdict.sources["cam2"].timing.arrival
    error = audit_of.drift_ppm - drift_ppm
    assert abs(error) < 4.0 * audit_of.drift_std_ppm < 10.0
    words = next(f.message for f in verdict.warnings if f.code == "drift")
    assert ("slow" if drift_ppm > 0 else "fast") in words


def test_a_drift_that_all_share_is_the_recorders(tmp_path):
    def drift(times: np.ndarray) -> np.ndarray:
        return times + np.round((times - times[0]) * 100e-6).astype(np.int64)

    assert told(stamped(tmp_path, receive=drift, everyone=True)) == {}


def test_samples_received_before_they_were_stamped_are_told_though_all_are(tmp_path):
    found = told(stamped(tmp_path, receive=lambda r: r - 500_000_000, everyone=True))
    assert {code for _, code in found} == {"offset"}
    assert len(found) == 7
    assert all(abs(value + 0.494) < 2e-3 for value in found.values())


def test_a_clock_of_another_epoch_is_told(tmp_path):
    verdict = stamped(tmp_path, capture=lambda t: t - t[0] + 5_000_000_000)
    # By its arrivals, and because it lies outside the span of the other sources.
    assert {code for _, code in told(verdict)} == {"offset", "length_mismatch", "empty"}
    assert {source for source, _ in told(verdict)} == {"cam2"}
    text = next(f.message for f in verdict.warnings if f.code == "offset")
    assert "another epoch" in text


def test_a_step_of_the_time_of_arrival_is_told(tmp_path):
    found = told(
        stamped(tmp_path, receive=lambda r: r + 40_000_000 * (np.arange(r.size) > r.size // 2))
    )
    assert abs(found["cam2", "step"] - 0.04) < 2e-3


def test_a_queue_that_grows_is_told(tmp_path):
    def grow(received: np.ndarray) -> np.ndarray:
        return received + np.linspace(0, 200e6, received.size).astype(np.int64)

    verdict = stamped(
        tmp_path,
        receive=grow,
        publish=lambda r: r - np.linspace(1e6, 201e6, r.size).astype(np.int64),
    )
    found = told(verdict)
    # 200 ms in 30 s are 6667 ppm: three quarters of it lie between the quarters' middles.
    assert abs(found["cam2", "jitter"] - 0.15) < 5e-3
    words = [f.message for f in verdict.warnings if f.code == "drift"]
    assert "no quartz" in words[0]


def test_headers_that_were_never_set_make_receive_stamps(tmp_path):
    verdict = stamped(tmp_path, capture=lambda t: np.zeros_like(t))
    assert ("cam2", "manifest") in told(verdict)
    assert verdict.sources["cam2"].timing.arrival is None
    assert abs(verdict.sources["cam2"].timing.rate_hz - CAMERA_HZ) < 0.01
    text = next(f.message for f in verdict.warnings if f.code == "manifest")
    assert "600 of 600 header timestamps are zero" in text


def test_a_clean_bag_of_six_cameras_passes_without_a_finding(tmp_path):
    messages = Messages(is_ros1=False)
    write_bag(tmp_path / "a.mcap", drive(messages), messages)
    verdict = judged(tmp_path / "a.mcap", tmp_path, **rules())
    assert verdict.verdict is Verdict.PASS
    assert verdict.reasons == verdict.warnings == ()
    assert set(CAMERAS) < set(verdict.sources)


def test_content_that_is_late_under_perfect_stamps_is_found_and_named(tmp_path):
    messages = Messages(is_ros1=True)
    cameras = ("cam_front", "cam_rear")
    sent = drive(messages, cameras, late_ns={"cam_rear": 120_000_000})
    write_bag(tmp_path / "a.bag", sent, messages)
    verdict = judged(tmp_path / "a.bag", tmp_path, **rules())
    assert verdict.verdict is Verdict.REJECT
    assert set(told(verdict)) == {("cam_rear", "offset")}
    # The clean clip gives -0.3 +/- 0.4 ms.
    assert abs(verdict.sources["cam_rear"].offset_s + 0.12) < 2e-3
