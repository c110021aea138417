"""Cameras are tracked in part where that decides, and throughout where it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from syncaudit.detectors import RotationDetector
from syncaudit.model import CameraStream, Verdict
from syncaudit.pipeline import camera_evidence, examine, rotations_throughout
from syncaudit.simulate import ClockFault

# For the small rig's clocks; 4 sigma of the poorest.
NEAR_S = 0.004
N_FRAMES = 144


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """Return a list of camera analyses: the camera's name, and whether all frames were used."""
    made: list[tuple[str, bool]] = []

    def detector(stream: CameraStream, chosen: Any = None) -> RotationDetector:
        made.append((stream.name, chosen is None))
        return RotationDetector(stream, chosen)

    monkeypatch.setattr(camera_evidence, "RotationDetector", detector)
    return made


def test_a_good_clip_is_looked_at_once(clip: Any, looks: list[tuple[str, bool]]) -> None:
    examination = examine(clip.clip)
    assert examination.verdict.verdict is Verdict.PASS
    assert looks == [("cam_front", False), ("cam_rear", False)]
    assert examination.evidence.sampled == {"cam_front", "cam_rear"}
    n_tracked = examination.evidence.rotations["cam_front"].start_s.size
    assert n_tracked < 0.6 * N_FRAMES


def test_a_camera_apart_from_the_other_clocks_is_looked_at_again(
    faulty: Callable[..., Any], looks: list[tuple[str, bool]]
) -> None:
    verdict = examine(faulty(cam_rear=ClockFault(offset_s=0.04)).clip).verdict
    assert verdict.verdict is Verdict.REJECT
    assert looks == [("cam_front", False), ("cam_rear", False), ("cam_rear", True)]
    source = verdict.sources["cam_rear"]
    assert source.offset_s is not None
    assert abs(source.offset_s) == pytest.approx(0.04, abs=NEAR_S)


def test_a_gyroscope_apart_from_all_cameras_costs_no_second_look(
    faulty: Callable[..., Any], looks: list[tuple[str, bool]]
) -> None:
    verdict = examine(faulty(imu=ClockFault(offset_s=0.04)).clip).verdict
    assert verdict.verdict is Verdict.REJECT
    assert looks == [("cam_front", False), ("cam_rear", False)]


def test_an_intended_offset_is_not_apart(clip: Any, looks: list[tuple[str, bool]]) -> None:
    clip.restamp("cam_rear.csv", lambda t: t - 40_000_000)
    verdict = examine(clip.change("cam_rear", expected_offset_s=0.04).clip).verdict
    assert verdict.verdict is Verdict.PASS
    assert looks == [("cam_front", False), ("cam_rear", False)]


def test_a_delay_that_changes_as_no_clocks_does_gets_a_second_look(
    faulty: Callable[..., Any], looks: list[tuple[str, bool]]
) -> None:
    verdict = examine(faulty(cam_rear=ClockFault(drift_ppm=2000.0)).clip).verdict
    assert verdict.verdict is not Verdict.PASS
    assert looks == [("cam_front", False), ("cam_rear", False), ("cam_rear", True)]


def test_without_a_gyroscope_every_frame_is_tracked(
    clip: Any, looks: list[tuple[str, bool]]
) -> None:
    examine(clip.keep("cam_front", "cam_rear", "can").clip)
    assert looks == [("cam_front", True), ("cam_rear", True)]


def test_cameras_that_follow_no_gyroscope_are_tracked_throughout(
    clip: Any, looks: list[tuple[str, bool]]
) -> None:
    """A gyroscope that is stuck confirms no camera: the cameras confirm one another."""
    lines = (clip.path / "imu.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    for row in rows:
        row[1:4] = ["0.01", "0.02", "-0.01"]
    clip.overwrite("imu.csv", "\n".join([lines[0], *map(",".join, rows)]).encode())
    examination = examine(clip.clip)
    assert ("cam_front", True) in looks
    assert ("cam_rear", True) in looks
    assert not examination.evidence.sampled
    tied = [pair for pair in examination.measurements if pair.target.startswith("cam_")]
    assert any(pair.accepted for pair in tied)


def test_a_look_for_the_eye_changes_no_figure(clip: Any, looks: list[tuple[str, bool]]) -> None:
    examination = examine(clip.clip)
    n_measured = examination.evidence.rotations["cam_front"].start_s.size
    seen = rotations_throughout(examination)
    assert ("cam_front", True) in looks
    assert seen["cam_front"].start_s.size > 0.9 * N_FRAMES > n_measured
    assert examination.evidence.rotations["cam_front"].start_s.size == n_measured
    assert "cam_front" in examination.evidence.sampled
