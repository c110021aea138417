"""Flashes beside lamps that ripple with the mains."""

import numpy as np
import pytest

from syncaudit.detectors.flash.window import find_flicker
from syncaudit.model.evidence.flashes import FlashEdges
from testkit.flash_footage import camera, detected, errors_s, footage, scene

LINE_S, EXPOSURE_S, FPS = 5e-5, 0.003, 24.0


def rippling(depth, hz, part=1.0):
    """Return a paint whose light ripples, on the left part of the image."""

    def paint(frame, k, middle_s):
        lit = int(part * frame.shape[1])
        frame[:, :lit] *= (1.0 + depth * np.cos(2.0 * np.pi * hz * middle_s))[:, None]
        return frame

    return paint


def rows_of(n, *, depth, hz, seed=2, part=1.0):
    frame_s = np.arange(n) / FPS
    paint, still = rippling(depth, hz, part), scene(seed, (120, 16))
    middle_s = (np.arange(120) - 59.5) * 4.0 * LINE_S
    rng = np.random.default_rng(seed)
    frames = [paint(still.copy(), k, t + middle_s) for k, t in enumerate(frame_s)]
    rows = np.stack(frames) + rng.normal(0.0, 0.2, (n, 120, 16))
    return rows.astype(np.float32), frame_s


@pytest.mark.parametrize("part", [1.0, 0.5])
@pytest.mark.parametrize(("hz", "depth"), [(100.0, 0.02), (100.1, 0.4), (117.5, 0.2)])
def test_a_ripple_of_the_mains_is_removed(hz, depth, part):
    rows, frame_s = rows_of(300, depth=depth, hz=hz, part=part)
    flicker = find_flicker(rows, frame_s)
    assert flicker.cycles == pytest.approx(hz * 480 * LINE_S, abs=0.03)
    left = flicker.removed(rows, np.median(rows, axis=0), slice(None))
    was, now = (np.std(np.diff(each, axis=0), axis=0).max() for each in (rows, left))
    assert now < 0.3 + 0.2 * was


@pytest.mark.parametrize("case", ["still", "few frames", "brightness", "moving", "lamp"])
def test_nothing_else_is_a_ripple(case):
    rows, frame_s = rows_of(20 if case == "few frames" else 300, depth=0.0, hz=100.0)
    rng = np.random.default_rng(8)
    if case == "few frames":
        rows, frame_s = rows_of(20, depth=0.3, hz=100.0)
    elif case == "brightness":
        rows = rows * (1.0 + 0.1 * rng.standard_normal((300, 1, 1))).astype(np.float32)
    elif case == "lamp":
        falls = np.cos(np.linspace(0.0, 9.0, 120))[:, None]
        rows[rng.random(300) < 0.4] *= (1.0 + 0.3 * falls**2).astype(np.float32)
    elif case == "moving":
        rows = np.stack(
            [np.roll(own, int(s), 0) for own, s in zip(rows, rng.uniform(-9, 9, 300), strict=True)]
        )
    assert find_flicker(rows, frame_s) is None


@pytest.mark.parametrize("depth", [0.1, 0.5])
def test_flashes_under_lamps_on_the_mains_are_dated(depth):
    rng = np.random.default_rng(4)
    onsets_s = np.cumsum(rng.uniform(0.2, 0.5, 40))
    timing = {"line_delay_s": LINE_S, "exposure_s": EXPOSURE_S, "fps": FPS, "n": 360}
    light = {"width_s": 3e-4, "brightness": 45.0, "paint": rippling(depth, 100.0)}
    found = detected(camera(**timing), footage(onsets_s, **light, **timing))
    assert isinstance(found, FlashEdges)
    assert np.unique(found.frame_index).size >= 12
    off_s = errors_s(found, onsets_s + 1.5e-4, line_delay_s=LINE_S, exposure_s=EXPOSURE_S)
    # Here, the ripple dims the scene for the flash as well.
    assert np.sqrt(np.mean(off_s**2)) < 1e-4 * depth
