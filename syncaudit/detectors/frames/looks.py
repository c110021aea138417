"""Find images whose brightness reveals that they show nothing: black, grey, white, cut off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.indices import runs_of
from syncaudit.model import ImageFault
from syncaudit.model.arrays import Bools

# Images are sampled at about this many rows and columns.
N_ROWS, N_COLUMNS = 24, 32
# Spread of luma up to which an image is of one colour: rounding and ringing of encoders.
BLANK_STD = 1.0
# Cells of an image without structure differ by what noise remains in a mean (twice its variance),
# and by one level of shading.
N_CELLS = (6, 8)
SHADING_STD = 1.0
MOST_NOISE_STD = 12.0
# Luma from which a pixel is practically clipped (235 in video range), and the share of such pixels
# in a white-out.
WHITE_LUMA, WHITE_SHARE = 230, 0.95
# Decoders output mid-grey where they have no data; scenes contain it too, so its share is compared
# with that of the clip.
GREY_LUMA, N_GREY_LEVELS, GREY_SHARE = 126, 5, 0.3
# A wall or a screen that a change of exposure brings to these grey levels was plain before: most of
# it within twice as many levels, since exposures hardly halve from frame to frame.
PLAIN_PERCENTILES, PLAIN_LEVELS = (10, 90), 10.0
# Lower rows that all repeat one row, as a share of the height beyond the usual one.
HALF_SHARE = 0.12
# Plain rows that are cut off begin at an edge of this many levels; black ground at night fades.
HALF_STEP = 12.0
# Mean difference up to which a row repeats another, and minimum structure along such a row.
SAME_LEVELS = 1.5
ROW_STD = 6.0
# A spell of black among dark images is night; as a defect it lasts all of the clip, or begins or
# ends among brighter images.
DARK_LUMA, DARK_STEP = 24.0, 8.0

Floats = NDArray[np.float32]


@dataclass(slots=True)
class ImageLooks:
    """Reduce images to brightness statistics, which are compared over the clip at the end.

    Call `update` with some images at a time, and `finish` at the end.
    """

    _figures: list[Floats] = field(default_factory=list)
    _clear: Floats | None = None  # the last image that is not grey

    def update(self, images: Sequence[NDArray[np.uint8]]) -> None:
        """Take rows of some images, each of shape (n, w), the same rows of each."""
        n_rows, n_columns = images[0].shape
        down, across = max(1, n_rows // N_ROWS), max(1, n_columns // N_COLUMNS)
        samples = np.stack([rows[::down, ::across] for rows in images])
        luma = samples.reshape(len(images), -1)
        flat = luma.astype(np.float32)
        levels = flat.reshape(samples.shape)
        mean = _means(luma)
        variance = np.maximum(np.einsum("ij,ij->i", flat, flat) / flat.shape[1] - mean**2, 0.0)
        white = _means((luma >= WHITE_LUMA).view(np.uint8))
        is_grey = luma - np.uint8(GREY_LUMA) < N_GREY_LEVELS  # wraps below it
        grey = _means(is_grey.view(np.uint8))
        for k in range(len(images)):
            if grey[k] <= GREY_SHARE:
                self._clear = flat[k]
            elif self._clear is not None and _is_flat(self._clear[is_grey[k]]):
                grey[k] = 0.0
        plain, cut = _is_plain(levels, variance), _repeated_shares(levels)
        columns = (mean, np.sqrt(variance), white, grey, plain, cut)
        self._figures.append(np.stack(columns, axis=1).astype(np.float32))

    def finish(self) -> tuple[Mapping[ImageFault, Bools], Floats]:
        """Return which images have which fault, each shape (n,), and the mean luma of all."""
        if not self._figures:
            return {}, np.empty(0, np.float32)
        mean, std, white, grey, plain, cut = np.concatenate(self._figures).T
        is_white = white >= WHITE_SHARE
        is_blank = (std <= BLANK_STD) & ~is_white
        is_blank &= ~_in_the_dark(is_blank, mean)
        is_grey = ~is_blank & (grey > GREY_SHARE + float(np.median(grey)))
        is_half = ~is_blank & ~is_grey & (cut > HALF_SHARE + float(np.median(cut)))
        is_half &= _comes_abruptly(is_half, cut)
        is_covered = (plain > 0.0) & ~is_blank & ~is_white & ~is_grey
        return {
            ImageFault.BLANK: is_blank,
            ImageFault.WHITE: is_white,
            ImageFault.GREY: is_grey,
            ImageFault.HALF: is_half,
            ImageFault.COVERED: is_covered & ~_in_the_dark(is_covered, mean),
        }, mean


def _means(values: NDArray[np.uint8]) -> Floats:
    """Return the mean of each row; sums are exact."""
    sums = cv2.reduce(values, 1, cv2.REDUCE_SUM, dtype=cv2.CV_32S)
    return np.asarray(sums[:, 0] / values.shape[1], dtype=np.float32)


def _is_flat(luma: Floats) -> bool:
    return bool(np.ptp(np.percentile(luma, PLAIN_PERCENTILES)) <= PLAIN_LEVELS)


def _is_plain(levels: Floats, variance: Floats) -> Bools:
    """Return which images show only noise: the means of cells vary as noise alone explains."""
    n, n_rows, n_columns = levels.shape
    down, across = n_rows // N_CELLS[0], n_columns // N_CELLS[1]
    if not down or not across:
        return np.zeros(n, dtype=np.bool_)
    # More variance than the maximum noise, and its remainder in the means, is structure.
    left = 2.0 / (down * across)
    if variance.min() > 1.01 * (SHADING_STD**2 + (1.0 + left) * MOST_NOISE_STD**2):
        return np.zeros(n, dtype=np.bool_)
    into_cells = np.zeros((n_columns, N_CELLS[1]), dtype=np.float32)
    cells = np.repeat(np.arange(N_CELLS[1]), across)
    into_cells[np.arange(cells.size), cells] = np.float32(1.0) / across
    strips = (levels.reshape(-1, n_columns) @ into_cells).reshape(n, n_rows, N_CELLS[1])
    rows = strips[:, : down * N_CELLS[0]].reshape(n, N_CELLS[0], down, N_CELLS[1])
    means = rows.mean(axis=2)
    between = means.reshape(n, -1).var(axis=1)
    noise = np.maximum(variance - between, 0.0)
    limit = SHADING_STD**2 + left * noise
    return np.asarray((between <= limit) & (noise <= MOST_NOISE_STD**2))


def _repeated_shares(levels: Floats) -> Floats:
    """Return what share of each image's rows, from the bottom up, repeats one row."""
    if levels.shape[1] < 2:
        return np.zeros(levels.shape[0], np.float32)
    last = levels[:, -1]
    is_candidate = np.abs(levels[:, -2] - last).mean(axis=1) <= SAME_LEVELS
    shares = np.full(levels.shape[0], 1.0 / levels.shape[1], np.float32)  # a row equals itself
    for k in np.flatnonzero(is_candidate).tolist():
        shares[k] = max(shares[k], _repeated_share(levels[k]))
    return shares


