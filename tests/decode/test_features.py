"""Features are bit-identical in OpenCV, torch and plain integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from syncaudit.decode import Frame
from syncaudit.decode.frame import block_sums, reduced, rows

SHAPES = [(48, 64), (49, 63), (26, 27), (1, 16), (480, 854)]
FACTORS = [1, 2, 3, 4, 5, 8, 13]


def made(shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    """Return noise with padded rows in memory, as from a decoder."""
    wide = np.random.default_rng(seed).integers(0, 256, (shape[0], shape[1] + 42), dtype=np.uint8)
    return wide[:, : shape[1]]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("n_blocks", "every"), [(1, 1), (16, 1), (4, 4), (3, 5)])
def test_sums_are_exact(shape: tuple[int, int], n_blocks: int, every: int) -> None:
    luma = made(shape)
    width = shape[1] // n_blocks
    cells = luma[::every, : n_blocks * width].astype(np.int64).reshape(-1, n_blocks, width)
    found = block_sums(luma, n_blocks, every)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, cells.sum(axis=2))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("factor", FACTORS)
def test_means_are_rounded_as_they_are_defined(shape: tuple[int, int], factor: int) -> None:
    luma = made(shape)
    height, width = shape[0] // factor, shape[1] // factor
    cut = luma[: height * factor, : width * factor].astype(np.int64)
    sums = cut.reshape(height, factor, width, factor).sum(axis=(1, 3))
    nearest_even = np.rint(sums.astype(np.float32) * np.float32(1 / factor**2))
    expected = (sums + 2) >> 2 if factor == 2 else nearest_even
    np.testing.assert_array_equal(reduced(luma, factor), expected.astype(np.uint8))


@pytest.mark.parametrize("shape", SHAPES)
def test_torch_computes_the_same_of_one_and_of_batches(shape: tuple[int, int]) -> None:
    torch = pytest.importorskip("torch")
    planes = np.stack([made(shape, seed) for seed in range(3)])
    asked = [(block_sums, (16, 1)), (block_sums, (4, 4)), (rows, (0, 16))]
    asked += [(reduced, (factor,)) for factor in FACTORS]
    for feature, arguments in asked:
        found = feature(torch.from_numpy(planes), *arguments).numpy()
        for plane, one in zip(planes, found, strict=True):
            expected = feature(plane, *arguments)
            assert one.dtype == expected.dtype
            np.testing.assert_array_equal(one, expected)


def test_images_compute_each_feature_once() -> None:
    frame = Frame(3, made((48, 64)), pts=90, time_base=Fraction(1, 60))
    assert (frame.index, frame.pts_s, frame.shape) == (3, 1.5, (48, 64))
    assert frame.reduced(2) is frame.reduced(2)
    assert frame.block_sums(4, 4) is frame.block_sums(4, 4)
    np.testing.assert_array_equal(frame.rows(4, 16), frame.luma[4::16])
    assert not np.shares_memory(frame.rows(4, 16), frame.luma)
