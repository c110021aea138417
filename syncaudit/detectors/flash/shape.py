"""Fit the rows at which light goes on and off, by the ramps that a rolling shutter draws.

The light going on is modelled as the rows show it, through a tone curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.ndimage import median_filter, uniform_filter1d

from syncaudit.model.arrays import Bools, Floats

# Shortest ramp: the encoder's block filters leave no edge sharper.
MIN_RAMP_PX = 1.0
# Ramps of a light that goes on instantly are as long as the exposure, within this factor.
LIKE_EXPOSURE = 1.25
# Number of points between which the half-light row is interpolated.
N_HALF = 400
# Exponents of tone curves (1: linear): mean and deviation of typical ones, and those tried.
USUAL_GAMMA = (1.8, 0.5)
GAMMAS = np.linspace(0.2, 4.0, 96)
# Additional bend of curves of other forms.
OTHER_BEND = 0.1
# Ratio of brightness with and without light up to which any curve is a line.
MIN_RATIO = 1.01
# Lower limit of brightness: taking away more light than there was would make it negative.
LEAST = 1e-3

# Rows are smoothed over this share of a ramp, within these limits, before edges are looked for.
SMOOTH_SHARE = 0.3
SMOOTH_ROWS = (3, 41)
# Runs of rows shorter than this are noise.
MIN_RUN_ROWS = 7
# A ramp cut by the first or last rows of the image is looked for above this share of light.
MIN_CUT_LIGHT = 0.08
N_ITERATIONS = 8
CONVERGED_ROWS = 0.01
# Weight of a known distance between edges, as a multiple of the weight of the light.
TIED, TWO_TIED = 1e3, np.array([[1.0, -1.0], [-1.0, 1.0]])


@dataclass(frozen=True)
class RampShape:
    """A box of light with an exponential tail or a linear rise, seen through a tone curve.

    Rows that are exposed for E while a light is on for w gain light along a ramp of min(E, w)
    rows: the box. LEDs, screens and lamps look like this; xenon tubes give a short box with a long
    tail. The share of the light that has arrived x rows after the onset is::

        F(x) = (G(x) - G(x - ramp)) / ramp,   G(u) = u - tail * (1 - exp(-u / tail)) for u > 0

    A lasting light that rises linearly draws a ramp as long as its rise, and each instant of the
    rise one as long as E: the mean of F over the last `blur` rows instead. Relative to the rows
    that show most of the light, P, an image shows ``f(F / P)``, where f is its tone curve.

    Parameters
    ----------
    ramp_px : float
        Length of the box in rows.
    tail_px : float
        Decay constant of the tail.
    bend : float
        Bend of the tone curve: four times the excess over a half of what is shown of half of the
        light, in (-1, 1).
    blur_px : float
        Rows over which the light is averaged; it has no tail then.
    peak : float
        Most light that any row shows, as a share of all light: less than 1 where bands are short.
    ratio : float
        Brightness of the rows that show most of the light, over that without light.
    """

    ramp_px: float
    tail_px: float = 0.0
    bend: float = 0.0
    blur_px: float = 0.0
    peak: float = 1.0
    ratio: float = 1.0

    @cached_property
    def half_px(self) -> float:
        """Rows from the onset to half of the light."""
        if self.tail_px <= 0.0:
            return 0.5 * (self.ramp_px + self.blur_px)
        rows = np.linspace(0.0, self.ramp_px + 2.0 * self.tail_px, N_HALF)
        return float(np.interp(0.5, self._arrived(rows), rows))

    @property
    def reach_px(self) -> float:
        """Rows from the half-light row to where all but a twentieth has arrived."""
        return self.ramp_px + self.blur_px - self.half_px + 3.0 * self.tail_px

    @property
    def length_px(self) -> float:
        """Rows from the onset to where all but a twentieth has arrived."""
        return self.half_px + self.reach_px

    def cdf(self, x: Floats) -> Floats:
        """Return the share of light that has arrived x rows after the half-light row."""
        return self._arrived(x + self.half_px)

    def slope(self, x: Floats) -> Floats:
        """Return the derivative of `cdf`, smoothed over half a row."""
        arrived = self._arrived(np.stack((x + 0.25, x - 0.25)) + self.half_px)
        slope: Floats = 2.0 * (arrived[0] - arrived[1])
        return slope

    def shown(self, light: Floats, is_off: Bools) -> tuple[Floats, Floats]:
        """Return what an image shows of shares of light, and the derivative.

        Both are relative to the most that any row shows. A tone curve ``luma = light^(1/gamma)``
        shows of a share u of a light that makes an image `ratio` times as bright::

            f(u) = ((1 + u * (ratio^gamma - 1))^(1/gamma) - 1) / (ratio - 1)

        exactly for none and all of it. Any bend beyond what an exponent can produce is added as a
        parabola. Fitting the bend is as easy as fitting a parabola alone, which is 2 % off where a
        light makes an image four times as bright. `is_off`, broadcast to `light`: where the share
        is the darkness of a light that goes off, curves bend it the other way.
        """
        gamma, rest = self._gamma_and_rest
        ratio = max(self.ratio, MIN_RATIO)
        light = light / self.peak
        u = np.where(is_off, 1.0 - light, light)
        bright = np.maximum(1.0 + u * (ratio**gamma - 1.0), LEAST)
        luma = bright ** (1.0 / gamma)
        curve = (luma - 1.0) / (ratio - 1.0) + rest * u * (1.0 - u)
        slope = (ratio**gamma - 1.0) / (ratio - 1.0) / gamma * luma / bright
        slope = (slope + rest * (1.0 - 2.0 * u)) / self.peak
        return np.where(is_off, 1.0 - curve, curve), slope

    @cached_property
    def _gamma_and_rest(self) -> tuple[float, float]:
        """Return the exponent of the tone curve, and the bend of the additional parabola."""
        bends = _bend(GAMMAS, self.ratio)
        rest = self.bend - float(np.clip(self.bend, bends[0], bends[-1]))
        return float(np.interp(self.bend, bends, GAMMAS)), rest

    def _arrived(self, x: Floats) -> Floats:
        ramp, tail, blur = max(self.ramp_px, MIN_RAMP_PX), self.tail_px, self.blur_px
        u = np.maximum(np.stack((x, x - ramp)), 0.0)
        if blur > 0.0:
            u = 0.5 * (u**2 - np.maximum(u - blur, 0.0) ** 2) / blur
        elif tail > 0.0:
            u += tail * np.expm1(-u / tail)
        arrived: Floats = (u[0] - u[1]) / ramp
        return arrived


def usual_bend(ratio: float) -> tuple[float, float]:
    """Return mean and deviation of the bend of typical curves at a ratio of brightness."""
    mean, std = USUAL_GAMMA
    low, usual, high = _bend(np.array([mean - std, mean, mean + std]), ratio)
    return float(usual), float(np.hypot(0.5 * (high - low), OTHER_BEND))


def _bend(gamma: Floats, ratio: float) -> Floats:
    ratio = max(ratio, MIN_RATIO)
    half = (0.5 * (1.0 + ratio**gamma)) ** (1.0 / gamma)
    return np.asarray(4.0 * ((half - 1.0) / (ratio - 1.0) - 0.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameEdges:
    """First guesses of the edges in a frame.

    `rows` are from the top of the image to its bottom, or beyond where it cuts a ramp; `signs` +1
    where rows below are lit, -1 where rows above are; `is_lit`: the rows above the first are.
    `is_off`: lit means dark, since where a light goes off, the darkness is what is looked for.
    `hidden_px` is how far above the second edge the first lies, if above the image; 0 where it is
    seen.
    """

    rows: tuple[float, ...]
    signs: tuple[int, ...]
    is_lit: bool
    is_off: bool = False
    hidden_px: float = 0.0

    def at(self, rows: Floats) -> FrameEdges:
        """Return the same edges at other rows, the first ones of `rows`."""
        return replace(self, rows=tuple(rows[: len(self.rows)].tolist()))

    def with_hidden(self, height_px: float) -> FrameEdges:
        """Return the edges with the upper one of a band that the top of the image cuts.

        The part of a tail's light that has yet to arrive there is missing in the visible rows.
        """
        if not self.rows or not self.is_lit or self.is_off:
            return self
        rows, signs = (self.rows[0] - height_px, *self.rows), (1, *self.signs)
        return replace(self, rows=rows, signs=signs, is_lit=False, hidden_px=height_px)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RampFit:
    """Edges as fitted in f frames of h rows, of at most e edges each.

    `rows`, shape (f, e), are those of the edges, `light`, shape (f, h), what they draw, and
    `slope`, shape (f, e, h), its derivative with respect to the rows; 0 where a frame has fewer.
    """

    rows: Floats
    light: Floats
    slope: Floats


def rough_edges(
    light: Floats,
    is_known: Bools,
    ramp_px: float,
    *,
    least_px: float = 0.0,
    full: tuple[float, float] = (1.0, 1.0),
) -> FrameEdges:
    """Return where the light of a frame crosses a half, and the ramps that its border cuts.

    `light`, shape (h,): share of full light in each row, of which those in `is_known` count. No
    ramp cut by the border is nearer to the other edge of a band than `least_px`. `full`: what full
    light shows in the first rows and in the last.
    """
    length = int(np.clip(SMOOTH_SHARE * ramp_px, *SMOOTH_ROWS))
    smooth = uniform_filter1d(np.where(is_known, light, 0.0), length, mode="nearest")
    is_lit = median_filter((smooth > 0.5).astype(np.uint8), MIN_RUN_ROWS, mode="nearest") > 0
    change = np.flatnonzero(np.diff(is_lit.astype(np.int8)))
    rows = [float(row) + 0.5 for row in change]
    signs = [1 if is_lit[row + 1] else -1 for row in change]
    border = max(8, int(0.5 * ramp_px))
    # A ramp that the border cuts need not cross a half.
    for is_top in (True, False):
        near, level = (is_lit[:border], smooth[:5]) if is_top else (is_lit[-border:], smooth[-5:])
        is_bright = bool(near.all())
        share = float(level.mean()) / full[0 if is_top else 1]
        cut = 1.0 - share if is_bright else share
        if (near.any() and not is_bright) or cut <= MIN_CUT_LIGHT:
            continue
        beyond_px = (0.5 - cut) * ramp_px
        row = -beyond_px if is_top else light.size - 1 + beyond_px
        if is_bright and rows and (rows[0] - row if is_top else row - rows[-1]) < least_px:
            continue
        at = 0 if is_top else len(rows)
        rows.insert(at, row)
        signs.insert(at, 1 if is_bright == is_top else -1)
    is_first = signs[0] < 0 if signs else bool(is_lit[0])
    return FrameEdges(rows=tuple(rows), signs=tuple(signs), is_lit=is_first)


def fit_rows(
    light: Floats,
    weight: Floats,
    edges: Sequence[FrameEdges],
    shape: RampShape,
    n: int = N_ITERATIONS,
    band_px: float | None = None,
) -> RampFit:
    """Fit the rows of the edges by up to n Gauss-Newton steps, frame by frame, all at once.

    `light` and `weight`, shape (f, h): share of full light in each row, and its inverse variance;
    `edges`: first guesses for each frame; `band_px`: how far apart the edges of a band are, where
    that is known.
    """
    at, signs = (
        _padded(values) for values in zip(*((e.rows, e.signs) for e in edges), strict=True)
    )
    is_lit = np.array([[float(e.is_lit)] for e in edges])
    is_off = np.array([[e.is_off] for e in edges])
    rows = np.arange(light.shape[1], dtype=np.float64)
    limit = max(4.0, 0.3 * shape.length_px)
    moving = np.arange(len(edges) if at.size else 0)
    is_band = (signs[:, :-1] > 0) & (signs[:, 1:] < 0)
    apart = np.full(is_band.shape, band_px or 0.0)
    if band_px is None:
        hidden = np.array([[e.hidden_px] for e in edges])
        is_band &= (hidden > 0.0) & (np.arange(is_band.shape[1]) == 0)
        apart = apart + hidden
    for _ in range(n):
        if not moving.size:
            break
        curve, slope = _drawn(
            at[moving], signs[moving], is_lit[moving], is_off[moving], rows, shape
        )
        weighted = slope * weight[moving, None]
        normal = weighted @ np.swapaxes(slope, 1, 2)
        diagonal = np.einsum("fee->fe", normal)
        diagonal += 1e-6 * diagonal.max(axis=1, keepdims=True) + 1e-9
        right = weighted @ (light[moving] - curve)[..., None]
        if is_band.any():
            tie = TIED * diagonal.max(axis=1, keepdims=True) * is_band[moving]
            off = tie * (np.diff(at[moving], axis=1) - apart[moving])
            for j in range(tie.shape[1]):
                normal[:, j : j + 2, j : j + 2] += tie[:, j, None, None] * TWO_TIED
                right[:, j : j + 2, 0] += off[:, j, None] * TWO_TIED[0]
        step = np.clip(np.linalg.solve(normal, right)[..., 0], -limit, limit)
        at[moving] += step
        moving = moving[np.abs(step).max(axis=1) >= CONVERGED_ROWS]
    curve, slope = _drawn(at, signs, is_lit, is_off, rows, shape)
    return RampFit(rows=at, light=curve, slope=slope)


def _padded(values: Sequence[tuple[float, ...]]) -> Floats:
    found = np.zeros((len(values), max(map(len, values))))
    for row, own in zip(found, values, strict=True):
        row[: len(own)] = own
    return found


def _drawn(
    at: Floats, signs: Floats, is_lit: Floats, is_off: Bools, rows: Floats, shape: RampShape
) -> tuple[Floats, Floats]:
    """Return what edges at some rows draw, shape (f, h), and its derivatives, (f, e, h)."""
    apart = rows - at[..., None]
    signs = signs[..., None]
    light = np.clip(is_lit + np.sum(shape.cdf(apart) * signs, axis=1), 0.0, 1.0)
    frame, per_light = shape.shown(light, is_off)
    return frame, -shape.slope(apart) * signs * per_light[:, None]
