"""Gather the frames that show a light, each with what it would show without it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import theilslopes

from syncaudit.detectors.flash.lighting import (
    BLACK_LEVELS,
    CLIPPED_LEVEL,
    MAX_ANSWER,
    REACH,
    Lighting,
    grown,
)
from syncaudit.model.arrays import Bools, Floats, Ints, Singles

_Value = TypeVar("_Value", np.bool_, np.float64)

# Number of nearest frames whose median is the brightness without light.
N_NEAREST = 6
# Minimum number of rows, of those that are screened first, that a light reaches.
MIN_LIT_ROWS = 2
# Assumed change of exposure from frame to frame: at least this share, plus `MAX_ANSWER` of its
# latest change.
LEAST_UNSTEADY = 0.002
# Pulses of one light are equal to about 2 % (speedlights; LEDs are better).
UNLIKE_LIGHTS = 0.02
# Frames whose exposures differ by this share determine the black level to about one level.
MIN_ANSWER = 0.1
# Cells of one colour, apart from the rounding of a video, determine no proportion.
MIN_RANGE = 1.0
# Moving scenery flattens the line through their cells by its share of the variance, which may be at
# most this share of the exposure's response.
FLAT_SHARE = 0.1
# Minimum number of frames whose slopes show whether exposures differ or other light does; the
# percentile over a frame's rows that stands for the most light it shows.
MIN_SLOPES = 8
MOST_PERCENTILE = 95.0
# Minimum share of a frame's rows whose brightness without light must be known.
MIN_KNOWN = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LitFrames:
    """Frames in which a light goes on or off, with all their rows; arrays begin with shape (f,).

    `index` are their positions in file order. `excess` and `background`, shape (f, h, b), are
    light, and brightness without it, in levels; `is_clean`, the same shape, are the cells that are
    not clipped, in the rows in which that brightness is known (`is_known`, shape (f, h)). `share`,
    shape (f, h), is a first guess of the light, in units of the brightness without it; `variance`,
    shape (h, b), that of cells without light; `clipped_share` that of the lit cells that are
    clipped.

    `sense` is 0 for pulses; +1 where a lasting light goes on, -1 where it goes off: excess is then
    what the frame lacks relative to its background, which the frames before show. `is_late` are
    frames after those in which such a light changed. `rise` and `fall` are the median changes from
    the frame before, and to the frame after, in levels; positive where this frame is brighter, 0
    where that one is not at hand.

    `gain` is the exposure of each frame relative to that of its background, and `scale` its full
    excess relative to the usual one, each with its error; excess is corrected as if all were the
    same.
    """

    index: Ints
    excess: Singles
    background: Singles
    is_clean: Bools
    is_known: Bools
    share: Floats
    variance: Floats
    clipped_share: Floats
    sense: Ints
    is_late: Bools
    rise: Floats
    fall: Floats
    gain: Floats
    gain_std: Floats
    scale: Floats
    scale_std: Floats

    def take(self, chosen: Bools) -> LitFrames:
        """Return some of the frames."""
        names = (field.name for field in fields(self) if field.name != "variance")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def of_rows(self, rows: slice) -> LitFrames:
        """Return some rows of all frames."""
        names = ("excess", "background", "is_clean", "is_known", "share")
        cut = {name: getattr(self, name)[:, rows] for name in names}
        return replace(self, variance=self.variance[rows], **cut)

    def exposed(self, gain: Floats, scale: Floats, stds: tuple[Floats, Floats]) -> LitFrames:
        """Return the light as it would be with other gains and scales, shape (f,)."""
        excess = self.excess * _wide(self.scale / scale)
        off = np.where(self.sense < 0, -1.0, 1.0) * (gain - self.gain) / scale
        excess -= _wide(off) * self.background * self.is_known[..., None]
        return replace(
            self, excess=excess, gain=gain, scale=scale, gain_std=stds[0], scale_std=stds[1]
        )


def _wide(values: Floats) -> Singles:
    return values[:, None, None].astype(np.float32)


def gather_lit(
    frames: Sequence[int],
    levels: Mapping[int, Singles],
    clean: Mapping[int, Bools],
    lighting: Lighting,
    places: Mapping[int, int],
    steps: Mapping[int, int],
    *,
    pauses: bool,
) -> LitFrames | None:
    """Return the frames with light, each relative to the dark rows of nearby frames.

    Where a lasting light goes on, the frames before are dark; where one goes off, those after:
    whatever their brightness, which auto-exposure may have brought back to what it was. Excess and
    background are scaled to one exposure, that of the usual background.

    `levels` and `clean`, shape (h, b) each, are the brightness of `frames` and of those near them,
    and where it is not clipped; `lighting` is that of fewer rows of the frames at `places`. `steps`
    are those of `frames` in which a lasting light goes on (+1) or off (-1). `pauses`: whether each
    exposure begins after the previous one ended. The frame after a step then shows such a light
    completely, otherwise the next one does.
    """
    black = _black_level(steps, levels)
    if black:
        levels = {index: own - black for index, own in levels.items()}
    is_dark = ~grown(lighting.is_lit)
    gain_std = max(lighting.wobble, LEAST_UNSTEADY)
    found: list[_Seen] = []
    candidates, is_on = set(frames), False
    # The frames after a step show what full light adds, as far as their exposure is known.
    n_after = 1 if pauses else 2
    late = {k + n_after: k for k in steps if not any(k + n + 1 in steps for n in range(n_after))}
    for at in sorted({*frames, *late}):
        # Between a light going on and the next step, frames show no edge.
        is_on = steps[at] > 0 if at in steps else is_on
        if at not in levels or at not in places:
            continue
        seen = None
        if at in steps or at in late:
            seen = _step(at, late.get(at, at), steps, levels)
        elif not is_on and lighting.is_lit[places[at]].sum() >= MIN_LIT_ROWS:
            around = (j for j in range(at - REACH, at + REACH + 1) if j != at)
            near = [j for j in around if j in levels and j in places]
            rows = [is_dark[places[j]] for j in near]
            # The first frame of all is never tested for light.
            is_first = at - 1 not in candidates and at - 2 in places
            seen = _pulse(at, near, rows, levels, gain_std, is_first=is_first)
        if seen is not None and np.mean(seen.is_known) >= MIN_KNOWN:
            found.append(seen)
    if not found:
        return None
    seen_of = {
        own.name: np.array([getattr(one, own.name) for one in found]) for own in fields(_Seen)
    }
    background, dark, sense = seen_of["background"], seen_of.pop("dark"), seen_of["sense"]
    index, is_known, scale = seen_of["index"], seen_of["is_known"], seen_of["scale"]
    height = background.shape[1]
    excess = np.stack([levels[k] for k in index.tolist()]) - _wide(seen_of["gain"]) * background
    excess[sense < 0] *= -1.0
    is_free = np.stack([clean[k] for k in index.tolist()])
    share = np.stack([_all_rows(lighting.share[places[k]], height) for k in index.tolist()])
    is_step = sense != 0
    share[is_step] = np.median(excess[is_step] / (dark[is_step] + BLACK_LEVELS), axis=2)
    is_lit = np.stack([_all_rows(lighting.is_lit[places[k]], height) for k in index.tolist()])
    is_lit[is_step] = share[is_step] > 0.5 * share[is_step].max(axis=1, keepdims=True)
    is_clipped = ~is_free & is_lit[..., None] & (dark < CLIPPED_LEVEL - black)
    n_lit = np.maximum(is_lit.sum(axis=1) * excess.shape[2], 1)
    usual = np.median(dark, axis=0) + 1.0
    brighter = np.median((dark + 1.0) / usual, axis=(1, 2))
    # Where there are lasting lights, anything else that looks like a pulse is not one.
    power = 1.0 if is_step.any() else _power_of_dark(excess / _wide(scale), brighter)
    share *= (brighter ** (1.0 - power))[:, None]
    brighter **= power
    excess /= _wide(brighter * scale)
    seen_of |= {
        "excess": np.where(is_known[..., None], excess, np.float32(0.0)),
        "background": (background / _wide(brighter)).astype(np.float32),
    }
    return LitFrames(
        **seen_of,
        is_clean=is_free & is_known[..., None],
        share=share,
        variance=_all_rows(lighting.variance, height),
        clipped_share=is_clipped.sum(axis=(1, 2)) / n_lit,
        rise=_brighter_than(index - 1, index, levels),
        fall=_brighter_than(index + 1, index, levels),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Seen:
    """A frame with what it would show had the light not changed, and without light (`dark`)."""

    index: int
    sense: int
    background: Singles
    dark: Singles
    is_known: Bools
    gain: float
    gain_std: float
    scale: float
    scale_std: float
    is_late: bool = False


def _brighter_than(others: Ints, index: Ints, levels: Mapping[int, Singles]) -> Floats:
    return np.array(
        [
            float(np.median(levels[k] - levels[other])) if other in levels else 0.0
            for other, k in zip(others.tolist(), index.tolist(), strict=True)
        ]
    )


def _step(
    at: int, since: int, steps: Mapping[int, int], levels: Mapping[int, Singles]
) -> _Seen | None:
    """Return a frame at or after the change of a lasting light, with what the frames before show.

    Auto-exposure responds from the next frame: the frame of the change (`since`) has the exposure
    of the previous one, or continues its trend; each frame after that may depart from it by up to
    as much as exposures still settle by.
    """
    sense, n_late = steps[since], at - since
    sides = [_side(since, sense, steps, levels, -1), _side(at, sense, steps, levels, 1)]
    if not all(sides):
        return None
    (background, before), (after, settles) = (_mean_of(side) for side in sides)
    gain, gain_std = before, LEAST_UNSTEADY + MAX_ANSWER * abs(before - 1.0)
    gain_std += n_late * abs(settles - 1.0)
    scale, scale_std = gain, gain_std
    if sense < 0:
        scale, scale_std = 0.5 * (1.0 + settles), LEAST_UNSTEADY + 0.5 * abs(settles - 1.0)
    return _Seen(
        index=at,
        sense=sense,
        background=background,
        dark=background if sense > 0 else after,
        is_known=np.ones(background.shape[0], dtype=np.bool_),
        is_late=n_late > 0,
        gain=gain,
        gain_std=gain_std,
        scale=scale,
        scale_std=math.hypot(scale_std, UNLIKE_LIGHTS),
    )


def _black_level(steps: Mapping[int, int], levels: Mapping[int, Singles]) -> np.float32:
    """Return the level at which a change of exposure changes nothing: 16 in most videos, or 0.

    Where auto-exposure responds to a light that went off, the dark frames after it are proportional
    to each other, apart from this level; 0 where it never responds. No cell is darker.
    """
    found = []
    for at, sense in steps.items():
        near = _side(at, sense, steps, levels, 1) if sense < 0 else []
        if len(near) > 1:
            one, other = near[-1].ravel(), near[0].ravel()
            if np.ptp(one) < MIN_RANGE:
                continue  # of one colour: no proportion can be determined
            gain, offset = np.polyfit(one, other, 1)
            answer, noise = abs(gain - 1.0), np.var(other - gain * one) / np.var(one)
            if answer > MIN_ANSWER and noise < FLAT_SHARE * answer:
                found.append(offset / (1.0 - gain))
    if not found:
        return np.float32(0.0)
    darkest = min(float(own.min()) for own in levels.values())
    return np.float32(np.clip(np.median(found), 0.0, darkest))


def _side(
    at: int, sense: int, steps: Mapping[int, int], levels: Mapping[int, Singles], side: int
) -> list[Singles]:
    """Return the frames before (-1) or after (+1) a step, the nearest first."""
    near = []
    for distance in range(1, REACH + 1):
        j = at + distance * side
        if j not in levels or steps.get(j) == -sense:
            break
        if j not in steps:
            near.append(levels[j])
    return near


def _power_of_dark(excess: Singles | Floats, brighter: Floats) -> float:
    """Return the power of the brightness without light by which the light in frames grows.

    1 where exposures differ, or may: the longer the dark scene is exposed, the more a light adds. 0
    where other light comes and goes (a tunnel, a cloud), less where a tone curve compresses what is
    bright. Estimated from the median of the slopes between frames, some of which show only a part
    of the light (Theil, "A rank-invariant method of linear and polynomial regression analysis",
    1950).
    """
    most = np.percentile(np.median(excess, axis=2), MOST_PERCENTILE, axis=1)
    is_used = most > 0.0
    brightness = np.log(brighter[is_used])
    if np.unique(brightness).size < MIN_SLOPES:
        return 1.0
    slope, _, _, highest = theilslopes(np.log(most[is_used]), brightness)
    return float(np.clip(slope, -1.0, 1.0)) if highest < 1.0 else 1.0


def _mean_of(frames: list[Singles]) -> tuple[Singles, float]:
    """Return the median of frames at the exposure of the first, and its gain over the second."""
    stack = np.stack(frames)
    gains = np.median((stack[0] + 1.0) / (stack + 1.0), axis=(1, 2))
    stack *= gains[:, None, None]
    # Passing objects are in few of them, so the median ignores them.
    return np.median(stack, axis=0), float(gains[1]) if gains.size > 1 else 1.0


def _pulse(
    at: int,
    near: Sequence[int],
    is_dark: Sequence[Bools],
    levels: Mapping[int, Singles],
    gain_std: float,
    *,
    is_first: bool,
) -> _Seen | None:
    """Return a frame with a pulse, and the dark rows of the frames before and after.

    `is_first`: whether the frame before shows no light.
    """
    if not near:
        return None
    weights = np.array([_all_rows(rows, levels[at].shape[0]) for rows in is_dark])
    weights = weights / np.array([float(j - at) ** 2 for j in near])[:, None]
    total = weights.sum(axis=0)
    weights = (weights / np.maximum(total, 1e-9)).astype(np.float32)
    stack = np.stack([levels[j] for j in near])
    background = np.einsum("jr,jrb->rb", weights, stack)
    nearest = np.argsort([abs(j - at) for j in near], kind="stable")[:N_NEAREST]
    dark = np.where((weights[nearest] > 0.0)[..., None], stack[nearest], background)
    background = np.median(dark, axis=0).astype(np.float32)
    # Auto-exposure responds to the light: what its dark rows show is all that is known beforehand.
    seen = [
        np.median((own[rows] + 1.0) / (background[rows] + 1.0)) if rows.any() else 1.0
        for own, rows in zip(stack, weights > 0.0, strict=True)
    ]
    gains, shares = np.array(seen), weights.mean(axis=1) + 1e-9
    gain, off = _mean_and_spread(gains, shares)
    is_before = np.array(near) < at
    if is_first and is_before.any() and not is_before.all():
        # It has not responded yet: exposures that differ afterwards tell little of this one.
        gain, before = _mean_and_spread(gains[is_before], shares[is_before])
        off = math.hypot(before, MAX_ANSWER * off)
    gain_std = math.hypot(gain_std, off)
    return _Seen(
        index=at,
        sense=0,
        background=background,
        dark=background,
        is_known=total > 0.0,
        gain=gain,
        gain_std=gain_std,
        scale=gain,
        scale_std=math.hypot(gain_std, UNLIKE_LIGHTS),
    )


def _mean_and_spread(values: Floats, weights: Floats) -> tuple[float, float]:
    mean = float(np.average(values, weights=weights))
    return mean, math.sqrt(np.average((values - mean) ** 2, weights=weights))


def _all_rows(values: NDArray[_Value], height: int) -> NDArray[_Value]:
    """Expand values found for evenly spaced rows to all rows of an image."""
    n = values.shape[0]
    found: NDArray[_Value] = values[np.minimum(np.arange(height) * n // height, n - 1)]
    return found
