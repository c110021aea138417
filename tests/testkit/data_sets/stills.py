"""Images that differ from each other, small enough for a data set of many clips."""

from __future__ import annotations

import cv2
import numpy as np


def frame(number: int) -> np.ndarray:
    """Return image `number`, RGB, 24 x 32: a texture plus a level that grows with the number."""
    texture = np.random.default_rng(7).integers(0, 60, (24, 32, 3), dtype=np.uint8)
    return texture + np.uint8(40 + 5 * (number % 30))


def jpeg(image: np.ndarray) -> bytes:
    """Return an image encoded as JPEG."""
    return cv2.imencode(".jpg", image[..., ::-1])[1].tobytes()
