"""A picture and the light on it, both known."""

import numpy as np

from syncaudit.detectors.flash.still import CellSums, first_light, fit_picture, row_light


def lit_cells(seed=1, n_frames=60):
    rng = np.random.default_rng(seed)
    dark = rng.uniform(30.0, 120.0, (40, 8))
    gain = rng.uniform(15.0, 45.0, (40, 8))
    light = rng.choice([0.0, 1.0, 2.0], (n_frames, 40))
    noise = 0.3 * rng.standard_normal((n_frames, 40, 8))
    levels = dark + gain * light[:, :, None] + noise
    return dark, gain, light, levels.astype(np.float32), np.ones(levels.shape, np.float32)


def test_light_is_told_from_scatter_alone():
    _, _, light, levels, clean = lit_cells()
    found = first_light(levels, clean)
    expected = (light - light.mean(axis=0)) / light.std(axis=0)
    assert np.max(np.abs(found - expected)) < 0.05


def test_picture_and_light_follow_from_each_other():
    dark, gain, light, levels, clean = lit_cells()
    picture = fit_picture(CellSums.of(levels, clean, light, np.ones(light.shape)))
    assert np.max(np.abs(picture.dark - dark)) < 0.5
    assert np.max(np.abs(picture.gain - gain)) < 0.5
    found, info = row_light(picture, levels, clean)
    assert np.max(np.abs(found - light)) < 0.03
    assert np.all(info > 0.0)


def test_clipped_cells_are_left_out():
    _, gain, light, levels, clean = lit_cells()
    spoilt = levels.copy()
    spoilt[::7, :, 3] = 255.0
    clean[::7, :, 3] = 0.0
    clean[:50, :, 5] = 0.0
    picture = fit_picture(CellSums.of(spoilt, clean, light, np.ones(light.shape)))
    assert np.max(np.abs(picture.gain[:, 3] - gain[:, 3])) < 0.5
    assert np.all(picture.gain[:, 5] == 0.0)


def test_sums_of_two_parts_are_those_of_the_whole():
    _, _, light, levels, clean = lit_cells()
    trust = np.ones(light.shape)
    parts = [
        CellSums.of(levels[k], clean[k], light[k], trust[k])
        for k in (slice(0, 25), slice(25, None))
    ]
    whole = fit_picture(CellSums.of(levels, clean, light, trust))
    joined = fit_picture(parts[0] + parts[1])
    assert np.max(np.abs(joined.dark - whole.dark)) < 1e-3
    assert (parts[0] + parts[1].faded(0.5)).n_frames == 42.5
