"""Learn the ramp and the pattern that all flashes of a camera share, and time them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from scipy.optimize import least_squares

from syncaudit.detectors.flash.between_frames import is_no_gain
from syncaudit.detectors.flash.edges import MAX_CLIPPED, Edge, time_edges
from syncaudit.detectors.flash.lit_frames import LitFrames
from syncaudit.detectors.flash.pattern import DARK_SHARE, find_exposures, find_pattern, row_light
from syncaudit.detectors.flash.ramp_fit import FrameEdges, band_height_px, fit_rows, rough_edges
from syncaudit.detectors.flash.reached_rows import first_light, full_scale
from syncaudit.detectors.flash.shape import RampShape

__all__ = ["MIN_FRAMES", "Learnt", "learn"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Fewer frames tie no two clocks (chance finds two of anything), and teach no pattern.
MIN_FRAMES = 3
# A frame that is lit alike everywhere dates nothing; an exposure that answers the light (auto-
# exposure) dims it in the frames that follow.
MIN_CONTRAST = 0.4
MAX_UNLIKE = 0.15
SMOOTH_ROWS = 9
N_ROUNDS = 14
SETTLED = 0.003
# Frames that the shape is learnt from.
N_LEARNT = 16
WHOLLY_LIT = FrameEdges(rows=(), signs=(), is_lit=True)
# Ramps that are tried first, in rows.
FIRST_RAMPS_PX = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
FIRST_BEND = 0.1
# A tail is believed where it leaves this share of what a box leaves.
TAIL_GAIN = 0.8
FIRST_TAIL = 0.9
MAX_BEND, BOUND = 0.9, 1e-3
# Tone curves bend upwards; the foot of a light that rises evenly is a parabola, which is a bend of
# -1. What is nearer to that is no ramp, but the foot of a longer one.
MIN_BEND = -0.5
MAX_TAIL = 0.98
MIN_TAIL = 0.03
MAX_RAMP_PX = 1500.0
# Full light is not taken for more than so many times too small or too large at first.
MAX_GAIN = 2.0
# Ramps of a light that goes on at once are as long as the exposure within this factor.
LONGER = 1.25
# Misfits beyond so many deviations count linearly.
ROBUST_SIGMAS = 10.0
N_STEPS = 10
# Rows are binned while the shape is fitted, into so many a ramp and a picture, or more.
BINS_PER_RAMP, BINS_PER_PICTURE = 40, 120
# What is known of the half-light row: from few frames hardly anything, from more what an encoder
# adds (measured with x264 at crf 23-28) and what a tone curve hides.
MIN_POOLED = 4
UNPOOLED_SHARE = 0.25
POOLED_SHARE = 0.03
ENCODED_ROWS = 1.5
# Frames that are fitted so many times worse than most (two flashes at once, a car that passes)
# teach nothing, nor do clipped ones.
UNUSUAL = 2.0
LEAST_MISFIT = 0.01


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Learnt:
    """Edges of all frames, and what they have in common.

    Parameters
    ----------
    edges : list of Edge
        In the order of frames and rows.
    n_tried : int
        Edges that were tried.
    shape : RampShape
        Of their ramps.
    half_std_px : float
        Error of the half-light row of that shape.
    shape_std_px : float
        Error that all rows have in common, where that shape stands for another.
    whole : dict of int to int
        Frames that are the first to show a light on (+1) or off (-1) in all rows, and which.
    is_light : bool
        Whether that is no gain, by those frames alone.
    """

    edges: list[Edge]
    n_tried: int
    shape: RampShape
    half_std_px: float
    shape_std_px: float = 0.0
    whole: Mapping[int, int] = field(default_factory=dict)
    is_light: bool = False


def learn(lit: LitFrames, *, exposure_px: float | None = None) -> Learnt | None:
    """Return the edges of light in some frames, None where their ramps have no shape in common.

    What full light adds to each cell, the shape of the ramps and the rows of the edges are
    estimated in turn until the shape settles. The shape is fitted with the rows free (variable
    projection, by a few Gauss-Newton steps inside of each).

    Parameters
    ----------
    lit : LitFrames
        From `gather_lit`.
    exposure_px : float, optional
        Exposure in rows, where stated: a light whose ramps are longer rises while rows expose.
    """
    light = first_light(lit)
    smooth = uniform_filter1d(light, SMOOTH_ROWS, axis=1)
    has_ramp = np.ptp(smooth, axis=1) > MIN_CONTRAST
    is_full = _is_full(lit, smooth) & ~has_ramp
    first = is_full & ~lit.is_late
    is_light = bool(first.sum() > 1) and is_no_gain(lit.excess[first], lit.background[first])
    whole = _whole_pulses(lit, (smooth.min(axis=1) > MIN_CONTRAST) & ~has_ramp)
    whole |= zip(lit.index[first].tolist(), lit.sense[first].tolist(), strict=True)
    if np.count_nonzero(has_ramp) < MIN_FRAMES:
        none = RampShape(0.0)
        return Learnt(
            edges=[], n_tried=0, shape=none, half_std_px=0.0, whole=whole, is_light=is_light
        )
    has_ramp &= ~lit.is_late
    taken = has_ramp | is_full
    lit, light, is_full = lit.take(taken), light[taken], ~has_ramp[taken]
    rough_of = partial(_rough, sense=lit.sense, has_ramp=~is_full)
    foretold, stays = lit, 2 * np.count_nonzero(lit.sense) > lit.sense.size
    is_clear = lit.clipped_share < MAX_CLIPPED
    shape = RampShape(FIRST_RAMPS_PX[4], 0.0, FIRST_BEND)
    band_px = None
    for n_round in range(N_ROUNDS):
        pattern = find_pattern(lit, np.clip(light, 0.0, 1.0) * is_clear[:, None])
        light, info = row_light(lit, pattern.levels)
        if n_round == 0:
            full = full_scale(light, info)
            pattern, light, info = pattern.scaled(full), light / full, info * full**2
            shape = _first_shape(light, info, is_clear, rough_of)
        rough = rough_of(light / shape.peak, info, shape)
        told = np.where(is_full[:, None], _scale_info(foretold), info)
        sample = _Sample.of(light, told, rough, is_clear, is_full)
        if not sample.edges:
            return None
        before = shape
        if n_round == 1:
            fitted = _fit_shape(sample, _tailed(shape), exposure_px or sample.band_px)
            box = _fit_shape(sample, shape)
            fitted = fitted if fitted.cost < TAIL_GAIN * box.cost else box
        else:
            fitted = _fit_shape(sample, shape, band_px)
        band_px = fitted.band_px
        if n_round and stays and exposure_px and not fitted.shape.blur_px:
            length = fitted.shape.ramp_px + 2.0 * fitted.shape.tail_px
            if length > LONGER * exposure_px:
                rise_px = float(np.sqrt(length**2 - exposure_px**2))
                rising = RampShape(rise_px, 0.0, shape.bend, exposure_px)
                fitted, band_px = _fit_shape(sample, rising), None
        shape, gain = fitted.shape, fitted.gain
        pattern, light, info = pattern.scaled(gain), light / gain, info * gain**2
        rough = rough_of(light / shape.peak, info, shape)
        fit = fit_rows(light, info, rough, shape, band_px=band_px)
        misfit = np.sqrt(np.average((light - fit.light) ** 2, axis=1, weights=info + 1e-12))
        has_edges = np.array([bool(edges.rows) for edges in rough])
        usual = float(np.median(misfit[has_edges])) if has_edges.any() else 0.0
        is_clear = (lit.clipped_share < MAX_CLIPPED) & (misfit <= UNUSUAL * usual + LEAST_MISFIT)
        change = abs(shape.length_px - before.length_px) / shape.length_px
        is_settled = n_round > 1 and max(change, abs(shape.bend - before.bend)) < SETTLED
        if is_settled or n_round == N_ROUNDS - 1:
            break
        light = fit.light
        lit = find_exposures(lit, pattern.levels, light, foretold)
    if _n_peaks(fit.light / shape.peak) < MIN_FRAMES or shape.bend < MIN_BEND:
        return None
    if shape.blur_px:  # pulses draw other ramps
        rough = [
            edges if own else replace(edges, rows=(), signs=())
            for edges, own in zip(rough, lit.sense.tolist(), strict=True)
        ]
    return Learnt(
        edges=time_edges(lit, pattern, rough, fit, shape),
        n_tried=sum(len(edges.rows) for edges in rough),
        shape=shape,
        half_std_px=_half_std_px(shape, int(np.count_nonzero(is_clear))),
        # What no row shows of the light is drawn by the shape alone.
        shape_std_px=UNPOOLED_SHARE * shape.half_px * (1.0 - shape.peak),
        whole=whole,
        is_light=is_light,
    )


def _is_full(lit: LitFrames, smooth: Floats) -> Bools:
    """Return which frames a light that stays lights wholly: they show what full light adds.

    Such frames are alike; a ramp that the border cuts differs from them.
    """
    found: Bools = (lit.sense != 0) & (smooth.min(axis=1) > MIN_CONTRAST)
    if found.any():
        share = smooth / np.maximum(np.median(smooth, axis=1, keepdims=True), 1e-3)
        alike = share / np.maximum(np.median(share[found], axis=0), 1e-3)
        found &= np.ptp(alike, axis=1) < MAX_UNLIKE
    return found


def _whole_pulses(lit: LitFrames, is_whole: Bools) -> dict[int, int]:
    """Return the frames that are the first to show a pulse whole (+1), or dark again (-1).

    All rows of the frames in between are lit about alike, and the frames beside are dark.
    """
    lit_at, seen = set(lit.index[is_whole & (lit.sense == 0)].tolist()), set(lit.index.tolist())
    first = {k: 1 for k in lit_at if k - 1 not in seen}
    return first | {k + 1: -1 for k in lit_at if k + 1 not in seen}


def _n_peaks(light: Floats) -> int:
    """Return how many frames show full light, or where it is brightest, away from the border.

    What is no more than a part of a ramp looks like a ramp of its own, with another half. Frames
    that show all of one, from darkness to full light, count twice.
    """
    inner = light[:, SMOOTH_ROWS:-SMOOTH_ROWS]
    peak = inner.max(axis=1, initial=0.0)
    border = np.maximum(light[:, 0], light[:, -1])
    is_full = peak > 1.0 - DARK_SHARE
    is_whole = is_full & (inner.min(axis=1, initial=1.0) < DARK_SHARE)
    return int(np.count_nonzero(is_full | (peak > border + DARK_SHARE)) + is_whole.sum())


def _scale_info(lit: LitFrames) -> Floats:
    """Return what each row of frames in full light tells of it: all err alike, by the scale."""
    height = lit.share.shape[1]
    info: Floats = np.repeat(lit.scale_std[:, None] ** -2.0 / height, height, axis=1)
    return info


def _half_std_px(shape: RampShape, n: int) -> float:
    """Return the error of the half-light row of a shape that n frames tell."""
    if n < MIN_POOLED:
        return UNPOOLED_SHARE * shape.half_px
    return float(np.hypot(ENCODED_ROWS, POOLED_SHARE * shape.half_px))


def _rough(
    light: Floats, info: Floats, shape: RampShape, *, sense: NDArray[np.int64], has_ramp: Bools
) -> list[FrameEdges]:
    """Return first guesses of the edges; none for frames that are lit wholly.

    A light that stays changes once in a frame: what else seems to is somebody who walks by.
    """
    found = []
    for row, weight, own, has_any in zip(light, info, sense.tolist(), has_ramp, strict=True):
        is_known = weight > 0.0
        edges = rough_edges(row, is_known, shape.length_px) if has_any else WHOLLY_LIT
        if own and len(edges.rows) > 1:
            n_lit = row.size * float(np.clip(row[is_known], 0.0, 1.0).mean())
            edges = FrameEdges(rows=(row.size - n_lit,), signs=(1,), is_lit=False)
        found.append(replace(edges, is_off=own < 0))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """Frames that the shape is learnt from."""

    light: Floats
    info: Floats
    edges: Sequence[FrameEdges]
    bin_px: int = 1

    @classmethod
    def of(
        cls,
        light: Floats,
        info: Floats,
        edges: Sequence[FrameEdges],
        is_clear: Bools,
        is_full: Bools | None = None,
    ) -> _Sample:
        """Return the clear frames with edges and those in full light, or an even choice of each."""
        some = [i for i, own in enumerate(edges) if own.rows and is_clear[i]]
        # Of lights that go on and off by turns, an even choice would be all of one kind.
        some.sort(key=lambda i: edges[i].is_off)
        some = some[:: max(1, len(some) // N_LEARNT)]
        if some and is_full is not None:
            full = np.flatnonzero(is_full).tolist()
            some += full[:: max(1, len(full) // N_LEARNT)]
        return cls(light[some], info[some], [edges[i] for i in some])

    @property
    def band_px(self) -> float:
        """Return how high bands are, by the first guesses of their edges."""
        height_px = band_height_px(self.edges, [own.rows for own in self.edges])
        return height_px or float(self.light.shape[1])

    def settled(self, shape: RampShape, band_px: float | None) -> _Sample:
        """Return the frames in bins of their rows, with their edges where a shape fits them."""
        fitted = fit_rows(self.light, self.info, self.edges, shape, band_px=band_px).rows
        edges = [
            replace(own, rows=tuple(rows[: len(own.rows)].tolist()))
            for own, rows in zip(self.edges, fitted, strict=True)
        ]
        length_px, n_rows = shape.ramp_px + 2.0 * shape.tail_px, self.light.shape[1]
        bin_px = max(1, int(min(length_px / BINS_PER_RAMP, n_rows / BINS_PER_PICTURE)))
        height = n_rows // bin_px * bin_px
        product, info = (
            values[:, :height].reshape(len(edges), -1, bin_px).sum(axis=2)
            for values in (self.light * self.info, self.info)
        )
        light = product / np.maximum(info, 1e-12)
        return replace(self, light=light, info=info, edges=edges, bin_px=bin_px)

    def misfit(
        self, shape: RampShape, n: int, gain: float = 1.0, band_px: float | None = None
    ) -> Floats:
        """Return the weighted residuals, the rows fitted, were full light brighter by a factor."""
        light, info = self.light / gain, self.info * gain**2
        fit = fit_rows(light, info, self.edges, shape, n, self.bin_px, band_px)
        left: Floats = np.sqrt(info) * (light - fit.light)
        return left.ravel()


def _first_shape(
    light: Floats,
    info: Floats,
    is_clear: Bools,
    rough_of: Callable[[Floats, Floats, RampShape], list[FrameEdges]],
) -> RampShape:
    shapes = [RampShape(ramp, 0.0, FIRST_BEND) for ramp in FIRST_RAMPS_PX]
    costs = []
    for shape in shapes:
        sample = _Sample.of(light, info, rough_of(light, info, shape), is_clear)
        left = sample.misfit(shape, 4) if sample.edges else np.array([np.inf])
        costs.append(float(np.sum(np.minimum(left**2, ROBUST_SIGMAS**2))))
    return shapes[int(np.argmin(costs))]


def _tailed(shape: RampShape) -> RampShape:
    length = shape.ramp_px
    return RampShape(length * (1.0 - FIRST_TAIL), 0.5 * length * FIRST_TAIL, FIRST_BEND)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    """A shape, by what factor full light was taken too small, what both leave, and band heights."""

    shape: RampShape
    gain: float
    cost: float
    band_px: float | None


def _fit_shape(sample: _Sample, start: RampShape, band_px: float | None = None) -> _Fitted:
    """Return the shape that draws some frames best, one with a tail where bands have a height.

    A tail outlasts every exposure, so that all bands are as high as rows are exposed for. Where
    that is so short that no row shows full light, only the height tells how much it is.
    """
    settled, has_tail = sample.settled(start, band_px), band_px is not None

    def height_of(x: Floats) -> float | None:
        return float(np.exp(x[4])) if has_tail else None

    def shape_of(x: Floats) -> RampShape:
        length, height_px = float(np.exp(x[0])), height_of(x)
        if height_px is None:
            return RampShape(length, 0.0, float(x[1]), start.blur_px)
        part = float(x[3]) if x[3] >= MIN_TAIL else 0.0
        shape = RampShape(length * (1.0 - part), 0.5 * length * part, float(x[1]))
        return replace(shape, peak=float(shape.cdf(np.array([height_px - shape.half_px]))[0]))

    def residuals(x: Floats) -> Floats:
        return settled.misfit(shape_of(x), 2, float(x[2]), height_of(x))

    length = start.ramp_px + 2.0 * start.tail_px
    tail_part, height = 2.0 * start.tail_px / length, np.log(band_px or 1.0)
    first = [np.log(length), start.bend, 1.0, tail_part, height]
    low = np.array([0.0, -MAX_BEND, 1.0 / MAX_GAIN, -1e-9, -1.0])
    high = np.array([np.log(MAX_RAMP_PX), MAX_BEND, MAX_GAIN, MAX_TAIL, np.log(2.0 * MAX_RAMP_PX)])
    n = 5 if has_tail else 3
    found = least_squares(
        residuals,
        np.clip(first, low + BOUND, high - BOUND)[:n],
        bounds=(low[:n], high[:n]),
        loss="soft_l1",
        f_scale=ROBUST_SIGMAS,
        diff_step=np.full(n, 0.02),
        max_nfev=N_STEPS,
    )
    x = found.x
    return _Fitted(
        shape=shape_of(x), gain=float(x[2]), cost=float(found.cost), band_px=height_of(x)
    )
