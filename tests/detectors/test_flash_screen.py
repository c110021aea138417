"""Which frames may show a flash, in still and in moving images."""

import cv2
import numpy as np
import pytest

from syncaudit.decode import Frame
from syncaudit.detectors.flash.learning import MIN_FRAMES
from syncaudit.detectors.flash.lighting import is_lit_across
from syncaudit.detectors.flash.window import FrameWindow

N_ROWS, N_BLOCKS, AT = 120, 16, 5


def scenery(rng, shifts):
    """Return rows of an image of strong texture that is moved down, in rows, shape (m, n, b)."""
    texture = cv2.GaussianBlur(rng.normal(size=(N_ROWS + 40, N_BLOCKS)), (3, 15), 0.7, sigmaY=2.5)
    still = 110.0 + 25.0 * texture / texture.std()
    rows = np.arange(N_ROWS)
    return (
        np.stack(
            [
                [
                    np.interp(rows + 20.0 - shift, np.arange(N_ROWS + 40), column)
                    for column in still.T
                ]
                for shift in shifts
            ]
        )
        .transpose(0, 2, 1)
        .astype(np.float32)
    )


@pytest.mark.parametrize("shake_rows", [0.0, 0.15, 0.25])
@pytest.mark.parametrize("seed", range(5))
def test_weak_flashes_are_seen_in_shaking_images(shake_rows, seed):
    rng = np.random.default_rng(seed)
    levels = scenery(rng, rng.uniform(-shake_rows, shake_rows, 11))
    assert not is_lit_across(levels, AT)
    levels[AT, 40:70] += 15.0
    assert is_lit_across(levels, AT)


@pytest.mark.parametrize("seed", range(5))
def test_images_that_bump_show_no_flash(seed):
    shifts = np.zeros(11)
    shifts[AT - 1 : AT + 2] = 1.0, 3.0, 2.0
    assert not is_lit_across(scenery(np.random.default_rng(seed), shifts), AT)


@pytest.mark.parametrize("seed", range(5))
def test_images_that_pan_show_no_flash(seed):
    shifts = 2.5 * np.arange(11)
    assert not is_lit_across(scenery(np.random.default_rng(seed), shifts), AT)


def test_exposure_that_responds_to_a_flash_is_no_motion():
    rng = np.random.default_rng(3)
    levels = scenery(rng, rng.uniform(-0.1, 0.1, 11))
    levels[AT, 40:70] += 20.0
    levels[AT + 1 :] *= 0.7
    assert is_lit_across(levels, AT)


def restless(rng, n_frames):
    """Return rows of a smooth image with a narrow band of texture that changes every frame."""
    levels = 100.0 + rng.normal(0.0, 0.2, (n_frames, N_ROWS, N_BLOCKS))
    levels[:, 40:46] += rng.normal(0.0, 25.0, (n_frames, 6, N_BLOCKS))
    return levels.astype(np.float32)


@pytest.mark.parametrize("seed", range(5))
def test_narrow_band_of_texture_that_changes_is_no_flash(seed):
    levels = restless(np.random.default_rng(seed), 11)
    assert not is_lit_across(levels, AT)
    levels[AT, 60:66] += 10.0
    assert is_lit_across(levels, AT)


def images(levels):
    """Return frames twice as high as rows of blocks, each block 20 pixels wide."""
    large = np.repeat(np.repeat(levels, 2, axis=1), 20, axis=2)
    return [Frame(k, own) for k, own in enumerate(np.clip(large, 0, 255).astype(np.uint8))]


def test_texture_that_changes_in_every_frame_is_no_crowd_of_flashes():
    window = FrameWindow(has_rows=True)
    for image in images(restless(np.random.default_rng(0), 48)):
        window.add(image)
    window.finish()
    assert len(window.candidates) < MIN_FRAMES  # fewer are no flashes


def test_flashes_in_every_frame_are_a_crowd():
    levels = 100.0 + np.random.default_rng(0).normal(0.0, 0.2, (48, N_ROWS, N_BLOCKS))
    for k, own in enumerate(levels):
        start = 37 * k % (N_ROWS - 20)
        own[start : start + 20] += 15.0
    window = FrameWindow(has_rows=True)
    for image in images(levels):
        window.add(image)
    window.finish()
    assert len(window.candidates) > 40
