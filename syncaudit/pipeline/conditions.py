"""Describe the conditions of a clip: how fast it moves, how much it turns, how light it is."""

from __future__ import annotations

import math

import numpy as np

from syncaudit.model import Activity, ClipEvidence, Quantity

__all__ = ["conditions_of"]

# Cheap gyroscopes have sample-to-sample noise of a few degrees per second; means have little.
_BLOCK_S = 0.5


def conditions_of(evidence: ClipEvidence) -> dict[str, float]:
    """Return the conditions of a clip (`ClipRecord.conditions`), as far as its sources show them.

    Turning is measured by a gyroscope about any axis, without its mean, so that a bias does not
    count as turning. The strongest source of each counts.
    """
    found: dict[str, list[float]] = {"speed": [], "turning": [], "light": []}
    for motion in evidence.motion.values():
        for quantity in (Quantity.SPEED, Quantity.WHEEL_SPEED):
            if quantity in motion:
                found["speed"].append(float(np.mean(np.abs(motion[quantity].values))))
        for quantity in (Quantity.ANGULAR_RATE, Quantity.YAW_RATE):
            if quantity in motion:
                found["turning"].append(_variation(motion[quantity]))
    found["light"] += [a.light for a in evidence.pictures.values() if a.light is not None]
    return {name: round(max(values), 4) for name, values in found.items() if values}


def _variation(activity: Activity) -> float:
    """Return the root mean square over all axes of a signal's slow part, without its mean."""
    if not activity.times_s.size:
        return 0.0
    block = ((activity.times_s - activity.times_s[0]) / _BLOCK_S).astype(np.int64)
    _, first, counts = np.unique(block, return_index=True, return_counts=True)
    means = np.add.reduceat(activity.values, first, axis=0) / counts[:, None]
    return math.sqrt(float(np.sum(np.var(means, axis=0))))
