"""Fit the shape of the ramps that a light draws in some frames, and estimate its uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares

from syncaudit.detectors.flash.shape import FrameEdges, RampFit, RampShape, fit_rows, usual_bend
from syncaudit.dsp.robust import mad_std
from syncaudit.model.arrays import Bools, Floats

# Number of frames that the shape is learnt from.
N_LEARNT = 16
# Ramp lengths that are tried first, in rows.
FIRST_RAMPS_PX = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
FIRST_TAIL = 0.9
MAX_BEND, BOUND = 0.9, 1e-3
MAX_TAIL = 0.98
MIN_TAIL = 0.03
MAX_RAMP_PX = 1500.0
# Maximum factor by which full light may at first be too small or too large.
MAX_GAIN = 2.0
# Misfits beyond this many deviations count linearly.
ROBUST_SIGMAS = 10.0
N_STEPS = 10
STEP = 0.02
# Number of unknowns of a shape without a tail, and of one with a tail where bands have a height.
N_BOX, N_TAILED = 3, 5
# Minimum number of bands shown completely for their height to be known, and the maximum relative
# scatter of their heights while the shape of the ramps is not known.
MIN_BANDS, MAX_SCATTER = 3, 0.25
# Prior deviation of unknowns of which nothing is known, and of the logarithm of the band height:
# stated exposures are accurate to about 10 %.
UNKNOWN, HEIGHT_STD = 1e3, 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Frames that the shape is learnt from."""

    light: Floats
    info: Floats
    edges: Sequence[FrameEdges]

    @classmethod
    def of(
        cls,
        light: Floats,
        info: Floats,
        edges: Sequence[FrameEdges],
        is_clear: Bools,
        is_full: Bools | None = None,
    ) -> Sample:
        """Return the clear frames with edges and those in full light, or an even sample of each."""
        some = [i for i, own in enumerate(edges) if own.rows and is_clear[i]]
        # With lights that go on and off in turn, an even sample would be all of one kind.
        some.sort(key=lambda i: edges[i].is_off)
        some = some[:: _step(len(some))]
        if some and is_full is not None:
            full = np.flatnonzero(is_full).tolist()
            some += full[:: _step(len(full))]
        return cls(light[some], info[some], [edges[i] for i in some])

    @property
    def band_px(self) -> float | None:
        """Return the band height by the first guesses of the edges, or None if heights differ."""
        heights = np.array(
            [
                own.rows[j + 1] - own.rows[j]
                for own in self.edges
                for j in range(len(own.signs) - 1)
                if own.signs[j : j + 2] == (1, -1)
            ]
        )
        usual = float(np.median(heights)) if len(heights) >= MIN_BANDS else 0.0
        return usual if mad_std(heights - usual) < MAX_SCATTER * usual else None

    def misfit(
        self, shape: RampShape, n: int, gain: float = 1.0, band_px: float | None = None
    ) -> Floats:
        """Return the weighted residuals with rows fitted, for full light brighter by a factor."""
        light, info = self.light / gain, self.info * gain**2
        fit = fit_rows(light, info, self.edges, shape, n, band_px)
        left: Floats = np.sqrt(info) * (light - fit.light)
        return left.ravel()


