"""What a light adds to every cell of a picture, and how much of it each row of a frame shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash.lighting import REACH, Lighting, grown
from syncaudit.detectors.flash.screen import CLIPPED_LEVEL

__all__ = ["LitFrames", "Pattern", "find_pattern", "gather_lit", "row_light"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Bools = NDArray[np.bool_]
_Value = TypeVar("_Value", np.bool_, np.float64)

# Frames whose median is the brightness without light.
N_NEAREST = 6
# Fewest rows, of those that are looked at first, that a light reaches.
MIN_LIT_ROWS = 2
# Share of a frame's rows whose brightness without light must be known.
MIN_KNOWN = 0.5
# Where a cell is lit in few frames, its light is that of cells as bright near it: so many frames
# in full light count as much as they do.
PRIOR_FRAMES = 0.7
# Light counts by this power of itself: half light a quarter.
TRUST_POWER = 2
# No row of a frame tells the light better than to a fiftieth: patterns are not known better.
MAX_INFO = 50.0**2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LitFrames:
    """Frames in which a light goes on or off, all rows.

    Parameters
    ----------
    index : ndarray of int, shape (f,)
        Positions of the frames in file order.
    excess, background : ndarray of float32, shape (f, h, b)
        Light, and brightness without it, in levels.
    is_clean : ndarray of bool, shape (f, h, b)
        Cells that are not clipped, in rows that are known.
    is_known : ndarray of bool, shape (f, h)
        Rows whose brightness without light is known.
    share : ndarray, shape (f, h)
        A first guess of the light, in units of the brightness without it.
    variance : ndarray, shape (h, b)
        Of the cells without light.
    clipped_share : ndarray, shape (f,)
        Share of the lit cells that are clipped.
    """

    index: NDArray[np.int64]
    excess: Singles
    background: Singles
    is_clean: Bools
    is_known: Bools
    share: Floats
    variance: Floats
    clipped_share: Floats

    def take(self, chosen: Bools) -> LitFrames:
        """Return some of the frames."""
        columns = ("index", "excess", "background", "is_clean", "is_known", "share")
        taken = {name: getattr(self, name)[chosen] for name in columns}
        return replace(self, **taken, clipped_share=self.clipped_share[chosen])


def gather_lit(
    frames: Sequence[int],
    levels: Mapping[int, Singles],
    clean: Mapping[int, Bools],
    lighting: Lighting,
    places: Mapping[int, int],
) -> LitFrames | None:
    """Return the light in all rows of some frames, from the dark rows of those near them.

    Parameters
    ----------
    frames : sequence of int
        Positions in file order.
    levels, clean : mapping of int to ndarray, shape (h, b)
        Brightness, and where it is not clipped, of these frames and of those near them.
    lighting : Lighting
        Which rows are lit, in fewer rows.
    places : mapping of int to int
        Where a frame is in `lighting`.
    """
    found = []
    is_dark = ~grown(lighting.is_lit)
    for at in frames:
        if at not in levels or lighting.is_lit[places[at]].sum() < MIN_LIT_ROWS:
            continue
        height = levels[at].shape[0]
        near = [
            j for j in range(at - REACH, at + REACH + 1)
            if j != at and j in levels and j in places
        ]  # fmt: skip
        if not near:
            continue
        weights = np.stack([_all_rows(is_dark[places[j]], height) for j in near])
        weights = weights / np.array([float(j - at) ** 2 for j in near])[:, None]
        total = weights.sum(axis=0)
        is_known = total > 0.0
        if np.mean(is_known) < MIN_KNOWN:
            continue
        weights = (weights / np.maximum(total, 1e-9)).astype(np.float32)
        stack = np.stack([levels[j] for j in near])
        background = np.einsum("jr,jrb->rb", weights, stack)
        # What passes by is in few of the nearest: their median does not see it.
        nearest = np.argsort([abs(j - at) for j in near], kind="stable")[:N_NEAREST]
        dark = np.where((weights[nearest] > 0.0)[..., None], stack[nearest], background)
        background = np.median(dark, axis=0).astype(np.float32)
        found.append((at, background, is_known))
    if not found:
        return None
    index = np.array([item[0] for item in found], dtype=np.int64)
    height = found[0][1].shape[0]
    background = np.stack([item[1] for item in found])
    is_known = np.stack([item[2] for item in found])
    excess = np.stack([levels[k] for k in index.tolist()]) - background
    is_free = np.stack([clean[k] for k in index.tolist()])
    is_lit = np.stack([_all_rows(lighting.is_lit[places[k]], height) for k in index.tolist()])
    is_clipped = ~is_free & is_lit[..., None] & (background < CLIPPED_LEVEL)
    n_lit = np.maximum(is_lit.sum(axis=1) * excess.shape[2], 1)
    return LitFrames(
        index=index,
        excess=np.where(is_known[..., None], excess, np.float32(0.0)),
        background=background,
        is_clean=is_free & is_known[..., None],
        is_known=is_known,
        share=np.stack([_all_rows(lighting.share[places[k]], height) for k in index.tolist()]),
        variance=_all_rows(lighting.variance, height),
        clipped_share=is_clipped.sum(axis=(1, 2)) / n_lit,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pattern:
    """What full light adds to every cell, and what that is known from.

    Parameters
    ----------
    light : ndarray, shape (f, h)
        Share of full light in each row of the frames, 0 in those that were left out.
    product, power : ndarray, shape (h, b)
        Sums over the frames of light times excess and of squared light.
    usual : ndarray, shape (h, b)
        What full light adds to cells of like place and brightness, in levels.
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

    def scaled(self, gain: float) -> Pattern:
        """Return the pattern of light that is brighter by a factor."""
        return Pattern(
            light=self.light / gain,
            product=self.product / gain ** (TRUST_POWER),
            power=self.power / gain ** (TRUST_POWER + 1),
            usual=self.usual * gain,
            spread=self.spread * gain,
        )

    def without(self, lit: LitFrames, i: int) -> tuple[Floats, Floats]:
        """Return what all frames but one tell of it, and the variance of that, shape (h, b).

        A frame whose own light made the pattern would agree with it wherever its edges were.
        """
        light = self.light[i]
        own = _trust(light)[:, None] * lit.is_clean[i]
        product, power = self.product - own * lit.excess[i], self.power - own * light[:, None]
        power = np.maximum(power, 0.0)
        levels = _blended(product, power, self.usual)
        total = power + PRIOR_FRAMES
        unsure = (PRIOR_FRAMES * self.spread / total) ** 2 + lit.variance * power / total**2
        return levels, unsure


