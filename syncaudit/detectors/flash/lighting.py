"""Find the frames, and the rows of each, that a light reaches, and how they look without it.

A stationary camera sees every row at the same brightness in frame after frame; a light adds to it.
What is common to the column blocks of a row is light; walking people, flickering screens and moving
leaves change only some blocks.

A cheap search comes first: it finds the few frames in which a flash, or a lasting light, may show.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import cv2
import numpy as np
from scipy.ndimage import percentile_filter, uniform_filter1d

from syncaudit.dsp.robust import mad_std, spread
from syncaudit.model.arrays import Bools, Floats, Ints, Singles

# Lights switched by hand stay on for up to two seconds: within this time on either side, a row is
# dark for at least a quarter of the time.
DARK_WITHIN_S = 3.0
DARK_PERCENTILE = 25
# Even with light that often goes on and off, a quarter of the changes from frame to frame are
# noise; that quantile of the difference of two normal variables, in sigmas of one.
QUIET_PERCENTILE = 25
QUIET_SIGMAS = 1.0 / (0.3186 * np.sqrt(2.0))
LEAST_NOISE = 0.05
# Number of points of the running percentile: it is only a first guess.
N_POINTS = 60
N_ROUNDS = 3
# Rows count as lit above this many standard deviations of their own noise (at least 0.5 levels)
# plus the share of their brightness by which frames are screened, about what the eye can see.
MIN_SIGMAS = 6.0
MIN_LEVELS = 0.5
# What is added to a brightness before shares are taken: black is not zero.
BLACK_LEVELS = 16.0
# The most of a change that auto-exposure takes back from one frame to the next: it settles
# geometrically.
MAX_ANSWER = 0.3
# Dark frames farther away than this constrain a row little: scenery moves on.
REACH = 6
# Rows next to lit ones may be lit too faintly to be detected.
GUARD_ROWS = 2
# Minimum variance of a cell: the encoder's rounding.
LEAST_VARIANCE = 0.1
# Light falls unevenly on an image: by at least this share, and by at least this many times the
# difference between two halves of the frames (an F test: with thirty cells, one in 8,000 images
# brightened by gain would pass). Gain acts on all cells equally.
MIN_UNEVEN = 0.02
MIN_OVER_NOISE = 2.0
# Largest increase of grey levels by a change of exposure, as a share: 1.3 stops, through a tone
# curve with an exponent of 1 / 2.2.
MAX_GAIN_SHARE = 0.5
# Width of the middle 90 % of a normal distribution, rather than the middle half: a light may affect
# less than half of the image.
NINETY_PERCENT_SIGMAS = 3.29

# Frames compared on either side. The two nearest carry nearly all the weight; the others serve
# pulse trains so dense that the nearest frames are lit in the same rows.
RADIUS = 4
# Whole-frame gain (auto-exposure, mains flicker) is compensated up to this; anything more is light.
MAX_GAIN_CHANGE = 0.04
# Rows count as lit from this share of the background and this many levels.
MIN_LIT_SHARE = 0.02
MIN_LIT_LEVELS = 0.8
# Minimum number of lit rows, as a share of the height.
MIN_LIT_ROWS = 1.0 / 60.0
# Strips that must be lit by this part of the limits above; clipped ones count as lit.
N_LIT_STRIPS = 3
STRIP_PART = 0.75
CLIPPED_LEVEL = 235.0
# Level of missing frames.
NO_FRAME = 1e6
# Share of the column blocks in which a lit row must be lit.
MIN_LIT_BLOCKS = 0.6
# Median change between the frames before and after up to which an image counts as still.
STILL_LEVELS = 1.0
# Share of the blocks of a row that, lit in one of two frames without a flash, show motion.
HALF = 0.5 * MIN_LIT_BLOCKS
# Mean change between the frames before and after above which an image counts as moving, and how far
# up or down its rows may have moved, as a share of the height.
MOVING_LEVELS = 2.0
GUARD = 1.0 / 30.0
# Share of the excess that must be common to the strips, or the blocks, of a row. By chance, one in
# their number is; of light that reaches only `MIN_LIT_BLOCKS` of the blocks, that share is.
COMMON_SHARE = 0.6
# Excess is capped at this share of the background: one bright object is not the whole image.
MAX_SHARE = 0.1
# Frames on either side of a step that must look the same: shorter lights are no steps.
STEADY_FRAMES = 2
# Minimum change of the mean of the whole image, as a share and in levels.
MIN_MEAN_SHARE = 0.02
MIN_MEAN_LEVELS = 1.5
# Minimum change of a column block in levels.
MIN_BLOCK_LEVELS = 3.0
# Frames before differ by no more than this share of the change, nor do those after, unless they
# fall back: auto-exposure responding to the light.
STEADY_SHARE = 0.12
ANSWERED_SHARE = 0.25
# A light that falls back by this much of its change within two frames was a pulse, or went off.
ENDED_SHARE = 0.5
# Share of the cells that must change in the same sense.
ONE_SENSE = 0.8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lighting:
    """Light on the rows of all frames of a camera.

    `is_lit` and `is_known`, shape (n, r), are the rows that are brighter than without light, and
    those that are dark in some nearby frame; `share`, shape (n, r), is light as a share of the
    brightness without it, median of the blocks, 0 where not known; `variance`, shape (r, b), that
    of the cells without light, in squared levels; `wobble` the relative scatter of the brightness
    of dark frames around that of nearby ones.
    """

    is_lit: Bools
    is_known: Bools
    share: Floats
    variance: Floats
    wobble: float


def find_lighting(levels: Singles, rate_hz: float) -> Lighting:
    """Return which rows are lit in consecutive frames.

    `levels`, shape (n, r, b): mean brightness of r rows in b column blocks of n frames.
    """
    rows = levels.mean(axis=2)
    dark, noise = _dark_level(rows, rate_hz)
    first = rows - dark > np.maximum(MIN_SIGMAS * noise, MIN_LEVELS) + MIN_LIT_SHARE * dark
    is_lit = first
    for _ in range(2):
        is_dark = ~grown(is_lit)
        background, is_known = _background(levels, is_dark)
        excess = levels - background
        excess[~is_known] = 0.0
        share = np.median(excess / (background + BLACK_LEVELS), axis=2)
        is_quiet = is_known & is_dark
        quiet = share[is_quiet]
        scatter = spread(quiet, 0.0) if quiet.size else 0.0
        is_bright = share > max(MIN_SIGMAS * scatter, MIN_LIT_SHARE)
        is_lit = first & (is_bright | ~is_known)
    weight = is_quiet.astype(np.float32)
    n_dark = np.maximum(weight.sum(axis=0), 1.0)[:, None]
    variance = np.einsum("nr,nrb->rb", weight, excess**2) / n_dark + LEAST_VARIANCE
    has_quiet = is_quiet.any(axis=1)
    gains = np.nanmedian(np.where(is_quiet, share, np.nan)[has_quiet], axis=1)
    return Lighting(
        is_lit=is_lit & is_known,
        is_known=is_known,
        share=share.astype(np.float64),
        variance=variance.astype(np.float64),
        wobble=mad_std(gains.astype(np.float64)),
    )


def grown(is_lit: Bools) -> Bools:
    """Return lit rows and the ones beside them, shape (n, r)."""
    near = is_lit.copy()
    for step in range(1, GUARD_ROWS + 1):
        near[:, step:] |= is_lit[:, :-step]
        near[:, :-step] |= is_lit[:, step:]
    return near


def _dark_level(rows: Singles, rate_hz: float) -> tuple[Singles, Singles]:
    """Return each row's brightness without light, from its lower mode in time, and its noise."""
    n = rows.shape[0]
    window = min(n, 2 * round(DARK_WITHIN_S * rate_hz) + 1)
    step = max(1, window // N_POINTS)
    size = (max(3, window // step), 1)
    dark: Singles = percentile_filter(rows[::step], DARK_PERCENTILE, size=size, mode="reflect")
    dark = np.repeat(dark, step, axis=0)[:n].astype(np.float32)
    noise = np.full(rows.shape[1], LEAST_NOISE, dtype=np.float32)
    if n > 1:
        change = np.percentile(np.abs(np.diff(rows, axis=0)), QUIET_PERCENTILE, axis=0)
        noise = np.maximum(np.float32(QUIET_SIGMAS) * change, noise).astype(np.float32)
    for _ in range(N_ROUNDS):
        apart = rows - dark
        near = (np.abs(apart) < 4.0 * noise + 0.3).astype(np.float32)
        total = uniform_filter1d(near, window, axis=0, mode="reflect")
        mean = uniform_filter1d(near * apart, window, axis=0, mode="reflect")
        dark = (dark + mean / np.maximum(total, 1e-6)).astype(np.float32)
    return dark, noise


def _background(levels: Singles, is_dark: Bools) -> tuple[Singles, Bools]:
    """Return how each row looks in the dark frames before and after, and where there are any.

    Running means of the dark frames on either side, weighted by the inverse square of how long ago
    the last one was.
    """
    is_dark = np.stack((is_dark, is_dark[::-1]))
    # How many frames ago each row was last dark; a large number where it never was.
    at = np.arange(levels.shape[0])[:, None]
    age = np.full(is_dark.shape, 2 * REACH, dtype=np.float32)
    last = np.maximum.accumulate(np.where(is_dark, at, -2 * REACH), axis=1)
    age[:, 1:] = at[1:] - last[:, :-1]
    parts = (np.where(age > REACH, 1.0, 0.5) * is_dark)[..., None].astype(np.float32)
    sides = np.zeros((2, *levels.shape), dtype=np.float32)
    mean = np.zeros_like(sides[:, 0])
    for k in range(levels.shape[0]):
        sides[:, k] = mean
        mean += parts[:, k] * (np.stack((levels[k], levels[-1 - k])) - mean)
    weights = np.where(age <= REACH, age**-2, 0.0).astype(np.float32)
    sides[1], weights[1] = sides[1, ::-1].copy(), weights[1, ::-1].copy()
    total = weights.sum(axis=0)
    background = (weights[..., None] * sides).sum(axis=0) / np.maximum(total, 1e-9)[..., None]
    return background.astype(np.float32), total > 0.0


def is_no_gain(excess: Singles, background: Singles) -> bool:
    """Return whether a light changed rather than the exposure.

    Light adds to each cell according to where it falls. A gain brightens each cell according to its
    brightness, whatever the tone curve and wherever the cell lies. And an exposure changes by no
    more than a stop or so from one frame to the next. `excess` and `background`, shape (f, h, b):
    light, and brightness without it, of at least two frames that show the complete change, in
    levels.
    """
    shares = excess / (background + BLACK_LEVELS)
    if np.median(shares) > MAX_GAIN_SHARE:
        return True
    shares = shares / np.maximum(np.mean(np.abs(shares), axis=(1, 2), keepdims=True), 1e-6)
    # Lights go on and off in turn: split by pairs, so that both halves have as many of each.
    n = shares.shape[0]
    is_first = np.arange(n) // min(2, n - 1) % 2 == 0
    halves = np.median(shares[is_first], axis=0), np.median(shares[~is_first], axis=0)
    share, noise = 0.5 * (halves[0] + halves[1]), 0.5 * (halves[0] - halves[1])
    brightness = np.median(background, axis=0)
    by_gain = np.polynomial.Polynomial.fit(brightness.ravel(), share.ravel(), 2)(brightness)
    return _spread(share - by_gain) > max(MIN_UNEVEN, MIN_OVER_NOISE * _spread(noise))


def _spread(values: Singles) -> float:
    """Return a standard deviation that ignores 5 % of the values at either end."""
    low, high = np.percentile(values, (5.0, 95.0))
    return float(high - low) / NINETY_PERCENT_SIGMAS


def lit_candidates(strips: Singles, start: int, stop: int) -> list[int]:
    """Return which frames have rows brighter than some frame before and some frame after.

    A looser form of the test of `is_lit_across`, on a quarter of its cells: a row is lit where it
    and three of its four strips exceed the darkest of the frames before and of those after. In
    moving images, that includes rows within a thirtieth of the height, and the excess must also be
    mostly common to the strips. Whole-frame gain is compensated. Of consecutive frames in `strips`,
    shape (m, n, s), those from `start` to `stop` are compared with up to `RADIUS` on either side.
    """
    m, n, n_strips = strips.shape
    first, last = max(start, 1), min(stop, m - 1)
    if last <= first:
        return []
    frames, floor = strips[first:last], _floor(strips, first, last)
    reach = round(GUARD * n)
    changes = np.abs(strips[first + 1 : last + 1] - strips[first - 1 : last - 1]).sum(axis=(1, 2))
    is_moving = changes > (MOVING_LEVELS * n * n_strips if reach else np.inf)
    left = (~is_moving | _is_common(frames, floor)).nonzero()[0]
    if not left.size:
        return []
    frames, floor = frames[left], floor[left]
    for i in np.flatnonzero(is_moving[left]).tolist():
        floor[i] = _near(floor[i], (reach, 0))
    ratio = ((frames[:, ::3] + 1.0) / (floor[:, ::3] + 1.0)).reshape(left.size, -1)
    gain = np.partition(ratio, ratio.shape[1] // 2, axis=1)[:, ratio.shape[1] // 2]
    gain[np.abs(gain - 1.0) > MAX_GAIN_CHANGE] = 1.0
    floor *= gain[:, None, None]
    limit = np.maximum(MIN_LIT_SHARE * floor, MIN_LIT_LEVELS)
    excess = frames - floor - STRIP_PART * limit
    ones = np.ones(n_strips, dtype=np.float32)
    n_lit = ((excess > 0.0) | (frames > CLIPPED_LEVEL)) @ ones
    is_row = (n_lit >= min(N_LIT_STRIPS, n_strips)) & (excess @ ones > 0.0)
    n_rows = np.count_nonzero(is_row, axis=1)
    is_lit = n_rows >= max(1, int(0.75 * MIN_LIT_ROWS * n))
    found: list[int] = (first + left[is_lit]).tolist()
    return found


def _floor(strips: Singles, first: int, last: int) -> Singles:
    """Return the darkest of the frames before each or of those after it, whichever is brighter."""
    m, n, n_strips = strips.shape
    before, after = max(0, RADIUS - first), max(0, last + RADIUS - m)
    if before or after:
        wide = np.full((before + m + after, n, n_strips), NO_FRAME, dtype=np.float32)
        wide[before : before + m] = strips
        strips = wide
    near = strips[first + before - RADIUS : last + before + RADIUS]
    pairs = np.minimum(near[:-1], near[1:])
    darkest = np.minimum(pairs[:-2], pairs[2:])
    return np.maximum(darkest[: -RADIUS - 1], darkest[RADIUS + 1 :])


def _is_common(frames: Singles, floor: Singles) -> Bools:
    """Return whether a frame's excess over the floor is mostly common to the strips of each row.

    That of light is; moving scenery brightens one strip and darkens the next.
    """
    share = frames - floor
    share /= floor + np.float32(16.0)
    np.clip(share, -MAX_SHARE, MAX_SHARE, out=share)
    m, _, n_strips = share.shape
    rows = share @ np.full(n_strips, 1.0 / n_strips, dtype=np.float32)
    cells = share.reshape(m, -1)
    common = n_strips * np.vecdot(rows, rows)
    return np.asarray(common >= COMMON_SHARE * np.vecdot(cells, cells))


def is_lit_across(levels: Singles, at: int, *, is_crowded: bool = False) -> bool:
    """Return whether whole rows of a frame are brighter than anything near them before and after.

    In still images, near means the cell itself, so that faint flashes count. In others it means as
    far as the image moves: the frames beside must not appear lit relative to each other. At most,
    it means a thirtieth of the height up or down and one column block left or right: a bumping
    horizon or a passing bright object is not a flash. If `is_crowded`, the frames beside may be lit
    as well and do not show how far the image moves: near then means the cell itself.

    What light adds, as a share of the brightness without it, is mostly common to the blocks of a
    row. Texture that moves brightens some blocks and darkens or spares the others. `levels`, shape
    (m, n, b): rows of consecutive frames in column blocks.
    """
    m, n, _ = levels.shape
    if not 0 < at < m - 1:
        return False
    before, after = levels[max(0, at - RADIUS) : at], levels[at + 1 : at + 1 + RADIUS]
    floor = np.maximum(before.min(axis=0), after.min(axis=0))
    reach = (0, 0) if is_crowded else _reach(before[-2:], after[:2])
    is_lit = _is_above(levels[at], _near(floor, reach)) | (levels[at] > CLIPPED_LEVEL)
    rows = np.flatnonzero(is_lit.mean(axis=1) >= MIN_LIT_BLOCKS)
    if rows.size < max(1.0, MIN_LIT_ROWS * n):
        return False
    return bool(_is_common(levels[at, rows][None], floor[rows][None])[0])


def _reach(before: Singles, after: Singles) -> tuple[int, int]:
    """Return by how many rows and blocks images move: the least of some reaches.

    Half as many lit blocks as a flash lights, in a single row of any frame, are more than motion
    may leave unexplained. `before` and `after`, shape (m, n, b): the last frames before a possible
    flash and the first after it.
    """
    if float(np.median(np.abs(before[-1] - after[0]))) <= STILL_LEVELS:
        return 0, 0
    frames = np.concatenate((before, after))
    pairs = [*itertools.pairwise(frames), *itertools.pairwise(frames[::-1])]
    for reach in ((0, 0), (1, 0)):
        if not any(
            np.any(_is_above(one * _gain(one, other), _near(other, reach)).mean(axis=1) >= HALF)
            for one, other in pairs
        ):
            return reach
    return round(GUARD * frames.shape[1]), 1


def _gain(one: Singles, other: Singles) -> np.float32:
    return np.float32(np.median((other + 1.0) / (one + 1.0)))


def _near(floor: Singles, reach: tuple[int, int]) -> Singles:
    """Return the brightest of the cells within a reach of rows and blocks."""
    if not any(reach):
        return floor
    kernel = np.ones((2 * reach[0] + 1, 2 * reach[1] + 1), dtype=np.uint8)
    found: Singles = cv2.dilate(floor, kernel).reshape(floor.shape).astype(np.float32, copy=False)
    return found


def _is_above(frame: Singles, floor: Singles) -> Bools:
    return np.asarray(frame > (1.0 + MIN_LIT_SHARE) * floor + MIN_LIT_LEVELS)


def step_candidates(strips: Singles, start: int, stop: int) -> list[int]:
    """Return which frames lie between two steady states of different brightness.

    A cheap test of the mean of the image comes first, then one of the cells of the strips: most
    change in the same sense, and little within the two frames on either side. Auto-exposure
    responds to a change from the next frame, in which up to half of it may be taken back.
    Parameters as for `lit_candidates`.
    """
    m = strips.shape[0]
    low, high = max(start, STEADY_FRAMES), min(stop, m - STEADY_FRAMES)
    if high <= low:
        return []
    cells = strips.reshape(m, -1)
    means = cells @ np.full(cells.shape[1], 1.0 / cells.shape[1], np.float32)
    step = np.abs(means[low + 1 : high + 1] - means[low - 1 : high - 1])
    limit = np.maximum(MIN_MEAN_LEVELS, MIN_MEAN_SHARE * means[low - 1 : high - 1])
    at = (step > limit).nonzero()[0] + low
    pairs, mean_pairs = cells[:-1] + cells[1:], means[:-1] + means[1:]
    change = pairs[at + 1] - pairs[at - 2]
    sense = np.sign(mean_pairs[at + 1] - mean_pairs[at - 2])
    change *= np.float32(0.5) * sense[:, None]
    size = _medians(change)
    in_sense = (change > 0.25 * size[:, None]).mean(axis=1)
    is_step = (size > MIN_BLOCK_LEVELS) & (in_sense >= ONE_SENSE)
    at, size, sense = at[is_step], size[is_step], sense[is_step]
    before, after = cells[at - 1] - cells[at - 2], cells[at + 1] - cells[at + 2]
    answered = _medians(after * sense[:, None])  # above 0 where the change is taken back
    unsteady = _medians(np.abs(after)) - np.maximum(answered, 0.0)
    unsteady = np.maximum(unsteady, _medians(np.abs(before)))
    is_steady = (unsteady < 2 * STEADY_SHARE * size) & (answered < 2 * ANSWERED_SHARE * size)
    at, size, sense = at[is_steady], size[is_steady], sense[is_steady]
    # A pulse that auto-exposure responds to is brighter than both sides, whichever rows show it.
    sides = sense * np.stack((means[at - 1], means[at + 1]))
    departure = np.maximum(
        sides.min(axis=0) - sense * means[at], np.abs(means[at - 1] - means[at - 2])
    )
    beyond = sense * means[at] - sides.max(axis=0)
    is_step = (departure < 2 * STEADY_SHARE * size) & (beyond < 2 * ANSWERED_SHARE * size)
    found: list[int] = at[is_step].tolist()
    return found


def lasting_senses(rows: Singles, at: Ints) -> list[int]:
    """Return whether light goes on (+1) or off (-1) in some frames, 0 where it was a pulse.

    A light that goes on lasts until the next step at which one goes off; pulses that follow each
    other in two or three frames look like such a light until they end, or from when they began.
    `rows`, shape (n, r, b): brightness of all frames; `at`, shape (k,): places of the steps.
    """
    means = rows.mean(axis=(1, 2))
    inner = (at > 0) & (at < means.size - 1)
    after, before = np.minimum(at + 1, means.size - 1), np.maximum(at - 1, 0)
    size = np.where(inner, means[after] - means[before], 0.0)
    sense = np.sign(size).astype(np.int64)
    found: list[int] = []
    for i, k in enumerate(at.tolist()):
        others = at[sense == -sense[i]]
        if sense[i] > 0:
            lit = means[k + 1 : min(others[others > k], default=means.size)]
        else:
            lit = means[max(others[others < k], default=-1) + 1 : k][::-1]
        falls = lit[:-2] - lit[2:]
        ended = falls.size and falls.max() > ENDED_SHARE * abs(size[i])
        found.append(0 if ended else int(sense[i]))
    return found


def _medians(values: Singles) -> Singles:
    """Return the median of each row; `np.median` spends most of its time on overhead."""
    low, high = (values.shape[1] - 1) // 2, values.shape[1] // 2
    ordered = np.partition(values, (low, high), axis=1)
    medians: Singles = 0.5 * (ordered[:, low] + ordered[:, high])
    return medians
