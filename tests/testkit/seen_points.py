"""Points and images seen by a camera of exactly known motion."""

from functools import cache

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

FOCAL_PX = 279.0
WIDTH_PX, HEIGHT_PX = 428, 240


def tracks(
    seed,
    turn,
    travel=(0.0, 0.0, 0.0),
    *,
    n=120,
    noise_px=0.0,
    gross=0.0,
    depth_m=(5.0, 60.0),
    upper=False,
):
    """Return points (n, 2), in focal lengths, before and after a rotation vector and a translation.

    `gross` is the share of false tracks, which end anywhere within 40 pixels.
    """
    rng = np.random.default_rng([seed, 41])
    low, high = -HEIGHT_PX / 2, (0.2 if upper else 0.5) * HEIGHT_PX
    before = np.stack([rng.uniform(-200, 200, n), rng.uniform(low, high, n)], 1) / FOCAL_PX
    depth = 1.0 / rng.uniform(1.0 / depth_m[1], 1.0 / depth_m[0], n)
    there = np.column_stack([before, np.ones(n)]) * depth[:, None]
    seen = Rotation.from_rotvec(turn).inv().apply(there - np.asarray(travel))
    after = seen[:, :2] / seen[:, 2:]
    after = after + noise_px / FOCAL_PX * rng.normal(size=after.shape)
    false = rng.uniform(size=n) < gross
    after[false] = before[false] + rng.uniform(-40, 40, (int(false.sum()), 2)) / FOCAL_PX
    return before, after


def texture(seed, height=480, width=856):
    """Return an image full of soft blobs, uint8."""
    rng = np.random.default_rng([seed, 43])
    noise = rng.normal(size=(height, width)).astype(np.float32)
    fine, coarse = cv2.GaussianBlur(noise, (0, 0), 1.5), cv2.GaussianBlur(noise, (0, 0), 6.0)
    frame = 110.0 + 22.0 * fine / fine.std() + 14.0 * coarse / coarse.std()
    return np.clip(frame, 20, 200).astype(np.uint8)


def turned(frame, turn, focal_px):
    """Return the image as seen after a pure rotation (rotation vector)."""
    height, width = frame.shape
    K = np.array([[focal_px, 0, (width - 1) / 2], [0, focal_px, (height - 1) / 2], [0, 0, 1]])
    warp = K @ Rotation.from_rotvec(turn).as_matrix().T @ np.linalg.inv(K)
    return cv2.warpPerspective(
        frame, warp, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT
    )


def bent(places, k1, k2):
    """Return where a lens with radial distortion maps points of a pinhole image."""
    square = np.sum(places**2, axis=-1, keepdims=True)
    return places * (1.0 + square * (k1 + square * k2))


@cache
def _rays(focal_px, lens, width, height):
    """Return the direction that each pixel of a lens sees, shape (height, width, 3)."""
    x, y = np.meshgrid(np.arange(width) - (width - 1) / 2, np.arange(height) - (height - 1) / 2)
    seen = np.stack([x, y], axis=-1) / focal_px
    places = seen.copy()
    for _ in range(100):  # fixed point: contracts while the distortion is monotonic
        places += 0.7 * (seen - bent(places, *lens))
    return np.concatenate([places, np.ones((height, width, 1))], axis=-1)


def turned_behind_lens(scene, turn, focal_px, lens):
    """Return how a lens (k1, k2) images a wide scene after a pure rotation (rotation vector)."""
    rays = _rays(focal_px, lens, 856, 480) @ Rotation.from_rotvec(turn).as_matrix().T
    at = focal_px * rays[..., :2] / rays[..., 2:]
    at += (np.array(scene.shape[::-1]) - 1) / 2
    return cv2.remap(scene, at.astype(np.float32), None, cv2.INTER_CUBIC)
