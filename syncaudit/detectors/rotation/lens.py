"""From places in a picture to directions: what a lens bends is straightened before rays are fitted.

Points far from the middle move less, or more, than a pinhole would have them: a wide lens makes
turns a third too small, and what it takes for travel bends offsets by milliseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import Distortion

__all__ = ["Lens", "Sight"]

Floats = NDArray[np.float64]

# Rays farther from the axis are left out: in the plane that flow is fitted in they go to infinity.
MAX_ANGLE_RAD = math.radians(70.0)
# Between these many angles the curve of a lens is as good as straight.
N_ANGLES = 700
# Decentring is a small part of the distortion: two steps of a fixed point solve for it.
DECENTRING_STEPS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """Where points would lie in a pinhole's picture.

    Parameters
    ----------
    places : ndarray, shape (..., 2)
        In focal lengths from the middle.
    scale : ndarray, shape (...)
        How much larger a length there is in the picture than in this plane: errors of tracks are
        alike in the picture.
    is_seen : ndarray of bool, shape (...)
        False outside of what the lens can show.
    """

    places: Floats
    scale: Floats
    is_seen: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Lens:
    """Inverse of a lens as a table over the distance from the middle of the picture.

    Parameters
    ----------
    radius : ndarray, shape (k,)
        Distances in the picture, focal lengths, increasing from zero.
    stretch : ndarray, shape (k,)
        Distance in a pinhole's picture over that.
    scale : ndarray, shape (k,)
        As of `Sight`.
    decentring : tuple of float
        p1 and p2 of `Distortion`.
    """

    radius: Floats
    stretch: Floats
    scale: Floats
    decentring: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def stated(cls, distortion: Distortion) -> Lens:
        """Return the inverse of a lens that is stated."""
        angle = _angles()
        return cls._of(angle, distortion.radius(angle), distortion.decentring)

    @classmethod
    def radial(cls, term: float) -> Lens:
        """Return a lens of one radial term: rays are ``(x, y, 1 + term * r^2)``.

        The division model (Fitzgibbon, "Simultaneous linear estimation of multiple view geometry
        and lens distortion", CVPR 2001, doi:10.1109/CVPR.2001.990465): -1/3 is a fisheye to third
        order, and 0 a pinhole.
        """
        angle = _angles()
        plane = np.tan(angle)
        root = 1.0 - 4.0 * term * plane**2
        return cls._of(angle[root > 0.0], 2.0 * plane[root > 0.0] / (1.0 + np.sqrt(root[root > 0])))

    @classmethod
    def _of(
        cls, angle: Floats, radius: Floats, decentring: tuple[float, float] = (0.0, 0.0)
    ) -> Lens:
        # A polynomial turns back somewhere outside of the picture that it was fitted to.
        back = np.flatnonzero(np.diff(radius) <= 0.0)
        stop = int(back[0]) + 1 if back.size else radius.size
        angle, radius = angle[:stop], radius[:stop]
        plane = np.tan(angle)
        stretch, along = np.ones(stop), np.ones(stop)
        stretch[1:] = plane[1:] / radius[1:]
        along[1:] = np.gradient(radius, plane)[1:] if stop > 2 else 1.0
        scale = np.sqrt(np.maximum(along, 0.0) / stretch)
        return cls(radius, stretch, scale, decentring)

    def sight(self, points: Floats) -> Sight:
        """Straighten points, shape (..., 2), focal lengths from the middle of the picture."""
        bent, (p1, p2) = points, self.decentring
        if p1 or p2:
            for _ in range(DECENTRING_STEPS):
                there = bent * np.interp(_length(bent), self.radius, self.stretch)[..., None]
                x, y = there[..., 0], there[..., 1]
                square = x * x + y * y
                aside = [
                    2 * p1 * x * y + p2 * (square + 2 * x * x),
                    p1 * (square + 2 * y * y) + 2 * p2 * x * y,
                ]
                bent = points - np.stack(aside, axis=-1)
        length = _length(bent)
        return Sight(
            places=bent * np.interp(length, self.radius, self.stretch)[..., None],
            scale=np.interp(length, self.radius, self.scale),
            is_seen=length < self.radius[-1],
        )


@lru_cache(maxsize=1)
def _angles() -> Floats:
    return np.linspace(0.0, MAX_ANGLE_RAD, N_ANGLES)


def _length(points: Floats) -> Floats:
    return np.sqrt(points[..., 0] ** 2 + points[..., 1] ** 2)
