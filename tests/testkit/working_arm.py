"""A working arm and the motion of camera frames that show it, without rendering any frame.

Every cell of a frame moves by a smooth nonlinear function of the joints, whose Jacobian changes
with the pose, as for a real camera.
"""

import numpy as np

from syncaudit.model import ImageMotion, Quantity
from syncaudit.simulate.robot.task import TaskStyle, draw_course
from testkit.streams import activity

TICK_DEG = 360.0 / 4096.0
N_CELLS = 12


def arm(seed, seconds=12.0, **style):
    """Return the trajectory of an arm."""
    return draw_course(seconds, TaskStyle(**style), np.random.default_rng([seed, 7]))


def joints(course, seconds=12.0, rate_hz=30.0, late_s=0.0, *, is_command=False):
    """Return the joints as recorded in a table, quantised by an encoder."""
    times_s = np.arange(round(seconds * rate_hz)) / rate_hz
    curve = course.command if is_command else course.joints
    return activity(
        "action" if is_command else "state",
        Quantity.COMMAND if is_command else Quantity.STATE,
        times_s,
        np.rint(curve(times_s - late_s) / TICK_DEG) * TICK_DEG,
    )


def pictures(course, seed, seconds=12.0, fps=30.0, late_s=0.0, noise=0.05, seen=1.0):
    """Return the motion of a camera's cells.

    `late_s` is the age of a frame's content, one number or one per frame; `noise` is that of one
    cell relative to its typical motion, and `seen` the part of that motion caused by the arm.
    """
    rng = np.random.default_rng([seed, 8])
    times_s = np.arange(round(seconds * fps)) / fps
    pose = np.radians(course.joints(times_s - late_s))[:, :5]
    turns = rng.normal(0.0, 0.8, (5, 2 * N_CELLS))
    places = np.sin(pose @ turns + rng.uniform(0.0, 2.0 * np.pi, 2 * N_CELLS))
    moves = np.diff(places, axis=0)
    size = float(moves.std())
    drift = np.cumsum(rng.normal(size=moves.shape), axis=0)
    drift /= drift.std()
    moves = seen * moves + (1.0 - seen) * size * drift
    return ImageMotion(
        source="cam",
        epoch_ns=0,
        start_s=times_s[:-1],
        stop_s=times_s[1:],
        moves=moves + noise * size * rng.normal(size=moves.shape),
    )
