"""Sources on one clock share its result; contradictions between clocks are reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from syncaudit.graph.solve import solve_clocks
from syncaudit.model import CameraSpec, EdgeResidual, ImuSpec, ReasonCode, SourceSpec, Verdict
from testkit.judged_clips import GOOD, RIG, judge_measured, reason_codes, source_verdicts
from testkit.measured_pairs import AT_NS, pair


def test_sources_of_one_clock_share_its_result() -> None:
    sources = dict(RIG) | {"cam_left": CameraSpec(uri="l", clock="cam_rear")}
    good = judge_measured(GOOD, sources=sources)
    assert source_verdicts(good)["cam_left"] == "pass"
    bad = judge_measured(
        [GOOD[0], pair("cam_rear", "imu", 0.0351, 0.0006), GOOD[2]], sources=sources
    )
    assert reason_codes(bad) == [("offset", "cam_rear"), ("offset", "cam_left")]


RIGID: Mapping[str, SourceSpec] = {
    "cam": CameraSpec(uri="c", clock="rig"),
    "imu": ImuSpec(uri="i", clock="rig"),
}


def test_one_clock_is_judged_by_its_own_sources() -> None:
    result = judge_measured([pair("cam", "imu", 0.001)], sources=RIGID, reference=None)
    assert result.verdict is Verdict.PASS
    assert result.reference == "rig"


def test_one_clock_whose_sources_disagree_is_inconsistent() -> None:
    result = judge_measured([pair("cam", "imu", 0.035)], sources=RIGID, reference=None)
    assert result.verdict is Verdict.REJECT
    assert reason_codes(result) == [("inconsistent", None)]
    assert result.reasons[0].message == (
        "cam and imu name the same clock 'rig', but rotation finds them 35.0 ± 0.3 ms apart; "
        "limit 10 ms"
    )
    assert source_verdicts(result) == {"cam": "unverified", "imu": "unverified"}
    assert "cam and imu share a clock but are 35.0 ± 0.3 ms apart" in result.warnings[0].message


def test_one_clock_with_a_source_that_nobody_measured() -> None:
    sources = dict(RIGID) | {"cam2": CameraSpec(uri="d", clock="rig")}
    result = judge_measured([pair("cam", "imu", 0.001)], sources=sources, reference=None)
    assert source_verdicts(result) == {"cam": "pass", "imu": "pass", "cam2": "unverified"}


# Contradictions


def test_contradicting_methods_make_the_clip_inconsistent() -> None:
    result = judge_measured([*GOOD, pair("cam_rear", "imu", 0.0401, method="flash")])
    assert result.verdict is Verdict.REJECT
    assert reason_codes(result) == [("inconsistent", None)]
    assert result.reasons[0].message == (
        "flashes and rotation between cam_rear and imu contradict each other by 40.2 ± 0.4 ms, "
        "and nothing shows which is wrong; limit 10 ms"
    )
    assert source_verdicts(result)["cam_rear"] == "unverified"
    assert source_verdicts(result)["cam_front"] == "pass"


def test_loop_of_three_that_does_not_close() -> None:
    result = judge_measured([*GOOD, pair("cam_front", "cam_rear", 0.03, method="flash")])
    assert result.verdict is Verdict.REJECT
    (reason,) = result.reasons
    assert reason.code is ReasonCode.INCONSISTENT
    assert "contradict each other by" in reason.message
    assert " - imu" in reason.message
    assert reason.limit == pytest.approx(0.010)


def test_small_contradiction_is_a_warning() -> None:
    result = judge_measured([*GOOD, pair("cam_rear", "imu", 0.003, method="flash")])
    assert result.verdict is Verdict.PASS
    assert [str(w.code) for w in result.warnings] == ["inconsistent"]


def test_blamed_measurement_is_a_warning() -> None:
    measurements = [
        *GOOD,
        pair("cam_rear", "imu", 0.0001, method="flash"),
        pair("cam_rear", "imu", 0.05, method="onset"),
    ]
    result = judge_measured(measurements)
    assert result.verdict is Verdict.PASS
    assert result.warnings[0].message == (
        "onset between cam_rear and imu contradicts all other measurements by 50 ms and was left "
        "out"
    )


def test_contradicting_drifts_are_told_by_what_they_do_to_the_clip() -> None:
    measurements = [
        pair("cam_rear", "imu", 0.0, drift_ppm=0.0, drift_std_ppm=5.0),
        pair("cam_rear", "imu", 0.0, drift_ppm=4000.0, drift_std_ppm=5.0, method="flash"),
        *GOOD[::2],
    ]
    result = judge_measured(measurements)
    assert ("inconsistent", None) in reason_codes(result)
    assert "the drift between cam_rear and imu contradicts other" in result.reasons[0].message


def test_contradicted_edge_without_a_loop_is_still_told() -> None:
    solution = solve_clocks(GOOD, {name: name for name in RIG}, at_ns=AT_NS, tolerance_s={})
    edge = EdgeResidual(index=0, residual_s=0.03, z=9.0, is_contradicted=True)
    result = judge_measured(solution=replace(solution, edges=(edge,), loops=()))
    assert result.reasons[0].message == (
        "rotation between cam_front and imu contradicts other measurements by 30 ms, and nothing "
        "shows which is wrong; limit 10 ms"
    )
