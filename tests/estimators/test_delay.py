"""The record of one pair: search range, rejections and reported values."""

import numpy as np
import pytest

from syncaudit.dsp.integral import integrate_samples
from syncaudit.estimators.delay.increments import from_integral
from syncaudit.estimators.delay.measure import MIN_ROWS, measure_delay
from syncaudit.estimators.delay.record import FLOOR_STD_S, DelayTask, refuse
from testkit.moving_body import EPOCH_NS, Clock, imu, shaking


def task(**fields):
    fields = {"source_epoch_ns": EPOCH_NS, "target_epoch_ns": EPOCH_NS} | fields
    return DelayTask(source="a", target="b", method="test", **fields)


def measured(seed, *, source=None, target=None, **fields):
    motion = shaking(seed)
    a, b = imu(motion, seed, **(source or {})), imu(motion, seed + 1000, **(target or {}))
    rows = from_integral(integrate_samples(a.times_s, a.values, is_smooth=True), width_s=0.05)
    driver = integrate_samples(b.times_s, b.values, is_smooth=True)
    return measure_delay(task(**({"max_offset_s": 0.3} | fields)), rows, driver)


def test_refusal_is_a_record():
    found = refuse(task(is_baseline_only=True), 1.5, "no reason", rows=3.0)
    assert (found.source, found.target, found.method) == ("a", "b", "test")
    assert found.at_ns == EPOCH_NS + 1_500_000_000
    assert not found.accepted
    assert found.is_baseline_only
    assert found.diagnostics == {"rows": 3.0}


@pytest.mark.parametrize("n", [0, MIN_ROWS - 1])
def test_too_few_increments(n):
    a = imu(shaking(1), 1)
    signal = integrate_samples(a.times_s, a.values, is_smooth=True)
    rows = from_integral(signal, width_s=0.1).rows(np.arange(n))
    found = measure_delay(task(), rows, signal)
    assert found.why == f"only {n} usable increments; at least 30 are needed"


def test_source_epoch_moves_the_anchor_only():
    here = measured(2)
    there = measured(2, source_epoch_ns=0, target_epoch_ns=0)
    assert there.offset_s == here.offset_s
    assert here.at_ns - there.at_ns == EPOCH_NS


def test_known_systematic_error_is_added_in_quadrature():
    plain, rough = measured(3), measured(3, systematic_std_s=0.002)
    assert plain.systematic_std_s == FLOOR_STD_S
    assert abs(rough.systematic_std_s - np.hypot(0.002, FLOOR_STD_S)) < 1e-12
    assert rough.offset_std_s > plain.offset_std_s
    assert plain.offset_std_s > plain.systematic_std_s


def test_unknown_gain_is_not_judged():
    assert not measured(4, source={"unit": 9.0}).accepted
    assert measured(4, source={"unit": 9.0}, expected_gain=()).accepted


def test_gain_range_is_that_of_the_task():
    assert measured(4, source={"unit": 2.5}, gain_range=(0.4, 3.0)).accepted
    assert not measured(4, source={"unit": 2.5}).accepted


def test_clocks_of_no_relation_are_searched_over_every_overlap():
    clock = Clock(late_s=77_000.0, middle_s=0.0)
    found = measured(5, target={"clock": clock})
    assert found.accepted
    # float64 at 1e5 s has a step of 15 ps
    assert abs(found.offset_s - 77_000.0) < 1e-4


def test_offset_with_too_large_an_error_is_refused():
    found = measured(6, source={"noise": 0.001}, systematic_std_s=0.0)
    assert found.accepted
    weak = measured(6, source={"noise": 3.0}, target={"noise": 0.0})
    assert not weak.accepted


def test_figures_are_on_record():
    found = measured(7)
    assert {
        "rows",
        "log_likelihood",
        "runner_up",
        "gain",
        "explained",
        "correlation_factor",
        "offset_s",
        "offset_std_s",
    } <= set(found.diagnostics)
    assert all(isinstance(value, float) for value in found.diagnostics.values())


def test_drift_known_well_is_reported_even_where_it_is_none():
    found = measured(8, source={"noise": 1e-4}, target={"noise": 1e-4})
    assert found.drift_std_ppm < 20.0
    assert abs(found.drift_ppm) < 4.0 * found.drift_std_ppm


def test_drift_hardly_known_is_not_reported():
    found = measured(9, source={"noise": 0.03, "seconds": 10.0}, target={"seconds": 10.0})
    assert found.accepted
    assert found.drift_ppm is None
    assert found.diagnostics["drift_std_ppm"] > 20.0


def test_excerpt_lies_over_its_target_at_the_offset_where_it_bends():
    found = measured(5, target={"clock": Clock(late_s=0.035)})
    assert found.accepted, found.why
    seen = found.excerpt
    assert seen is not None
    # A fit with drift, which is insignificant here, differs by less than a standard error.
    assert seen.apart_s == pytest.approx(found.offset_s, abs=found.offset_std_s)
    assert seen.tells_s[1] - seen.tells_s[0] == pytest.approx(1.0, abs=1e-9)
    source, target = seen.values
    assert np.corrcoef(source, target)[0, 1] > 0.95
    # By its own timestamps it does not match: shifted by as many samples as the offset is long.
    along = round(0.035 / seen.step_s)
    assert np.corrcoef(source[along:], target[:-along])[0, 1] < 0.95


def test_refused_measurement_has_no_excerpt():
    assert measured(4, source={"unit": 9.0}).excerpt is None


def test_excerpt_of_a_drift_lies_where_the_offset_is_large():
    found = measured(6, source={"clock": Clock(drift_ppm=2000.0)}, max_drift_ppm=1e4)
    assert found.accepted, found.why
    seen = found.excerpt
    assert seen is not None
    assert found.drift_ppm is not None
    middle_ns = seen.start_ns + int(5e8 * sum(seen.tells_s))
    # Rows of increments lie up to a frame from the middle of the second.
    assert seen.apart_s == pytest.approx(found.offset_at(middle_ns), abs=3e-4)
    assert abs(seen.apart_s) > 0.5 * abs(found.offset_at(found.at_ns + 10_000_000_000) or 0.0)


def test_what_holds_physics_of_the_vehicle_has_no_excerpt():
    found = measured(5, target={"clock": Clock(late_s=0.035)}, is_baseline_only=True)
    assert found.accepted
    assert found.excerpt is None
