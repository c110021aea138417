"""Measurement records cannot contradict themselves."""

import json
import math

import pytest

from syncaudit.batch.json_encoding import json_line
from syncaudit.model import PairMeasurement

BASE = {"source": "cam", "target": "imu", "method": "rotation", "at_ns": 1_767_225_600_000_000_001}


def test_accepted_needs_an_offset():
    with pytest.raises(ValueError, match="needs an offset and its standard error"):
        PairMeasurement(**BASE, accepted=True)
    with pytest.raises(ValueError, match="needs an offset and its standard error"):
        PairMeasurement(**BASE, accepted=True, offset_s=0.1)


@pytest.mark.parametrize(("offset_s", "std_s"), [(math.inf, 0.1), (0.1, math.inf)])
def test_what_is_not_finite_is_read_as_refused(offset_s, std_s):
    one = PairMeasurement(**BASE, accepted=True, offset_s=offset_s, offset_std_s=std_s)
    read = PairMeasurement.from_json(json.loads(json_line(one.to_json())))
    assert (read.accepted, read.why) == (False, "its offset is not finite")


@pytest.mark.parametrize("why", [None, ""])
def test_refused_needs_a_reason(why):
    with pytest.raises(ValueError, match="a refused measurement needs a reason"):
        PairMeasurement(**BASE, why=why)


@pytest.mark.parametrize("std_s", [0.0, -1.0, float("nan")])
def test_standard_error_is_positive(std_s):
    with pytest.raises(ValueError, match="offset_std_s must be positive"):
        PairMeasurement(**BASE, accepted=True, offset_s=0.1, offset_std_s=std_s)


def test_json_has_the_contract_and_exact_nanoseconds():
    one = PairMeasurement(
        **BASE, accepted=True, offset_s=-0.1, offset_std_s=1e-4, diagnostics={"gain": 1.0}
    )
    row = json.loads(json.dumps(one.to_json()))
    assert row["at_ns"] == BASE["at_ns"]
    assert row["offset_s"] == -0.1
    assert row["drift_ppm"] is None
    assert row["diagnostics"] == {"gain": 1.0}
    assert "step_s" not in row


def test_json_tells_a_step():
    one = PairMeasurement(
        **BASE,
        accepted=True,
        offset_s=0.1,
        offset_std_s=1e-4,
        step_s=0.06,
        step_std_s=2e-4,
        step_at_ns=5,
    )
    row = one.to_json()
    assert (row["step_s"], row["step_std_s"], row["step_at_ns"]) == (0.06, 2e-4, 5)


def test_json_tells_a_refusal():
    row = PairMeasurement(**BASE, why="nothing moves").to_json()
    assert row["accepted"] is False
    assert row["why"] == "nothing moves"
    assert row["offset_s"] is None


def test_turned_twice_is_as_it_was():
    one = PairMeasurement(
        **BASE,
        accepted=True,
        offset_s=-0.25,
        offset_std_s=1e-4,
        drift_ppm=100.0,
        step_s=0.5,
        step_at_ns=BASE["at_ns"] + 1,
        diagnostics={"offset_s": -0.2, "gain": 1.0},
    )
    turned = one.turned()
    assert (turned.source, turned.target, turned.offset_s, turned.step_s) == (
        "imu",
        "cam",
        0.25,
        -0.5,
    )
    assert turned.at_ns == one.at_ns - 250_000_000
    assert turned.diagnostics == {"offset_s": 0.2, "gain": 1.0}
    again = turned.turned()
    assert again.drift_ppm == pytest.approx(100.0, abs=1e-9)
    assert (again.at_ns, again.step_at_ns) == (one.at_ns, one.step_at_ns)
