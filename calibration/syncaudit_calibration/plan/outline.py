"""Put a plan together: the train of a light, what is seen of it, and what to expect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syncaudit_calibration.plan.accuracy import Accuracy, expected_accuracy
from syncaudit_calibration.plan.advice import advice
from syncaudit_calibration.plan.cameras import PlannedCamera
from syncaudit_calibration.plan.lights import HAND_LIGHTS, LightKind
from syncaudit_calibration.plan.pulse_train import PulseTrain, switchings
from syncaudit_calibration.plan.train import choose_hand_train, choose_screen_train, choose_train
from syncaudit_calibration.plan.visibility import Visibility, visibility

__all__ = ["Plan", "plan_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What to do with a light, and what it will tell.

    Parameters
    ----------
    train : PulseTrain
        To be played, or an example of what somebody may fire by hand.
    seen : Visibility
        Of its pulses; of a light that is on for long, of its going on and off.
    events : str
        Which of both.
    expected : Accuracy
    advice : tuple of str
        A sentence for each weakness.
    """

    train: PulseTrain
    seen: Visibility
    events: str
    expected: Accuracy
    advice: tuple[str, ...]


def plan_of(
    kind: LightKind,
    cameras: Sequence[PlannedCamera],
    *,
    duration_s: float | None = None,
    rng: np.random.Generator,
) -> Plan:
    """Return the plan for a light.

    Parameters
    ----------
    kind : LightKind
    cameras : sequence of PlannedCamera
        All that are to be calibrated.
    duration_s : float, optional
        Default: as long as it takes.
    rng : Generator
        Draws gaps and phases.
    """
    light = HAND_LIGHTS.get(kind)
    if light:
        train = choose_hand_train(cameras, light, duration_s=duration_s, rng=rng)
    elif kind is LightKind.SCREEN:
        train = choose_screen_train(cameras, duration_s=duration_s, rng=rng)
    else:
        train = choose_train(cameras, duration_s=duration_s, rng=rng)
    told = train
    is_on_long = kind is LightKind.SCREEN or (light is not None and light.has_edges)
    if is_on_long and not any(camera.is_global for camera in cameras):
        on_s = np.full(train.n, train.width_s)
        if light:
            on_s = rng.uniform(light.shortest_s, light.longest_s, train.n)
        told = switchings(train, on_s)
    seen = visibility(cameras, told, rng=rng)
    expected = expected_accuracy(
        cameras,
        told,
        n_shared=seen.fewest_shared,
        rng=rng,
        is_screen=kind is LightKind.SCREEN,
        light=light,
    )
    return Plan(
        train=train,
        seen=seen,
        events="flashes" if told is train else "switchings",
        expected=expected,
        advice=advice(cameras, train, seen, expected, kind),
    )
