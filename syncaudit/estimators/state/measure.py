"""Cameras against a robot's state, and states against one another.

The displacement of every cell of the picture is regressed on what the joints do over the same
interval at every delay, with a mixing that is free and may depend on the pose (see `driver`). The
delay that foretells best is refined like any other (`fit_delay`), and refused where another
foretells almost as well, where parts of the clip or of the picture disagree, or where too little
moves.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.delay import (
    MIN_ROWS,
    DelayTask,
    record_delay,
    refuse,
    search_range,
)
from syncaudit.estimators.delay_curve import DelayCurve
from syncaudit.estimators.delay_fit import DelayFit, fit_delay
from syncaudit.estimators.increments import Increments
from syncaudit.estimators.refusals import why_ambiguous, why_no_clock, why_too_weak
from syncaudit.estimators.state.leave_out import leave_out_std
from syncaudit.estimators.state.mixtures import fit_mixtures
from syncaudit.estimators.state.null import chance_of, why_by_chance
from syncaudit.estimators.state.repetition import Repetition, find_repetition
from syncaudit.estimators.state.search import Foretold, search_state
from syncaudit.estimators.state.sides import (
    camera_increments,
    driver_of,
    period_of,
    state_increments,
)
from syncaudit.estimators.state.steps import find_shared_step
from syncaudit.model import Activity, PairMeasurement, PictureMotion, Quantity

__all__ = ["measure_camera_state", "measure_states"]

Floats = NDArray[np.float64]

# Lobes are as wide as moves of the arm are long.
SEARCH_STEP_S = 0.02
# Video coding repeats what moves by less than a pixel: pictures seem late by a share of a frame.
CODING_PERIODS = 0.06
# Age of a joint reading when it is stamped, one sigma: bus and servo tell nothing of it.
READING_STD_S = 1.5e-3
# Share of what is seen that the state must foretell.
MIN_SHARE = 0.08
# Pieces of the clip and halves of what is seen may differ by this many standard errors. Where the
# arm is near or far the mixing is not quite the same, which moves each by a share of a period.
N_PARTS = 5
MAX_PART_Z = 4.0
PART_STD_PERIODS = 0.15
# The fit may end this far from where the search did, or within the width of the smoothing.
MAX_MOVE_S = 0.1
MAX_MOVE_PERIODS = 2.0
# Clocks: quartz is within 100 ppm, 29.97 taken for 30 frames/s is 1,000 ppm, and the ceramic
# resonators of cheap controllers, the worst oscillators that are sold as such, are within 0.5 %.
MAX_DRIFT_PPM = 5000.0
# A delay that is known no better than this part of a frame period tells nothing of frames.
MAX_STD_PERIODS = 0.5
MAX_STD_S = 0.02


def measure_camera_state(
    camera: PictureMotion,
    state: Activity,
    *,
    max_offset_s: float = 2.0,
    is_one_clock: bool = False,
) -> PairMeasurement:
    """Measure a camera's clock against that of a robot's state.

    Parameters
    ----------
    camera : PictureMotion
        Source.
    state : Activity
        Target. Commands are trailed by the arm: against them the measurement is for comparison
        with a baseline only.
    max_offset_s : float
        Search range.
    is_one_clock : bool
        Whether one clock stamps both: then nothing drifts or steps between them.

    Returns
    -------
    PairMeasurement
        Method ``arm_motion``, or ``commanded_motion`` against commands.
    """
    is_command = state.quantity is Quantity.COMMAND
    period_s = period_of(camera)
    task = DelayTask(
        source=camera.source,
        target=state.source,
        method="commanded_motion" if is_command else "arm_motion",
        source_epoch_ns=camera.epoch_ns,
        target_epoch_ns=state.epoch_ns,
        max_offset_s=max_offset_s,
        step_s=SEARCH_STEP_S,
        expected_gain=(),
        systematic_std_s=math.hypot(
            math.hypot(camera.stamp_std_s, CODING_PERIODS * period_s), READING_STD_S
        ),
        is_one_clock=is_one_clock,
        is_baseline_only=is_command,
        max_drift_ppm=MAX_DRIFT_PPM,
    )
    return _measure(task, camera_increments(camera), state, period_s)


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
    return _measure(task, increments, target, period_of(source))


def _measure(
    task: DelayTask, increments: Increments, target: Activity, period_s: float
) -> PairMeasurement:
    n = increments.values.shape[0]
    middle_s = float(np.median(increments.mid_s)) if n else 0.0
    if n < MIN_ROWS:
        return refuse(task, middle_s, f"only {n} usable increments, needed {MIN_ROWS}", rows=n)
    slower_s = max(period_s, period_of(target))
    is_linear = task.method in ("command", "joint_motion")
    driver = driver_of(target, slower_s=slower_s, n_rows=n, is_linear=is_linear)
    if driver is None:
        return refuse(task, middle_s, f"{target.source} is too short or stands still", rows=n)
    epochs_s = (task.target_epoch_ns - task.source_epoch_ns) * 1e-9
    lowest_s, highest_s = search_range(task, increments, driver, epochs_s)
    delays_s = np.arange(lowest_s, highest_s + 0.5 * task.step_s, task.step_s)
    foretold = search_state(increments, driver, delays_s)
    if foretold is None:
        unseen = "the two do not overlap in time, or nothing moves that both could see"
        return refuse(task, middle_s, unseen, rows=n)
    curve, best = foretold.curve, foretold.curve.best()
    start_s = float(curve.delays_s[best])
    mixed, mixing, fit = fit_mixtures(increments, driver, foretold, start_s=start_s)
    figures = {
        "rows": float(n),
        "searched_s": 0.5 * (highest_s - lowest_s),
        "log_likelihood": float(curve.log_likelihood[best]),
        "runner_up": curve.runner_up(best),
        "foretold": foretold.share,
    }
    if fit is None:
        return refuse(task, middle_s, "nothing moves that both could see", **figures)
    figures |= {
        "explained": fit.explained,
        "correlation_factor": fit.correlation_factor,
        "offset_s": fit.offset_s + epochs_s,
        "offset_std_s": fit.offset_std_s,
    }
    reduced = driver.mixed(mixing)
    parts = _parts(mixed, reduced, fit)
    uneven = _why_apart(parts, slower_s, "parts of the clip")
    step, apart = None, uneven
    if uneven is not None and not task.is_one_clock:
        step = find_shared_step(
            mixed,
            driver,
            fit,
            period_s=slower_s,
            side_std_s=PART_STD_PERIODS * slower_s,
            independent=foretold.n_values / increments.values.size,
        )
        if step is None:
            uneven = _why_no_line(parts, slower_s)
    repetition = _repetition_of(target, slower_s)
    why = _why_no_lobe(curve, foretold, has_step=step is not None)
    if why is None:
        chance = chance_of(
            increments, driver, delay_s=start_s, range_s=float(delays_s[-1] - delays_s[0])
        )
        figures |= {"log10_chance": chance.whole, "log10_chance_fast": chance.fast}
        why = why_by_chance(chance, is_direct=is_linear)
    if why is not None:
        return refuse(task, fit.anchor_s, str(repetition or why), **figures)
    alone_s, wider = 0.0, 1.0
    if step is None:
        alone_s = leave_out_std(increments, driver, fit)
        figures["leave_out_std_s"] = alone_s
        wider = _random_std(fit, alone_s, task, repetition) / fit.offset_std_s
        fit = replace(fit, offset_std_s=wider * fit.offset_std_s)
        figures["offset_std_s"] = fit.offset_std_s
    why = _why_not(foretold, fit, alone_s, start_s, slower_s, has_step=step is not None)
    if why is None and step is None:
        why = uneven or _why_apart(_halves(mixed, driver, fit), slower_s, "parts of what moves")
    if why is not None:
        return refuse(task, fit.anchor_s, why, **figures)
    record = record_delay(task, mixed, driver, fit, step, epochs_s, figures)
    why = why_no_clock(figures, most_ppm=task.max_drift_ppm)
    if why is None and record.drift_ppm is None and record.step_s is None:
        why = apart  # what a drift explains is told as one, or not at all
    if why is not None:
        return refuse(task, fit.anchor_s, why, **figures)
    if record.drift_std_ppm is None or record.offset_std_s is None:
        return record
    # Offset and drift were fitted together, by the covariance alone.
    return replace(
        record,
        offset_std_s=max(record.offset_std_s, math.hypot(fit.offset_std_s, task.systematic_std_s)),
        drift_std_ppm=wider * record.drift_std_ppm,
    )


def _repetition_of(target: Activity, slower_s: float) -> Repetition | None:
    joints = driver_of(target, slower_s=slower_s, n_rows=0, is_linear=True)
    return None if joints is None else find_repetition(joints)


def _random_std(
    fit: DelayFit, alone_s: float, task: DelayTask, repetition: Repetition | None
) -> float:
    """Return the standard error of a delay but for the systematic one.

    What leaving out parts tells has four degrees of freedom and the covariance leaves out the
    mixing: their variances weigh alike. The systematic errors that change within a clip are part
    of what leaving out tells. Moves that are repeated repeat what the mixing does wrong: they count
    as one.
    """
    both = 0.5 * (fit.offset_std_s**2 + alone_s**2) - task.systematic_std_s**2
    n_alike = 1.0 if repetition is None else repetition.n_times(fit.span_s)
    return math.sqrt(n_alike * max(fit.offset_std_s**2, both))


def _why_no_lobe(curve: DelayCurve, foretold: Foretold, *, has_step: bool) -> str | None:
    """Return why the search has no one answer, or None."""
    best = curve.best()
    if curve.is_at_edge(best):
        return (
            f"the best delay lies at the edge of the search range "
            f"({curve.delays_s[0]:+.3g} to {curve.delays_s[-1]:+.3g} s)"
        )
    if has_step:
        return None
    likelihood = float(curve.log_likelihood[best])
    n_values = max(1, round(foretold.n_values))
    return why_ambiguous(likelihood, curve.runner_up(best), 1.0, n_values)


def _why_not(
    foretold: Foretold,
    fit: DelayFit,
    alone_s: float,
    start_s: float,
    slower_s: float,
    *,
    has_step: bool,
) -> str | None:
    if foretold.share < MIN_SHARE:
        return (
            f"too little of what is seen follows the robot: {100.0 * foretold.share:.0f} % is "
            f"foretold, needed {100.0 * MIN_SHARE:.0f} %"
        )
    why = why_too_weak(fit)
    if why is not None:
        return why
    if abs(fit.offset_s - start_s) > max(MAX_MOVE_S, MAX_MOVE_PERIODS * slower_s) and not has_step:
        return "the delay that fits best is not the one that foretells best"
    limit_s = max(MAX_STD_S, MAX_STD_PERIODS * slower_s)
    if alone_s > limit_s:
        return (
            f"leaving out fifths of the clip changes the delay by {1e3 * alone_s:.0f} ms, allowed "
            f"{1e3 * limit_s:.0f} ms: it hangs on single moves"
        )
    if fit.offset_std_s > limit_s:
        return (
            f"standard error {1e3 * fit.offset_std_s:.0f} ms is too large to be of use, needed "
            f"{1e3 * limit_s:.0f} ms: the robot moves too little, or too evenly"
        )
    return None


def _why_no_line(parts: list[DelayFit], slower_s: float) -> str | None:
    """Return why parts that disagree are no clock that drifts, or None where they are one."""
    at_s, delays_s, stds_s = (
        np.array([getattr(part, name) for part in parts])
        for name in ("anchor_s", "offset_s", "offset_std_s")
    )
    stds_s = np.hypot(stds_s, PART_STD_PERIODS * slower_s)
    at_s = at_s - np.average(at_s, weights=stds_s**-2.0)
    slope_std = float(np.sum((at_s / stds_s) ** 2)) ** -0.5
    slope = slope_std**2 * float(np.sum(at_s * delays_s / stds_s**2))
    straight = [
        replace(part, offset_s=part.offset_s - slope * float(since_s))
        for part, since_s in zip(parts, at_s, strict=True)
    ]
    why = _why_apart(straight, slower_s, "parts of the clip")
    if why is not None:
        return why
    drift = {"drift_ppm": 1e6 * slope, "drift_std_ppm": 1e6 * slope_std}
    return why_no_clock(drift, most_ppm=MAX_DRIFT_PPM)


def _parts(increments: Increments, reduced: RunningIntegral, fit: DelayFit) -> list[DelayFit]:
    """Return the delays of pieces of the clip, with the mixing of the whole."""
    n = increments.values.shape[0]
    pieces = [
        fit_delay(increments.rows(rows), reduced, start_s=fit.offset_s)
        for rows in np.array_split(np.arange(n), min(N_PARTS, n // MIN_ROWS))
    ]
    return [piece for piece in pieces if piece is not None]


def _halves(increments: Increments, driver: RunningIntegral, fit: DelayFit) -> list[DelayFit]:
    """Return the delays of two sets of mixtures of what is seen."""
    if increments.values.shape[1] < 2:
        return []
    halves = [
        fit_delay(
            replace(
                increments, values=increments.values[:, k::2], weights=increments.weights[:, k::2]
            ),
            driver,
            start_s=fit.offset_s,
        )
        for k in range(2)
    ]
    return [half for half in halves if half is not None]


def _why_apart(parts: list[DelayFit], slower_s: float, noun: str) -> str | None:
    """Return which parts of the evidence tell another delay, or None."""
    own_s = PART_STD_PERIODS * slower_s
    for k, part in enumerate(parts):
        for other in parts[:k]:
            apart_s = abs(part.offset_s - other.offset_s)
            std_s = math.hypot(
                math.hypot(part.offset_std_s, own_s), math.hypot(other.offset_std_s, own_s)
            )
            if apart_s > MAX_PART_Z * std_s:
                return (
                    f"{noun} disagree by {1e3 * apart_s:.0f} ± {1e3 * std_s:.0f} ms: something "
                    "else moves, or the delay changes"
                )
    return None
