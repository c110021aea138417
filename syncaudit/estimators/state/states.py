"""Measure one state of a robot against another: a command against the arm, two arms.

Neither side is the truth, so both directions are measured: how well each side predicts the other.
Swapping the sides changes nothing but the sign. First the delay of every channel of either side is
measured (see `channels`): channels that do not share that of the others are left out, and without a
clear majority the pair is refused.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from syncaudit.estimators.delay.measure import search_range
from syncaudit.estimators.delay.record import DelayTask, refuse
from syncaudit.estimators.state.channels import Agreement, agreement, word_apart
from syncaudit.estimators.state.driver import (
    moving_channels,
    period_of,
    state_driver,
    state_increments,
)
from syncaudit.estimators.state.measure import (
    MAX_DRIFT_PPM,
    READING_STD_S,
    SEARCH_STEP_S,
    largest_std_s,
    measure_against,
)
from syncaudit.estimators.state.parts import MAX_PART_Z
from syncaudit.formatting import word_measure
from syncaudit.model import Activity, PairMeasurement, Quantity


def measure_states(
    source: Activity, target: Activity, *, max_offset_s: float = 2.0, is_one_clock: bool = False
) -> PairMeasurement:
    """Measure one state against another: a command against the arm that follows it, two arms.

    Parameters
    ----------
    source, target : Activity
        Of quantities ``state`` or ``command``.
    max_offset_s, is_one_clock
        As in `DelayTask`.

    Returns
    -------
    PairMeasurement
        Method ``command`` where either is one, for comparison with a baseline only; else
        ``joint_motion``. With swapped sources, the same with the opposite sign.
    """
    tasks = [
        _task(one, other, max_offset_s, is_one_clock=is_one_clock)
        for one, other in ((source, target), (target, source))
    ]
    sides = [_moving(source), _moving(target)]
    agreements = [
        _agreement(task, one, other)
        for task, one, other in zip(tasks, sides, sides[::-1], strict=True)
    ]
    slower_s = max(period_of(source), period_of(target))
    why = _why_apart(agreements, (source.source, target.source), largest_std_s(slower_s))
    if why is not None:
        return refuse(tasks[0], 0.0, why)
    kept = [
        replace(side, values=side.values[:, found.is_kept]) if found else side
        for side, found in zip(sides, agreements, strict=True)
    ]
    ahead, back = (
        _one_way(task, one, other) for task, one, other in zip(tasks, kept, kept[::-1], strict=True)
    )
    return _joined(ahead, back.turned(), [found for found in agreements if found])


def _task(
    source: Activity, target: Activity, max_offset_s: float, *, is_one_clock: bool
) -> DelayTask:
    is_command = Quantity.COMMAND in (source.quantity, target.quantity)
    return DelayTask.between(
        source,
        target,
        "command" if is_command else "joint_motion",
        max_offset_s,
        step_s=SEARCH_STEP_S,
        expected_gain=(),
        systematic_std_s=math.hypot(READING_STD_S, READING_STD_S),
        is_one_clock=is_one_clock,
        is_baseline_only=is_command,
        max_drift_ppm=MAX_DRIFT_PPM,
    )


def _moving(state: Activity) -> Activity:
    """Return a state without stationary channels; unchanged if all are stationary."""
    is_moving = moving_channels(state.values)
    return replace(state, values=state.values[:, is_moving]) if is_moving.any() else state


def _agreement(task: DelayTask, source: Activity, target: Activity) -> Agreement | None:
    """Return the delay that a source's channels share; None where one side is no evidence."""
    increments = state_increments(source)
    slower_s = max(period_of(source), period_of(target))
    driver = state_driver(target, slower_s=slower_s, n_rows=0, is_linear=True)
    if increments is None or driver is None or not increments.mid_s.size:
        return None
    lowest_s, highest_s = search_range(task, increments, driver)
    delays_s = np.arange(lowest_s, highest_s + 0.5 * task.step_s, task.step_s)
    return agreement(increments, driver, delays_s, epochs_s=task.epochs_s)


def _why_apart(
    agreements: list[Agreement | None], names: tuple[str, str], limit_s: float
) -> str | None:
    """Return why channels share no delay, for the side that shows it best, or None."""
    apart = [
        (found.n_measured, names if k == 0 else names[::-1], found.groups)
        for k, found in enumerate(agreements)
        if found is not None and not found.is_shared(limit_s)
    ]
    if not apart:
        return None
    # Choose by a key that does not change when the sides are swapped.
    _, (source, target), groups = max(
        apart, key=lambda each: (each[0], sum(abs(n * delay_s) for n, delay_s, _ in each[2]))
    )
    return word_apart(source, target, groups)


def _one_way(task: DelayTask, source: Activity, target: Activity) -> PairMeasurement:
    increments = state_increments(source)
    if increments is None:
        return refuse(task, 0.0, f"{source.source} is too short or constant")
    return measure_against(task, increments, target, period_of(source))


def _joined(
    ahead: PairMeasurement, back: PairMeasurement, agreements: list[Agreement]
) -> PairMeasurement:
    """Return the direction that predicts more, which the other has to confirm."""
    ways = sorted((ahead, back), key=lambda way: -way.diagnostics.get("foretold", 0.0))
    refused = [way for way in ways if not way.accepted]
    if refused:
        return refused[-1]
    best, other = ways
    if (best.step_s is None) != (other.step_s is None):
        return best.withdrawn("the delay steps seen from one side but not from the other")
    offset_s, other_s = best.offset_s or 0.0, other.offset_s or 0.0
    std_s, other_std_s = best.offset_std_s or 0.0, other.offset_std_s or 0.0
    apart_s, apart_std_s = offset_s - other_s, math.hypot(std_s, other_std_s)
    if abs(apart_s) > MAX_PART_Z * apart_std_s:
        why = (
            f"the predictions of each side from the other are {word_measure(apart_s, apart_std_s)}"
        )
        return best.withdrawn(f"{why} apart")
    lags_s = max((found.std_s for found in agreements), default=0.0)
    figures = {
        **best.diagnostics,
        "channels_std_s": lags_s,
        "channels": float(max((found.n_measured for found in agreements), default=0)),
        "channels_alike": float(max((found.n_agreeing for found in agreements), default=0)),
    }
    total_s = math.sqrt(std_s**2 + lags_s**2 + 0.25 * apart_s**2)
    return replace(best, offset_std_s=total_s, diagnostics=figures)
