"""Measure one state of a robot against another: a command against the arm, two arms."""

from __future__ import annotations

import math

from syncaudit.estimators.delay import DelayTask, refuse
from syncaudit.estimators.state.measure import (
    MAX_DRIFT_PPM,
    READING_STD_S,
    SEARCH_STEP_S,
    measure_against,
)
from syncaudit.estimators.state.sides import period_of, state_increments
from syncaudit.model import Activity, PairMeasurement, Quantity

__all__ = ["measure_states"]


def measure_states(
    source: Activity,
    target: Activity,
    *,
    max_offset_s: float = 2.0,
    is_one_clock: bool = False,
) -> PairMeasurement:
    """Measure one state against another: a command against the arm that follows it, two arms.

    Parameters
    ----------
    source, target : Activity
        Of quantities ``state`` or ``command``.
    max_offset_s : float
        Search range.
    is_one_clock : bool
        Whether one clock stamps both: then nothing drifts or steps between them.

    Returns
    -------
    PairMeasurement
        Method ``command`` where either is one, for comparison with a baseline only; else
        ``joint_motion``.
    """
    is_command = Quantity.COMMAND in (source.quantity, target.quantity)
    task = DelayTask(
        source=source.source,
        target=target.source,
        method="command" if is_command else "joint_motion",
        source_epoch_ns=source.epoch_ns,
        target_epoch_ns=target.epoch_ns,
        max_offset_s=max_offset_s,
        step_s=SEARCH_STEP_S,
        expected_gain=(),
        systematic_std_s=math.hypot(READING_STD_S, READING_STD_S),
        is_one_clock=is_one_clock,
        is_baseline_only=is_command,
        max_drift_ppm=MAX_DRIFT_PPM,
    )
    increments = state_increments(source)
    if increments is None:
        return refuse(task, 0.0, f"{source.source} is too short or stands still")
    return measure_against(task, increments, target, period_of(source))
