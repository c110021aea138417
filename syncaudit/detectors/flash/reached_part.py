"""Find which part of an image a light reaches, and how bright it makes the rows there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, poisson

from syncaudit.detectors.flash.lit_frames import LitFrames
from syncaudit.detectors.flash.rows import strips_of
from syncaudit.detectors.flash.screen import is_lit_across, lit_candidates

Floats = NDArray[np.float64]

# Rows count as lit from this share of the brightest light. Full light is what most lit rows show:
# two flashes in one exposure show twice as much.
LIT_SHARE = 0.2
FULL_PERCENTILE = 60
# Brightness of the brightest rows of an image, except single ones that show the lamp itself.
BRIGHT_PERCENTILE = 90
# Minimum light of a row relative to a parabola over the others, and rounds of dropping rows below
# it.
MIN_FULL = 0.6
N_ROUNDS = 4
# A row lit so rarely that the probability of it by chance is at most this is not reached.
MAX_RISK = 1e-3
# First lit rows of frames that differ by no more than this are the same.
SAME_ROWS = 5
# Halves of the width that are looked at, as parts of it: left, middle and right.
HALF = 0.5
STARTS = 0.0, 0.25, 0.5
# Minimum number of frames that a half shows lit, and how many times as many as the whole width
# does: moving objects light a half now and then.
MIN_FRAMES = 3
MORE = 1.25


def reached_rows(lit: LitFrames) -> slice:
    """Return the rows between the first and the last that light reaches.

    A lamp that lights a wall above, or the ground in front, leaves the other rows dark at every
    flash. The limit of its light in the image is not a band edge: band edges move over all rows
    with the instants of the flashes, so every row is lit about equally often. Rows that are lit
    less often than chance allows, given the number of flashes, are not reached, nor are outer rows
    whose light falls short of what the others predict. Where the flashes are few, it also counts
    how many bands begin, or end, at the same row as the outermost one.

    Parameters
    ----------
    lit : LitFrames
        Frames.
    """
    share = np.where(lit.is_known, lit.share, 0.0)
    bright = float(np.percentile(share.max(axis=0), BRIGHT_PERCENTILE))
    is_lit = share > LIT_SHARE * bright
    n_lit = np.count_nonzero(is_lit, axis=0)
    # How often a row that light does reach is lit.
    usual = float(np.average(n_lit, weights=n_lit)) if n_lit.any() else 0.0
    none_lit = float(poisson.cdf(0, usual))
    if none_lit <= MAX_RISK:
        reached = np.flatnonzero(poisson.cdf(n_lit, usual) > MAX_RISK)
    else:
        above, below = (_unreached(rows, none_lit) for rows in (is_lit, is_lit[:, ::-1]))
        reached = np.arange(above, n_lit.size - below)
    if none_lit <= MAX_RISK or reached.size < n_lit.size:
        for _ in range(N_ROUNDS):
            full, curve = _full_light(share[:, reached[0] : reached[-1] + 1])
            reached = reached[0] + np.flatnonzero(full > MIN_FULL * curve)
    return slice(int(reached[0]), int(reached[-1]) + 1)


def _unreached(is_lit: NDArray[np.bool_], none_lit: float) -> int:
    """Return how many of the first rows the light does not reach.

    Two independent signs are combined as by Fisher ("Statistical methods for research workers",
    1932, section 21.1): no frame shows light in the first row, which has probability `none_lit` if
    it is reached, and several bands begin in the same row.
    """
    first = np.argmax(is_lit[is_lit.any(axis=1)], axis=1)
    outermost = int(first.min(initial=is_lit.shape[1]))
    if outermost in (0, is_lit.shape[1]):
        return 0
    n_same = np.count_nonzero(first <= outermost + SAME_ROWS) - 1
    chance = none_lit * binom.sf(n_same - 1, first.size - 1, SAME_ROWS / is_lit.shape[1])
    return outermost if chance * (1.0 - np.log(max(chance, 1e-300))) <= MAX_RISK else 0


def first_light(lit: LitFrames) -> Floats:
    """Return light as a share of full light, which is modelled as a parabola over the rows.

    Rows near the image border that few frames show in full light follow the others.
    """
    share = np.where(lit.is_known, lit.share, 0.0)
    full, curve = _full_light(share)
    lowest = 0.2 * float(np.nanmedian(full))
    light: Floats = np.clip(share / np.maximum(curve, max(lowest, 1e-3)), 0.0, 1.2)
    return light


def _full_light(share: Floats) -> tuple[Floats, Floats]:
    """Return the full light of each row (nan where it is never lit), and a parabola over it."""
    is_lit = share > LIT_SHARE * np.percentile(share.max(axis=0), FULL_PERCENTILE)
    n_lit = np.count_nonzero(is_lit, axis=0)
    rows = np.linspace(-1.0, 1.0, share.shape[1])
    has_any = n_lit > 0
    full = np.full(rows.size, np.nan)
    bright = np.where(is_lit, share, np.nan)[:, has_any]
    full[has_any] = np.nanpercentile(bright, FULL_PERCENTILE, axis=0)
    degree, weights = min(2, int(np.count_nonzero(has_any)) - 1), np.sqrt(n_lit[has_any])
    curve = np.polynomial.Polynomial.fit(rows[has_any], full[has_any], degree, w=weights)
    return full, curve(rows)


def full_scale(light: Floats, info: Floats) -> float:
    """Return the share of light that most lit rows show, of those with any weight."""
    is_lit = (light > 0.4) & (info > 0.0)
    return float(np.percentile(light[is_lit], FULL_PERCENTILE)) if is_lit.any() else 1.0


def lit_half(levels: NDArray[np.float32], width_px: int) -> slice | None:
    """Return the half of the width that light reaches, or None where it reaches most of it.

    A lamp beside a camera lights what is near it: most of the blocks of a row stay dark at every
    flash, so no row of the whole width counts as lit.

    Parameters
    ----------
    levels : ndarray of float32, shape (n, r, b)
        Brightness of r rows in b column blocks of n frames.
    width_px : int
        Columns of the image.
    """
    n_blocks = levels.shape[2]
    size = round(HALF * n_blocks)
    if size == 0:
        return None
    starts = [round(start * n_blocks) for start in STARTS]
    n_lit = [_n_lit(levels[:, :, start : start + size]) for start in starts]
    most = max(n_lit)
    if most < max(MIN_FRAMES, MORE * _n_lit(levels)):
        return None
    first = starts[n_lit.index(most)]
    return slice(first * width_px // n_blocks, (first + size) * width_px // n_blocks)


def _n_lit(levels: NDArray[np.float32]) -> int:
    """Return how many frames have lit rows."""
    strips = strips_of(levels)
    return sum(is_lit_across(levels, at) for at in lit_candidates(strips, 0, strips.shape[0]))
