"""Measure one state of a robot against another: a command against the arm, two arms.

Neither side is the truth, so both directions are measured: how well each side predicts the other.
Swapping the sides changes nothing but the sign. First the delay of every channel of either side is
measured: channels that do not share that of the others are left out, and without a clear majority
the pair is refused.

Joints lag behind their commands by different delays: an arm by 100 ms, a hand on another bus by 300
ms. One regression of all on all would follow whichever predicts more, and report the error of that
alone. So each channel is compared with the other side separately: its delay is the one at which one
channel of the other side, or a mixture of all, predicts most of it (whichever does so better out of
sample). The delay that the channels share, and how they differ beyond their errors, follow from a
random-effects model (`fit_random_effects`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.dsp.random_effects import fit_random_effects
from syncaudit.estimators.delay.fit import fit_delay
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.measure import search_range
from syncaudit.estimators.delay.record import DelayTask, refuse
from syncaudit.estimators.delay.refusals import why_ambiguous
from syncaudit.estimators.delay.search import DelayCurve
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
from syncaudit.estimators.state.search import (
    MIN_OVERLAP,
    RIDGES,
    gains,
    gains_of_one,
    independent_share,
    moments_at,
    penalty,
    searched_rows,
)
from syncaudit.formatting import word_measure
from syncaudit.model import Activity, PairMeasurement, Quantity
from syncaudit.model.arrays import Bools, Floats

# A majority is twice as large as all other channels together.
MIN_AGREEING = 2.0 / 3.0
# The fit of a channel must end this close to the search's result.
MAX_MOVE_S = 0.1


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
    return _word_apart(source, target, groups)


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Agreement:
    """The delay that the channels of one side share."""

    is_kept: Bools  # shape (m,): channels that share the delay, and those that determine none
    std_s: float  # uncertainty of the shared delay due to the differences between channels
    # Channels that determine a delay, and those of them that share it.
    n_measured: int
    n_agreeing: int
    # Number of channels, mean delay and scatter of each group, where the channels are split into
    # the two most compact groups.
    groups: tuple[tuple[int, float, float], ...]

    def is_shared(self, limit_s: float) -> bool:
        """Return whether a majority shares the delay, with an error of at most `limit_s`."""
        return self.n_agreeing >= MIN_AGREEING * self.n_measured and self.std_s <= limit_s


def _word_apart(source: str, target: str, groups: tuple[tuple[int, float, float], ...]) -> str:
    """Describe how the delays of channels differ."""
    if sum(n * delay_s for n, delay_s, _ in groups) < 0.0:
        source, target = target, source
        groups = tuple((n, -delay_s, std_s) for n, delay_s, std_s in groups[::-1])
    measured = " and ".join(
        f"{n} by {'-' if delay_s < 0.0 else ''}{word_measure(delay_s, std_s)}"
        for n, delay_s, std_s in groups
    )
    return (
        f"channels lag differently: of those of {target} that follow {source}, {measured}: no "
        "single offset holds for all"
    )


def agreement(
    increments: Increments, driver: RunningIntegral, delays_s: Floats, *, epochs_s: float = 0.0
) -> Agreement:
    """Return the delay that the channels of a state share.

    Parameters
    ----------
    increments : Increments
        Of one state, m channels.
    driver : RunningIntegral
        Of the other.
    delays_s : ndarray, shape (l,)
        Delays to search, evenly spaced.
    epochs_s : float
        Target epoch after source epoch.
    """
    found, stds = _channel_delays(increments, driver, delays_s)
    measured = np.flatnonzero(np.isfinite(found))
    m = found.size
    if measured.size < 2:
        return Agreement(
            is_kept=np.ones(m, bool),
            std_s=0.0,
            n_measured=measured.size,
            n_agreeing=measured.size,
            groups=(),
        )
    width_s = float(delays_s[-1] - delays_s[0])
    effects = fit_random_effects(found[measured], stds[measured], width=width_s)
    is_agreeing = effects.share > 0.5
    is_majority = is_agreeing.sum() >= MIN_AGREEING * measured.size
    is_kept = np.ones(m, bool)
    is_kept[measured[~is_agreeing]] = False
    n_apart = _independent_channels(increments.values[:, measured[is_agreeing]])
    return Agreement(
        is_kept=is_kept,
        std_s=effects.between / math.sqrt(n_apart),
        n_measured=measured.size,
        n_agreeing=int(is_agreeing.sum()),
        groups=_groups(
            epochs_s + found[measured[is_agreeing]] if is_majority else epochs_s + found[measured]
        ),
    )


def _channel_delays(
    increments: Increments, driver: RunningIntegral, delays_s: Floats
) -> tuple[Floats, Floats]:
    """Return the delays of channels and their standard errors, (m,); nan where undetermined."""
    rows = searched_rows(increments)
    n, m = rows.values.shape
    moments, is_enough = moments_at(rows, driver, delays_s)
    of_all = [gains(moments, n, ridge) for ridge in RIDGES]  # (l, m)
    of_one = gains_of_one(moments, n)  # (l, p, m)
    found, stds = np.full(m, np.nan), np.full(m, np.nan)
    energy = moments.energy.sum(axis=0)
    # Most of a channel's motion must overlap, not only most of the time.
    is_shared_in = is_enough[:, None] & (energy >= MIN_OVERLAP * np.sum(rows.values**2, axis=0))
    for k in range(m):
        curves = [*(gain[:, k] for gain in of_all), *of_one[:, :, k].T]
        curves = [np.where(is_shared_in[:, k], curve, -np.inf) for curve in curves]
        most = int(np.argmax([curve.max() for curve in curves]))
        curve = curves[most]
        top = int(np.argmax(curve))
        if not curve[top] > 0.0:
            continue
        cross = moments.cross[:, top, :, k].sum(axis=0)
        gram = moments.gram[:, top].sum(axis=0)
        if most < len(RIDGES):
            mixing = np.linalg.solve(gram + penalty(gram, RIDGES[most]), cross)
        else:
            one = most - len(RIDGES)
            mixing = np.eye(cross.size)[one] * cross[one] / (gram[one, one] + 1e-30)
        reduced = driver.mixed(mixing[:, None])
        alone = replace(
            increments, values=increments.values[:, [k]], weights=increments.weights[:, [k]]
        )
        delay_s = float(delays_s[top])
        change = reduced.at(rows.stop_s + delay_s) - reduced.at(rows.start_s + delay_s)
        covered = reduced.covers(rows.start_s + delay_s, rows.stop_s + delay_s)
        share = independent_share((rows.values[:, [k]] - change)[covered])
        likelihoods = DelayCurve(delays_s=delays_s, log_likelihood=curve * share)
        n_values = max(1, round(n * share))
        best = float(likelihoods.log_likelihood[top])
        if why_ambiguous(best, likelihoods.runner_up(top), 1.0, n_values) is not None:
            continue
        fit = fit_delay(alone, reduced, start_s=delay_s)
        if fit is not None and abs(fit.offset_s - delay_s) <= MAX_MOVE_S:
            found[k], stds[k] = fit.offset_s, fit.offset_std_s
    return found, stds


def _independent_channels(values: Floats) -> float:
    """Return the effective number of independent channels (see `independent_share`).

    Channels that do not move at all count as one.
    """
    scaled = values / (values.std(axis=0) + 1e-30)
    between = scaled.T @ scaled / len(scaled)
    total = float(np.sum(between**2))
    return values.shape[1] ** 2 / total if total > 0.0 else 1.0


def _groups(delays_s: Floats) -> tuple[tuple[int, float, float], ...]:
    """Return sizes, means and scatter of the two groups with the least scatter within."""
    ordered = np.sort(delays_s)
    scatter = [
        k * float(np.var(ordered[:k])) + (ordered.size - k) * float(np.var(ordered[k:]))
        for k in range(1, ordered.size)
    ]
    border = int(np.argmin(scatter)) + 1 if scatter else ordered.size
    return tuple(
        (part.size, float(part.mean()), float(part.std()))
        for part in (ordered[:border], ordered[border:])
        if part.size
    )
