"""Laws of the three-way test and of the course of a clock over a clip."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncaudit.model import ClockEstimate
from syncaudit.policy.case import Equivalence, compare, course_of, quantile, worst

FIGURE = st.floats(-1.0, 1.0)
ERROR = st.floats(0.0, 1.0)


def test_quantile_of_95_percent() -> None:
    assert quantile(0.95) == pytest.approx(1.95996, abs=1e-5)


@given(FIGURE, ERROR, st.floats(0.001, 1.0))
def test_sign_does_not_matter(value: float, std: float, limit: float) -> None:
    assert compare(value, std, limit, 1.96) is compare(-value, std, limit, 1.96)


@given(FIGURE, ERROR, ERROR, st.floats(0.001, 1.0))
def test_more_error_never_decides_more(value: float, a: float, b: float, limit: float) -> None:
    sharp = compare(value, min(a, b), limit, 1.96)
    vague = compare(value, max(a, b), limit, 1.96)
    assert vague in (sharp, Equivalence.INCONCLUSIVE)


def test_worst_of_nothing_is_open() -> None:
    assert worst([]) is Equivalence.INCONCLUSIVE
    assert (
        worst([Equivalence.INSIDE, Equivalence.OUTSIDE, Equivalence.INCONCLUSIVE])
        is Equivalence.OUTSIDE
    )


def clock(**figures: object) -> ClockEstimate:
    fields: dict[str, object] = {"offset_s": 0.001, "offset_std_s": 1e-4} | figures
    return ClockEstimate(clock="c", is_observable=True, **fields)  # type: ignore[arg-type]  # fields


def test_unknown_drift_widens_the_ends_by_what_quartz_can_do() -> None:
    middle, *ends = course_of(clock(), at_ns=0, span_s=20.0)
    assert (middle.after_s, middle.value_s, middle.std_s) == (0.0, 0.001, 1e-4)
    assert [p.after_s for p in ends] == [-10.0, 10.0]
    for point in ends:
        # 100 ppm, at two standard deviations, over 10 s.
        assert point.value_s == 0.001
        assert point.std_s == pytest.approx((1e-4**2 + 5e-4**2) ** 0.5)


def test_reference_has_no_drift_of_its_own() -> None:
    (point,) = course_of(clock(), at_ns=0, span_s=20.0, prior_ppm=0.0)
    assert point.std_s == 1e-4


def test_course_with_drift_reaches_both_ends() -> None:
    course = course_of(clock(drift_ppm=100.0, drift_std_ppm=30.0), at_ns=0, span_s=20.0)
    assert [p.value_s for p in course] == pytest.approx([0.001, 0.0, 0.002])
    assert course[1].std_s == pytest.approx((1e-4**2 + 3e-4**2) ** 0.5)


@pytest.mark.parametrize(("at_s", "end", "value"), [(3.0, 10.0, 0.006), (-3.0, -10.0, -0.004)])
def test_course_holds_the_side_of_the_step_that_the_offset_does_not(
    at_s: float, end: float, value: float
) -> None:
    stepping = clock(
        step_s=0.005, step_std_s=2e-4, step_at_ns=round(at_s * 1e9), is_step_past=at_s < 0.0
    )
    course = course_of(stepping, at_ns=0, span_s=20.0)
    assert [p.value_s for p in course if p.is_stepped] == pytest.approx([value, value])
    assert course[-1].after_s == end


def test_the_side_is_what_is_said_not_what_the_stamps_seem_to_say() -> None:
    # Timestamps of a clock that jumps back by 60 ms repeat: one before the jump reads as after it.
    stepping = clock(step_s=0.06, step_std_s=2e-4, step_at_ns=-20_000_000, is_step_past=False)
    course = course_of(stepping, at_ns=0, span_s=20.0)
    assert course[-1].after_s == 10.0
    assert course[-1].value_s == pytest.approx(0.061)


def test_drift_is_followed_on_the_own_side_of_a_step_only() -> None:
    stepping = clock(
        drift_ppm=100.0, drift_std_ppm=30.0, step_s=0.005, step_std_s=2e-4, step_at_ns=3 * 10**9
    )
    course = course_of(stepping, at_ns=0, span_s=20.0)
    assert [(p.after_s, p.is_stepped) for p in course] == [
        (0.0, False),
        (-10.0, False),
        (3.0, True),
        (10.0, True),
    ]


def test_vague_drift_is_tempered_by_what_quartz_can_do() -> None:
    course = course_of(clock(drift_ppm=500.0, drift_std_ppm=1000.0), at_ns=0, span_s=20.0)
    assert course[2].std_s < 1.01e-3
    assert course[2].value_s == pytest.approx(0.001, abs=1e-4)


def test_measured_drift_is_not_tempered() -> None:
    course = course_of(clock(drift_ppm=500.0, drift_std_ppm=150.0), at_ns=0, span_s=20.0)
    assert course[2].value_s == pytest.approx(0.006)


def test_step_is_placed_in_reference_time() -> None:
    # A clock 100 s early stamps the step 97 s before the middle: 3 s after it in truth.
    stepping = clock(offset_s=100.0, step_s=0.005, step_std_s=2e-4, step_at_ns=-97 * 10**9)
    course = course_of(stepping, at_ns=0, span_s=20.0)
    assert [p.after_s for p in course if p.is_stepped] == [3.0, 10.0]
