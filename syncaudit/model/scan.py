"""The direction in which a rolling shutter reads one line of an image after another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

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


def direction_of(scan: Scan | None) -> tuple[int, int]:
    """Return the step from one line to the next, to the right and down; unknown scans run down."""
    return SCAN_DIRECTIONS[scan or "down"]