def find_pattern(lit: LitFrames, light: Floats) -> Pattern:
    """Return what full light adds to every cell, by least squares over the frames.

    Cells that hardly any frame shows in the light take after those of like brightness in their
    column block, by a plane over row and brightness.

    Parameters
    ----------
    lit : LitFrames
        Frames.
    light : ndarray, shape (f, h)
        Share of full light in each row.
    """
    clean, trust = lit.is_clean, _trust(light)
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


def row_light(lit: LitFrames, levels: Floats) -> tuple[Floats, Floats]:
    """Return the light of every row as a share of full light, and its inverse variance, (f, h)."""
    weight = levels / lit.variance
    info = np.einsum("rb,frb->fr", levels * weight, lit.is_clean)
    light = np.einsum("rb,frb,frb->fr", weight, lit.excess, lit.is_clean)
    return light / np.maximum(info, 1e-9), np.minimum(info, MAX_INFO) * lit.is_known


def _trust(light: Floats) -> Floats:
    """Return how much the light of a row counts: on a ramp, it is as uncertain as the edge."""
    return light**TRUST_POWER


def _blended(product: Floats, power: Floats, usual: Floats) -> Floats:
    levels = (product + PRIOR_FRAMES * usual) / (power + PRIOR_FRAMES)
    return np.maximum(levels, 0.0)


def _all_rows(values: NDArray[_Value], height: int) -> NDArray[_Value]:
    """Return what was found for every so manieth row for all rows of a picture."""
    n = values.shape[0]
    found: NDArray[_Value] = values[np.minimum(np.arange(height) * n // height, n - 1)]
    return found
