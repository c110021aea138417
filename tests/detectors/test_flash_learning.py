"""What frames must show before their edges are dated."""

from dataclasses import replace

import numpy as np
import pytest

from syncaudit.decode import Frame
from syncaudit.detectors.flash.learning import _shows_bands, _whole_pulses, learn
from syncaudit.detectors.flash.lighting import Lighting
from syncaudit.detectors.flash.lit_frames import LitFrames, _black_level, gather_lit
from syncaudit.detectors.flash.pattern import reached_rows
from syncaudit.detectors.flash.window import clean_blocks

HEIGHT, N_BLOCKS = 480, 16
# A readout shorter than the exposure, and a light that rises for about as long: no frame of such a
# camera shows a complete ramp.
EXPOSURE_PX, RISE_PX = 829.0, 923.0


def rising(first_px):
    """Return the light per row when it begins to rise at a given row, in or above the image."""
    x = np.arange(HEIGHT) - first_px

    def arrived(u):
        return 0.5 * np.maximum(u, 0.0) ** 2

    ends = arrived(x) - arrived(x - EXPOSURE_PX) - arrived(x - RISE_PX)
    return (ends + arrived(x - EXPOSURE_PX - RISE_PX)) / (EXPOSURE_PX * RISE_PX)


def gathered(light):
    """Return frames that show such light with uniform noise."""
    rng = np.random.default_rng(2)
    shape = (len(light), HEIGHT, N_BLOCKS)
    background = np.repeat(rng.uniform(40.0, 120.0, (1, *shape[1:])), len(light), axis=0)
    excess = light[:, :, None] * (24.0 + 0.3 * background) + rng.normal(0.0, 0.5, shape)
    ones, nothing = np.ones(len(light)), np.zeros(len(light))
    return LitFrames(
        index=10 * np.arange(len(light)),
        excess=excess.astype(np.float32),
        background=background.astype(np.float32),
        is_clean=np.ones(shape, dtype=np.bool_),
        is_known=np.ones(shape[:2], dtype=np.bool_),
        share=np.median(excess / (background + 16.0), axis=2),
        variance=np.full(shape[1:], 0.25),
        clipped_share=nothing,
        sense=nothing.astype(np.int64),
        is_late=nothing > 0.0,
        rise=nothing,
        fall=nothing,
        gain=ones,
        gain_std=0.01 * ones,
        scale=ones,
        scale_std=0.02 * ones,
    )


def test_frames_that_exposure_dims_do_not_end_a_light():
    # Lit from 10 to 14 and from 30 on; the frames after 14 are dark, those after 33 only dimmed.
    at = np.array([10, 11, 12, 13, 14, 30, 31, 32, 33])
    lit = replace(
        gathered(np.ones((at.size, HEIGHT))),
        index=at,
        rise=np.array([60.0, -10.0, -7.0, -5.0, -4.0, 58.0, -10.0, -7.0, -5.0]),
        fall=np.array([10.0, 7.0, 5.0, 4.0, 40.0, 10.0, 7.0, 5.0, 4.0]),
    )
    assert _whole_pulses(lit, np.ones(at.size, dtype=np.bool_)) == {10: 1, 15: -1, 30: 1}


def test_bands_that_are_dark_on_both_sides_are_no_foot_of_a_ramp():
    rows = np.arange(HEIGHT)
    bands = np.clip(1.5 - np.abs(rows - np.array([[60], [200], [400]])) / 8.0, 0.0, 1.0) ** 2
    assert _shows_bands(bands)
    assert not _shows_bands(bands[:2])
    cut = np.array([rising(row) for row in (-400.0, -300.0, -200.0)])
    assert not _shows_bands(cut / cut.max())


@pytest.mark.parametrize("first_px", [(-400.0, -150.0), (-400.0, -300.0), (-600.0, -400.0)])
def test_parts_of_a_ramp_are_not_taken_for_a_ramp(first_px):
    # Half-light lies 876 rows after the start of the light, mostly below the image.
    rows = np.random.default_rng(1).uniform(*first_px, 7)
    lit = gathered(np.array([*(rising(row) for row in rows), np.ones(HEIGHT)]))
    learnt = learn(lit, exposure_px=EXPOSURE_PX)
    assert learnt is None or not learnt.edges


