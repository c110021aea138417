"""Measure the delay of one pair: search, refine, test, and word the refusal."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.dsp.medians import median
from syncaudit.estimators.clock_step import USUAL_DRIFT_PPM, ClockStep, find_step, is_uneven
from syncaudit.estimators.delay_curve import DelayCurve
from syncaudit.estimators.delay_fit import DelayFit, fit_delay
from syncaudit.estimators.delay_search import DelaySearch
from syncaudit.estimators.delay_task import DelayTask, refuse, refuse_vague
from syncaudit.estimators.increments import Increments
from syncaudit.estimators.null_test import chance_height, why_by_chance
from syncaudit.estimators.refusals import (
    DRIFT_Z,
    band_disagreement,
    why_ambiguous,
    why_delay_wanders,
    why_gain_is_off,
    why_no_clock,
    why_too_weak,
)
from syncaudit.estimators.step_or_drift import is_unlike_quartz, step_for_drift
from syncaudit.model import PairMeasurement, nanoseconds

__all__ = [
    "DRIFT_Z",
    "MIN_ROWS",
    "DelayTask",
    "measure_delay",
    "record_delay",
    "refuse",
    "refuse_vague",
    "search_range",
]

Floats = NDArray[np.float64]

MIN_ROWS = 30
# The fit starts from the best of delays this far apart.
START_STEP_S = 0.01
# A delay that wanders leaves residuals that hang together; below this nothing needs looking at.
UNCORRELATED_FACTOR = 1.1
# Part of the standard error that no amount of data removes (exposure, row time, sensor filter).
FLOOR_STD_S = 5e-5
# A drift is reported when it is significant (`DRIFT_Z`), or known this well.
DRIFT_STD_PPM = 20.0
# Less well known than this it is no statement about any oscillator, unless it is twice as
# significant as it need be.
MAX_DRIFT_STD_PPM = 400.0
# Beyond what quartz makes by so many standard errors a drift is likelier than none.
LIKELY_Z = 2.0


def measure_delay(
    task: DelayTask, increments: Increments, driver: RunningIntegral
) -> PairMeasurement:
    """Measure by how much the target's clock is ahead of the source's.

    Parameters
    ----------
    task : DelayTask
        Names, epochs, range, expectations.
    increments : Increments
        Of the source, seconds since `task.source_epoch_ns`.
    driver : RunningIntegral
        Of the target, seconds since `task.target_epoch_ns`.

    Returns
    -------
    PairMeasurement
        Accepted, or refused with the reason; never raises for lack of evidence.
    """
    n = increments.values.shape[0]
    middle_s = median(increments.mid_s) if n else 0.0
    if n < MIN_ROWS:
        return refuse(task, middle_s, f"only {n} usable increments, needed {MIN_ROWS}", rows=n)
    epochs_s = (task.target_epoch_ns - task.source_epoch_ns) * 1e-9
    lowest_s, highest_s = search_range(task, increments, driver, epochs_s)
    steps = math.ceil(task.step_s / START_STEP_S - 1e-6)
    search = DelaySearch.of(
        increments,
        driver,
        lowest_s=lowest_s - task.step_s,
        highest_s=highest_s + task.step_s,
        step_s=task.step_s / steps,
    )
    curve = search.curve(lowest_s, highest_s, task.step_s)
    if not np.isfinite(curve.log_likelihood).any():
        return refuse(task, middle_s, "the two do not overlap in time", rows=n)
    best = curve.best()
    start_s = float(curve.delays_s[best])
    if steps > 1:
        near = search.curve(start_s - task.step_s, start_s + task.step_s, task.step_s / steps)
        start_s = float(near.delays_s[near.best()])
    fit = fit_delay(increments, driver, start_s=start_s)
    if fit is None:
        return refuse(task, middle_s, "nothing moves that both could see", rows=n)
    step = None if task.is_one_clock else find_step(increments, driver, fit)
    figures = _figures(curve, best, fit, task.lobe_s)
    figures["offset_s"] = fit.offset_s + epochs_s
    figures["offset_std_s"] = fit.offset_std_s
    if task.is_rigid:
        figures["is_uneven"] = float(is_uneven(fit))
    why = _why_not(task, search, curve, best, fit, has_step=step is not None)
    if why is None:
        if step is not None:
            # It splits the evidence: the longer part must stand out from chance alone.
            search = DelaySearch.of(
                step.longer_part(increments),
                driver,
                lowest_s=lowest_s - task.step_s,
                highest_s=highest_s + task.step_s,
                step_s=task.step_s / steps,
            )
            curve = search.curve(lowest_s, highest_s, task.step_s)
        by_chance, needed = chance_height(search.by_chance(lowest_s, highest_s, task.step_s))
        figures["by_chance"] = by_chance
        # The curve counts every delay as if all overlapped; there is only as much as does.
        held = search.held_at(float(curve.delays_s[curve.best()]))
        why = why_by_chance(held * float(curve.log_likelihood.max()), by_chance, needed)
    if why is None and task.why_not_fixed is not None:
        part = fit if step is None else _fit_of_longer_part(step, increments, driver)
        why = None if part is None else task.why_not_fixed(part)
    if (
        why is None
        and task.is_rigid
        and step is None
        and fit.correlation_factor > UNCORRELATED_FACTOR
    ):
        why = why_delay_wanders(driver, fit)
    if why is not None:
        return refuse(task, fit.anchor_s, why, **figures)
    found = record_delay(task, increments, driver, fit, step, epochs_s, figures)
    if step is None and is_unlike_quartz(figures):
        step, why = step_for_drift(increments, driver, fit, figures)
        if step is not None:
            found = record_delay(task, increments, driver, fit, step, epochs_s, figures)
    why = why or why_no_clock(figures, most_ppm=task.max_drift_ppm)
    return refuse_vague(task, found) if why is None else refuse(task, fit.anchor_s, why, **figures)


def _fit_of_longer_part(
    step: ClockStep, increments: Increments, driver: RunningIntegral
) -> DelayFit | None:
    rows = step.longer_part(increments)
    return fit_delay(rows, driver, start_s=step.offset_at(median(rows.mid_s)))


def search_range(
    task: DelayTask, increments: Increments, driver: RunningIntegral, epochs_s: float
) -> tuple[float, float]:
    """Return the delays to search: the task's range, or every overlap of unrelated epochs."""
    first_s, last_s = float(increments.start_s.min()), float(increments.stop_s.max())
    overlap_s = min(last_s, driver.stop_s + epochs_s) - max(first_s, driver.start_s + epochs_s)
    shorter_s = min(last_s - first_s, driver.stop_s - driver.start_s)
    if overlap_s > 0.3 * shorter_s:
        reach_s = min(task.max_offset_s, 0.4 * shorter_s)
        return -epochs_s - reach_s, -epochs_s + reach_s
    # Unrelated epochs: every delay that leaves half of the shorter recording in common.
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


