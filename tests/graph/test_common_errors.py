"""Systematic parts propagate along chains of clocks as weighted by the clip's own solution."""

import pytest

from syncaudit.graph.course import common_errors
from syncaudit.model import PairMeasurement

CLOCKS = {name: name for name in ("cam", "imu", "can")}
EXACT_S = 1e-9


def pair(source, target, *, std_s=1e-3, systematic_s=5e-4, method="rotation", accepted=True):
    return PairMeasurement(
        source=source,
        target=target,
        method=method,
        at_ns=0,
        offset_s=0.0 if accepted else None,
        offset_std_s=std_s if accepted else None,
        systematic_std_s=systematic_s,
        accepted=accepted,
        why=None if accepted else "still",
    )


def errors(pairs, reference="imu"):
    return common_errors(pairs, CLOCKS, reference)


def test_a_measurement_keeps_its_part():
    assert errors([pair("cam", "imu")])["cam"] == pytest.approx(5e-4, abs=EXACT_S)


def test_a_chain_adds_the_parts_of_its_links():
    pairs = [pair("cam", "imu", systematic_s=3e-4), pair("can", "imu", systematic_s=4e-4)]
    assert errors(pairs, "can")["cam"] == pytest.approx(5e-4, abs=EXACT_S)
    assert errors(pairs, "can")["imu"] == pytest.approx(4e-4, abs=EXACT_S)


def test_another_method_has_a_part_of_its_own():
    pairs = [pair("can", "imu", method=method) for method in ("yaw_rate", "lateral_accel")]
    assert errors(pairs)["can"] == pytest.approx(5e-4 / 2**0.5, abs=EXACT_S)


def test_the_sharper_method_counts_most():
    pairs = [
        pair("can", "imu", method="yaw_rate", std_s=1e-4, systematic_s=1e-4),
        pair("can", "imu", method="long_accel", std_s=1e-2, systematic_s=1e-2),
    ]
    assert errors(pairs)["can"] == pytest.approx(1e-4, abs=1e-6)


def test_refused_and_untied_clocks_have_none():
    assert errors([pair("cam", "imu", accepted=False)]) == {}
    assert errors([pair("cam", "can")]) == {}


def test_sources_of_one_clock_do_not_count():
    clocks = {**CLOCKS, "can": "imu"}
    assert common_errors([pair("can", "imu")], clocks, "imu") == {}
