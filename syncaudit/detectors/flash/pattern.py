"""Estimate which rows a light reaches, what it adds to every cell, and how much each row shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, poisson

from syncaudit.detectors.flash.lit_frames import LitFrames
from syncaudit.dsp.robust import mad_std
from syncaudit.model.arrays import Bools, Floats

# Where a cell is lit in few frames, its light is taken from nearby cells of similar brightness,
# which count as much as this many frames in full light.
PRIOR_FRAMES = 0.7
# Light is weighted by this power of itself, half light a quarter: ramps are uncertain as edges are.
TRUST_POWER = 2
# Rows with less than this share of the light determine the exposure of their frame, those lacking
# less than this share its scale.
DARK_SHARE = 0.03
# Number of rows whose errors are correlated by an encoder's blocks.
CORRELATED_ROWS = 16.0
# Exposures and lights depart from their prior by at most this many errors: a larger departure has
# another cause, such as two pulses at once.
MAX_FORETOLD = 3.0
# No row of a frame determines the light to better than 2 %: patterns are not known better.
MAX_INFO = 50.0**2
# Rows count as lit from this share of the brightest light. Full light is what most lit rows show:
# two flashes in one exposure show twice as much.
LIT_SHARE = 0.2
FULL_PERCENTILE = 60
# Brightness of the brightest rows of an image, except single ones that show the lamp itself.
BRIGHT_PERCENTILE = 90
# Minimum light of a row relative to a parabola over the others, and rounds of dropping rows below
# it.
MIN_FULL = 0.6
N_CUTS = 4
# A row lit so rarely that the probability of it by chance is at most this is not reached.
MAX_RISK = 1e-3
# First lit rows of frames that differ by no more than this are the same.
SAME_ROWS = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pattern:
    """What full light adds to every cell, and the sums that it is estimated from.

    `light`, shape (f, h), is the share of full light in each row of the frames, 0 in those that
    were left out; `product` and `power`, shape (h, b), the sums over the frames of light times
    excess and of squared light; `usual`, shape (h, b), what full light adds to cells of similar
    position and brightness, in levels, and `spread`, shape (b,), the deviation of cells from that.
    """

    light: Floats
    product: Floats
    power: Floats
    usual: Floats
    spread: Floats

    @property
    def levels(self) -> Floats:
        """Return what full light adds, in levels."""
        return _blended(self.product, self.power, self.usual)

    @property
    def unevenness(self) -> float:
        """Return the share by which cells differ from those of similar position and brightness."""
        return float(np.sqrt(np.mean(self.spread**2)) / max(np.mean(self.usual), 1e-3))

    def scaled(self, gain: float) -> Pattern:
        """Return the pattern of light that is brighter by a factor."""
        return Pattern(
            light=self.light / gain,
            product=self.product / gain ** (TRUST_POWER),
            power=self.power / gain ** (TRUST_POWER + 1),
            usual=self.usual * gain,
            spread=self.spread * gain,
        )

    def without(self, lit: LitFrames, i: int) -> tuple[Floats, Floats, Floats]:
        """Return the pattern from all frames but one, shape (h, b), and how well it is known.

        A frame whose own light contributed to the pattern would agree with it wherever its edges
        were. Besides the variance of each cell, (h, b), this returns how much of each row is a
        guess, from 0 to 1, (h,): what other frames show in part is as uncertain as their edges.
        """
        light = self.light[i]
        own = _sureness(lit)[i] * light[:, None] ** TRUST_POWER * lit.is_clean[i]
        product, power = self.product - own * lit.excess[i], self.power - own * light[:, None]
        power = np.maximum(power, 0.0)
        levels = _blended(product, power, self.usual)
        total = power + PRIOR_FRAMES
        unsure = (PRIOR_FRAMES * self.spread / total) ** 2 + lit.variance * power / total**2
        is_full = self.light > 1.0 - DARK_SHARE
        is_full[i] = False
        return levels, unsure, PRIOR_FRAMES / (is_full.sum(axis=0) + PRIOR_FRAMES)


def find_pattern(lit: LitFrames, light: Floats) -> Pattern:
    """Return what full light adds to every cell, by least squares over the frames.

    Cells that hardly any frame shows in the light follow those of similar brightness in their
    column block, by a polynomial in row and brightness. `light`, shape (f, h): share of full light
    in each row.
    """
    clean = lit.is_clean
    # Frames of uncertain exposure constrain the light little.
    trust = light**TRUST_POWER * _sureness(lit)[:, None]
    product = np.einsum("fr,frb,frb->rb", trust, lit.excess, clean)
    power = np.einsum("fr,frb->rb", trust * light, clean)
    brightness = np.median(lit.background, axis=0) / 64.0
    height, n_blocks = product.shape
    rows = np.linspace(-1.0, 1.0, height)
    usual = np.empty((height, n_blocks))
    for block in range(n_blocks):
        columns = [rows**p * b for p in range(3) for b in (np.ones(height), brightness[:, block])]
        design = np.stack(columns, axis=1)
        weighted = design * power[:, block, None]
        ridge = np.diag([0.01, 0.01, 1.0, 1.0, 1.0, 1.0]) * (1e-3 * power[:, block].sum() + 1e-9)
        found = np.linalg.solve(weighted.T @ design + ridge, design.T @ product[:, block])
        usual[:, block] = design @ found
    own = product / np.maximum(power, 1e-9)
    spread = np.sqrt(
        np.sum(power * (own - usual) ** 2, axis=0) / np.maximum(power.sum(axis=0), 1e-9)
    )
    return Pattern(light=light, product=product, power=power, usual=usual, spread=spread)


def brightness_ratio(lit: LitFrames, levels: Floats) -> float:
    """Return the brightness in full light over that without, where the light falls.

    `levels`, shape (h, b): what full light adds.
    """
    is_off = lit.sense < 0
    if is_off.all():
        dark = np.median(lit.background, axis=0) - levels
    else:
        dark = np.median(lit.background[~is_off], axis=0)
    dark = np.maximum(dark, 1.0)
    return 1.0 + float(np.sum(levels**2) / max(np.sum(levels * dark), 1e-9))


def row_light(lit: LitFrames, levels: Floats) -> tuple[Floats, Floats]:
    """Return the light of every row as a share of full light, and its inverse variance, (f, h)."""
    weight = levels / lit.variance
    info = np.einsum("rb,frb->fr", levels * weight, lit.is_clean)
    light = np.einsum("rb,frb,frb->fr", weight, lit.excess, lit.is_clean)
    return light / np.maximum(info, 1e-9), np.minimum(info, MAX_INFO) * lit.is_known


def find_exposures(
    lit: LitFrames, levels: Floats, curves: Floats, gathered: LitFrames
) -> LitFrames:
    """Return the frames corrected to the exposure of their backgrounds and of each other.

    Rows that the light does not reach determine the gain of a frame over its background, those in
    full light the scale of the light; both are combined with what is known of them beforehand, that
    of the frames as `gathered`. `levels`, shape (h, b), is what full light adds, and `curves`,
    shape (f, h), the share of it in each row, as fitted.
    """
    light, info = row_light(lit, levels)
    weight = levels / lit.variance
    own = np.maximum(np.einsum("rb,frb->fr", levels * weight, lit.is_clean), 1e-9)
    dark = np.einsum("rb,frb,frb->fr", weight, lit.background, lit.is_clean) / own
    dark *= np.where(lit.sense < 0, -1.0, 1.0)[:, None]
    info = info / CORRELATED_ROWS
    left, lasts = light - curves, bool(lit.sense.any())

    def solved(
        slope: Floats, rows: Bools, now: Floats, before: Floats, std: Floats
    ) -> tuple[Floats, Floats]:
        seen = np.sum(info * rows * slope**2, axis=1)
        pull = np.sum(info * rows * slope * left, axis=1)
        if lasts:
            # Frames that show it themselves show how far it departs from what is known beforehand.
            off = now - before + pull / np.maximum(seen, 1e-9)
            std = np.maximum(std, mad_std(off[seen > std**-2.0]))
        precision = seen + std**-2.0
        reach = MAX_FORETOLD * std
        found = now + (pull + (before - now) / std**2) / precision
        return np.clip(found, before - reach, before + reach), precision**-0.5

    per_scale = dark / lit.scale[:, None]
    gain, gain_std = solved(
        per_scale, curves < DARK_SHARE, lit.gain, gathered.gain, gathered.gain_std
    )
    before, std = gathered.scale, gathered.scale_std
    if not lasts:
        # Exposed longer, a frame shows more of a light as well. How the light of lasting ones
        # compares is less well known than either.
        before = before * gain / gathered.gain
        std = np.sqrt(np.maximum(std**2 - gathered.gain_std**2, 0.0) + gain_std**2)
    scale, scale_std = solved(
        curves / lit.scale[:, None], curves > 1.0 - DARK_SHARE, lit.scale, before, std
    )
    return lit.exposed(gain, scale, (gain_std, scale_std))


def _sureness(lit: LitFrames) -> Floats:
    """Return the weight of each frame by how well its exposure is known, shape (f,)."""
    std = np.maximum(lit.gain_std, lit.scale_std)
    return np.minimum(float(np.median(std)) / std, 1.0) ** 2


def _blended(product: Floats, power: Floats, usual: Floats) -> Floats:
    levels = (product + PRIOR_FRAMES * usual) / (power + PRIOR_FRAMES)
    return np.maximum(levels, 0.0)


def reached_rows(lit: LitFrames) -> slice:
    """Return the rows between the first and the last that light reaches.

    A lamp that lights a wall above, or the ground in front, leaves the other rows dark at every
    flash. The limit of its light in the image is not a band edge: band edges move over all rows
    with the instants of the flashes, so every row is lit about equally often. Rows that are lit
    less often than chance allows, given the number of flashes, are not reached, nor are outer rows
    whose light falls short of what the others predict. Where the flashes are few, it also counts
    how many bands begin, or end, at the same row as the outermost one.
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
        for _ in range(N_CUTS):
            full, curve = _full_light(share[:, reached[0] : reached[-1] + 1])
            reached = reached[0] + np.flatnonzero(full > MIN_FULL * curve)
    return slice(int(reached[0]), int(reached[-1]) + 1)


def _unreached(is_lit: Bools, none_lit: float) -> int:
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
