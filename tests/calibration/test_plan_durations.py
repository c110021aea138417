"""Durations and rates are read as people write them."""

from fractions import Fraction

import pytest
from syncaudit_calibration.plan_command import parse_durations, parse_rates

from syncaudit.errors import UsageError


@pytest.mark.parametrize(
    "text", ["25ms", "0.025", "25000us", ".025s", "25 ms", "2.5e-2", "25000µs"]
)
def test_one_duration_in_many_spellings(text: str) -> None:
    (found,) = parse_durations(text, "--readout")
    assert found == pytest.approx(0.025, abs=1e-15)


def test_durations_of_a_list_and_zero() -> None:
    assert parse_durations("25ms, 0", "--readout") == (0.025, 0.0)


@pytest.mark.parametrize("text", ["", "fast", "-5ms", "25m", "1,", "nan", "1e999e1"])
def test_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected a duration like 25ms"):
        parse_durations(text, "--readout")


def test_rates_are_exact() -> None:
    rates = parse_rates("12,29.97,30000/1001", "--fps")
    assert rates == (Fraction(12), Fraction(2997, 100), Fraction(30000, 1001))


@pytest.mark.parametrize("text", ["12Hz", "", "1/0", "12;30"])
def test_no_rate_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected frames per second"):
        parse_rates(text, "--fps")


@pytest.mark.parametrize("text", ["0", "-12", "12000"])
def test_impossible_rate_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="up to 1000 Hz"):
        parse_rates(text, "--fps")