@pytest.mark.parametrize(("half_px", "ramp_px"), [(3.0, 5.0), (8.0, 4.0), (6.0, 11.0)])
def test_narrow_bands_are_not_smoothed_away(half_px, ramp_px):
    middles = np.random.default_rng(3).uniform(30.0, 450.0, 12)
    apart_px = np.abs(np.arange(HEIGHT) - middles[:, None])
    bands = np.clip((half_px + 0.5 * ramp_px - apart_px) / ramp_px, 0.0, 1.0)
    learnt = learn(gathered(bands))
    assert len(learnt.edges) == 24
    assert learnt.shape.ramp_px == pytest.approx(ramp_px, rel=0.05)


def full_light(black, *, darkest=5.0):
    """Return switched light as a share of the scene, while auto-exposure responds to it."""
    scene, n, on, off = np.random.default_rng(3).uniform(5.0, 80.0, (60, N_BLOCKS)), 60, 20, 40
    scene[:10] = darkest
    answers = np.where(np.arange(n) >= on, 0.5 + 0.5 * 0.75 ** np.arange(-on, n - on), 1.0)
    answers[off + 1 :] = 1.0 - 0.5 * 0.75 ** np.arange(1, n - off)
    is_on = (np.arange(n) >= on) & (np.arange(n) < off)
    levels = {
        k: (black + gain * scene * (1.0 + is_lit)).astype(np.float32)
        for k, (gain, is_lit) in enumerate(zip(answers, is_on, strict=True))
    }
    rows = np.repeat(is_on[:, None], 60, axis=1)
    lighting = Lighting(
        is_lit=rows,
        is_known=np.ones_like(rows),
        share=1.0 * rows,
        variance=np.full((60, N_BLOCKS), 0.25),
        wobble=0.002,
    )
    clean = {k: np.ones(scene.shape, dtype=np.bool_) for k in levels}
    places = {k: k for k in levels}
    lit = gather_lit([on, off], levels, clean, lighting, places, {on: 1, off: -1}, pauses=True)
    return np.median(lit.excess[~lit.is_late] / scene, axis=(1, 2))


def test_the_level_of_black_changes_no_light():
    assert full_light(16.0) == pytest.approx(full_light(0.0), abs=0.01)


def test_nothing_is_darker_than_black():
    # Whatever the dark frames suggest: a cell one level below black would cause a division by zero.
    assert np.isfinite(full_light(16.0, darkest=-1.0)).all()


def test_scenery_that_moves_tells_no_black():
    # No auto-exposure responds to anything here.
    rng = np.random.default_rng(4)
    scene = rng.uniform(40.0, 120.0, (60, N_BLOCKS))
    levels = {k: (scene + rng.normal(0.0, 10.0, scene.shape)).astype(np.float32) for k in range(9)}
    assert _black_level({2: -1}, levels) == 0.0


def test_frames_of_one_colour_tell_no_level_of_black():
    levels = {k: np.full((60, N_BLOCKS), 90.0 if k < 2 else 16.0, np.float32) for k in range(9)}
    assert _black_level({2: -1}, levels) == 0.0


