"""Tell by the brightness of a picture whether it shows anything: black, grey, white, cut off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.model import PictureFault

__all__ = ["PictureLooks"]

# Pictures whose histograms are kept before they are reduced to a few figures each.
N_AT_ONCE = 64
# Spread of luma up to which a picture is of one colour: rounding and ringing of encoders.
BLANK_STD = 1.0
# A picture with so many pixels of one level may have no structure; then cells are looked at.
PLAIN_SHARE = 0.12
N_CELLS = (8, 6)
# Noise averages out over a cell; a lens that is not covered leaves more than this between them.
COVERED_RANGE = 2
# Luma from which a pixel is as good as clipped (235 in video range), and the share of a white-out.
WHITE_LUMA, WHITE_SHARE = 230, 0.95
# Decoders put mid-grey where they have nothing; scenes have it too, so compared with the clip.
GREY_LUMA, GREY_SHARE = slice(126, 131), 0.3
# Lower rows of which each repeats the one above, as a share of the height, beyond what is usual.
HALF_SHARE = 0.12
# Rows that are cut off begin at an edge of so many levels; the night's black ground fades.
HALF_STEP = 12.0
# Mean difference up to which a row repeats another, and least structure along such a row.
SAME_LEVELS = 1.5
ROW_STD = 6.0
# A spell of black in the dark is the dark; as a defect it begins or ends within brighter pictures.
DARK_LUMA, DARK_STEP = 24.0, 8.0


@dataclass(slots=True)
class PictureLooks:
    """Reduce pictures to what their brightness says; figures of a clip are compared at the end.

    Call `update` with every eighth row of each picture, so that every block of an encoder has a
    part in it, and `finish` at the end.
    """

    _waiting: list[NDArray[np.float32]] = field(default_factory=list)
    _figures: list[NDArray[np.float64]] = field(default_factory=list)
    _covered: list[bool] = field(default_factory=list)
    _cut: list[float] = field(default_factory=list)

    def update(self, rows: NDArray[np.uint8]) -> None:
        """Take the rows of one picture, contiguous, shape (n, w)."""
        histogram = np.ravel(cv2.calcHist([rows], [0], None, [256], [0, 256]))
        self._waiting.append(histogram)
        is_plain = float(histogram.max()) > PLAIN_SHARE * rows.size
        self._covered.append(is_plain and _is_without_structure(rows))
        self._cut.append(_repeated_share(rows))
        if len(self._waiting) >= N_AT_ONCE:
            self._reduce()

    def _reduce(self) -> None:
        if not self._waiting:
            return
        share = np.stack(self._waiting).astype(np.float64)
        share /= share.sum(axis=1, keepdims=True)
        level = np.arange(256.0)
        mean = share @ level
        std = np.sqrt(np.maximum(share @ level**2 - mean**2, 0.0))
        white, grey = share[:, WHITE_LUMA:].sum(axis=1), share[:, GREY_LUMA].sum(axis=1)
        self._figures.append(np.stack([mean, std, white, grey], axis=1))
        self._waiting.clear()

    def finish(self) -> tuple[Mapping[PictureFault, NDArray[np.bool_]], NDArray[np.float64]]:
        """Return which pictures have which fault, each shape (n,), and the mean luma of all."""
        self._reduce()
        if not self._figures:
            return {}, np.empty(0)
        mean, std, white, grey = np.concatenate(self._figures).T
        cut = np.array(self._cut)
        is_white = white >= WHITE_SHARE
        is_blank = (std <= BLANK_STD) & ~is_white
        is_dark = _in_the_dark(is_blank, mean)
        is_blank &= ~is_dark
        is_grey = ~is_blank & (grey > GREY_SHARE + float(np.median(grey)))
        is_half = ~is_blank & ~is_grey & (cut > HALF_SHARE + float(np.median(cut)))
        is_covered = is_dark | (np.array(self._covered) & ~is_blank & ~is_white & ~is_grey)
        return {
            PictureFault.BLANK: is_blank,
            PictureFault.WHITE: is_white,
            PictureFault.GREY: is_grey,
            PictureFault.HALF: is_half,
            PictureFault.COVERED: is_covered,
        }, mean


def _in_the_dark(is_blank: NDArray[np.bool_], mean: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which blank pictures are black among pictures that are hardly brighter."""
    edges = np.diff(np.concatenate(([False], is_blank, [False])).astype(np.int8))
    is_dark = np.zeros_like(is_blank)
    for start, stop in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
        around = mean[[k for k in (start - 1, stop) if 0 <= k < mean.size]]
        level = float(mean[start:stop].mean())
        is_dark[start:stop] = (
            around.size > 0 and level < DARK_LUMA and float(around.max()) < level + DARK_STEP
        )
    return is_dark


def _is_without_structure(rows: NDArray[np.uint8]) -> bool:
    if rows.shape[0] < N_CELLS[1] or rows.shape[1] < N_CELLS[0]:
        return False
    cells = cv2.resize(rows, N_CELLS, interpolation=cv2.INTER_AREA)
    return int(cells.max()) - int(cells.min()) <= COVERED_RANGE


def _repeated_share(rows: NDArray[np.uint8]) -> float:
    """Return the share of rows at the bottom that repeat the last, where they begin at an edge."""
    last = rows[-1]
    if rows.shape[0] < 3 or cv2.norm(last, rows[-2], cv2.NORM_L1) > SAME_LEVELS * last.size:
        return 0.0
    departs = np.abs(rows.astype(np.int16) - last).mean(axis=1)
    is_other = departs > SAME_LEVELS
    if not is_other.any():
        return 0.0
    n_same = int(np.argmax(is_other[::-1]))
    # Encoders change a repeated row a little, but a plain one, as of dark ground, not at all.
    is_exact = not departs[-n_same:].any()
    edge = float(departs[max(0, rows.shape[0] - n_same - 2) : rows.shape[0] - n_same].mean())
    if edge < HALF_STEP or not (is_exact or float(last.std()) >= ROW_STD):
        return 0.0
    return n_same / rows.shape[0]