def _why_not(
    task: DelayTask,
    search: DelaySearch,
    curve: DelayCurve,
    best: int,
    fit: DelayFit,
    *,
    has_step: bool,
) -> str | None:
    if curve.is_at_edge(best):
        return (
            f"the best delay lies at the edge of the search range "
            f"({curve.delays_s[0]:+.3g} to {curve.delays_s[-1]:+.3g} s)"
        )
    # A step splits the evidence into two lobes; both were checked on their own part.
    if not has_step:
        likelihood = float(curve.log_likelihood[best])
        why = why_ambiguous(
            likelihood,
            curve.runner_up(best, apart_s=task.lobe_s),
            fit.correlation_factor,
            search.values.size,
        )
        if why is not None:
            return why
    why = why_too_weak(fit)
    if why is not None:
        return why
    if task.expected_gain:
        lowest, highest = task.gain_range
        why = why_gain_is_off(fit.gain, expected=task.expected_gain, lowest=lowest, highest=highest)
        if why is not None:
            return f"{why}; {task.expected_unit}" if task.expected_unit else why
    if not has_step:
        return band_disagreement(fit, systematic_std_s=task.systematic_std_s)
    return None


def record_delay(
    task: DelayTask,
    increments: Increments,
    driver: RunningIntegral,
    fit: DelayFit,
    step: ClockStep | None,
    epochs_s: float,
    figures: dict[str, float],
    *,
    seen: Increments | None = None,
    wider: float = 1.0,
) -> PairMeasurement:
    """Return the accepted record of a fit, with the step, or the drift where it can be told.

    Parameters
    ----------
    task, increments, driver
        As for `measure_delay`.
    fit : DelayFit
        The delay.
    step : ClockStep or None
        Of the clock inside the clip.
    epochs_s : float
        Target epoch after source epoch.
    figures : dict of str to float
        Diagnostics; those of the drift are added.
    seen : Increments, optional
        What the increments are mixtures of. Mixtures that were drawn at one delay show less of a
        drift, which what is seen itself shows in full; and where it exceeds what quartz makes by
        two standard errors, no offset without it is honest.
    wider : float
        By how much random errors exceed what the covariance of a fit claims, that of a drift as
        well: whether it is significant is asked of the error that is stated.
    """
    systematic_s = math.hypot(task.systematic_std_s, FLOOR_STD_S)
    if fit.line_delay_s is not None:
        # What "the row that the stamp means" may be off by, when the manifest does not tell.
        systematic_s = math.hypot(systematic_s, fit.row_shift_s)
    record = PairMeasurement(
        source=task.source,
        target=task.target,
        method=task.method,
        at_ns=task.source_epoch_ns + nanoseconds(fit.anchor_s),
        offset_s=fit.offset_s + epochs_s,
        offset_std_s=math.hypot(fit.offset_std_s, systematic_s),
        systematic_std_s=systematic_s,
        accepted=True,
        is_baseline_only=task.is_baseline_only,
        diagnostics=figures,
    )
    if step is not None:
        figures["step_at_std_s"] = step.at_std_s
        at_s = step.anchor_near(fit.anchor_s)
        drift_std_ppm = math.hypot(step.drift_std_ppm, _wander_ppm(systematic_s, fit.span_s))
        has_drift = step.drift_std_ppm > 0.0 and _is_told(step.drift_ppm, drift_std_ppm)
        return replace(
            record,
            at_ns=task.source_epoch_ns + nanoseconds(at_s),
            offset_s=step.offset_at(at_s) + epochs_s,
            offset_std_s=math.hypot(step.offset_std_at(at_s), systematic_s),
            drift_ppm=step.drift_ppm if has_drift else None,
            drift_std_ppm=drift_std_ppm if has_drift else None,
            step_s=step.step_s,
            step_std_s=step.step_std_s,
            step_at_ns=task.source_epoch_ns + nanoseconds(step.at_s),
        )
    if task.is_baseline_only or task.is_one_clock:
        return record  # what belongs to the vehicle tells of no oscillator, and one has no drift
    drifting = fit_delay(
        increments, driver, start_s=fit.offset_s - fit.row_shift_s, with_drift=True, known=fit
    )
    if drifting is None or drifting.drift_ppm is None or drifting.drift_std_ppm is None:
        return record
    whole = drifting
    if seen is not None:
        whole = fit_delay(seen, driver, start_s=drifting.offset_s, with_drift=True) or drifting
    drift_ppm = whole.drift_ppm or 0.0
    drift_std_ppm = math.hypot(
        wider * (whole.drift_std_ppm or 0.0), _wander_ppm(systematic_s, drifting.span_s)
    )
    figures["drift_ppm"] = drift_ppm
    figures["drift_std_ppm"] = drift_std_ppm
    is_likely = seen is not None and abs(drift_ppm) > LIKELY_Z * math.hypot(
        USUAL_DRIFT_PPM, drift_std_ppm
    )
    if not is_likely and not _is_told(drift_ppm, drift_std_ppm):
        return record
    return replace(
        record,
        at_ns=task.source_epoch_ns + nanoseconds(drifting.anchor_s),
        offset_s=drifting.offset_s + epochs_s,
        offset_std_s=math.hypot(drifting.offset_std_s, systematic_s),
        drift_ppm=drift_ppm,
        drift_std_ppm=drift_std_ppm,
    )


def _wander_ppm(systematic_s: float, span_s: float) -> float:
    """Return the drift that a systematic error may feign, one sigma.

    It need not be the same at both ends of the clip: half of it may turn round, which over a span T
    reads as sqrt(12) / T of drift.
    """
    return 1e6 * math.sqrt(12.0) * 0.5 * systematic_s / max(span_s, 1e-3)


def _is_told(drift_ppm: float, std_ppm: float) -> bool:
    """Tell whether a drift is significant and says something of an oscillator, or known well."""
    significance = abs(drift_ppm) / std_ppm
    if significance > DRIFT_Z:
        return std_ppm <= MAX_DRIFT_STD_PPM or significance > 2.0 * DRIFT_Z
    return std_ppm <= DRIFT_STD_PPM
