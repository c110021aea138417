"""Tell whether a robot moved so that a camera's image had to move as well."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import t as student_t

from syncaudit.model import Activity, ImageMotion
from syncaudit.model.arrays import Floats

# Motion is summed over up to this span: clocks that are off by a few frames hardly matter.
SPAN_S = 0.5
# Joints that move by less than this share of the usual are at rest, which shows no relation.
REST_SHARE = 0.1
# Directions in which joints move only during the still are predicted with a very large error.
RIDGE = 1e-6
# Probability of taking a camera at rest for a frozen one, over all cells and parts of a still.
MAX_CHANCE = 1e-4
MIN_FREEDOM = 4


def had_to_move(seen: ImageMotion, joints: Sequence[Activity], still_ns: tuple[int, int]) -> bool:
    """Return whether a robot's motion contradicts an image that stands still meanwhile.

    A wrist rests while the other arm works, and a gripper closes outside of a camera's view. So the
    displacement of every cell of the image over half a second is regressed on that of the joints
    in the rest of the clip, with errors in proportion to the motion. The image had to move if the
    displacement predicted for a part of the still exceeds its own error, that of the regression
    included, beyond chance.

    Parameters
    ----------
    seen : ImageMotion
        Of the camera.
    joints : sequence of Activity
        All states of the robot.
    still_ns : (int, int)
        When the image stands still, without what unknown clocks may shift out of it.
    """
    if not joints:
        return False
    still_s = (still_ns[1] - still_ns[0]) * 1e-9
    n_parts = math.ceil(still_s / SPAN_S)
    shifts = np.concatenate([np.zeros_like(seen.moves[:1]), np.cumsum(seen.moves, axis=0)])
    sides = [
        ((epoch_ns - still_ns[0]) * 1e-9 + times_s, values)
        for epoch_ns, times_s, values in (
            (seen.epoch_ns, np.append(seen.start_s[0], seen.stop_s), shifts),
            *((state.epoch_ns, state.times_s, state.values) for state in joints),
        )
    ]
    step_s = still_s / n_parts
    first = math.ceil(max(float(times_s[0]) for times_s, _ in sides) / step_s)
    last = math.floor(min(float(times_s[-1]) for times_s, _ in sides) / step_s)
    if first > 0 or last < n_parts:
        return False
    edges_s = np.asarray(step_s * np.arange(first, last + 1), dtype=np.float64)
    part = np.arange(first, last)
    shown, *moves = (np.diff(_at(edges_s, *side), axis=0) for side in sides)
    change = np.concatenate(moves, axis=1)
    change /= np.sqrt(np.mean(change**2, axis=0)) + 1e-30
    size = np.sqrt(np.mean(change**2, axis=1))
    asked = (part >= 0) & (part < n_parts) & (size > REST_SHARE)
    # The still begins and ends outside of what is asked.
    known = ((part < -1) | (part > n_parts)) & (size > REST_SHARE)
    freedom = int(known.sum()) - change.shape[1]
    if freedom < MIN_FREEDOM or not asked.any():
        return False
    driven, asked_for = change[known] / size[known, None], change[asked] / size[asked, None]
    shown = shown[known] / size[known, None]
    inverse = np.linalg.inv(driven.T @ driven + RIDGE * len(driven) * np.eye(driven.shape[1]))
    mixing = inverse @ (driven.T @ shown)
    noise = np.sum((shown - driven @ mixing) ** 2, axis=0) / freedom
    spread = 1.0 + np.sum((asked_for @ inverse) * asked_for, axis=1)
    excess = np.abs(asked_for @ mixing) / np.sqrt(np.outer(spread, noise) + 1e-30)
    return bool(excess.max() > student_t.isf(0.5 * MAX_CHANCE / excess.size, freedom))


def _at(wanted_s: Floats, times_s: Floats, values: Floats) -> Floats:
    return np.stack([np.interp(wanted_s, times_s, column) for column in values.T], axis=1)
