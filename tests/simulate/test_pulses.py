"""Pulse trains obey their constraints; the light of every shape is integrated exactly."""

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad

from syncaudit.simulate.light import FlashConfig, draw_falloff, draw_pulses, lit_fraction
from syncaudit.simulate.pulse_shapes import Lamp, PulseShape, SquarePulse, XenonPulse, gathered
from syncaudit.simulate.pulse_trains import BurstTrain, ListedTrain, SpacedTrain

SHAPES = (
    SquarePulse(width_s=0.002),
    XenonPulse(rise_s=1e-4, decay_s=1.2e-3),
    XenonPulse(rise_s=2e-3, decay_s=1e-4),
    Lamp(width_s=0.05),
)


def brightness(shape: PulseShape, age_s: float) -> float:
    """Return the shape's light at an age, defined independently of its integral."""
    if isinstance(shape, XenonPulse):
        if age_s < shape.rise_s:
            return max(age_s, 0.0) / shape.rise_s
        return float(np.exp(-(age_s - shape.rise_s) / shape.decay_s))
    return float(0 <= age_s < shape.width_s)


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_gathered_light_is_the_integral_over_the_exposure(shape: PulseShape) -> None:
    exposure_s, start_s = 0.003, 0.02
    rows = np.linspace(0.015, 0.03, 31)
    found = gathered(shape, np.array([start_s]), rows, exposure_s)
    full_s = exposure_s if isinstance(shape, Lamp) else float(shape.emitted(np.array([1.0]))[0])
    kinks = [start_s, start_s + getattr(shape, "rise_s", getattr(shape, "width_s", 0.0))]
    for time_s, light in zip(rows, found, strict=True):
        low, high = time_s - exposure_s / 2, time_s + exposure_s / 2
        inside = [kink for kink in kinks if low < kink < high] or None
        expected, _ = quad(lambda t: brightness(shape, t - start_s), low, high, points=inside)
        assert light == pytest.approx(expected / full_s, abs=1e-9)


@pytest.mark.parametrize("shape", SHAPES[:3], ids=repr)
def test_half_of_the_light_has_come_at_the_half_light_instant(shape: PulseShape) -> None:
    assert shape.half_light_s is not None
    half, full = shape.emitted(np.array([shape.half_light_s, shape.reach_s]))
    assert half / full == pytest.approx(0.5, abs=1e-6)  # e^-16 of xenon light is left out


def test_square_pulses_agree_with_the_overlap() -> None:
    rng = np.random.default_rng(1)
    starts, rows = np.sort(rng.uniform(0, 1, 40)), 0.5 + 3e-5 * np.arange(480)
    np.testing.assert_allclose(
        gathered(SquarePulse(width_s=0.004), starts, rows, 0.008),
        lit_fraction(starts, 0.004, rows, 0.008),
        rtol=0,
        atol=1e-10,
    )


def test_a_lamp_lights_rows_fully_while_it_is_on() -> None:
    rows = np.array([0.9, 1.0, 1.004, 1.5, 2.0, 2.1])
    light = gathered(Lamp(width_s=1.0), np.array([1.0]), rows, 0.008)
    np.testing.assert_allclose(light, [0, 0.5, 1, 1, 0.5, 0], rtol=0, atol=1e-12)


def test_spread_of_nought_is_periodic() -> None:
    train = SpacedTrain(mean_interval_s=0.25, spread=0.0)
    pulses = train.draw(20.0, np.random.default_rng(1))
    np.testing.assert_allclose(np.diff(pulses), 0.25, rtol=0, atol=1e-12)
    strobe = SpacedTrain(mean_interval_s=0.007, spread=0.25).draw(20.0, np.random.default_rng(1))
    gaps = np.diff(strobe)
    assert 0.007 * 0.75 <= gaps.min() < 0.0055
    assert 0.0085 < gaps.max() <= 0.007 * 1.25
    assert strobe[-1] > 19.98


def test_bursts_span_a_frame_period_with_uneven_gaps() -> None:
    train = BurstTrain(n_pulses=4, span_s=1 / 12, mean_interval_s=0.5)
    pulses = train.draw(40.0, np.random.default_rng(2))
    gaps = np.diff(pulses)
    within = gaps[gaps < 0.05]
    assert within.size == pytest.approx(3 * 80, abs=20)
    assert within.mean() == pytest.approx(1 / 48, abs=5e-4)
    assert 0.7 / 48 <= within.min() <= within.max() <= 1.3 / 48
    assert np.unique(np.round(within, 6)).size > 200


def test_listed_train_is_read_from_a_table(tmp_path: Path) -> None:
    table = tmp_path / "train.csv"
    table.write_text("pulse,start_s\n0,0.5\n1,0.75\n2,9.0\n")
    train = ListedTrain.from_csv(table)
    flash = FlashConfig(train=train)
    np.testing.assert_array_equal(
        draw_pulses(flash, 5.0, np.random.default_rng(0)), np.array([0.5, 0.75])
    )
    table.write_text("when\n1\n")
    with pytest.raises(ValueError, match="no column start_s"):
        ListedTrain.from_csv(table)


def test_falloff_darkens_one_side() -> None:
    assert draw_falloff(0.0, 64, np.random.default_rng(0)) is None
    sides = [draw_falloff(0.5, 64, np.random.default_rng(seed)) for seed in range(8)]
    ends = {(round(side[0], 6), round(side[-1], 6)) for side in sides if side is not None}
    assert ends == {(0.5, 1.0), (1.0, 0.5)}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SpacedTrain(mean_interval_s=0.0), "mean_interval_s"),
        (lambda: SpacedTrain(mean_interval_s=1.0, spread=1.0), "spread"),
        (
            lambda: SpacedTrain(mean_interval_s=1e-6).draw(60.0, np.random.default_rng(0)),
            "more than 1000000 pulses",
        ),
        (lambda: BurstTrain(n_pulses=0, span_s=0.1, mean_interval_s=1.0), "n_pulses"),
        (lambda: BurstTrain(n_pulses=2, span_s=0.5, mean_interval_s=0.6), "span_s"),
        (lambda: ListedTrain(starts_s=(1.0, 1.0)), "must increase"),
        (lambda: SquarePulse(width_s=0.0), "width_s"),
        (lambda: XenonPulse(decay_s=-1.0), "decay_s"),
        (lambda: Lamp(width_s=0.0), "width_s"),
        (lambda: FlashConfig(falloff=2.0), "falloff"),
    ],
)
def test_impossible_light_is_refused(make: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()  # type: ignore[operator]  # a constructor call
