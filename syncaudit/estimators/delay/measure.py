"""Measure the delay of one pair: search, refine, test, and accept or refuse."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.dsp.robust import median
from syncaudit.estimators.delay.clock_step import (
    USUAL_DRIFT_PPM,
    apart_if_step,
    find_step,
    is_uneven,
    is_unlike_quartz,
    step_for_drift,
)
from syncaudit.estimators.delay.fit import DelayFit, fit_delay
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.parts import (
    compare_other_delays,
    find_deviant_end,
    parts_of_equal_information,
    why_delay_flutters,
    why_delay_wanders,
    why_part_deviates,
    why_parts_disagree,
)
from syncaudit.estimators.delay.record import DelayTask, record_delay, refuse, refuse_vague
from syncaudit.estimators.delay.refusals import (
    band_disagreement,
    why_ambiguous,
    why_gain_is_off,
    why_no_clock,
    why_too_weak,
)
from syncaudit.estimators.delay.search import (
    CHANCE_STEP_S,
    FAR_S,
    DelayCurve,
    DelaySearch,
    chance_height,
    why_by_chance,
)
from syncaudit.model import PairMeasurement

MIN_ROWS = 30
# The fit starts from the best of delays this far apart.
START_STEP_S = 0.01
# A wandering delay leaves correlated residuals; below this factor no further check is needed.
UNCORRELATED_FACTOR = 1.1


def measure_delay(
    task: DelayTask, increments: Increments, driver: RunningIntegral
) -> PairMeasurement:
    """Measure by how much the target's clock is ahead of the source's, or refuse with the reason.

    Times of `increments` are seconds since `task.source_epoch_ns`, those of the target's `driver`
    since `task.target_epoch_ns`. Lack of evidence never raises.
    """
    n = increments.values.shape[0]
    middle_s = median(increments.mid_s) if n else 0.0
    if n < MIN_ROWS:
        return refuse(
            task, middle_s, f"only {n} usable increments; at least {MIN_ROWS} are needed", rows=n
        )
    range_s = search_range(task, increments, driver)
    search = _search(task, increments, driver, range_s)
    curve = search.curve(*range_s, task.step_s)
    if not np.isfinite(curve.log_likelihood).any():
        width_ms = 1e3 * median(increments.width_s)
        why = f"at no delay do the two share {width_ms:.3g} ms without a gap"
        return refuse(task, middle_s, why, rows=n)
    measured = _refine(task, increments, driver, search, curve, range_s)
    return replace(measured, evidence=curve.agreement(search.values.size, task.epochs_s))


def _fine_step_s(task: DelayTask) -> float:
    """Return a part of a search step that is fine enough for the fit to start from."""
    return task.step_s / math.ceil(task.step_s / START_STEP_S - 1e-6)


def _search(
    task: DelayTask, increments: Increments, driver: RunningIntegral, range_s: tuple[float, float]
) -> DelaySearch:
    return DelaySearch.of(
        increments,
        driver,
        lowest_s=range_s[0] - task.step_s,
        highest_s=range_s[1] + task.step_s,
        step_s=_fine_step_s(task),
    )


def _refine(
    task: DelayTask,
    increments: Increments,
    driver: RunningIntegral,
    search: DelaySearch,
    curve: DelayCurve,
    range_s: tuple[float, float],
) -> PairMeasurement:
    """Fit the best delay of a search, test it, and return its record or the reason of refusal."""
    n = increments.values.shape[0]
    middle_s = median(increments.mid_s)
    best = curve.best()
    start_s = float(curve.delays_s[best])
    step_s = _fine_step_s(task)
    if step_s < task.step_s:
        near = search.curve(start_s - task.step_s, start_s + task.step_s, step_s)
        start_s = float(near.delays_s[near.best()])
    fit = fit_delay(increments, driver, start_s=start_s)
    if fit is None:
        return refuse(task, middle_s, "no motion is visible to both", rows=n)
    others = compare_other_delays(fit)
    end = find_deviant_end(others)
    step = None if task.is_one_clock else find_step(increments, driver, fit, end)
    figures = _figures(curve, best, fit, task.lobe_s)
    figures["offset_s"] = fit.offset_s + task.epochs_s
    figures["offset_std_s"] = fit.offset_std_s
    if task.is_rigid:
        figures["is_uneven"] = float(is_uneven(fit, end))
    reasons = _reasons(task, search, curve, best, fit, has_step=step is not None)
    why = next((reason for reason in reasons if reason is not None), None)
    if why is None:
        if step is not None:
            # The step splits the evidence: the longer part alone must stand out from chance.
            search = _search(task, step.longer_part(increments), driver, range_s)
            curve = search.curve(*range_s, task.step_s)
        why, figures["by_chance"] = _why_by_chance(task, search, curve)
    if why is None and task.why_not_fixed is not None:
        part: DelayFit | None = fit
        if step is not None:
            rows = step.longer_part(increments)
            part = fit_delay(rows, driver, start_s=step.offset_at(median(rows.mid_s)))
        why = None if part is None else task.why_not_fixed(part)
    parts: list[DelayFit] = []
    if task.is_rigid and step is None and fit.correlation_factor > UNCORRELATED_FACTOR:
        parts = parts_of_equal_information(driver, fit)
        why = why or why_delay_wanders(parts, fit)
    if why is not None:
        return refuse(task, fit.anchor_s, why, **figures)
    found = record_delay(task, increments, driver, fit, step, figures)
    if step is None and is_unlike_quartz(figures):
        step, why = step_for_drift(increments, driver, fit, figures)
        if step is not None:
            found = record_delay(task, increments, driver, fit, step, figures)
    elif step is None and abs(found.drift_ppm or 0.0) > USUAL_DRIFT_PPM:
        apart_s = apart_if_step(increments, driver, fit, found.drift_ppm or 0.0)
        found = replace(found, offset_std_s=math.hypot(found.offset_std_s or 0.0, apart_s))
    answer = partial(answer_at, found, task)
    if step is None:
        why = why or why_parts_disagree(parts, fit, answer)
    if why is None and step is None and not task.is_one_clock:
        if found.drift_ppm is not None:
            delays_s = np.array([answer(at_s)[0] for at_s in fit.mid_s.tolist()])
            others = compare_other_delays(fit, delays_s)
            end = find_deviant_end(others)
        deviant = why_part_deviates(end, others)
        if deviant is None and not task.is_baseline_only:
            deviant = why_delay_flutters(fit)
        if deviant is not None:
            why, figures["departs_by_s"] = deviant
    why = why or why_no_clock(figures, most_ppm=task.max_drift_ppm)
    return refuse_vague(found) if why is None else refuse(task, fit.anchor_s, why, **figures)


def _why_by_chance(
    task: DelayTask, search: DelaySearch, curve: DelayCurve
) -> tuple[str | None, float]:
    """Return why the best delay may be due to chance, or None, and what chance reaches."""
    lowest_s, highest_s = float(curve.delays_s[0]), float(curve.delays_s[-1])
    best = curve.best()
    best_s = float(curve.delays_s[best])
    # The curve counts every delay as if all rows overlapped; scale it to those that do.
    height = search.held_at(best_s) * float(curve.log_likelihood[best])
    reversed_curves = search.by_chance(lowest_s, highest_s, task.step_s)
    highest, needed = chance_height(reversed_curves, n_searches=len(reversed_curves))
    why = why_by_chance(height, highest, needed, where="with one side reversed in time")
    if why is not None:
        return why, highest
    far = search.far_from(best_s)
    n_searches = CHANCE_STEP_S * sum(each.size for each in far) / (highest_s - lowest_s)
    if n_searches < 1.0:  # a smaller range says little about a larger one
        return None, highest
    at_far, needed = chance_height(far, n_searches=n_searches)
    where = f"more than {FAR_S[0]:g} s away from the best delay"
    return why_by_chance(height, at_far, needed, where=where), max(highest, at_far)


def answer_at(found: PairMeasurement, task: DelayTask, time_s: float) -> tuple[float, float]:
    """Return the delay of a record at an instant, without `task.epochs_s`, and its error."""
    since_s = time_s - (found.at_ns - task.source_epoch_ns) * 1e-9
    drift, drift_std = 1e-6 * (found.drift_ppm or 0.0), 1e-6 * (found.drift_std_ppm or 0.0)
    return (
        (found.offset_s or 0.0) - task.epochs_s + drift * since_s,
        math.hypot(found.offset_std_s or 0.0, drift_std * since_s),
    )


def search_range(
    task: DelayTask, increments: Increments, driver: RunningIntegral
) -> tuple[float, float]:
    """Return the delays to search: the task's range, or every overlap of unrelated epochs."""
    first_s, last_s = float(increments.start_s.min()), float(increments.stop_s.max())
    epochs_s = task.epochs_s
    overlap_s = min(last_s, driver.stop_s + epochs_s) - max(first_s, driver.start_s + epochs_s)
    shorter_s = min(last_s - first_s, driver.stop_s - driver.start_s)
    if overlap_s > 0.3 * shorter_s and math.isfinite(task.max_offset_s):
        reach_s = min(task.max_offset_s, 0.4 * shorter_s)
        return -epochs_s - reach_s, -epochs_s + reach_s
    # Unrelated epochs: every delay at which half of the shorter recording overlaps.
    return (
        driver.start_s - last_s + 0.5 * shorter_s,
        driver.stop_s - first_s - 0.5 * shorter_s,
    )


