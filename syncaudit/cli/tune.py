"""`syncaudit tune`: choose limits with performance guarantees on a data set."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from syncaudit.cli.console import printable, stdout
from syncaudit.cli.exit_codes import ExitCode
from syncaudit.cli.options import Force, Partial, PolicyToExtend, ProfileToExtend, extended_policy
from syncaudit.errors import UsageError, require_matplotlib
from syncaudit.formatting import word_count

if TYPE_CHECKING:
    from syncaudit.evaluation.judged import Judged
    from syncaudit.evaluation.tuning import Goal, Promise, Tuning
    from syncaudit.evaluation.variants import Measured
    from syncaudit.policy import Policy

_FOUND = re.compile(r"([\d.]+) *(%?) *@ *([\d.]+) *(ms|s|us)")
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
# Sizes of errors whose detection is plotted, as fractions of the size that must be found.
_DRAWN = (0.25, 0.5, 0.75, 1.5, 2.5)


def tune(
    run: Annotated[str, typer.Argument(help="Output folder of 'validate'.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Policy file (TOML) to write.")
    ],
    max_false_reject: Annotated[
        str, typer.Option(help="Share of good clips that may be rejected: 0.5%.")
    ] = "1%",
    min_found: Annotated[
        str, typer.Option(help="Share of errors to be found, and their size: 95%@20ms.")
    ] = "95%@20ms",
    by: Annotated[
        Literal["kind", "source"], typer.Option(help="Which sources share a limit.")
    ] = "kind",
    truth: Annotated[
        str | None, typer.Option(help="truth.jsonl of 'inject', where RUN judged its variants.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(help="Label file of 'view': good clips are those accepted.")
    ] = None,
    policy: PolicyToExtend = None,
    profile: ProfileToExtend = None,
    plots: Annotated[
        Path | None, typer.Option(help="Folder for plots (PNG) of every choice.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws which recordings are held out.")] = 0,
    partial: Partial = False,
    force: Force = False,
) -> None:
    """Choose the offset limit of each kind of source, and state what it promises.

    Clips that passed, or that a person accepts, are judged by many limits from what was measured,
    as they are and with known errors: nothing is decoded. Promises are made on recordings that the
    limits were not chosen on, by the lower bounds of their intervals; together they hold
    with 95 % confidence.

    Exit code 0: every promise is shown to hold; 1: a policy is written, but the promises are not
    shown to hold, and the number of further recordings needed is printed.

    **Example**

    - `syncaudit tune out/ --min-found 95%@20ms --max-false-reject 0.5% --out tuned.toml`
    """
    import numpy as np

    from syncaudit.cli.judged import outputs_of
    from syncaudit.evaluation import tuning
    from syncaudit.evaluation.change import Change
    from syncaudit.evaluation.injected import read_truth
    from syncaudit.evaluation.labels import read_labels
    from syncaudit.evaluation.tuning_plots import plot_tuning
    from syncaudit.evaluation.variants import Judging, good_clips, make_variants, measured_variants
    from syncaudit.policy import load_policy
    from syncaudit.policy.toml_text import limits_text
    from syncaudit.writing import Signature, check_target, replace_text

    if truth is not None and labels is not None:
        raise UsageError(
            "--truth and --labels both determine which clips are good",
            hint="With --truth, its controls are the good clips: leave --labels out.",
        )
    goal = _goal(max_false_reject, min_found)
    rules = load_policy(None if policy is None else str(policy), profile=profile)
    extends = extended_policy(policy, profile, out)
    check_target(out, Signature.TUNED, is_forced=force)
    if plots is not None:
        require_matplotlib()
    tried = [Change(amount=sign * goal.size_s) for sign in (1.0, -1.0)]
    others = [Change(amount=share * one.amount) for share in _DRAWN for one in tried]
    with outputs_of(run, partial=partial) as (clips, known):
        if truth is not None:
            measured: Iterable[Measured] = measured_variants(clips, known, read_truth(truth))
        else:
            given = None if labels is None else read_labels(labels)
            good = list(good_clips(clips, known, given))
            if not good:
                what = "passed" if given is None else "is accepted by these labels"
                raise UsageError(
                    f"no clip of this run {what}: nothing is known to be good",
                    path=run,
                    hint="Label clips with 'syncaudit view', and name the labels with --labels.",
                )
            draws = [(tried, 4), *([(others, len(others))] if plots is not None else [])]
            measured = chain.from_iterable(
                make_variants(
                    good, changes, np.random.default_rng(seed), n_variants=number, policy=rules
                )
                for changes, number in draws
            )
        judging = Judging(measured)
    recordings = {row.original: row.recording or row.original for row in judging.truth}

    def judge(limits_s: Mapping[str, float], wanted: Collection[str]) -> Mapping[str, Judged]:
        return judging.by(
            _with_limits(rules, by, limits_s), tuple(sorted(limits_s.items())), wanted
        )

    found = tuning.tune(
        judging.truth, recordings, judge, goal, is_by_source=by == "source", seed=seed
    )
    limits = {name: one.limit_s for name, one in found.limits.items()}
    title = f"Limits for the clips in {run}, by 'syncaudit tune' ({min_found} found)."
    replace_text(out, limits_text(limits, extends=extends, title=title, table=f"{by}s"))
    console = stdout()
    _print(console, found, goal)
    written = [out]
    if plots is not None:
        names = [row.clip_id for row in judging.truth]
        written += plot_tuning(
            found, goal, judging.truth, judge(limits, names), plots, is_forced=force
        )
    for path in written:
        console.print(printable(f"Written: {path}"), soft_wrap=True)
    raise typer.Exit(ExitCode.DONE if found.is_kept else ExitCode.REJECTED)


def _goal(max_false_reject: str, min_found: str) -> Goal:
    """Parse the user's goal; UsageError if it cannot be parsed or a share is out of range."""
    from syncaudit.evaluation.tuning import Goal

    match = _FOUND.fullmatch(min_found.strip())
    share = re.fullmatch(r"([\d.]+) *(%?)", max_false_reject.strip())
    try:
        if match is None or share is None:
            raise ValueError
        goal = Goal(
            max_false_reject=float(share[1]) * (0.01 if share[2] else 1.0),
            min_found=float(match[1]) * (0.01 if match[2] else 1.0),
            size_s=float(match[3]) * _UNITS[match[4]],
        )
        if not (0.0 <= goal.max_false_reject < 1.0 and 0.0 < goal.min_found < 1.0 and goal.size_s):
            raise ValueError
    except ValueError:
        raise UsageError(
            f"--min-found is '{min_found}' and --max-false-reject '{max_false_reject}'",
            hint="Expected a share below 100 % of a size, like 95%@20ms, and a share, like 0.5%.",
        ) from None
    return goal


