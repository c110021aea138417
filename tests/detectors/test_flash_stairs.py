"""Steps of known rows in the light of a frame."""

import numpy as np
import pytest

from syncaudit.detectors.flash.overlapping_pulses import (
    OverlappingPulses,
    find_stairs,
    first_unit,
    improve_stairs,
    stairs_light,
)
from syncaudit.detectors.flash.shape import RampShape

ROWS = np.arange(1.0, 480.0, 3.0)
SHAPE = RampShape(60.0)
# Half a bin for the grid's guess; noise of 0.01 units over a ramp of 20 bins after the fit.
GUESS_ROWS = 6.0
FITTED_ROWS = 1.0


def light_of(rows, signs, *, seed=1, noise=0.01):
    stairs = OverlappingPulses(np.array(rows, dtype=float), np.array(signs, dtype=float))
    clean = stairs_light(stairs, ROWS, SHAPE)
    return clean + noise * np.random.default_rng(seed).standard_normal(ROWS.size)


@pytest.mark.parametrize(
    ("rows", "signs"),
    [
        ([100.0, 340.0], [1.0, -1.0]),
        ([90.0, 200.0, 240.0, 400.0], [1.0, 1.0, -1.0, -1.0]),
        ([150.0, 175.0, 330.0], [1.0, -1.0, 1.0]),
    ],
    ids=["one pulse", "two that overlap", "ramps that overlap"],
)
def test_steps_are_found_where_they_are(rows, signs):
    light = light_of(rows, signs)
    weights = np.ones((1, ROWS.size))
    (found,), unit = find_stairs(light[None], weights, ROWS, SHAPE)
    assert unit == 1.0
    assert found.signs.tolist() == signs
    assert np.max(np.abs(found.x - rows)) < GUESS_ROWS
    fitted = improve_stairs(found, light, weights[0], ROWS, SHAPE)
    assert np.max(np.abs(fitted.x - rows)) < FITTED_ROWS


def test_even_light_has_no_steps():
    (found,), _ = find_stairs(np.full((1, 160), 0.7), np.ones((1, 160)), ROWS, SHAPE)
    assert found.x.size == 0
    assert np.array_equal(stairs_light(found, ROWS, SHAPE), np.zeros(160))


def test_height_and_ramp_of_a_pulse_are_learnt_from_frames():
    rng = np.random.default_rng(4)
    light = np.stack(
        [
            2.5 * light_of([x, x + 190.0], [1.0, -1.0], seed=k)
            for k, x in enumerate(rng.uniform(40.0, 250.0, 12))
        ]
    )
    shape, unit = first_unit(light, ROWS, 480)
    assert abs(unit - 2.5) < 0.5
    assert 40.0 < shape.ramp_px < 90.0  # one of a coarse set of shapes