def _repeated_share(rows: Floats) -> float:
    last = rows[-1]
    departs = np.abs(rows - last).mean(axis=1)
    is_other = departs[::-1] > SAME_LEVELS
    if not is_other.any():
        return 0.0  # all of one colour, or of one row
    n_same = int(np.argmax(is_other))
    if float(last.std()) < ROW_STD:
        # Plain rows may be dark ground, which fades, or clipped by a flash; a cut leaves them
        # exactly equal, and begins at an edge.
        is_edge = float(departs[-n_same - 1]) >= HALF_STEP
        if not is_edge or departs[-n_same:].any() or last[0] >= WHITE_LUMA:
            return 0.0
    return n_same / float(rows.shape[0])


def _comes_abruptly(is_half: Bools, cut: Floats) -> Bools:
    """Return which cut images are in a spell that begins or ends from one image to the next.

    Stripes that come to fill the lower part of a view, such as the fingers of a gripper before a
    plain table, take several images to do so.
    """
    is_abrupt = np.zeros_like(is_half)
    for start, stop in zip(*runs_of(is_half), strict=True):
        steps = [
            float(cut[inside] - cut[outside])
            for inside, outside in ((start, start - 1), (stop - 1, stop))
            if 0 <= outside < cut.size
        ]
        is_abrupt[start:stop] = max(steps, default=0.0) > HALF_SHARE
    return is_abrupt


def _in_the_dark(is_blank: Bools, mean: Floats) -> Bools:
    """Return which blank images are black among images that are hardly brighter."""
    is_dark = np.zeros_like(is_blank)
    for start, stop in zip(*runs_of(is_blank), strict=True):
        around = mean[[k for k in (start - 1, stop) if 0 <= k < mean.size]]
        level = float(mean[start:stop].mean())
        is_dark[start:stop] = (
            around.size > 0 and level < DARK_LUMA and float(around.max()) < level + DARK_STEP
        )
    return is_dark
