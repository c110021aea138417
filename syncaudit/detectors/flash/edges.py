"""Find the rows of a frame at which a light goes on or off, and how well each is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from syncaudit.detectors.flash.lit_frames import LitFrames
from syncaudit.detectors.flash.pattern import MAX_INFO, Pattern
from syncaudit.detectors.flash.shape import FrameEdges, RampFit, RampShape, fit_rows
from syncaudit.dsp.robust import cauchy_weights
from syncaudit.model.arrays import Floats

# Minimum error: alignment of rows with transform blocks, and an error of the encoded levels along a
# ramp, common to all blocks, that grows with the coding residuals of a frame's single cells (x264
# at crf 18 to 30: the most likely values for the scatter of 3,823 edges around the truth, and a
# quarter more for its tails).
FLOOR_ROWS = 0.05
FLOOR_LEVELS = 0.15
CODED_SHARE = 0.2
# Minimum number of blocks that the light reaches and that do not clip, and the share of them that
# must agree on the edge, within this many rows plus this share of its ramp.
MIN_BLOCKS = 4
MIN_AGREEING = 2.0 / 3.0
AGREE_ROWS = 3.0
AGREE_SHARE = 0.15
# Maximum deviation of light from the fit: in a frame, as a share of full light; on a ramp, as a
# share of what the image shows of it.
MAX_MISFIT = 0.12
# Largest error, in rows or as a share of a ramp.
MAX_ROW_STD = 2.0
MAX_STD_SHARE = 0.1
# Maximum distance of an edge outside the image, as a share of its ramp: the rest is tail.
MAX_OUTSIDE = 0.3
# Where the image border cuts a ramp, full light that no other frame shows is known to about this
# share.
UNSEEN_SHARE = 0.2
# Rounds of down-weighting badly fitted blocks, from about twice the usual misfit.
N_REWEIGHTED = 3
USUAL_BLOCKS = 2.0
# With more than this share of its lit cells clipped, a frame shows a step at the foot of the ramp
# instead of the ramp; such flashes are reported even if none can be timed.
MAX_CLIPPED = 0.25
# Blocks with less than this share of the best block's information on an edge are ignored.
USABLE_SHARE = 0.02


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Edge:
    """A row (0 is the first) at which half of the light of a ramp has arrived.

    `index` is its frame in file order; `is_upper`: light begins below it. `encoded_std` and
    `guessed_std` are the parts of its one-sigma error that the encoder causes, and full light that
    no other frame shows. `lit_share` is the share of the frame that is lit; `block_shift`,
    `block_info` and `block_step`, shape (b,), how many rows lower each block shows the edge, the
    inverse variance of that, and its step.
    """

    index: int
    is_upper: bool
    row: float
    row_std: float
    encoded_std: float = 0.0
    guessed_std: float = 0.0
    lit_share: float = 0.0
    block_shift: Floats = field(default_factory=lambda: np.empty(0))
    block_info: Floats = field(default_factory=lambda: np.empty(0))
    block_step: Floats = field(default_factory=lambda: np.empty(0))


def time_edges(
    lit: LitFrames,
    pattern: Pattern,
    rough: Sequence[FrameEdges],
    fit: RampFit,
    shape: RampShape,
    shape_row_std: Floats,
) -> list[Edge]:
    """Return the edges that pass, each frame fitted with the pattern estimated from the others.

    `rough` are first guesses for each frame, `fit` the fit of these with the pattern of all frames,
    and `shape_row_std`, shape (f, e), their errors from the uncertainty of the shape.
    """
    found: list[Edge] = []
    for i, edges in enumerate(rough):
        if edges.rows and lit.clipped_share[i] < MAX_CLIPPED:
            frame = _FrameFit(lit, i, pattern, edges.at(fit.rows[i]), fit.light[i], shape)
            found += frame.edges(shape_row_std[i])
    return found


class _FrameFit:
    """The edges of one frame, fitted to its cells.

    The error of an edge is the scatter of the column blocks around it (a sandwich estimator over
    blocks: errors within a block are correlated along the rows), or that of the encoder if larger.
    """

    def __init__(
        self,
        lit: LitFrames,
        i: int,
        pattern: Pattern,
        edges: FrameEdges,
        curve: Floats,
        shape: RampShape,
    ) -> None:
        self.index = int(lit.index[i])
        self.shape, self.rough = shape, edges
        levels, unsure, self.guessed = pattern.without(lit, i)
        self.levels, self.unevenness = levels, pattern.unevenness
        self.clean = lit.is_clean[i]
        self.background = lit.background[i]
        self.gain_std = float(lit.gain_std[i] / lit.scale[i])
        self.scale_std = float(lit.scale_std[i] / lit.scale[i])
        variance = lit.variance + unsure * np.clip(curve, 0.0, 1.0)[:, None] ** 2
        self.weight = self.clean / variance
        for _ in range(N_REWEIGHTED):
            info = np.sum(levels**2 * self.weight, axis=1)
            light = np.sum(levels * self.weight * lit.excess[i], axis=1) / np.maximum(info, 1e-9)
            info = np.minimum(info, MAX_INFO)
            fit = fit_rows(light[None], info[None], [edges], shape)
            self.at, self.curve, self.slope = fit.rows[0], fit.light[0], fit.slope[0]
            self.residual = lit.excess[i] - levels * self.curve[:, None]
            # Somebody walking through some blocks disturbs only these.
            apart = np.sqrt(np.average(self.residual**2 / variance, axis=0, weights=info + 1e-12))
            apart /= max(float(np.median(apart)), 1.0)
            self.weight = self.clean / variance * cauchy_weights(apart / USUAL_BLOCKS)
        self.off = np.where(info > 0.0, light - self.curve, 0.0)
        self.misfit = float(np.sqrt(np.average(self.off**2, weights=info))) if info.any() else 1.0

    def edges(self, shape_row_std: Floats) -> list[Edge]:
        """Return the edges that the blocks agree on.

        `shape_row_std`, shape (e,): the shape's contribution to their errors.
        """
        if self.misfit > MAX_MISFIT:
            return []
        slope, weight = self.slope, self.weight
        normals = np.einsum("xr,yr,rb->bxy", slope, slope, self.levels**2 * weight, optimize=True)
        gradients = np.einsum("xr,rb->bx", slope, self.levels * weight * self.residual)
        covariance = np.linalg.pinv(normals.sum(axis=0))
        scores = gradients - normals @ (covariance @ gradients.sum(axis=0))
        n_blocks = max(2, scores.shape[0])
        scatter = covariance @ (scores.T @ scores) @ covariance * n_blocks / (n_blocks - 1.0)
        random = np.maximum(np.diag(scatter), np.diag(covariance))
        is_clean = self.clean.any()
        coded = float(np.sqrt(np.median(self.residual[self.clean] ** 2))) if is_clean else 0.0
        random += shape_row_std[: random.size] ** 2
        # Rows whose full light is a guess have a common error.
        guess = np.einsum("xr,r,rb->x", slope, self.curve * self.guessed, self.levels**2 * weight)
        guess = covariance @ guess
        made = [
            self._edge(j, float(random[j]), normals[:, j, j], scores[:, j], coded, float(guess[j]))
            for j in range(self.at.size)
        ]
        return [edge for edge in made if edge is not None]

    def _edge(
        self, j: int, random: float, own: Floats, scores: Floats, coded: float, guess: float
    ) -> Edge | None:
        """Return an edge, or None where too few blocks show it or its error is too large."""
        row, length, height = float(self.at[j]), self.shape.length_px, self.curve.size
        own = np.maximum(own, 1e-12)
        shift = scores / own
        is_usable = own > USABLE_SHARE * own.max()
        limit = np.maximum(AGREE_ROWS + AGREE_SHARE * length, 2.0 / np.sqrt(own))
        n_agreeing = np.count_nonzero(is_usable & (np.abs(shift) < limit))
        n_usable = np.count_nonzero(is_usable)
        if n_usable < MIN_BLOCKS or n_agreeing < MIN_AGREEING * n_usable:
            return None
        near = np.abs(np.arange(height) - np.clip(row, 0, height - 1)) <= length + 2.0
        steps = self.levels[near].mean(axis=0)
        step = max(float(np.average(steps, weights=own)) / self.shape.peak, 1.0)
        encoded = (FLOOR_LEVELS + CODED_SHARE * coded) * length / step
        rows = np.arange(height, dtype=np.float64)
        is_ramp = (rows > row - self.shape.half_px) & (rows < row + self.shape.reach_px)
        # Background and light may have been exposed longer than assumed.
        shown = float(np.clip(self.curve[is_ramp], 0.0, 1.0).mean()) if is_ramp.any() else 1.0
        dark = float(np.average(self.background[near].mean(axis=0), weights=own))
        exposed = float(np.hypot(self.gain_std * dark / step, shown * self.scale_std)) * length
        is_cut = row < self.shape.half_px or row + self.shape.reach_px > height - 1
        guessed = guess * max(self.unevenness, UNSEEN_SHARE * is_cut)
        errors = (FLOOR_ROWS, encoded, exposed, guessed)
        row_std = float(np.sqrt(random + np.sum(np.square(errors))))
        # A tail whose onset lies beyond the image border may be of any light, at any time.
        outside_px = MAX_OUTSIDE * length if self.shape.tail_px == 0.0 else -self.shape.half_px
        if not -outside_px < row < height - 1 + outside_px:
            return None
        drawn_part = np.ptp(self.shape.cdf(rows - row)) / self.shape.peak
        off = np.sqrt(np.mean(self.off[is_ramp] ** 2)) if is_ramp.any() else np.inf
        if off > MAX_MISFIT * drawn_part:
            return None
        if row_std > max(MAX_ROW_STD, MAX_STD_SHARE * length):
            return None
        return Edge(
            index=self.index,
            is_upper=(self.rough.signs[j] > 0) != self.rough.is_off,
            row=row,
            row_std=row_std,
            encoded_std=encoded,
            guessed_std=abs(guessed),
            lit_share=float(np.clip(self.curve, 0.0, 1.0).mean()),
            block_shift=shift,
            block_info=own,
            block_step=steps,
        )
