"""Learn the ramp and the pattern that all flashes of a camera share, and time them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from scipy.ndimage import uniform_filter1d

from syncaudit.detectors.flash.edges import MAX_CLIPPED, Edge, time_edges
from syncaudit.detectors.flash.lighting import MAX_ANSWER, is_no_gain
from syncaudit.detectors.flash.lit_frames import LitFrames
from syncaudit.detectors.flash.pattern import (
    DARK_SHARE,
    brightness_ratio,
    find_exposures,
    find_pattern,
    first_light,
    full_scale,
    row_light,
)
from syncaudit.detectors.flash.shape import (
    LIKE_EXPOSURE,
    FrameEdges,
    RampShape,
    fit_rows,
    rough_edges,
)
from syncaudit.detectors.flash.shape_fit import Sample, edge_errors, first_shape, fit_shape, tailed
from syncaudit.model.arrays import Bools, Floats, Ints

# Fewer frames cannot relate two clocks (any two may agree by chance), nor determine a pattern.
MIN_FRAMES = 3
# A frame that is lit evenly everywhere dates nothing; auto-exposure that responds to the light dims
# it in the frames that follow.
MIN_CONTRAST = 0.4
# The percentile over lit frames that stands for the change by a whole light between two frames.
FULL_PERCENTILE = 90.0
MAX_RANGE = 0.15
SMOOTH_ROWS = 9
N_ROUNDS = 14
SETTLED = 0.003
WHOLLY_LIT = FrameEdges(rows=(), signs=(), is_lit=True)
# A tail is accepted if its residual cost is below this share of that of a box.
TAIL_GAIN = 0.8
# Tone curves bend upwards; the foot of a light that rises linearly is a parabola, which is a bend
# of -1. A curve nearer to that is not a ramp but the foot of a longer one, unless bands show all of
# it and are so narrow that the encoder rounds their edges.
MIN_BEND = -0.5
# Bands of pulses are at least as high as this share of the exposure.
LEAST_BAND = 0.9
# Error of the half-light row: from few frames hardly anything is known of it; from more, the error
# is what an encoder adds (measured with x264 at crf 23-28) and what a tone curve hides.
MIN_POOLED = 4
UNPOOLED_SHARE = 0.25
POOLED_SHARE = 0.03
ENCODED_ROWS = 1.5
# Share of the switches by which those in one order of rows must outnumber the others.
MIN_IN_ORDER = 0.8
# Frames fitted this many times worse than most (two flashes at once, a passing car) are not used
# for learning, nor are clipped ones.
UNUSUAL = 2.0
LEAST_MISFIT = 0.01


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Learnt:
    """Edges of all frames, in the order of frames and rows, and what they have in common.

    Of `n_tried` edges these passed. `shape` is that of their ramps, `half_std_px` the error of its
    half-light row, `shape_std_px` the error common to all rows where that shape stands in for
    another. `whole` are the frames that are the first to show a light on (+1) or off (-1) in all
    rows; `is_light`: those frames alone show that a light changed rather than the gain.
    """

    edges: list[Edge]
    n_tried: int
    shape: RampShape
    half_std_px: float
    shape_std_px: float = 0.0
    whole: Mapping[int, int] = field(default_factory=dict)
    is_light: bool = False


def learn(lit: LitFrames, *, exposure_px: float | None = None) -> Learnt | None:
    """Return the edges of light in some frames, or None where their ramps share no shape.

    What full light adds to each cell, the shape of the ramps and the rows of the edges are
    estimated in turn until the shape settles. The shape is fitted with the rows free (variable
    projection, by a few Gauss-Newton steps inside each evaluation). A light with ramps longer than
    the stated exposure (in rows) rises while rows are exposed.
    """
    every, light = lit, first_light(lit)
    smooth, has_ramp, is_lit = _classified(light)
    is_full = is_lit & (lit.sense != 0)  # shows what full light adds
    if is_full.any():
        # Such frames resemble each other; a ramp cut by the image border differs from them.
        share = smooth / np.maximum(np.median(smooth, axis=1, keepdims=True), 1e-3)
        relative = share / np.maximum(np.median(share[is_full], axis=0), 1e-3)
        is_full &= (np.ptp(relative, axis=1) < MAX_RANGE) & ~has_ramp
    first = is_full & ~lit.is_late
    is_light = bool(first.sum() > 1) and is_no_gain(lit.excess[first], lit.background[first])
    whole = _whole_pulses(lit, is_lit & ~has_ramp)
    whole |= zip(lit.index[first].tolist(), lit.sense[first].tolist(), strict=True)
    if np.count_nonzero(has_ramp) < MIN_FRAMES:
        none = RampShape(0.0)
        return Learnt(
            edges=[], n_tried=0, shape=none, half_std_px=0.0, whole=whole, is_light=is_light
        )
    has_ramp &= ~lit.is_late
    taken = has_ramp | is_full
    lit, light, is_full = lit.take(taken), light[taken], ~has_ramp[taken]
    rough_of = partial(_rough, sense=lit.sense, has_ramp=~is_full, exposure_px=exposure_px)
    gathered, stays = lit, 2 * np.count_nonzero(lit.sense) > lit.sense.size
    is_clear = lit.clipped_share < MAX_CLIPPED
    shape, band_px = RampShape(0.0), None
    for n_round in range(N_ROUNDS):
        pattern = find_pattern(lit, np.clip(light, 0.0, 1.0) * is_clear[:, None])
        light, info = row_light(lit, pattern.levels)
        if n_round == 0:
            full = full_scale(light, info)
            pattern, light, info = pattern.scaled(full), light / full, info * full**2
        ratio = brightness_ratio(lit, pattern.levels)
        if n_round == 0:
            shape = first_shape(light, info, is_clear, ratio, rough_of)
        shape = replace(shape, ratio=ratio)
        rough = rough_of(light, info, shape, band_px)
        # The scale of frames in full light is an error common to their rows.
        scale_info = gathered.scale_std[:, None] ** -2.0 / info.shape[1]
        row_info = np.where(is_full[:, None], scale_info, info)
        sample = Sample.of(light, row_info, rough, is_clear, is_full)
        if not sample.edges:
            return None
        before, fit_to = shape, partial(fit_shape, sample, exposure_px=exposure_px)
        if n_round == 1 and not stays:  # bands of a lasting light have no height
            height_px = sample.band_px and (exposure_px or sample.band_px)
            tail = fit_to(tailed(shape), height_px, is_first=True)
            box = fit_to(shape, is_first=True)
            fitted = tail if tail.cost < TAIL_GAIN * box.cost else box
        else:
            fitted = fit_to(shape, band_px, is_first=n_round < 2)
        band_px = fitted.band_px
        if n_round and stays and exposure_px and not fitted.shape.blur_px:
            length = fitted.shape.ramp_px + 2.0 * fitted.shape.tail_px
            if length > LIKE_EXPOSURE * exposure_px:
                rise_px = float(np.sqrt(length**2 - exposure_px**2))
                rising = replace(shape, ramp_px=rise_px, blur_px=exposure_px)
                fitted, band_px = fit_to(rising), None
        shape, gain = fitted.shape, fitted.gain
        pattern, light, info = pattern.scaled(gain), light / gain, info * gain**2
        rough = rough_of(light, info, shape, band_px)
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
        lit = find_exposures(lit, pattern.levels, light, gathered)
    is_foot = shape.bend < MIN_BEND and not _shows_bands(fit.light)
    if not _shows_ends(fit.light) or is_foot:
        return None
    if shape.blur_px:  # pulses draw other ramps
        rough = [
            edges if own else replace(edges, rows=(), signs=())
            for edges, own in zip(rough, lit.sense.tolist(), strict=True)
        ]
    # The pattern shows which frames are lit in all rows, however unevenly.
    _, has_any, is_lit = _classified(row_light(every, pattern.levels)[0])
    whole |= _whole_pulses(every, is_lit & ~has_any)
    row_std, common_std = edge_errors(fitted, light, info, rough, fit)
    half_std_px = UNPOOLED_SHARE * shape.half_px
    if np.count_nonzero(is_clear) >= MIN_POOLED:
        half_std_px = math.hypot(ENCODED_ROWS, POOLED_SHARE * shape.half_px)
    return Learnt(
        edges=time_edges(lit, pattern, rough, fit, shape, row_std),
        n_tried=sum(len(edges.rows) for edges in rough),
        shape=shape,
        half_std_px=half_std_px,
        # Light that no row shows is known from the shape alone.
        shape_std_px=math.hypot(UNPOOLED_SHARE * shape.half_px * (1.0 - shape.peak), common_std),
        whole=whole,
        is_light=is_light,
    )


def _classified(light: Floats) -> tuple[Floats, Bools, Bools]:
    """Return light smoothed along the rows, and which frames show a ramp, or light in all rows.

    `light`, shape (f, h): share of full light in each row.
    """
    smooth = uniform_filter1d(light, SMOOTH_ROWS, axis=1)
    return smooth, np.ptp(smooth, axis=1) > MIN_CONTRAST, smooth.min(axis=1) > MIN_CONTRAST


def find_order(lit: LitFrames) -> int:
    """Return +1 if lasting lights show that the first row is read first, -1 if the last, else 0.

    A light that goes on or off during the readout and stays so shows in all rows read after it.
    """
    smooth, has_ramp, _ = _classified(first_light(lit))
    is_switch = has_ramp & (lit.sense != 0) & ~lit.is_late
    rows = np.linspace(-1.0, 1.0, smooth.shape[1])
    signs = np.sign(np.clip(smooth[is_switch], 0.0, 1.0) @ rows)
    is_shown = signs.size >= MIN_FRAMES and abs(signs.mean()) > MIN_IN_ORDER
    return int(np.sign(signs.mean())) if is_shown else 0


def _whole_pulses(lit: LitFrames, is_whole: Bools) -> dict[int, int]:
    """Return the frames that are the first to show a pulse in all rows (+1), or none of it (-1).

    All rows of the frames in between are lit about equally, and the frames beside are dark. A frame
    that is only darker than the one before may be lit as well: auto-exposure responds to the light.
    """
    is_whole = is_whole & (lit.sense == 0)
    if not is_whole.any():
        return {}
    least = MAX_ANSWER * float(np.percentile(np.maximum(lit.rise, lit.fall), FULL_PERCENTILE))
    seen = set(lit.index.tolist())
    first = {k: 1 for k in lit.index[is_whole & (lit.rise > least)].tolist() if k - 1 not in seen}
    last = lit.index[is_whole & (lit.fall > least)].tolist()
    return first | {k + 1: -1 for k in last if k + 1 not in seen}


def _shows_ends(light: Floats) -> bool:
    """Return whether enough frames show full light, and any of them the dark end of a ramp.

    A mere part of a ramp looks like a ramp of its own, with another half-light row. Light that is
    brightest away from the image border is as good as full. Frames that show all of a ramp, from
    darkness to full light, count twice.
    """
    inner = light[:, SMOOTH_ROWS:-SMOOTH_ROWS]
    peak = inner.max(axis=1, initial=0.0)
    border = np.maximum(light[:, 0], light[:, -1])
    is_full = peak > 1.0 - DARK_SHARE
    is_dark = inner.min(axis=1, initial=1.0) < DARK_SHARE
    n_full = np.count_nonzero(is_full | (peak > border + DARK_SHARE))
    return bool(is_dark.any() and n_full + np.count_nonzero(is_full & is_dark) >= MIN_FRAMES)


def _shows_bands(light: Floats) -> bool:
    """Return whether enough frames show full light between dark rows."""
    border = np.maximum(light[:, 0], light[:, -1])
    is_band = (light.max(axis=1) > 1.0 - DARK_SHARE) & (border < DARK_SHARE)
    return bool(np.count_nonzero(is_band) >= MIN_FRAMES)


def _full_at(light: Floats) -> float:
    """Return what full light shows in a few outer rows, as a share of the pattern.

    No other rows show it, so where all frames that light them agree, the pattern is wrong there:
    ramps that the image border cuts differ from frame to frame. `light`: shape (f, n).
    """
    levels = light.mean(axis=1)
    brightest = levels[levels > max(0.5, levels.max() - MAX_RANGE)]
    return float(np.median(brightest)) if brightest.size >= MIN_FRAMES else 1.0


def _rough(
    light: Floats,
    info: Floats,
    shape: RampShape,
    band_px: float | None = None,
    *,
    sense: Ints,
    has_ramp: Bools,
    exposure_px: float | None,
) -> list[FrameEdges]:
    """Return first guesses of the edges; none for frames that are lit completely.

    A lasting light changes once per frame: any other apparent change is somebody walking by. Bands
    of pulses are at least as high as the exposure.
    """
    found = []
    least_px = LEAST_BAND * (exposure_px or 0.0)
    full = _full_at(light[:, :SMOOTH_ROWS]), _full_at(light[:, -SMOOTH_ROWS:])
    for row, weight, own, has_any in zip(light, info, sense.tolist(), has_ramp, strict=True):
        edges = WHOLLY_LIT
        if has_any:
            least = 0.0 if own else least_px
            edges = rough_edges(row, weight > 0.0, shape.length_px, least_px=least, full=full)
        if own and len(edges.rows) > 1:
            n_lit = row.size * float(np.clip(row[weight > 0.0], 0.0, 1.0).mean())
            edges = FrameEdges(rows=(row.size - n_lit,), signs=(1,), is_lit=False)
        edges = replace(edges, is_off=own < 0)
        found.append(edges if band_px is None else edges.with_hidden(band_px))
    return found
