"""Model the rise that all knocks or clicks of a recording share, by a power of time."""

from __future__ import annotations

import numpy as np

from syncaudit.model.arrays import Floats

# Share of the largest amplitude up to which the rise is fitted.
LEVEL = 0.3
# A jump through a filter of order m, or a ringing that starts from rest, rises with the power m
# (or m + 1) of time; towards 30 % an exponential flattens below the first power. So do a noise that
# swells and a tone with a soft attack.
POWERS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
# The largest swing is sampled too, and knocks vary: the rise of a knock differs from the shared one
# by this share of itself, and occasionally by more (Student's t).
SHAPE_SHARE, FREEDOM = 0.3, 3.0
# Misfit of power laws to other rises, as a share of their length: common to all knocks.
MISFIT_SHARE = 0.15


def log_likelihood(levels: Floats, rise: Floats, std: Floats, floor: float) -> Floats:
    """Return how well rises fit amplitudes, summed over the last axis; arguments are broadcast.

    `std` is the error of the amplitudes, `floor` the least deviation from a rise, both as a share
    of the largest amplitude.
    """
    variance = std**2 + (SHAPE_SHARE * rise) ** 2 + floor**2
    misfit = np.log1p((levels - rise) ** 2 / (FREEDOM * variance))
    score: Floats = -0.5 * (np.log(variance) + (FREEDOM + 1.0) * misfit).sum(axis=-1)
    return score