def _step(n: int) -> int:
    """Return which of n frames to take, one in so many, to learn from."""
    return max(1, n // N_LEARNT)


def first_shape(
    light: Floats,
    info: Floats,
    is_clear: Bools,
    ratio: float,
    rough_of: Callable[[Floats, Floats, RampShape], list[FrameEdges]],
) -> RampShape:
    """Return the ramp without a tail, of several lengths, that fits some frames best."""
    bend, _ = usual_bend(ratio)
    shapes = [RampShape(ramp, bend=bend, ratio=ratio) for ramp in FIRST_RAMPS_PX]
    # The same frames for all lengths: one that is too long misses narrow bands.
    some = np.flatnonzero(is_clear)
    some = some[:: _step(some.size)]
    if not some.size:
        return shapes[0]
    costs = []
    for shape in shapes:
        rough = rough_of(light, info, shape)
        sample = Sample(light[some], info[some], [rough[i] for i in some.tolist()])
        left = sample.misfit(shape, 4)
        costs.append(float(np.sum(np.minimum(left**2, ROBUST_SIGMAS**2))))
    return shapes[int(np.argmin(costs))]


def tailed(shape: RampShape) -> RampShape:
    """Return a shape of the same length that is mostly tail."""
    box_px, tail_px = shape.ramp_px * (1.0 - FIRST_TAIL), 0.5 * shape.ramp_px * FIRST_TAIL
    return replace(shape, ramp_px=box_px, tail_px=tail_px, bend=usual_bend(shape.ratio)[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedShape:
    """A shape, the factor by which full light was underestimated, and the band height.

    `x`, shape (k,), are the logarithm of its length, the bend of its tone curve, and the gain;
    where it has a tail, the share of that, and the logarithm of the band height where that is
    known. The fit began with the shape `start`; `known_std`, shape (k,), are prior deviations of
    the unknowns; `sample` was fitted, and `cost` is that of the residuals.
    """

    x: Floats
    start: RampShape
    known_std: Floats
    sample: Sample
    cost: float

    @property
    def shape(self) -> RampShape:
        """Return the shape."""
        return _drawn(self.x, self.start)[0]

    @property
    def gain(self) -> float:
        """Return the factor."""
        return float(self.x[2])

    @property
    def band_px(self) -> float | None:
        """Return the band height."""
        return _drawn(self.x, self.start)[1]

    def changed(self, k: int) -> FittedShape:
        """Return the fit with another value of an unknown."""
        x = self.x.copy()
        x[k] += STEP if x[k] < 0.5 else -STEP
        return replace(self, x=x)

    def covariance(self) -> Floats:
        """Return the covariance of the unknowns, shape (k, k).

        Each frame has an error of its own, common to all its rows (people walking by, coding): the
        scatter of frames is added to that of rows (Liang and Zeger, "Longitudinal data analysis
        using generalized linear models", Biometrika 73, 1986, doi:10.1093/biomet/73.1.13).
        """
        left = self._misfit()
        others = [self.changed(k) for k in range(self.x.size)]
        steps = np.array([other.x[k] - self.x[k] for k, other in enumerate(others)])
        change = np.array([other._misfit() - left for other in others]) / steps[:, None]
        weight = 1.0 / np.sqrt(1.0 + (left / ROBUST_SIGMAS) ** 2)
        normal = (change * weight) @ change.T
        normal += np.diag(self.known_std**-2.0)
        n = len(self.sample.edges)
        scores = (change * weight * left).reshape(self.x.size, n, -1).sum(axis=2)
        excess = max(1.0, float(np.sum(weight * left**2)) / max(1, left.size - self.x.size))
        inverse = np.linalg.inv(normal)
        by_frames = inverse @ (scores @ scores.T) @ inverse * n / max(1, n - 1)
        covariance: Floats = excess * inverse + by_frames
        return covariance

    def _misfit(self) -> Floats:
        return self.sample.misfit(self.shape, 2, self.gain, self.band_px)


def edge_errors(
    fitted: FittedShape, light: Floats, info: Floats, edges: Sequence[FrameEdges], fit: RampFit
) -> tuple[Floats, float]:
    """Return the errors of edges due to the uncertainty of the shape that they are fitted with.

    Where the image shows a ramp from darkness to full light, they are negligible. `edges` are first
    guesses, `fit` their fit with the shape. Returns the error of each edge by itself, shape (f, e),
    and the error common to all edges.
    """
    edges = [own.at(rows) for own, rows in zip(edges, fit.rows, strict=True)]

    def rows_of(one: FittedShape) -> Floats:
        change = one.gain / fitted.gain
        light_by, info_by = light / change, info * change**2
        return fit_rows(light_by, info_by, edges, one.shape, band_px=one.band_px).rows

    others = [fitted.changed(k) for k in range(fitted.x.size)]
    start = rows_of(fitted)
    moved = np.stack(
        [(rows_of(o) - start) / (o.x[k] - fitted.x[k]) for k, o in enumerate(others)], axis=-1
    )
    is_edge = np.arange(start.shape[1]) < np.array([[len(own.rows)] for own in edges])
    covariance = fitted.covariance()
    usual = np.median(moved[is_edge], axis=0) if is_edge.any() else np.zeros(fitted.x.size)
    own = moved - usual
    row_std = np.sqrt(np.einsum("fek,kl,fel->fe", own, covariance, own))
    return row_std, float(np.sqrt(usual @ covariance @ usual))


def _drawn(x: Floats, start: RampShape) -> tuple[RampShape, float | None]:
    """Return shape and band height for given values of the unknowns."""
    length, bend = float(np.exp(x[0])), float(x[1])
    shape = replace(start, ramp_px=length, tail_px=0.0, bend=bend, peak=1.0)
    if x.size == N_BOX:
        return shape, None
    part = float(x[3]) if x[3] >= MIN_TAIL else 0.0
    shape = replace(shape, ramp_px=length * (1.0 - part), tail_px=0.5 * length * part)
    if x.size < N_TAILED:
        return shape, None
    height_px = float(np.exp(x[4]))
    peak = float(shape.cdf(np.array([height_px - shape.half_px]))[0])
    return replace(shape, peak=peak), height_px


def fit_shape(
    sample: Sample,
    start: RampShape,
    band_px: float | None = None,
    *,
    exposure_px: float | None = None,
    is_first: bool = False,
) -> FittedShape:
    """Return the shape that fits some frames best, with a tail if `start` has one.

    A tail outlasts every exposure, so that all bands are as high as the exposure of a row is long.
    Where that is so short that no row shows full light, only the height determines how much it is.
    Where nothing determines the tone curve, a typical one is assumed.

    `band_px` is the band height to begin with, None where it is not known or the shape has no tail;
    `exposure_px` the one expected. If `is_first`, what full light adds is hardly known yet: bend
    and share of the tail, which would compensate for its error, are then held.
    """
    # Begin with the edges where that shape fits them.
    rows = fit_rows(sample.light, sample.info, sample.edges, start, band_px=band_px).rows
    edges = [own.at(own_rows) for own, own_rows in zip(sample.edges, rows, strict=True)]
    settled = replace(sample, edges=edges)
    # Prior values and deviations of the unknowns.
    bend, bend_std = usual_bend(start.ratio)
    known = np.array([0.0, bend, 1.0, 0.0, np.log(exposure_px or 1.0)])
    height_std = HEIGHT_STD if exposure_px else UNKNOWN
    known_std = np.array([UNKNOWN, bend_std, UNKNOWN, UNKNOWN, height_std])

    def residuals(x: Floats) -> Floats:
        shape, height_px = _drawn(x, start)
        left = settled.misfit(shape, 2, float(x[2]), height_px)
        return np.append(left, (x - known[: x.size]) / known_std[: x.size])

    length = start.ramp_px + 2.0 * start.tail_px
    tail_part, height = 2.0 * start.tail_px / length, np.log(band_px or 1.0)
    first = [np.log(length), start.bend, 1.0, tail_part, height]
    low = np.array([0.0, -MAX_BEND, 1.0 / MAX_GAIN, -1e-9, -1.0])
    high = np.array([np.log(MAX_RAMP_PX), MAX_BEND, MAX_GAIN, MAX_TAIL, np.log(2.0 * MAX_RAMP_PX)])
    if is_first:
        kept = [1, 3]
        low[kept], high[kept] = np.array(first)[kept] - 2 * BOUND, np.array(first)[kept] + 2 * BOUND
    n = N_TAILED - (band_px is None) if start.tail_px else N_BOX
    found = least_squares(
        residuals,
        np.clip(first, low + BOUND, high - BOUND)[:n],
        bounds=(low[:n], high[:n]),
        loss="soft_l1",
        f_scale=ROBUST_SIGMAS,
        diff_step=np.full(n, STEP),
        max_nfev=N_STEPS,
    )
    return FittedShape(
        x=found.x, start=start, known_std=known_std[:n], sample=settled, cost=float(found.cost)
    )
