"""Measure cameras, or anything else given as increments, against a robot's state.

The displacement of every cell of the image is regressed on the joints' motion over the same
interval at every delay, with a free mixing that may depend on the pose (see `driver`). The delay
that predicts best is refined like any other (`fit_delay`), and refused where another predicts
almost as well, where parts of the clip or of the image disagree, or where too little moves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.delay.clock_step import USUAL_DRIFT_PPM
from syncaudit.estimators.delay.fit import DelayFit, fit_delay
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.measure import MIN_ROWS, answer_at, search_range
from syncaudit.estimators.delay.parts import (
    compare_other_delays,
    find_deviant_end,
    why_part_deviates,
)
from syncaudit.estimators.delay.record import DelayTask, record_delay, refuse
from syncaudit.estimators.delay.refusals import DRIFT_Z, why_ambiguous, why_no_clock, why_too_weak
from syncaudit.estimators.delay.search import DelayCurve
from syncaudit.estimators.state.driver import (
    camera_increments,
    period_of,
    state_driver,
)
from syncaudit.estimators.state.null import Repetition, chance_of, find_repetition, why_by_chance
from syncaudit.estimators.state.parts import (
    MAX_PART_Z,
    delays_of_halves,
    delays_of_parts,
    find_shared_step,
    leave_out_std,
    weighing_std,
    why_a_step_as_well,
    why_apart,
    why_no_line,
    with_likely_drift,
    without_step,
)
from syncaudit.estimators.state.search import Prediction, fit_mixtures, search_state
from syncaudit.model import Activity, ImageMotion, PairMeasurement, Quantity

# Lobes are as wide as the arm's moves last.
SEARCH_STEP_S = 0.02
# Video coding repeats areas that move by less than a pixel: frames seem late by a share of a
# period.
CODING_PERIODS = 0.06
# Age of a joint reading when it is timestamped, one sigma: bus and servo do not state it.
READING_STD_S = 1.5e-3
# Share of the observed motion that the state must predict.
MIN_SHARE = 0.08
# The fit may end this far from the search's result, or within the width of the smoothing.
MAX_MOVE_S = 0.1
MAX_MOVE_PERIODS = 2.0
# Clocks: quartz is within 100 ppm, 29.97 taken for 30 frames/s is 1,000 ppm, and the ceramic
# resonators of cheap controllers, the worst oscillators sold as such, are within 0.5 %.
MAX_DRIFT_PPM = 5000.0
# Shortest run of frames that counts as late, and the share of its excess costs that its own delay
# must save. Errors of the mixing and of coding look like a delay for up to 0.4 s, and add to these
# costs: of 36 good cameras (`benchmarks/robots.py`, and the four of a real arm) no longer run saves
# more than half of what is needed.
MIN_LATE_S, MIN_LATE_EXPLAINED = 0.5, 0.5
# A delay is useful only if known to better than this part of a frame period.
MAX_STD_PERIODS = 0.5
MAX_STD_S = 0.02
# Largest error of the delay at the ends of a clip, by the drift that it allows. Beyond that it
# rests on a single move, which others resemble: matches by chance reach 46 to 112 ms (six of the
# eight most unlikely ones of 756 pairs), true ones 24 ms at most (of 62).
MAX_END_STD_S = 0.04


def measure_camera_state(
    camera: ImageMotion, state: Activity, *, max_offset_s: float = 2.0, is_one_clock: bool = False
) -> PairMeasurement:
    """Measure a camera's clock against that of a robot's state.

    Parameters
    ----------
    camera : ImageMotion
        Source.
    state : Activity
        Target. The arm lags behind commands: against them the measurement is for comparison with a
        baseline only.
    max_offset_s, is_one_clock
        As in `DelayTask`.

    Returns
    -------
    PairMeasurement
        Method ``arm_motion``, or ``commanded_motion`` against commands.
    """
    is_command = state.quantity is Quantity.COMMAND
    period_s = period_of(camera)
    task = DelayTask.between(
        camera,
        state,
        "commanded_motion" if is_command else "arm_motion",
        max_offset_s,
        step_s=SEARCH_STEP_S,
        expected_gain=(),
        systematic_std_s=math.hypot(
            camera.stamp_std_s, CODING_PERIODS * period_s, camera.coding_std_s, READING_STD_S
        ),
        is_one_clock=is_one_clock,
        is_baseline_only=is_command,
        max_drift_ppm=MAX_DRIFT_PPM,
    )
    return measure_against(task, camera_increments(camera), state, period_s)


def measure_against(
    task: DelayTask, increments: Increments, target: Activity, period_s: float
) -> PairMeasurement:
    """Measure the delay at which a state predicts increments."""
    n = increments.values.shape[0]
    middle_s = float(np.median(increments.mid_s)) if n else 0.0
    if n < MIN_ROWS:
        return refuse(
            task, middle_s, f"only {n} usable increments; at least {MIN_ROWS} are needed", rows=n
        )
    slower_s = max(period_s, period_of(target))
    is_linear = _is_linear(task)
    driver = state_driver(target, slower_s=slower_s, n_rows=n, is_linear=is_linear)
    if driver is None:
        return refuse(task, middle_s, f"{target.source} is too short or constant", rows=n)
    lowest_s, highest_s = search_range(task, increments, driver)
    delays_s = np.arange(lowest_s, highest_s + 0.5 * task.step_s, task.step_s)
    predicted = search_state(increments, driver, delays_s)
    if predicted is None:
        unseen = "the two do not overlap in time, or no motion is visible to both"
        return refuse(task, middle_s, unseen, rows=n)
    reach_s = 0.5 * (highest_s - lowest_s)
    measured = _refine(task, increments, driver, predicted, target, slower_s, reach_s)
    return replace(measured, evidence=predicted.curve.agreement(predicted.n_values, task.epochs_s))


def _is_linear(task: DelayTask) -> bool:
    """Return whether the mixing is the same in every pose."""
    return task.method in ("command", "joint_motion")


def _refine(
    task: DelayTask,
    increments: Increments,
    driver: RunningIntegral,
    predicted: Prediction,
    target: Activity,
    slower_s: float,
    reach_s: float,
) -> PairMeasurement:
    """Fit the best delay of a search, test it, and return its record or the reason of refusal."""
    n = increments.values.shape[0]
    middle_s = float(np.median(increments.mid_s))
    is_linear = _is_linear(task)
    curve, best = predicted.curve, predicted.curve.best()
    start_s = float(curve.delays_s[best])
    mixed, mixing, fit = fit_mixtures(increments, driver, predicted, start_s=start_s)
    figures = {
        "rows": float(n),
        "searched_s": reach_s,
        "log_likelihood": float(curve.log_likelihood[best]),
        "runner_up": curve.runner_up(best),
        "foretold": predicted.share,
    }
    if fit is None:
        return refuse(task, middle_s, "no motion is visible to both", **figures)
    figures |= {
        "explained": fit.explained,
        "correlation_factor": fit.correlation_factor,
        "offset_s": fit.offset_s + task.epochs_s,
        "offset_std_s": fit.offset_std_s,
    }
    reduced = driver.mixed(mixing)
    parts = delays_of_parts(mixed, reduced, fit)
    uneven = why_apart(parts, slower_s, "parts of the clip")
    step, apart = None, uneven
    if uneven is not None and not task.is_one_clock:
        independent = predicted.n_values / increments.values.size
        step, either = find_shared_step(
            mixed, driver, fit, seen=increments, period_s=slower_s, independent=independent
        )
        if step is None:
            uneven = either or why_no_line(parts, slower_s, most_ppm=task.max_drift_ppm)
    repetition = _repetition_of(target, slower_s)
    why = _why_no_lobe(curve, predicted, task.epochs_s, has_step=step is not None)
    if why is None:
        chance = chance_of(
            increments,
            driver,
            delay_s=start_s,
            range_s=float(curve.delays_s[-1] - curve.delays_s[0]),
        )
        figures |= {"log10_chance": chance.whole, "log10_chance_fast": chance.fast}
        why = why_by_chance(chance, is_direct=is_linear)
    if why is not None:
        return refuse(task, fit.anchor_s, str(repetition or why), **figures)
    whole, level = increments, fit
    if step is not None:
        whole = without_step(increments, step)
        level = fit_delay(without_step(mixed, step), driver, start_s=step.before_s) or fit
    alone_s = leave_out_std(whole, driver, level)
    figures["leave_out_std_s"] = alone_s
    random_s = _random_std(level, alone_s, task, repetition)
    if not is_linear:  # channels of states are tested separately
        figures["weighing_std_s"] = weighing_std(whole, driver, level)
        random_s = math.hypot(random_s, figures["weighing_std_s"])
    wider = random_s / level.offset_std_s
    if step is None:
        fit = replace(fit, offset_std_s=wider * fit.offset_std_s)
        figures["offset_std_s"] = fit.offset_std_s
    else:
        step = step.widened(wider)
    why = _why_not(predicted, fit, alone_s, start_s, slower_s, has_step=step is not None)
    if why is None and step is None:
        why = uneven or why_apart(
            delays_of_halves(mixed, driver, fit), slower_s, "parts of what moves"
        )
    if why is not None:
        return refuse(task, fit.anchor_s, why, **figures)
    record = record_delay(task, mixed, driver, fit, step, figures, seen=increments, wider=wider)
    if step is None and record.drift_ppm is None and "drift_ppm" in figures:
        record = with_likely_drift(
            record,
            figures["drift_ppm"],
            figures["drift_std_ppm"],
            most_ppm=task.max_drift_ppm,
            is_uneven=apart is not None,
        )
    why = why_no_clock(figures, most_ppm=task.max_drift_ppm)
    if why is None and step is None:
        why = _why_single_move(figures, fit)
    if why is None and record.drift_ppm is None and record.step_s is None:
        why = apart  # differences that a drift explains are reported as one, or not at all
    if why is None and abs(record.drift_ppm or 0.0) > DRIFT_Z * USUAL_DRIFT_PPM:
        why = why_a_step_as_well(mixed, driver, fit, seen=increments, period_s=slower_s)
    if why is None and step is None and not task.is_one_clock:
        departure = _departure(record, task, fit)
        if departure is not None:
            why, figures["departs_by_s"] = departure
    if why is not None:
        return refuse(task, fit.anchor_s, why, **figures)
    if record.drift_std_ppm is None or record.offset_std_s is None:
        return record
    # Offset and drift were fitted together, by the covariance alone.
    return replace(
        record,
        offset_std_s=max(record.offset_std_s, math.hypot(fit.offset_std_s, task.systematic_std_s)),
    )


def _departure(record: PairMeasurement, task: DelayTask, fit: DelayFit) -> tuple[str, float] | None:
    """Return which part of the clip certainly differs from a record, and by how much, or None."""
    delays_s, stds_s = np.array([answer_at(record, task, at_s) for at_s in fit.mid_s.tolist()]).T
    others = compare_other_delays(fit, delays_s)
    end = find_deviant_end(others)
    found = why_part_deviates(end, others, least_s=MIN_LATE_S, explained=MIN_LATE_EXPLAINED)
    # The mixing of the whole is no better known than the delay.
    return found if found and abs(found[1]) > MAX_PART_Z * float(stds_s.max()) else None


def _why_single_move(figures: Mapping[str, float], fit: DelayFit) -> str | None:
    """Return why a match may rest on a single move, or None."""
    end_std_s = 0.5e-6 * figures.get("drift_std_ppm", 0.0) * fit.span_s
    if end_std_s <= MAX_END_STD_S:
        return None
    return (
        f"its first and last seconds hardly show the delay (± {1e3 * end_std_s:.0f} ms, allowed "
        f"{1e3 * MAX_END_STD_S:.0f} ms): it rests on a single move, which others resemble"
    )


def largest_std_s(slower_s: float) -> float:
    """Return the largest useful standard error, given the period of the slower side."""
    return max(MAX_STD_S, MAX_STD_PERIODS * slower_s)


def _repetition_of(target: Activity, slower_s: float) -> Repetition | None:
    joints = state_driver(target, slower_s=slower_s, n_rows=0, is_linear=True)
    return None if joints is None else find_repetition(joints)


def _random_std(
    fit: DelayFit, alone_s: float, task: DelayTask, repetition: Repetition | None
) -> float:
    """Return the standard error of a delay, except for the systematic one.

    The jackknife over parts has four degrees of freedom, and the covariance ignores the error of
    the mixing: their variances count equally. The jackknife includes systematic errors that change
    within a clip. Repeated moves repeat the errors of the mixing, so they count as one.
    """
    both = 0.5 * (fit.offset_std_s**2 + alone_s**2) - task.systematic_std_s**2
    n_repeats = 1.0 if repetition is None else repetition.n_times(fit.span_s)
    return math.sqrt(n_repeats * max(fit.offset_std_s**2, both))


def _why_no_lobe(
    curve: DelayCurve, predicted: Prediction, epochs_s: float, *, has_step: bool
) -> str | None:
    """Return why the search has no unique answer, or None."""
    why = curve.why_at_edge(epochs_s)
    if why is not None or has_step:
        return why
    best = curve.best()
    likelihood = float(curve.log_likelihood[best])
    n_values = max(1, round(predicted.n_values))
    return why_ambiguous(likelihood, curve.runner_up(best), 1.0, n_values)


def _why_not(
    predicted: Prediction,
    fit: DelayFit,
    alone_s: float,
    start_s: float,
    slower_s: float,
    *,
    has_step: bool,
) -> str | None:
    if predicted.share < MIN_SHARE:
        return (
            f"too little of the image motion follows the robot: {100.0 * predicted.share:.0f} % "
            f"is predicted; at least {100.0 * MIN_SHARE:.0f} % is needed"
        )
    why = why_too_weak(fit)
    if why is not None:
        return why
    if abs(fit.offset_s - start_s) > max(MAX_MOVE_S, MAX_MOVE_PERIODS * slower_s) and not has_step:
        return "the delay that fits best is not the one that predicts best"
    limit_s = largest_std_s(slower_s)
    if alone_s > limit_s:
        return (
            f"leaving out fifths of the clip changes the delay by {1e3 * alone_s:.0f} ms, "
            f"allowed {1e3 * limit_s:.0f} ms: it depends on single moves"
        )
    if fit.offset_std_s > limit_s:
        return (
            f"standard error {1e3 * fit.offset_std_s:.0f} ms is too large to be useful; allowed "
            f"{1e3 * limit_s:.0f} ms: the robot moves too little or too uniformly"
        )
    return None
