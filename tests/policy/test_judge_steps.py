"""A step belongs to the source that made it; where nothing shows which one did, none passes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from syncaudit.model import (
    CameraSpec,
    CanSpec,
    ClipVerdict,
    ImuSpec,
    PairMeasurement,
    ReasonCode,
    SourceSpec,
    Verdict,
)
from testkit.judged_clips import judge_measured, source_verdicts
from testkit.measured_pairs import AT_NS, pair

STEP_S = 0.03
SPAN_S = 20.0
RIG: Mapping[str, SourceSpec] = {
    "a": CameraSpec(uri="a.mp4"),
    "b": CameraSpec(uri="b.mp4"),
    "imu": ImuSpec(uri="imu.csv"),
    "can": CanSpec(uri="can.log"),
}
THROUGH_IMU = (("a", "imu"), ("b", "imu"), ("can", "imu"))
PAIRS = {"tree": THROUGH_IMU, "loop": (*THROUGH_IMU, ("a", "b"))}
# Slope of a line through a step in the middle of the clip.
SLOPE_PPM = 1.5e6 * STEP_S / SPAN_S


def seen(source: str, target: str, step_s: float) -> PairMeasurement:
    """Return a measurement that found a step."""
    return pair(source, target, 0.0, step_s=step_s, step_std_s=0.002, step_at_ns=AT_NS)


def unseen(
    source: str, target: str, step_s: float, power: float, std_s: float = 1e-3
) -> PairMeasurement:
    """Return a measurement whose slope shows a step at so many standard errors, if there is one."""
    std_ppm = SLOPE_PPM / power
    figures = {"drift_ppm": SLOPE_PPM * step_s / STEP_S, "drift_std_ppm": std_ppm}
    return pair(source, target, 0.0, std_s, diagnostics=figures)


def audited(
    pairs: Collection[tuple[str, str]],
    stepping: str,
    sharp: Collection[tuple[str, str]],
    power: float,
    reference: str | None,
) -> ClipVerdict:
    """Judge a clip in which one source steps; only some pairs are sharp enough to see it."""
    measurements = []
    for source, target in pairs:
        step_s = STEP_S * ((source == stepping) - (target == stepping))
        is_seen = step_s and (source, target) in sharp
        measurements.append(
            seen(source, target, step_s) if is_seen else unseen(source, target, step_s, power)
        )
    names = {name for ends in pairs for name in ends}
    sources = {name: spec for name, spec in RIG.items() if name in names}
    return judge_measured(measurements, sources=sources, reference=reference, span_s=SPAN_S)


def assert_blamed_or_nobody_passes(verdict: ClipVerdict, stepping: str) -> None:
    """Check that no source is cleared by blaming one that did not step."""
    found = source_verdicts(verdict)
    stated = verdict.reference if verdict.reference and found[verdict.reference] == "pass" else None
    assert verdict.verdict is not Verdict.PASS
    if found[stepping] != "reject":
        assert "pass" not in {v for name, v in found.items() if name != stated}, found


@pytest.mark.parametrize("power", [1.0, 2.0, 3.0, 4.0, 10.0])
@pytest.mark.parametrize("reference", [None, "a", "imu", "can"])
@pytest.mark.parametrize("stepping", RIG)
@pytest.mark.parametrize("shape", PAIRS)
def test_whoever_steps_is_blamed_or_nobody_passes(
    shape: str, stepping: str, reference: str | None, power: float
) -> None:
    pairs = PAIRS[shape]
    own = [ends for ends in pairs if stepping in ends]
    for sharp in [own, *([each] for each in own)]:
        verdict = audited(pairs, stepping, sharp, power, reference)
        assert_blamed_or_nobody_passes(verdict, stepping)


def test_step_of_an_imu_that_one_camera_of_two_sees() -> None:
    # A clip of the black-box test: b and can have slopes of 3.3, 2.8 and 0.3 standard errors.
    def quiet(source: str, ppm: float, std_ppm: float, std_s: float) -> PairMeasurement:
        figures = {"drift_ppm": ppm, "drift_std_ppm": std_ppm}
        return pair(source, "imu", -0.001, std_s, diagnostics=figures)

    measurements = [
        pair("a", "imu", -0.001, 1e-3, step_s=-0.029, step_std_s=0.003, step_at_ns=AT_NS + 10**9),
        quiet("b", -2298.0, 692.0, 1.4e-3),
        quiet("can", -2937.0, 1051.0, 5.7e-3),
        quiet("can", 366.0, 1325.0, 6.4e-3),
    ]
    verdict = judge_measured(measurements, sources=RIG, reference=None, span_s=15.9)
    assert source_verdicts(verdict)["imu"] == "reject"
    assert source_verdicts(verdict)["a"] != "reject"


@pytest.mark.parametrize("stepping", ["a", "imu"])
def test_neither_of_two_sources_passes(stepping: str) -> None:
    verdict = audited([("a", "imu")], stepping, [("a", "imu")], 10.0, None)
    assert source_verdicts(verdict) == {"a": "reject", "imu": "unverified"}
    told = [each.message for each in verdict.warnings if each.code is ReasonCode.STEP]
    assert told == ["nothing shows which clock jumped, a or imu: a was blamed"]


def test_cameras_that_step_together_do_not_pass_where_the_bus_vouches_for_the_imu() -> None:
    cameras = {f"cam{i}": CameraSpec(uri="x") for i in range(5)}
    measurements = [seen(name, "imu", STEP_S) for name in cameras]
    measurements.append(unseen("can", "imu", 0.0, 10.0))
    verdict = judge_measured(
        measurements,
        sources={**cameras, "imu": RIG["imu"], "can": RIG["can"]},
        reference=None,
        span_s=SPAN_S,
    )
    found = source_verdicts(verdict)
    assert found.pop("imu") == "reject"
    assert set(found.values()) == {"unverified"}
    told = {each.message for each in verdict.warnings if each.code is ReasonCode.STEP}
    assert told == {
        "nothing shows which clock jumped, imu or cam0, cam1, cam2, cam3 and cam4: imu was blamed"
    }


def test_stated_reference_is_trusted_against_a_single_other() -> None:
    verdict = audited([("a", "imu")], "a", [("a", "imu")], 10.0, "imu")
    assert source_verdicts(verdict) == {"a": "reject", "imu": "pass"}
    assert not verdict.warnings


def test_stated_reference_that_steps_is_told() -> None:
    verdict = audited(THROUGH_IMU, "imu", THROUGH_IMU, 10.0, "imu")
    assert set(source_verdicts(verdict).values()) == {"reject"}
    assert verdict.reasons[-1].source == "can"
    told = [each.message for each in verdict.reasons if each.source == "imu"]
    assert told == [
        "imu, the stated reference, jumps 30.0 ± 1.2 ms against the consensus of the others; more "
        "likely it is wrong itself; limit 5 ms"
    ]


def test_stated_reference_that_may_have_stepped_is_doubted() -> None:
    # 6.3 ± 1.2 ms against its limit of 5 ms; inside those of the others.
    measurements = [seen(name, "imu", -0.0063) for name in ("a", "b", "can")]
    verdict = judge_measured(measurements, sources=RIG, reference="imu", span_s=SPAN_S)
    assert verdict.verdict is Verdict.UNVERIFIED
    assert source_verdicts(verdict)["imu"] == "unverified"
    assert [str(each.code) for each in verdict.reasons if each.source == "imu"] == ["step"]


@pytest.mark.parametrize("reference", [None, "a", "b"])
def test_one_warning_is_enough_for_two_sources(reference: str | None) -> None:
    measured = seen("a", "b", 0.1)
    sources = {name: RIG[name] for name in ("a", "b")}
    verdict = judge_measured([measured], sources=sources, reference=reference, span_s=SPAN_S)
    assert verdict.verdict is Verdict.REJECT
    assert len(verdict.warnings) == (reference is None)


@pytest.mark.parametrize("reference", ["a", "b"])
def test_stated_reference_is_trusted_against_another_of_its_kind(reference: str) -> None:
    sources = {name: RIG[name] for name in ("a", "b")}
    verdict = judge_measured([pair("a", "b", 0.1)], sources=sources, reference=reference)
    assert source_verdicts(verdict)[reference] == "pass"
    assert verdict.verdict is Verdict.REJECT
    assert not verdict.warnings


def test_pair_sharp_enough_to_see_a_step_clears_both_its_sources() -> None:
    verdict = audited(THROUGH_IMU, "a", [("a", "imu")], 10.0, None)
    assert source_verdicts(verdict) == {
        "a": "reject",
        "b": "pass",
        "imu": "pass",
        "can": "pass",
    }


def test_cameras_alike_do_not_pass_by_blaming_another_kind_for_a_step() -> None:
    pairs = (("a", "imu"), ("b", "imu"))
    verdict = audited(pairs, "imu", pairs, 10.0, None)
    assert source_verdicts(verdict) == {"a": "unverified", "b": "unverified", "imu": "reject"}
    assert {each.message for each in verdict.warnings} == {
        "nothing shows which clock jumped, imu or a and b: imu was blamed"
    }
