"""Measure how much two images differ, and how much of that is the noise of their coding."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.model.arrays import Bools

# Images are compared by the means of this many cells (columns, rows): encoders drop fine structure,
# while motion changes coarse structure as well. The cell at this quantile of the change counts, so
# that an arm in front of a still wall is motion, and a speck of dust is not.
CELLS = (16, 12)
CELL_QUANTILE = 0.98
# Minimum number of key frames to estimate their own noise: of fewer, one may begin another scene.
MIN_KEYS = 3
MIN_IMAGES = 4
# Fast motion, like noise, leaves nothing in common after two steps. Coding leaves more: the worst
# tried (x264, crf 40, every second frame a key frame) changed the coarse cells by this share of
# their contrast.
MOST_NOISE = 0.18
# A varying quantizer changes the mean of a cell by up to a level, however dark and flat the scene.
# Where all are key frames, the same image is otherwise coded the same.
QUANTIZER_NOISE = 1.0
# Quantile of the noise of all runs of images: motion that turns or tears looks like noise.
NOISE_QUANTILE = 0.25

Signatures = NDArray[np.float16]


def signature(rows: NDArray[np.uint8]) -> Signatures:
    """Return the means of the cells of an image, shape (192,), relative to mid-grey."""
    sums = cv2.integral(rows)
    across, down = (
        np.arange(n + 1) * size // n for n, size in zip(CELLS, rows.shape[::-1], strict=True)
    )
    cells = np.diff(np.diff(sums[down[:, None], across], axis=0), axis=1)
    n_pixels = np.maximum(np.diff(down)[:, None] * np.diff(across), 1)  # tiny images: some empty
    return np.asarray(cells / n_pixels - 128.0, dtype=np.float16).ravel()


def apart(one: Signatures, other: Signatures) -> NDArray[np.float32]:
    """Return the change between images, in levels; shape (..., 192) becomes (...)."""
    change = np.abs(one.astype(np.float32) - other.astype(np.float32))
    place = int(CELL_QUANTILE * (change.shape[-1] - 1))
    return np.asarray(np.partition(change, place, axis=-1)[..., place])


def coding_noise(images: Signatures, is_key: Bools) -> float:
    """Return how much images differ although nothing moved, in levels.

    Motion accumulates: the square of its change grows as that of the number of steps, while two
    codings of one scene differ by the same amount however far apart they are (the nugget of a
    variogram; G. Matheron, "Principles of geostatistics", Economic Geology 58, 1963,
    doi:10.2113/gsecongeo.58.8.1246). The squares over one, two and three steps are therefore
    extrapolated to zero steps, as q + a n^2 + b n^4. Key frames, coded independently of the
    previous image, exceed the steps beside them by their own noise.

    `images`, shape (n, 192): signatures of the images that differ, in order. `is_key`, shape (n,):
    which are key frames.
    """
    if images.shape[0] < MIN_IMAGES:
        return 0.0
    one = np.square(apart(images[1:], images[:-1]))
    two = np.square(apart(images[2:], images[:-2]))
    three = np.square(apart(images[3:], images[:-3]))
    nugget = 0.5 * (one[:-2] + one[1:-1] + one[2:]) - 0.3 * (two[:-1] + two[1:]) + 0.1 * three
    square = max(0.0, float(np.quantile(nugget, NOISE_QUANTILE)))
    at = np.flatnonzero(is_key[2:-1] & ~is_key[1:-2] & ~is_key[3:]) + 2
    if at.size >= MIN_KEYS:
        square = max(square, float(np.median(one[at - 1] - 0.5 * (one[at - 2] + one[at]))))
    most = QUANTIZER_NOISE if is_key.all() else max(QUANTIZER_NOISE, most_noise(images))
    return min(float(np.sqrt(square)), most)


def most_noise(images: Signatures) -> float:
    """Return the noise of the coarsest coding of some images, shape (n, 192), in levels."""
    return MOST_NOISE * float(np.median(images.astype(np.float32).std(axis=1)))