@pytest.mark.parametrize("stated_px", [None, 35.0, 50.0])
@pytest.mark.parametrize("tail_px", [20.0, 60.0])
def test_tails_longer_than_the_exposure_are_drawn_by_bands_of_one_height(tail_px, stated_px):
    # With the longer tail no row shows more than 44 % of the light: only the height constrains it.
    onsets_px = np.random.default_rng(4).uniform(20.0, 350.0, 14)
    x = np.arange(HEIGHT) - onsets_px[:, None]
    come = 1.0 - np.exp(-np.maximum([x, x - 35.0], 0.0) / tail_px)
    learnt = learn(gathered(come[0] - come[1]), exposure_px=stated_px)
    half_px = tail_px * np.log(2.0)
    assert learnt.shape.half_px == pytest.approx(half_px, rel=0.07)
    rows = np.array([edge.row for edge in learnt.edges if edge.is_upper])
    places = [edge.index // 10 for edge in learnt.edges if edge.is_upper]
    assert len(rows) > 10
    assert np.max(np.abs(rows - onsets_px[places] - half_px)) < 2.0 + 0.03 * half_px


def test_errors_of_edges_that_the_image_cuts_are_honest():
    # Ramps of 300 rows, half of them cut by the border, together with fully lit frames.
    rng = np.random.default_rng(8)
    z, n_cut = [], 0
    for _ in range(6):
        rows = rng.uniform(-60.0, HEIGHT + 60.0, 16)
        ramps = np.clip((np.arange(HEIGHT) - rows[:, None]) / 300.0 + 0.5, 0.0, 1.0)
        lit = gathered(np.concatenate([ramps, np.ones((4, HEIGHT))]))
        lit = replace(lit, sense=np.ones(20, dtype=np.int64))
        learnt = learn(lit)
        for edge in learnt.edges:
            z.append(
                (edge.row - rows[edge.index // 10]) / np.hypot(edge.row_std, learnt.shape_std_px)
            )
            n_cut += not 150.0 < edge.row < HEIGHT - 150.0
    assert len(z) > 60
    assert n_cut > 25
    assert np.mean(np.abs(z) < 1.96) > 0.9
    assert np.std(z) > 0.2


@pytest.mark.parametrize(("white", "is_clean"), [(235, False), (255, True)])
def test_pixels_clip_at_the_white_of_the_video(white, is_clean):
    luma = np.full((32, 64), 120, dtype=np.uint8)
    luma[8:16, :32] = 235
    found = clean_blocks(Frame(0, luma, white=white))
    assert np.all(found[8:16, :8] == is_clean)
    assert found[:8].all()
    assert found[:, 8:].all()


def _banded(first_px, n_bands, height_px=200.0, ramp_px=30.0, seed=5):
    """Return bands of light, of which the image below a soft border at `first_px` shows a part."""
    rows = np.arange(HEIGHT)
    begin = np.random.default_rng(seed).uniform(-height_px, HEIGHT, n_bands)[:, None]
    bands = np.clip((rows - begin) / ramp_px, 0.0, 1.0)
    bands *= np.clip((begin + height_px + ramp_px - rows) / ramp_px, 0.0, 1.0)
    return bands / (1.0 + np.exp((first_px - rows) / 4.0)), begin[:, 0]


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("seed", range(1, 5))
def test_the_limit_of_the_light_in_an_image_is_no_edge(turn, seed):
    bands, begin = _banded(200.0, 16, seed=seed)
    is_lit = bands.max(axis=1) > 0.3
    lit = gathered(bands[is_lit][:, ::turn])
    reached = reached_rows(lit)
    first = reached.start if turn == 1 else HEIGHT - reached.stop
    assert 185 < first < 215
    edges = learn(lit.of_rows(reached)).edges
    true = begin[is_lit] + 15.0
    for edge in edges:
        row = edge.row + reached.start
        row = row if turn == 1 else HEIGHT - 1 - row
        index = edge.index // 10
        apart_px = min(abs(row - true[index]), abs(row - true[index] - 200.0))
        assert apart_px < 5.0 * max(edge.row_std, 0.5)


@pytest.mark.parametrize("seed", range(6))
def test_few_bands_do_not_limit_the_light(seed):
    bands, _ = _banded(-100.0, 8, seed=seed)
    reached = reached_rows(gathered(bands[bands.max(axis=1) > 0.3]))
    assert (reached.start, reached.stop) == (0, HEIGHT)


def _uneven(first_px, *, height_px=300.0, ramp_px=100.0):
    """Return light of bands in rows that a lamp reaches unevenly, and most weakly at the bottom."""
    rows = np.arange(HEIGHT)
    ends = np.array(first_px)[:, None] + np.array([0.0, height_px])[:, None, None]
    up, low = np.clip(0.5 + (rows - ends) / ramp_px, 0.0, 1.0)
    reached = 1.0 - 0.35 * np.clip((rows - 380.0) / 60.0, 0.0, 1.0)
    return (up - low) * reached


@pytest.mark.parametrize("first_px", [(250.0, 300.0, 340.0, 270.0), (220.0, 240.0, 260.0)])
def test_a_lamp_that_reaches_the_last_rows_less_draws_no_edges_there(first_px):
    """No other frames show these rows: the pattern may be wrong there in all of them alike."""
    above_px = (-160.0, -120.0, -200.0, -90.0, -180.0)
    learnt = learn(gathered(_uneven((*first_px, *above_px))))
    assert learnt.n_tried == len(learnt.edges) == len(first_px) + len(above_px)


def test_frames_that_a_lamp_lights_unevenly_are_lit_all_the_same():
    first_px = (-400.0,) * 6 + (60.0, 100.0, 150.0, 200.0)
    turn = 1.0 + 0.3 * np.sin(np.arange(HEIGHT) / 60.0)
    light = _uneven(first_px, height_px=1000.0, ramp_px=60.0) * turn
    strong = np.where(np.arange(len(first_px)) < 6, 60.0, 0.0)
    lit = replace(gathered(light), rise=strong, fall=strong)
    learnt = learn(lit)
    assert set(learnt.whole) == {k for at in range(0, 60, 10) for k in (at, at + 1)}
