"""Motion of the arm: pick and place by a person's hand, and the arm that follows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d
from scipy.signal import lfilter

from .arm import reach

Floats = NDArray[np.float64]

_STEP_S = 0.005
_LEAD_S = 2.0  # the motion extends this long before and after the episode


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStyle:
    """Style of a person's arm movements."""

    # shortest and longest duration of a move from place to place, and of a pause
    move_s: tuple[float, float] = (0.6, 1.6)
    pause_s: tuple[float, float] = (0.05, 0.5)
    tremor_deg: float = 0.25  # standard deviation of the tremor of the hand, 0.5 to 4 Hz
    # time by which the arm trails the command (critically damped, second order)
    lag_s: float = 0.09


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ArmCourse:
    """Commanded and true joints at any time of the episode."""

    # six values as a function of seconds since the start of the episode
    command: CubicSpline
    joints: CubicSpline


def draw_course(duration_s: float, style: TaskStyle, rng: np.random.Generator) -> ArmCourse:
    """Draw one episode.

    Moves are minimum-jerk (Flash & Hogan, "The coordination of arm movements", J. Neurosci. 5,
    1985, doi:10.1523/JNEUROSCI.05-07-01688.1985).
    """
    times_s = np.arange(-_LEAD_S, duration_s + _LEAD_S, _STEP_S)
    command = _moves(times_s, style, rng)
    noise = rng.standard_normal((times_s.size, 5))
    tremor = gaussian_filter1d(noise, 0.05 / _STEP_S, axis=0)
    tremor -= gaussian_filter1d(noise, 0.4 / _STEP_S, axis=0)
    command[:, :5] += style.tremor_deg * tremor / tremor.std()
    keep = float(np.exp(-_STEP_S / max(0.5 * style.lag_s, 1e-3)))
    trail = command - command[0]
    for _ in range(2):  # two equal first-order lags
        trail = lfilter([1.0 - keep], [1.0, -keep], trail, axis=0)
    joints = command[0] + trail
    return ArmCourse(command=CubicSpline(times_s, command), joints=CubicSpline(times_s, joints))


def _moves(times_s: Floats, style: TaskStyle, rng: np.random.Generator) -> Floats:
    """Return the joints of a hand that picks and places continuously, shape (n, 6)."""
    now_s, here = float(times_s[0]), _above(rng, 0.22, 60.0)
    command = np.tile(here, (times_s.size, 1))
    queue: list[Floats] = []
    while now_s < times_s[-1]:
        if not queue:
            queue = _pick_and_place(rng)
        goal = queue.pop(0)
        is_grip = float(np.abs(goal[:5] - here[:5]).max()) < 1e-9
        lasts_s = rng.uniform(0.25, 0.5) if is_grip else rng.uniform(*style.move_s)
        share = np.clip((times_s - now_s) / lasts_s, 0.0, 1.0)[:, None]
        moved = here + (goal - here) * share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
        command = np.where(times_s[:, None] >= now_s, moved, command)
        here = goal
        now_s += lasts_s + rng.uniform(*style.pause_s)
    return command


def _above(rng: np.random.Generator, height_m: float, gripper: float) -> Floats:
    distance_m, bearing = rng.uniform(0.2, 0.4), rng.uniform(-0.9, 0.9)
    place = np.array([distance_m * np.cos(bearing), distance_m * np.sin(bearing), height_m])
    return reach(
        place,
        pitch_deg=rng.uniform(-90.0, -50.0),
        roll_deg=rng.uniform(-50.0, 50.0),
        gripper=gripper,
    )


def _lowered(joints: Floats, rng: np.random.Generator, gripper: float) -> Floats:
    """Return the joints some centimetres below: shoulder down, wrist up."""
    by_deg = rng.uniform(12.0, 22.0)
    lower = joints + np.array([0.0, -by_deg, 0.35 * by_deg, 0.5 * by_deg, 0.0, 0.0])
    lower[5] = gripper
    return np.asarray(lower)


def _pick_and_place(rng: np.random.Generator) -> list[Floats]:
    open_, closed = rng.uniform(60.0, 95.0), rng.uniform(5.0, 30.0)
    pick = _above(rng, rng.uniform(0.12, 0.2), open_)
    place = _above(rng, rng.uniform(0.12, 0.2), closed)
    at_pick, at_place = _lowered(pick, rng, open_), _lowered(place, rng, closed)

    def gripped(joints: Floats, gripper: float) -> Floats:
        return np.array([*joints[:5], gripper])

    return [
        pick,
        at_pick,
        gripped(at_pick, closed),
        gripped(pick, closed),
        place,
        at_place,
        gripped(at_place, open_),
        gripped(place, open_),
    ]
