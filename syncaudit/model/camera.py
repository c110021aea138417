"""How a camera forms images: the distortion of its lens, and the order in which rows are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from syncaudit.model.arrays import Floats

Scan = Literal["down", "up", "right", "left"]
"""Across the stored image: sensors read `down`; images rotated by 180 degrees since run `up`."""

SCAN_DIRECTIONS: Mapping[Scan, tuple[int, int]] = {
    "down": (0, 1),
    "up": (0, -1),
    "right": (1, 0),
    "left": (-1, 0),
}
"""Steps from one line to the next, to the right and down."""

OPPOSITE_SCANS: Mapping[Scan, Scan] = {
    "down": "up",
    "up": "down",
    "right": "left",
    "left": "right",
}

LensModel = Literal["radtan", "fisheye"]
# How many coefficients each model takes.
N_COEFFICIENTS: dict[str, tuple[int, ...]] = {"radtan": (4, 5, 8), "fisheye": (4,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Distortion:
    """Distortion of a lens as calibration tools state it, coefficients in OpenCV's order.

    Parameters
    ----------
    model : str
        ``radtan`` (Brown, "Decentering distortion of lenses", 1966): k1, k2, p1, p2, then k3, or
        k3 to k6. ``fisheye`` (Kannala & Brandt, "A generic camera model and calibration method for
        conventional, wide-angle, and fish-eye lenses", IEEE Trans. PAMI 28, 2006,
        doi:10.1109/TPAMI.2006.153): k1 to k4 of the angle.
    k : list of float
        The coefficients.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True}

    model: LensModel
    k: list[float]

    @property
    def decentring(self) -> tuple[float, float]:
        """Return the tangential coefficients p1 and p2."""
        return (self.k[2], self.k[3]) if self.model == "radtan" else (0.0, 0.0)

    def radius(self, angle_rad: Floats) -> Floats:
        """Return how far from the middle rays land, in focal lengths.

        Parameters
        ----------
        angle_rad : ndarray
            Angles from the optical axis; for ``radtan`` below a right angle.
        """
        if self.model == "fisheye":
            square, even = angle_rad**2, self.k
            return np.asarray(angle_rad * (1.0 + square * _series(even, square)))
        plane = np.tan(angle_rad)
        square = plane**2
        k = [*self.k, *[0.0] * (8 - len(self.k))]
        bent = 1.0 + square * _series([k[0], k[1], k[4]], square)
        return np.asarray(plane * bent / (1.0 + square * _series(k[5:], square)))


def _series(coefficients: list[float], square: Floats) -> Floats:
    """Return ``c0 + c1 s + c2 s^2 ...``."""
    total = np.zeros_like(square)
    for coefficient in reversed(coefficients):
        total = total * square + coefficient
    return total


def direction_of(scan: Scan | None) -> tuple[int, int]:
    """Return the step from one line to the next, to the right and down; unknown scans run down."""
    return SCAN_DIRECTIONS[scan or "down"]
