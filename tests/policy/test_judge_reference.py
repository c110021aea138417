"""A stated reference may be wrong, doubtful, or right against all others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncaudit.model import CameraSpec, ClockEstimate, ClockSolution, ImuSpec, Verdict
from testkit.judged_clips import GOOD, POLICY, RIG, judge_measured, reason_codes
from testkit.measured_pairs import AT_NS, pair


def test_stated_reference_against_a_clear_consensus() -> None:
    cams = {f"cam{i}": CameraSpec(uri="x") for i in range(6)}
    measurements = [pair(cam, "imu", 0.04) for cam in cams]
    result = judge_measured(measurements, sources={**cams, "imu": ImuSpec(uri="i")})
    assert reason_codes(result)[-1] == ("offset", "imu")
    assert result.reasons[-1].message == (
        "imu, the stated reference, is 40.0 ± 0.3 ms late against the consensus of 6 others; "
        "more likely it is wrong itself"
    )
    assert result.reasons[-1].value == pytest.approx(-0.04)
    assert reason_codes(result)[:6] == [("offset", cam) for cam in cams]


def test_without_stated_reference_only_the_imu_is_told() -> None:
    cams = {f"cam{i}": CameraSpec(uri="x") for i in range(6)}
    measurements = [pair(cam, "imu", 0.04) for cam in cams]
    result = judge_measured(measurements, sources={**cams, "imu": ImuSpec(uri="i")}, reference=None)
    assert reason_codes(result) == [("offset", "imu")]
    assert result.reasons[0].message == "imu is 40.0 ± 0.3 ms late; limit 5 ms"


def test_stated_reference_in_doubt_without_consensus_is_a_warning() -> None:
    sources = {"cam": CameraSpec(uri="x"), "imu": ImuSpec(uri="i")}
    result = judge_measured([pair("cam", "imu", 0.04)], sources=sources, reference="cam")
    assert reason_codes(result) == [("offset", "imu")]
    assert result.warnings[0].message == (
        "cam, the stated reference, may itself be wrong: consensus would correct it rather than "
        "the others"
    )


def test_stated_reference_that_consensus_would_correct_does_not_pass() -> None:
    # Three cameras agree that the reference is off, each too uncertain to be rejected itself.
    optional = replace(POLICY, required_kinds=frozenset({"imu"}))
    cameras = {name: CameraSpec(uri=name) for name in ("a", "b", "c")}
    solution = ClockSolution(
        reference="imu",
        is_reference_stated=True,
        at_ns=AT_NS,
        clocks={
            name: ClockEstimate(
                clock=name,
                is_observable=True,
                offset_s=0.0095 * (name != "imu"),
                offset_std_s=0.001,
                n_measurements=1,
            )
            for name in (*cameras, "imu")
        },
        components=(("a", "b", "c", "imu"),),
        suspects=("imu",),
    )
    sources = {**cameras, "imu": ImuSpec(uri="i")}
    result = judge_measured([], sources=sources, solution=solution, policy=optional)
    assert result.verdict is Verdict.UNVERIFIED
    assert reason_codes(result) == [("offset", "imu")]


def test_scattered_others_are_no_consensus() -> None:
    solution = ClockSolution(
        reference="imu",
        is_reference_stated=True,
        at_ns=AT_NS,
        clocks={
            name: ClockEstimate(
                clock=name,
                is_observable=True,
                offset_s=offset_s,
                offset_std_s=1e-4,
                n_measurements=1,
            )
            for name, offset_s in [
                ("imu", 0.0),
                ("cam_front", 0.05),
                ("cam_rear", 0.15),
                ("can", 0.3),
            ]
        },
        components=(tuple(RIG),),
        suspects=("imu",),
    )
    result = judge_measured([], solution=solution)
    assert ("offset", "imu") not in reason_codes(result)
    assert "may itself be wrong" in result.warnings[0].message


def test_a_tie_is_told_as_a_tie() -> None:
    sources = {"cam": CameraSpec(uri="x"), "imu": ImuSpec(uri="i")}
    result = judge_measured([pair("cam", "imu", 0.035)], sources=sources, reference=None)
    assert reason_codes(result) == [("offset", "cam")]
    assert result.warnings[0].message == (
        "nothing shows which side is wrong, imu or cam: imu was trusted"
    )


def test_cameras_alike_do_not_outvote_another_kind() -> None:
    """They may share a common delay."""
    cameras = {"cam": CameraSpec(uri="x"), "top": CameraSpec(uri="y")}
    pairs = [pair("cam", "imu", 0.035), pair("top", "imu", 0.0351)]
    result = judge_measured(pairs, sources={**cameras, "imu": ImuSpec(uri="i")}, reference=None)
    (warning,) = [w for w in result.warnings if "which side" in w.message]
    assert "nothing shows which side is wrong, cam and top or imu: " in warning.message
    assert "may share an error if one computer" in warning.message


def test_cameras_alike_do_not_outvote_a_camera_that_agrees_with_other_kinds() -> None:
    cameras = {f"cam{i}": CameraSpec(uri="x") for i in range(5)}
    pairs = [pair(name, "imu", 0.035) for name in cameras] + [pair("front", "imu", 0.0)]
    sources = {**cameras, "front": CameraSpec(uri="f"), "imu": ImuSpec(uri="i")}
    result = judge_measured(pairs, sources=sources, reference=None)
    (warning,) = [w for w in result.warnings if "which side" in w.message]
    assert "cam3 and cam4 or front and imu: " in warning.message


def test_a_camera_that_others_of_every_kind_contradict_is_wrong() -> None:
    cameras = {"cam": CameraSpec(uri="x"), "top": CameraSpec(uri="y"), "low": CameraSpec(uri="z")}
    pairs = [pair("cam", "imu", 0.035), pair("top", "imu", 0.0), pair("low", "imu", 0.0)]
    result = judge_measured(pairs, sources={**cameras, "imu": ImuSpec(uri="i")}, reference=None)
    assert reason_codes(result) == [("offset", "cam")]
    assert not [w for w in result.warnings if "which side" in w.message]


def test_contradiction_just_below_the_limit_leaves_doubt_but_rejects_nothing() -> None:
    result = judge_measured([*GOOD, pair("cam_rear", "imu", 0.0099, method="flash")])
    assert result.verdict is Verdict.UNVERIFIED
    assert reason_codes(result) == [("unobservable", "cam_rear")]
    assert [str(w.code) for w in result.warnings] == ["inconsistent"]
