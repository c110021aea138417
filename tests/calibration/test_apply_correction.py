"""The correction of a clock: exact in integers, and harmless at their ends."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncaudit.model import ClockCorrection

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
    correction = ClockCorrection(offset_s=offset_s, drift_ppm=drift_ppm, at_ns=T0)
    found = int(correction.apply(T0 + since_ns))
    change = Fraction(offset_s) * 10**9 + Fraction(drift_ppm) / 10**6 * since_ns
    assert abs(found - (T0 + since_ns + change)) <= Fraction(51, 100)


def test_stamps_do_not_pass_through_float() -> None:
    stamps = T0 + np.arange(1000)
    moved = ClockCorrection(offset_s=0.0351, drift_ppm=None).apply(stamps)
    assert (moved - stamps).tolist() == [35_100_000] * 1000


def test_a_huge_offset_joins_epochs() -> None:
    assert int(ClockCorrection(offset_s=1.7e9).apply(5)) == 1_700_000_000_000_000_005


@pytest.mark.parametrize("stamp", [-(2**63), 2**63 - 1, 0])
def test_absurd_stamps_stay_within_int64(stamp: int) -> None:
    correction = ClockCorrection(offset_s=np.sign(stamp) * 10.0, drift_ppm=100.0, at_ns=T0)
    moved = correction.apply(np.array([stamp, T0]))
    assert moved[1] == T0 + np.sign(stamp) * 10**10
    if stamp:
        assert moved[0] == stamp


def test_drift_counts_within_a_day() -> None:
    correction = ClockCorrection(offset_s=0.5, drift_ppm=10.0, at_ns=T0)
    assert correction.near(T0 + DAY_NS) is correction
    assert correction.near(T0 + DAY_NS + 1) == ClockCorrection(offset_s=0.5)


def test_nothing_changes_nothing() -> None:
    assert ClockCorrection(offset_s=0.0).is_nothing
    assert ClockCorrection(offset_s=0.0, drift_ppm=0.0).is_nothing
    assert not ClockCorrection(offset_s=0.0, drift_ppm=1.0, at_ns=0).is_nothing


def test_wrong_figures_are_refused() -> None:
    with pytest.raises(ValueError, match="offset_s is nan"):
        ClockCorrection(offset_s=float("nan"))
    with pytest.raises(ValueError, match="drift_ppm is inf"):
        ClockCorrection(offset_s=0.0, drift_ppm=float("inf"), at_ns=0)
    with pytest.raises(ValueError, match="a drift needs at_ns"):
        ClockCorrection(offset_s=0.0, drift_ppm=1.0)
    with pytest.raises(TypeError, match="stamps must be integer nanoseconds"):
        ClockCorrection(offset_s=0.0).apply(np.array([1.5]))
