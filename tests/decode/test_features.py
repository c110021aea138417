"""Integer features are the same bits in numpy, torch and OpenCV."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from syncaudit.decode.features import column_sums, half, row_sums


@pytest.mark.parametrize("shape", [(48, 64), (49, 63), (2, 2), (1, 5), (480, 854)])
def test_features_are_exact(shape: tuple[int, int]) -> None:
    luma = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    assert row_sums(luma).dtype == column_sums(luma).dtype == np.int32
    np.testing.assert_array_equal(
        row_sums(luma), cv2.reduce(luma, 1, cv2.REDUCE_SUM, dtype=cv2.CV_32S)[:, 0]
    )
    np.testing.assert_array_equal(column_sums(luma), luma.astype(int).sum(axis=0))
    height, width = shape[0] // 2, shape[1] // 2
    assert half(luma).shape == (height, width)
    if height:
        even = luma[: 2 * height, : 2 * width]
        resized = cv2.resize(even, (width, height), interpolation=cv2.INTER_AREA)
        np.testing.assert_array_equal(half(luma), resized)


def test_torch_computes_the_same() -> None:
    torch = pytest.importorskip("torch")
    luma = np.random.default_rng(1).integers(0, 256, (151, 190), dtype=np.uint8)
    for feature in (row_sums, column_sums, half):
        found = feature(torch.from_numpy(luma)).numpy()
        assert found.dtype == feature(luma).dtype
        np.testing.assert_array_equal(found, feature(luma))
