"""Describe a delay measurement, and record it: refused, or with its error, step or drift."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.dsp.robust import median
from syncaudit.estimators.delay.clock_step import ClockStep
from syncaudit.estimators.delay.fit import DelayFit, fit_delay
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.refusals import DRIFT_Z, MAX_DRIFT_PPM
from syncaudit.model import PairMeasurement, SignalExcerpt, nanoseconds
from syncaudit.model.arrays import Floats

# Offsets with a larger standard error are useless against any tolerance.
MAX_OFFSET_STD_S = 0.05

# Part of the standard error that no amount of data removes (exposure, line delay, sensor filter).
FLOOR_STD_S = 5e-5
# A drift is reported when it is significant (`DRIFT_Z`), or known this well.
DRIFT_STD_PPM = 20.0
# A drift known less well than this says nothing about an oscillator, unless it is twice as
# significant as required.
MAX_DRIFT_STD_PPM = 400.0
# Length of an excerpt: readable at a glance, and long enough for the swing of a body.
TELLING_S = 1.0
# Margin on either side, so that raw signals are shown whole; a viewer compares nothing farther off.
MAX_BESIDE_S = 1.0
LEAST_BESIDE_S = 0.1


class _Timed(Protocol):
    @property
    def source(self) -> str: ...
    @property
    def epoch_ns(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayTask:
    """Description of a delay measurement."""

    # Names for the record.
    source: str
    target: str
    method: str
    # Zeros of the two time axes on their own clocks.
    source_epoch_ns: int
    target_epoch_ns: int
    # Search range where the timestamps overlap; clocks of unrelated epochs are searched over every
    # overlap, as are all clocks if it is infinite.
    max_offset_s: float = 5.0
    step_s: float = 0.005  # step of the coarse search
    expected_gain: tuple[float, ...] = (1.0,)  # correct gains (units); empty where unknown
    expected_unit: str = ""  # description of the expected gains, for the refusal
    gain_range: tuple[float, float] = (0.5, 2.0)  # accepted ratio to the expected gain
    systematic_std_s: float = 0.0  # known systematic uncertainty, added in quadrature
    # Half the width of a lobe: a nearer peak is a ripple of the same lobe. It must still be less
    # likely.
    lobe_s: float = 0.0
    # Whether both sides are fixed to one rigid body: then the delay does not depend on the motion.
    is_rigid: bool = False
    # Returns why a fit shows that the two sides are not fixed to one body, or None.
    why_not_fixed: Callable[[DelayFit], str | None] | None = None
    # Whether one clock timestamps both: then there is no drift or step between them.
    is_one_clock: bool = False
    is_baseline_only: bool = False  # see `PairMeasurement`
    max_drift_ppm: float = MAX_DRIFT_PPM  # largest rate error of clocks of this kind

    @classmethod
    def between(
        cls, source: _Timed, target: _Timed, method: str, max_offset_s: float, **options: Any
    ) -> DelayTask:
        """Return the task of measuring the evidence of one source against that of another."""
        return cls(
            source=source.source,
            target=target.source,
            method=method,
            source_epoch_ns=source.epoch_ns,
            target_epoch_ns=target.epoch_ns,
            max_offset_s=max_offset_s,
            **options,
        )

    @property
    def epochs_s(self) -> float:
        """Difference of the epochs: added to a delay of the time axes, it gives the offset."""
        return (self.target_epoch_ns - self.source_epoch_ns) * 1e-9


def record_delay(
    task: DelayTask,
    increments: Increments,
    driver: RunningIntegral,
    fit: DelayFit,
    step: ClockStep | None,
    figures: dict[str, float],
    *,
    seen: Increments | None = None,
    wider: float = 1.0,
) -> PairMeasurement:
    """Return the accepted record of a fit, with the step, or the drift where determined.

    Parameters
    ----------
    task, increments, driver
        As for `measure_delay`.
    fit, step
        The delay, and the step of the clock inside the clip.
    figures : dict of str to float
        Diagnostics; those of the drift are added.
    seen : Increments, optional
        Original increments, of which `increments` are mixtures. Mixtures chosen at one delay
        underestimate a drift, which the originals show in full.
    wider : float
        Factor by which random errors exceed the fit's covariance, also for the drift, whose
        significance is tested against the widened error.
    """
    systematic_s = math.hypot(task.systematic_std_s, FLOOR_STD_S)
    if fit.line_delay_s is not None:
        # Uncertainty of the row that the timestamp refers to, which the manifest does not state.
        systematic_s = math.hypot(systematic_s, fit.row_shift_s)

    def see(fit: DelayFit) -> SignalExcerpt | None:
        if task.is_baseline_only:
            return None  # the delay is partly physical, not that of the clocks alone
        return _excerpt_of(fit, epoch_ns=task.source_epoch_ns, epochs_s=task.epochs_s)

    record = PairMeasurement(
        source=task.source,
        target=task.target,
        method=task.method,
        at_ns=task.source_epoch_ns + nanoseconds(fit.anchor_s),
        offset_s=fit.offset_s + task.epochs_s,
        offset_std_s=math.hypot(fit.offset_std_s, systematic_s),
        systematic_std_s=systematic_s,
        accepted=True,
        is_baseline_only=task.is_baseline_only,
        diagnostics=figures,
        excerpt=see(fit),
    )
    if step is not None:
        figures["step_at_std_s"] = step.at_std_s
        at_s = step.anchor_near(fit.anchor_s)
        drift_std_ppm = math.hypot(step.drift_std_ppm, _wander_ppm(systematic_s, fit.span_s))
        has_drift = step.drift_std_ppm > 0.0 and is_drift_known(step.drift_ppm, drift_std_ppm)
        is_before = abs(step.before_s + task.epochs_s) > abs(step.after_s + task.epochs_s)
        rows = step.part(increments, is_before=is_before)
        part = fit_delay(rows, driver, start_s=step.offset_at(median(rows.mid_s)))
        return replace(
            record,
            excerpt=see(part or fit),
            at_ns=task.source_epoch_ns + nanoseconds(at_s),
            offset_s=step.offset_at(at_s) + task.epochs_s,
            offset_std_s=math.hypot(step.offset_std_at(at_s), systematic_s),
            drift_ppm=step.drift_ppm if has_drift else None,
            drift_std_ppm=drift_std_ppm if has_drift else None,
            step_s=step.step_s,
            step_std_s=step.step_std_s,
            step_at_ns=task.source_epoch_ns + nanoseconds(step.at_s),
        )
    if task.is_baseline_only or task.is_one_clock:
        return record  # a physical delay does not measure an oscillator; one clock has no drift
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
    if not is_drift_known(drift_ppm, drift_std_ppm):
        return record
    return replace(
        record,
        excerpt=see(drifting),
        at_ns=task.source_epoch_ns + nanoseconds(drifting.anchor_s),
        offset_s=drifting.offset_s + task.epochs_s,
        offset_std_s=math.hypot(drifting.offset_std_s, systematic_s),
        drift_ppm=drift_ppm,
        drift_std_ppm=drift_std_ppm,
    )


def _wander_ppm(systematic_s: float, span_s: float) -> float:
    """Return the drift that a systematic error may mimic, one sigma.

    The error need not be the same at both ends of the clip: half of it may change sign, which over
    a span T looks like sqrt(12) / T of drift.
    """
    return 1e6 * math.sqrt(12.0) * 0.5 * systematic_s / max(span_s, 1e-3)


def is_drift_known(drift_ppm: float, std_ppm: float) -> bool:
    """Return whether a drift is to be reported: significant and known well, or known very well."""
    significance = abs(drift_ppm) / std_ppm
    if significance > DRIFT_Z:
        return std_ppm <= MAX_DRIFT_STD_PPM or significance > 2.0 * DRIFT_Z
    return std_ppm <= DRIFT_STD_PPM


def _excerpt_of(fit: DelayFit, *, epoch_ns: int, epochs_s: float) -> SignalExcerpt | None:
    """Return the excerpt, one axis and one second, that shows the offset most clearly.

    Maximises the squared offset in standard errors of that second alone: offset squared times the
    Fisher information on it. With a free constant besides the delay, that is the variance of the
    derivative with respect to the delay, each value weighted by its inverse variance: bends reveal
    a delay, while a shifted straight slope looks like a constant error.
    """
    order = np.argsort(fit.mid_s, kind="stable")
    mid_s, linear = fit.mid_s[order], fit.linear
    weights, slope = fit.weights[order], fit.sensitivity[order]
    stop = np.searchsorted(mid_s, mid_s + TELLING_S)
    weight, sloped, information = (
        _sums(x, stop) for x in (weights, weights * slope, weights * slope**2)
    )
    drift = 1e-6 * (fit.drift_ppm or 0.0)
    aparts_s = fit.offset_s + epochs_s + drift * (mid_s + 0.5 * TELLING_S - fit.anchor_s)
    gained = (information - sloped**2 / (weight + 1e-300)) * aparts_s[:, None] ** 2
    first, axis = np.unravel_index(int(np.argmax(gained)), gained.shape)
    start_s = float(mid_s[first])
    apart_s = float(aparts_s[first])
    beside_s = min(max(LEAST_BESIDE_S, abs(apart_s)), MAX_BESIDE_S)
    is_near = (mid_s >= start_s - beside_s) & (mid_s <= start_s + TELLING_S + beside_s)
    width_s = fit.model.rows.width_s[order][is_near]
    target = linear.fitted[order][is_near, axis] / width_s
    source = target + linear.residuals[order][is_near, axis] / width_s
    return SignalExcerpt.of(
        mid_s[is_near],
        source,
        target,
        epoch_ns=epoch_ns,
        apart_s=apart_s,
        tells_s=(start_s, start_s + TELLING_S),
    )


def _sums(values: Floats, stop: NDArray[np.intp]) -> Floats:
    """Return the sum of rows from each row to the one before `stop`, shape as given."""
    added = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    sums: Floats = added[stop] - added[:-1]
    return sums


def refuse(task: DelayTask, at_s: float, why: str, **figures: float) -> PairMeasurement:
    """Return a refused measurement with its reason."""
    return PairMeasurement.refused(
        task.source,
        task.target,
        task.method,
        task.source_epoch_ns + nanoseconds(at_s),
        why,
        figures,
        is_baseline_only=task.is_baseline_only,
    )


def refuse_vague(measured: PairMeasurement) -> PairMeasurement:
    """Refuse a measurement whose total error is too large to be useful."""
    std_s = measured.offset_std_s
    if not measured.accepted or std_s is None or std_s <= MAX_OFFSET_STD_S:
        return measured
    why = (
        f"standard error {1e3 * std_s:.0f} ms is too large to be useful; allowed "
        f"{1e3 * MAX_OFFSET_STD_S:.0f} ms"
    )
    figures = {**measured.diagnostics, "offset_s": measured.offset_s or 0.0, "offset_std_s": std_s}
    return measured.withdrawn(why, figures)