def _figures(curve: DelayCurve, best: int, fit: DelayFit, lobe_s: float) -> dict[str, float]:
    return {
        "rows": float(fit.n_rows),
        "searched_s": 0.5 * float(curve.delays_s[-1] - curve.delays_s[0]),
        "log_likelihood": float(curve.log_likelihood[best]),
        "runner_up": curve.runner_up(best, apart_s=lobe_s),
        "gain": fit.gain,
        "explained": fit.explained,
        "correlation_factor": fit.correlation_factor,
        "information_kept": fit.information_kept,
        "followed": fit.followed,
    } | (
        {}
        if fit.line_delay_s is None or fit.line_delay_std_s is None
        else {
            "line_delay_s": fit.line_delay_s,
            "line_delay_std_s": fit.line_delay_std_s,
            "middle_row_shift_s": -fit.row_shift_s,
        }
    )


def _reasons(
    task: DelayTask,
    search: DelaySearch,
    curve: DelayCurve,
    best: int,
    fit: DelayFit,
    *,
    has_step: bool,
) -> Iterator[str | None]:
    """Yield why a fit is refused, or None, test by test."""
    yield curve.why_at_edge(task.epochs_s)
    # A step splits the evidence into two lobes; both were checked on their own part.
    if not has_step:
        yield why_ambiguous(
            float(curve.log_likelihood[best]),
            curve.runner_up(best, apart_s=task.lobe_s),
            fit.correlation_factor,
            search.values.size,
        )
    yield why_too_weak(fit)
    if task.expected_gain:
        lowest, highest = task.gain_range
        why = why_gain_is_off(fit.gain, expected=task.expected_gain, lowest=lowest, highest=highest)
        yield f"{why}; {task.expected_unit}" if why and task.expected_unit else why
    if not has_step:
        yield band_disagreement(fit, systematic_std_s=task.systematic_std_s)