def _with_limits(rules: Policy, by: str, limits_s: Mapping[str, float]) -> Policy:
    """Return a policy with different largest offsets."""
    from syncaudit.policy import Limits

    if by == "source":
        changed = {
            name: {**rules.overrides.get(name, {}), "offset_s": limit_s}
            for name, limit_s in limits_s.items()
        }
        return replace(rules, overrides={**rules.overrides, **changed})
    kinds = {
        kind: replace(rules.kinds.get(kind) or Limits(), offset_s=limit_s)
        for kind, limit_s in limits_s.items()
    }
    return replace(rules, kinds={**rules.kinds, **kinds})


def _print(console: Console, found: Tuning, goal: Goal) -> None:
    size = f"{1e3 * goal.size_s:g} ms"
    table = Table(box=box.SIMPLE_HEAD, expand=False, pad_edge=False, show_edge=False)
    table.add_column("limit of", overflow="fold")
    for title in ("limit", f"{size} found", "let through", "good pass", "rejected", "unverified"):
        table.add_column(title, justify="right")
    for name, one in found.limits.items():
        tried = one.tried[one.limit_s]
        passed, rejected = tried.passed.share or 0.0, tried.rejected.share or 0.0
        errors = (tried.found.share or 0.0, tried.let_through.share or 0.0)
        shares = (*errors, passed, rejected, 1.0 - passed - rejected)
        table.add_row(
            printable(name), f"{1e3 * one.limit_s:g} ms", *(f"{100 * x:.1f} %" for x in shares)
        )
    console.print(table)
    console.print(
        Text("On the recordings that these limits were chosen on. On others:", style="dim")
    )
    promises = [
        *((f"errors of {size} found, {name}", one.found) for name, one in found.limits.items()),
        ("good clips not rejected", found.kept),
    ]
    for words, promise in promises:
        console.print(Text(printable(_word_promise(words, promise))), soft_wrap=True)
    through = [one.let_through for one in found.limits.values()]
    console.print(
        f"Errors of {size} let through: {sum(rate.n_hits for rate in through):,} of "
        f"{sum(rate.n for rate in through):,}; the others are found, or held back"
    )
    held = found.passed
    console.print(
        f"Good clips that pass: {held.n_hits} of {held.n}; "
        f"{word_count(found.n_recordings, 'recording')}, each judged by limits chosen without it"
    )


def _word_promise(words: str, promise: Promise) -> str:
    rate = promise.rate
    seen = f"{rate.n_hits} of {rate.n}"
    if promise.is_kept:
        return f"✓ {words}: at least {100 * promise.low:.1f} % ({seen}; wanted {_percent(promise)})"
    if promise.is_out_of_reach:
        return f"✕ {words}: only {seen}, wanted {_percent(promise)}"
    return (
        f"? {words}: {seen}, too few recordings to promise {_percent(promise)}: "
        f"{promise.more_needed} more needed without a miss"
    )


def _percent(promise: Promise) -> str:
    return f"{100 * promise.wanted:g} %"
