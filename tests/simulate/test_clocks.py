"""Timestamps carry exactly the fault stated in the truth, with the sign of formats.md section 1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncaudit.simulate.clocks import ClockFault, stamp, to_ns

AT_S = 10.0
ROUND_OFF_S = 1e-12
TIMES_S = np.arange(0.0, 20.0, 1 / 12)


def stamps_of(fault: ClockFault, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return stamp(TIMES_S, fault, at_s=AT_S, rate_hz=12.0, rng=rng)


def test_positive_offset_makes_stamps_early() -> None:
    late_by = stamps_of(ClockFault(offset_s=0.035)) - TIMES_S
    np.testing.assert_allclose(late_by, -0.035, rtol=0, atol=ROUND_OFF_S)


@given(
    offset_s=st.floats(-1, 1),
    drift_ppm=st.floats(-2000, 2000),
    step_by_s=st.floats(-0.2, 0.2),
)
def test_stated_correction_restores_true_time(
    offset_s: float, drift_ppm: float, step_by_s: float
) -> None:
    fault = ClockFault(offset_s=offset_s, drift_ppm=drift_ppm, step_at_s=7.0, step_by_s=step_by_s)
    stamps = stamps_of(fault)
    restored = stamps + offset_s + drift_ppm * 1e-6 * (stamps - AT_S)
    restored += np.where(TIMES_S >= 7.0, step_by_s, 0.0)
    np.testing.assert_allclose(restored, TIMES_S, rtol=0, atol=1e-11)


def test_delay_is_one_sided_ordered_and_its_median_is_stated() -> None:
    fault = ClockFault(delay_mean_s=0.008)
    late_by = stamps_of(fault) - TIMES_S
    assert late_by.min() >= 0
    assert np.all(np.diff(late_by + TIMES_S) > 0)
    assert fault.typical_offset_s == pytest.approx(-0.008 * np.log(2), abs=1e-12)
    # 240 exponential delays: the median scatters by mean / sqrt(n) = 0.5 ms
    assert abs(np.median(late_by) + fault.typical_offset_s) < 0.002


def test_delayed_fast_samples_stay_in_order() -> None:
    times = np.arange(0, 2, 0.005)
    rng = np.random.default_rng(1)
    stamps = stamp(times, ClockFault(delay_mean_s=0.02), at_s=1.0, rate_hz=200.0, rng=rng)
    assert np.diff(stamps).min() > 1e-5


def test_jitter_has_its_standard_deviation() -> None:
    late_by = stamps_of(ClockFault(jitter_std_s=0.004)) - TIMES_S
    assert late_by.std() == pytest.approx(0.004, abs=0.0008)


def test_duplicate_and_backwards_stamps() -> None:
    stamps = stamps_of(ClockFault(duplicate_stamps=(5,), backwards_stamps=(9,)))
    assert stamps[5] == stamps[4]
    assert stamps[9] < stamps[8]


def test_synthetic_stamps_lie_on_index_over_rate() -> None:
    stamps = stamps_of(ClockFault(is_synthetic=True))
    np.testing.assert_allclose(stamps - stamps[0], np.arange(240) / 12, rtol=0, atol=ROUND_OFF_S)


def test_gap_covers_a_half_open_span() -> None:
    fault = ClockFault(gaps_s=((1.0, 2.0),))
    assert fault.is_in_gap(np.array([0.99, 1.0, 1.99, 2.0])).tolist() == [False, True, True, False]


def test_nanoseconds_are_exact_on_the_epoch() -> None:
    start_ns = 1_767_225_600_000_000_000
    assert to_ns(np.array([0.0, 1e-9, 20.0]), start_ns).tolist() == [
        start_ns,
        start_ns + 1,
        start_ns + 20_000_000_000,
    ]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"jitter_std_s": -1.0}, "must not be negative"),
        ({"drift_ppm": 1e6}, "drift_ppm"),
        ({"gaps_s": ((2.0, 1.0),)}, "ends before it starts"),
        ({"duplicate_stamps": (0,)}, "rows from 1 up"),
    ],
)
def test_impossible_faults_are_refused(fields: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ClockFault(**fields)  # type: ignore[arg-type]  # fields vary by case


def test_scatter_of_a_device_adds_to_its_fault() -> None:
    fault = ClockFault(offset_s=0.01, jitter_std_s=0.003)
    assert fault.with_scatter(0.004) == ClockFault(offset_s=0.01, jitter_std_s=0.005)
    assert fault.with_scatter(0.0) is fault
    made_up = ClockFault(is_synthetic=True)
    assert made_up.with_scatter(0.004) is made_up
