"""Plots of a choice of limits: the effect of each limit, and detection rate by error size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from syncaudit.dsp.rates import Rate
from syncaudit.evaluation.detection import Group, detect
from syncaudit.evaluation.injected import Injected
from syncaudit.evaluation.judged import Judged
from syncaudit.evaluation.outcomes import Outcome
from syncaudit.evaluation.tuning import Goal, LimitTuning, Tuning
from syncaudit.writing import Signature, check_target, replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_tuning(
    found: Tuning,
    goal: Goal,
    truth: Sequence[Injected],
    judged: Mapping[str, Judged],
    folder: Path,
    *,
    is_forced: bool = False,
) -> list[Path]:
    """Plot the effect of each limit, and detection against size, and write both as PNG.

    `truth` holds variants of several sizes, `judged` the verdicts on them with the chosen limits.
    The folder is created if missing.
    """
    from matplotlib.figure import Figure

    n = len(found.limits)
    limits = Figure(figsize=(9.0, 2.9 * n), layout="constrained")
    for row, (name, one) in zip(
        limits.subplots(n, 1, squeeze=False)[:, 0], found.limits.items(), strict=True
    ):
        _draw_limits(row, name, one, goal)
    groups = [g for g in detect(truth, judged, {}).groups if g.source is not None]
    kinds = sorted({group.kind for group in groups})
    sizes = Figure(figsize=(9.0, 2.9 * len(kinds)), layout="constrained")
    for row, kind in zip(sizes.subplots(len(kinds), 1, squeeze=False)[:, 0], kinds, strict=True):
        _draw_sizes(row, kind, [group for group in groups if group.kind == kind], goal)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "limits.png", folder / "detection.png"]
    for figure, path in zip((limits, sizes), paths, strict=True):
        check_target(path, Signature.PLOT, is_forced=is_forced)
        with replacing(path) as file:
            figure.savefig(file, format="png", dpi=110, metadata={"Software": "syncaudit"})
    return paths


def _draw_limits(axes: Axes, name: str, one: LimitTuning, goal: Goal) -> None:
    limits_ms = [1e3 * limit for limit in one.tried]
    tried = list(one.tried.values())
    unverified = [
        Rate(
            n_hits=t.passed.n - t.passed.n_hits - t.rejected.n_hits,
            n=t.passed.n,
            n_clips=t.passed.n_clips,
        )
        for t in tried
    ]
    for label, colour, rates in (
        (f"errors of {1e3 * goal.size_s:g} ms found", "C0", [t.found for t in tried]),
        ("... let through", "C2", [t.let_through for t in tried]),
        ("good sources rejected", "C3", [t.rejected for t in tried]),
        ("good sources unverified", "C1", unverified),
    ):
        _draw_rates(axes, limits_ms, rates, label, colour)
    axes.axhline(100 * goal.min_found, color="C0", linestyle=":", linewidth=1)
    axes.axvline(1e3 * one.limit_s, color="0.3", linewidth=1)
    axes.annotate(
        f"chosen: {1e3 * one.limit_s:g} ms",
        (1e3 * one.limit_s, 50.0),
        xytext=(4, 0),
        textcoords="offset points",
    )
    axes.set(title=name, xlabel="limit (ms)", ylabel="share (%)", ylim=(-4, 104))
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)


def _draw_sizes(axes: Axes, kind: str, groups: Sequence[Group], goal: Goal) -> None:
    for k, group in enumerate(groups):
        rates = [each.rate(Outcome.FOUND) for each in group.sizes]
        sizes_ms = [1e3 * each.size for each in group.sizes]
        _draw_rates(axes, sizes_ms, rates, str(group.source), f"C{k % 10}")
    axes.axhline(100 * goal.min_found, color="0.5", linestyle=":", linewidth=1)
    axes.axvline(1e3 * goal.size_s, color="0.3", linewidth=1)
    axes.set(title=kind, xlabel="error (ms)", ylabel="found (%)", ylim=(-4, 104))
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)


def _draw_rates(
    axes: Axes, places: Sequence[float], rates: Sequence[Rate], label: str, colour: str
) -> None:
    """Draw rates in percent, with their intervals."""
    axes.plot(
        places,
        [100 * (r.share or 0.0) for r in rates],
        "o-",
        markersize=3,
        color=colour,
        label=label,
    )
    bounds = [rate.interval() for rate in rates]
    low, high = ([100 * bound[k] for bound in bounds] for k in (0, 1))
    axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
