"""The map of a clock: exact in integers, invertible, and harmless at the ends of int64."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncaudit.model import ClockMap

T0 = 1_767_225_600_000_000_001
DAY_NS = 86_400 * 10**9


@given(
    offset_s=st.floats(-1e5, 1e5),
    drift_ppm=st.floats(-5e3, 5e3),
    since_ns=st.integers(-DAY_NS, DAY_NS),
)
def test_it_is_the_formula_to_a_nanosecond(
    offset_s: float, drift_ppm: float, since_ns: int
) -> None:
    correction = ClockMap(offset_s=offset_s, drift_ppm=drift_ppm, at_ns=T0)
    found = int(correction.apply(T0 + since_ns))
    change = Fraction(offset_s) * 10**9 + Fraction(drift_ppm) / 10**6 * since_ns
    assert abs(found - (T0 + since_ns + change)) <= Fraction(51, 100)


@given(
    offset_s=st.floats(-1e5, 1e5),
    drift_ppm=st.floats(-5e3, 5e3),
    since_ns=st.integers(-DAY_NS, DAY_NS),
)
def test_the_inverse_leads_back(offset_s: float, drift_ppm: float, since_ns: int) -> None:
    clock = ClockMap(offset_s=offset_s, drift_ppm=drift_ppm, at_ns=T0)
    back = clock.inverse().apply(clock.apply(T0 + since_ns))
    assert abs(int(back) - T0 - since_ns) <= 10  # the anchor and both directions are rounded


@pytest.mark.parametrize("is_past", [False, True])
def test_a_step_moves_what_lies_beyond_it(is_past: bool) -> None:
    step_at_ns = T0 + 10**9 * (-5 if is_past else 5)
    clock = ClockMap(
        offset_s=0.1, at_ns=T0, step_s=0.03, step_at_ns=step_at_ns, is_step_past=is_past
    )
    stamps = step_at_ns + np.array([-1, 0])
    expected_s = [0.07, 0.1] if is_past else [0.1, 0.13]
    assert ((clock.apply(stamps) - stamps) * 1e-9).tolist() == pytest.approx(expected_s, abs=1e-9)
    assert [clock.change_at(int(t)) for t in stamps] == pytest.approx(expected_s, abs=1e-9)
    undone = clock.inverse().apply(clock.apply(T0 + np.array([-(10**10), 0, 10**10])))
    assert (undone - T0).tolist() == [-(10**10), 0, 10**10]
    for stamp in stamps.tolist():
        low, high = clock.before(int(clock.apply(stamp)))
        assert low <= stamp <= high


@given(epoch_ns=st.integers(T0 - DAY_NS, T0), after_s=st.floats(-100, 100))
def test_it_does_not_matter_from_where_stamps_are_counted(epoch_ns: int, after_s: float) -> None:
    clock = ClockMap(offset_s=0.1, drift_ppm=50.0, at_ns=T0)
    after_s += (T0 - epoch_ns) * 1e-9
    expected_s = clock.change_at(epoch_ns + round(1e9 * after_s))
    assert clock.since(epoch_ns).change_s(after_s) == pytest.approx(expected_s, abs=1e-9)


def test_stamps_do_not_pass_through_float() -> None:
    stamps = T0 + np.arange(1000)
    moved = ClockMap(offset_s=0.0351, drift_ppm=None).apply(stamps)
    assert (moved - stamps).tolist() == [35_100_000] * 1000


def test_a_huge_offset_joins_epochs() -> None:
    assert int(ClockMap(offset_s=1.7e9).apply(5)) == 1_700_000_000_000_000_005


@pytest.mark.parametrize("stamp", [-(2**63), 2**63 - 1, 0])
def test_absurd_stamps_stay_within_int64(stamp: int) -> None:
    correction = ClockMap(offset_s=np.sign(stamp) * 10.0, drift_ppm=100.0, at_ns=T0)
    moved = correction.apply(np.array([stamp, T0]))
    assert moved[1] == T0 + np.sign(stamp) * 10**10
    if stamp:
        assert moved[0] == stamp


def test_drift_counts_within_a_day() -> None:
    correction = ClockMap(offset_s=0.5, drift_ppm=10.0, at_ns=T0)
    assert correction.near(T0 + DAY_NS) is correction
    assert correction.near(T0 + DAY_NS + 1) == ClockMap(offset_s=0.5)


def test_nothing_changes_nothing() -> None:
    assert ClockMap(offset_s=0.0).is_nothing
    assert ClockMap(offset_s=0.0, drift_ppm=0.0).is_nothing
    assert not ClockMap(offset_s=0.0, drift_ppm=1.0, at_ns=0).is_nothing


def test_wrong_figures_are_refused() -> None:
    with pytest.raises(ValueError, match="offset_s is nan"):
        ClockMap(offset_s=float("nan"))
    with pytest.raises(ValueError, match="drift_ppm is inf"):
        ClockMap(offset_s=0.0, drift_ppm=float("inf"), at_ns=0)
    with pytest.raises(ValueError, match="a drift needs at_ns"):
        ClockMap(offset_s=0.0, drift_ppm=1.0)
    with pytest.raises(ValueError, match="step_s is nan"):
        ClockMap(step_s=float("nan"))
    with pytest.raises(TypeError, match="timestamps must be integer nanoseconds"):
        ClockMap(offset_s=0.0).apply(np.array([1.5]))
