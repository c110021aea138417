"""Find which rows of which frames a light reaches, and what they would look like without it.

A stationary camera sees every row at the same brightness in frame after frame; a light adds to it.
What is common to the column blocks of a row is light; walking people, flickering screens and moving
leaves change only some blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import percentile_filter, uniform_filter1d

from syncaudit.detectors.flash.screen import MIN_LIT_SHARE
from syncaudit.dsp.robust import mad_std, spread
from syncaudit.model.arrays import Bools, Floats, Singles

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
