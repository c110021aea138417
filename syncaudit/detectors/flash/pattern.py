"""Estimate what a light adds to every cell of an image, and how much of it each row shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash.lit_frames import LitFrames
from syncaudit.dsp.robust import mad_std

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Where a cell is lit in few frames, its light is taken from nearby cells of similar brightness,
# which count as much as this many frames in full light.
PRIOR_FRAMES = 0.7
# Light is weighted by this power of itself: half light counts a quarter.
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pattern:
    """What full light adds to every cell, and the sums that it is estimated from.

    Parameters
    ----------
    light : ndarray, shape (f, h)
        Share of full light in each row of the frames, 0 in those that were left out.
    product, power : ndarray, shape (h, b)
        Sums over the frames of light times excess and of squared light.
    usual : ndarray, shape (h, b)
        What full light adds to cells of similar position and brightness, in levels.
    spread : ndarray, shape (b,)
        Standard deviation of cells from that.
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
        own = _sureness(lit)[i] * _trust(light)[:, None] * lit.is_clean[i]
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
    column block, by a polynomial in row and brightness.

    Parameters
    ----------
    lit : LitFrames
        Frames.
    light : ndarray, shape (f, h)
        Share of full light in each row.
    """
    clean, trust = lit.is_clean, _trust(light)
    # Frames of uncertain exposure constrain the light little.
    trust = trust * _sureness(lit)[:, None]
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

    Parameters
    ----------
    lit : LitFrames
        Frames.
    levels : ndarray, shape (h, b)
        What full light adds.
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
    full light the scale of the light; both are combined with what is known of them beforehand.

    Parameters
    ----------
    lit : LitFrames
        Frames, as known so far.
    levels : ndarray, shape (h, b)
        What full light adds.
    curves : ndarray, shape (f, h)
        Share of full light in each row, as fitted.
    gathered : LitFrames
        Frames as gathered.
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
        curves / lit.scale[:, None],
        curves > 1.0 - DARK_SHARE,
        lit.scale,
        before,
        std,
    )
    return lit.exposed(gain, scale, (gain_std, scale_std))


def _trust(light: Floats) -> Floats:
    """Return the weight of the light of a row: on a ramp, it is as uncertain as the edge."""
    return light**TRUST_POWER


def _sureness(lit: LitFrames) -> Floats:
    """Return the weight of each frame by how well its exposure is known, shape (f,)."""
    std = np.maximum(lit.gain_std, lit.scale_std)
    return np.minimum(float(np.median(std)) / std, 1.0) ** 2


def _blended(product: Floats, power: Floats, usual: Floats) -> Floats:
    levels = (product + PRIOR_FRAMES * usual) / (power + PRIOR_FRAMES)
    return np.maximum(levels, 0.0)
