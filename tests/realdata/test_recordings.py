"""Figures of the real recordings; their sources are in the README of ../shared/realdata."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from syncaudit.model import Clip, PairMeasurement, Verdict
from syncaudit.pipeline import audit

pytestmark = pytest.mark.realdata

PHONE_S = 9.98e-3
MOCAP_S = 4.15e-3
TWO_IMUS_S = -947848.6384
# The false match in this drive: the derivative of the wheel speed fits there in every block.
SPEED_TRAP_S = -0.242


def accepted(clip: Clip, source: str) -> PairMeasurement:
    pairs = [pair for pair in audit(clip).pairs if pair.source == source]
    assert len(pairs) == 1
    assert pairs[0].accepted, pairs[0].why
    return pairs[0]


class TestPhone:
    def test_camera_to_gyro_offset_is_known_to_half_a_millisecond(
        self, recordings: ModuleType, tmp_path: Path
    ) -> None:
        pair = accepted(recordings.phone_clip(tmp_path), "cam")
        assert pair.offset_s == pytest.approx(PHONE_S, abs=0.5e-3)

    @pytest.mark.parametrize("first", [0, 1, 2])
    def test_every_third_frame_tells_the_same(
        self, recordings: ModuleType, tmp_path: Path, first: int
    ) -> None:
        clip = recordings.phone_clip(tmp_path, every=3, first=first)
        assert accepted(clip, "cam").offset_s == pytest.approx(PHONE_S, abs=1.5e-3)

    def test_error_covers_what_is_not_known_of_the_shutter(
        self, recordings: ModuleType, tmp_path: Path
    ) -> None:
        pair = accepted(recordings.phone_clip(tmp_path), "cam")
        assert pair.offset_s is not None
        assert pair.offset_std_s is not None
        # 0.5 ms is the spread of the blocks behind the known figure.
        assert abs(pair.offset_s - PHONE_S) < 1.96 * np.hypot(pair.offset_std_s, 0.5e-3)


class TestTwoImus:
    @pytest.mark.parametrize("sixteenths", range(16))
    def test_every_phase_lies_within_100_us(
        self, recordings: ModuleType, tmp_path: Path, sixteenths: int
    ) -> None:
        clip, moved_s = recordings.two_imus_clip(tmp_path, sixteenths=sixteenths, skip=sixteenths)
        pair = accepted(clip, "phone")
        assert pair.offset_s is not None
        assert pair.offset_s + moved_s == pytest.approx(TWO_IMUS_S, abs=100e-6, rel=0)

    def test_moved_stamps_move_the_answer_alone(
        self, recordings: ModuleType, tmp_path: Path
    ) -> None:
        answers_s = []
        for sixteenths in (0, 5, 8, 11):
            clip, moved_s = recordings.two_imus_clip(
                tmp_path / str(sixteenths), sixteenths=sixteenths
            )
            pair = accepted(clip, "phone")
            assert pair.offset_s is not None
            answers_s.append(pair.offset_s + moved_s - TWO_IMUS_S)
        # Timestamps are rounded to nanoseconds, float64 seconds at a million to a tenth of that.
        assert np.ptp(answers_s) < 1e-6


class TestMotionCapture:
    def test_one_minute_lies_within_150_us(self, recordings: ModuleType, tmp_path: Path) -> None:
        pytest.importorskip("h5py")
        pair = accepted(recordings.mocap_clip(tmp_path, start_s=0.0, stop_s=60.0), "mocap")
        assert pair.offset_s == pytest.approx(MOCAP_S, abs=0.15e-3)

    def test_window_of_20_s_lies_within_half_a_millisecond(
        self, recordings: ModuleType, tmp_path: Path
    ) -> None:
        pytest.importorskip("h5py")
        pair = accepted(recordings.mocap_clip(tmp_path, start_s=40.0, stop_s=60.0), "mocap")
        # Three times the known scatter of such windows, 0.13 ms.
        assert pair.offset_s == pytest.approx(MOCAP_S, abs=0.4e-3)

    @pytest.mark.parametrize("start_s", range(0, 110, 10))
    def test_windows_of_10_s_neither_drift_nor_step(
        self, recordings: ModuleType, tmp_path: Path, start_s: int
    ) -> None:
        pytest.importorskip("h5py")
        clip = recordings.mocap_clip(tmp_path, start_s=float(start_s), stop_s=start_s + 10.0)
        pair = accepted(clip, "mocap")
        assert pair.step_s is None
        # The two clocks are known to 3 ppm.
        assert abs(pair.drift_ppm or 0.0) < 3.0 + 3.5 * (pair.drift_std_ppm or 0.0)


class TestGimbal:
    @pytest.mark.parametrize("fov_deg", [None, 70.0])
    def test_attenuated_rotation_is_refused(
        self, recordings: ModuleType, tmp_path: Path, fov_deg: float | None
    ) -> None:
        verdict = audit(recordings.gimbal_clip(tmp_path, fov_deg=fov_deg))
        (pair,) = (pair for pair in verdict.pairs if pair.source == "cam")
        assert not pair.accepted, f"{pair.offset_s} ± {pair.offset_std_s} s"
        assert verdict.sources["cam"].verdict is Verdict.UNVERIFIED


@pytest.fixture(scope="module")
def pair(recordings: ModuleType) -> Callable[[str], PairMeasurement]:
    """Return the drive's measurement with the given method."""
    pairs = {pair.method: pair for pair in audit(recordings.drive_clip()).pairs}
    return pairs.__getitem__


class TestDrive:
    @pytest.mark.parametrize("method", ["yaw_rate", "lateral_accel"])
    def test_can_is_late(self, pair: Callable[[str], PairMeasurement], method: str) -> None:
        measured = pair(method)
        assert measured.accepted, measured.why
        assert measured.offset_s is not None
        assert measured.offset_s < -5e-3

    def test_speed_derivative_is_not_believed(self, pair: Callable[[str], PairMeasurement]) -> None:
        measured = pair("speed")
        is_there = measured.offset_s is not None and abs(measured.offset_s - SPEED_TRAP_S) < 0.03
        assert not (measured.accepted and is_there)

    def test_speed_and_steering_never_decide(self, pair: Callable[[str], PairMeasurement]) -> None:
        assert pair("speed").is_baseline_only
        assert pair("steering").is_baseline_only
