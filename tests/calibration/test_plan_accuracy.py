"""Errors follow from the number of flashes; what flashes cannot determine is explained."""

from fractions import Fraction

import numpy as np
import pytest
from syncaudit_calibration.plan import (
    LightKind,
    PlannedCamera,
    PulseTrain,
    advice,
    choose_train,
    expected_accuracy,
    planned_cameras,
    safety_note,
    visibility,
)
from syncaudit_calibration.plan.accuracy import EDGE_STD_S, line_delay_std, unobservable


def rig(
    rates: str, readout_s: float = 0.025, exposure_s: float = 0.008
) -> tuple[PlannedCamera, ...]:
    return planned_cameras([Fraction(rate) for rate in rates.split(",")], [readout_s], [exposure_s])


def plan(cameras: tuple[PlannedCamera, ...], duration_s: float | None = None):
    rng = np.random.default_rng(0)
    train = choose_train(cameras, duration_s=duration_s, rng=rng)
    seen = visibility(cameras, train, rng=rng)
    return train, seen, expected_accuracy(cameras, train, n_shared=seen.fewest_shared, rng=rng)


def test_expected_errors_are_those_of_a_fitted_line() -> None:
    rng, n = np.random.default_rng(5), 40
    starts = np.linspace(2, 58, n)
    train = PulseTrain(starts_s=starts, width_s=0.002, n_per_burst=1, duration_s=60.0)
    fits = np.array(
        [np.polyfit(starts - 30, rng.normal(0, EDGE_STD_S * np.sqrt(2), n), 1) for _ in range(2000)]
    )
    found = expected_accuracy(rig("12"), train, n_shared=n, rng=rng)
    floor_s = 1e-5
    assert found.offset_std_s == pytest.approx(np.hypot(fits[:, 1].std(), floor_s), abs=1e-7)
    random_ppm = 1e6 * fits[:, 0].std()
    floor_ppm = 1e6 * np.sqrt(12) * floor_s / 56
    assert found.drift_std_ppm == pytest.approx(np.hypot(random_ppm, floor_ppm), abs=0.03)


def test_screen_is_limited_by_which_part_of_it_lights_what_is_seen() -> None:
    cameras, rng = rig("12"), np.random.default_rng(0)
    train = choose_train(cameras, rng=rng)
    found = expected_accuracy(cameras, train, n_shared=25, rng=rng, kind=LightKind.SCREEN)
    assert found.offset_std_s == pytest.approx(0.05 / 60 * 2**0.5, abs=1e-4)
    share = np.linspace(0.0, 1.0, 10001)
    arrived = np.cumsum(1.2 - 0.4 * share)
    half_light = np.interp(0.5, arrived / arrived[-1], share)
    assert 0.5 - half_light == pytest.approx(0.05, abs=2e-3)


@pytest.mark.parametrize(
    ("rates", "is_told"),
    [
        ("12,12", False),
        ("12,24", False),  # phases come in steps of 41.7 ms, longer than the readout
        ("12,30", True),  # of 16.7 ms
        ("12,12.5", True),
        ("30,29.97", True),  # one beat in 33 s
        ("30,30.001", False),  # one beat in 1000 s
    ],
)
def test_line_delay_needs_frames_that_drift_against_each_other(rates: str, is_told: bool) -> None:
    cameras = rig(rates, readout_s=0.025)
    train = choose_train(cameras, duration_s=60.0, rng=np.random.default_rng(0))
    assert unobservable(cameras, train) == (() if is_told else (0, 1))


def test_unobservable_line_delay_comes_with_its_cures() -> None:
    cameras = rig("12")
    sentences = [line for line in advice(cameras, *plan(cameras)) if line.startswith("Line")]
    assert len(sentences) == 1
    for cure in ("line_delay_s", "trigger output", "another frame rate"):
        assert cure in sentences[0]


def test_good_plan_needs_no_advice() -> None:
    cameras = planned_cameras([Fraction(12), Fraction(30)], [0.025], [0.008], 6)
    assert advice(cameras, *plan(cameras)) == ()
    assert line_delay_std(cameras[0], n_shared=25) < 2e-3


def test_global_shutters_of_one_rate_need_a_trigger() -> None:
    cameras = rig("12", readout_s=0.0)
    train, seen, expected = plan(cameras)
    assert expected.offset_std_s > 5e-3  # with equal phases, every flash lights both equally
    assert expected.triggered_offset_std_s < 2e-4
    assert any(sentence.startswith("Global") for sentence in advice(cameras, train, seen, expected))


def test_global_shutters_of_different_rates_bound_one_another() -> None:
    _, _, alike = plan(rig("12", readout_s=0.0))
    _, _, apart = plan(rig("12,13", readout_s=0.0))
    assert apart.offset_std_s < 0.3 * alike.offset_std_s


def test_cameras_that_see_different_pulses_are_told() -> None:
    cameras = rig("12", readout_s=0.012)
    sentences = advice(cameras, *plan(cameras))
    assert any(sentence.startswith("Apart") for sentence in sentences)


def test_short_recording_is_told() -> None:
    cameras = rig("12,30")
    sentences = advice(planned_cameras([Fraction(12)], [0.025], [0.008]), *plan(cameras, 15.0))
    assert any("Record longer" in sentence for sentence in sentences)


def test_touching_bands_and_repeating_gaps_are_told() -> None:
    cameras = rig("10", readout_s=0.005, exposure_s=0.020)
    assert any(sentence.startswith("Bands") for sentence in advice(cameras, *plan(cameras)))
    cameras = rig("12", readout_s=0.005, exposure_s=0.001)
    assert any(sentence.startswith("Alias") for sentence in advice(cameras, *plan(cameras)))


def test_safety_note_tells_whether_the_limit_is_kept() -> None:
    train, _, _ = plan(rig("12"))
    assert "up to 3 flashes per second, which is within" in safety_note(train)
    train, _, _ = plan(rig("12", readout_s=0.005, exposure_s=0.001))
    assert "exceeds" in safety_note(train)
    assert "photosensitive epilepsy" in safety_note(train)
