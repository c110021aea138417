"""`syncaudit tune`: limits that keep a promise on a data set."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from syncaudit.cli.exit_codes import ExitCode
from syncaudit.cli.extended_policy import extended_policy
from syncaudit.cli.options import Force, Partial, PolicyToExtend, ProfileToExtend

if TYPE_CHECKING:
    from rich.console import Console

    from syncaudit.batch import VerdictFile
    from syncaudit.evaluation.judged import Judged
    from syncaudit.evaluation.tuning import Goal, Judge, Promise, Tuning
    from syncaudit.model import Clip
    from syncaudit.policy import Policy

__all__ = ["tune"]

_FOUND = re.compile(r"([\d.]+) *(%?) *@ *([\d.]+) *(ms|s|us)")
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


def tune(
    trial: Annotated[
        str, typer.Argument(help="Output folder of 'validate' over the variants of 'inject'.")
    ],
    truth: Annotated[str, typer.Option("--truth", help="truth.jsonl of 'syncaudit inject'.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Policy file (TOML) to write.")],
    max_false_reject: Annotated[
        str,
        typer.Option("--max-false-reject", help="Share of good clips that may be rejected: 0.5%."),
    ] = "1%",
    min_found: Annotated[
        str,
        typer.Option("--min-found", help="Share of errors of a size to be found: 95%@20ms."),
    ] = "95%@20ms",
    policy: PolicyToExtend = None,
    profile: ProfileToExtend = None,
    seed: Annotated[
        int, typer.Option("--seed", help="Random seed: which recordings are held out.")
    ] = 0,
    partial: Partial = False,
    force: Force = False,
) -> None:
    """Choose the offset limit of each kind of source, and state the error rates to expect.

    Variants with known errors are judged with many limits from what was measured: nothing is
    decoded. The rates are taken from recordings that the limits were not chosen on, at the bounds
    of their intervals; all of them together hold with 95 %.

    Exit code 0: every rate is met; 1: a policy is written, but the trial is too small to show
    that it meets them, and how many more recordings it takes is printed.

    **Example**

    - `syncaudit tune trial/out --truth trial/truth.jsonl --min-found 95%@20ms --out tuned.toml`
    """
    from syncaudit.cli.console import stdout
    from syncaudit.cli.judged import load_outputs
    from syncaudit.evaluation import tuning
    from syncaudit.evaluation.injected import read_truth
    from syncaudit.policy import limits_text, load_policy
    from syncaudit.writing import Signature, check_target, replace_text

    goal = _goal(max_false_reject, min_found)
    rules = load_policy(None if policy is None else str(policy), profile=profile)
    extends = extended_policy(policy, profile, out)
    check_target(out, Signature.TUNED, is_forced=force)
    injected = list(read_truth(truth).values())
    recordings = {row.original: row.recording or row.original for row in injected}
    with TemporaryDirectory(prefix="syncaudit-") as scratch:
        clips, known = load_outputs(trial, Path(scratch), partial=partial)
        judge = _judge({clip.clip_id: clip for clip in clips}, known, rules)
        found = tuning.tune(injected, recordings, judge, goal, seed=seed)
    title = f"Limits for the clips in {trial}, by 'syncaudit tune' ({min_found} found)."
    limits = {kind: one.limit_s for kind, one in found.kinds.items()}
    replace_text(out, limits_text(limits, extends=extends, title=title))
    _print(stdout(), found, goal, out)
    raise typer.Exit(ExitCode.DONE if found.is_kept else ExitCode.REJECTED)


def _goal(max_false_reject: str, min_found: str) -> Goal:
    """Return what the user wants; UsageError where it cannot be read, or shares are none."""
    from syncaudit.errors import UsageError
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


def _judge(clips: Mapping[str, Clip], known: VerdictFile, rules: Policy) -> Judge:
    """Return what judges measured clips by limits of kinds."""
    from syncaudit.batch.task import JudgeTask
    from syncaudit.errors import UsageError
    from syncaudit.evaluation.judged import Judged
    from syncaudit.policy import Limits

    def judge(limits_s: Mapping[str, float], wanted: Collection[str]) -> dict[str, Judged]:
        kinds = dict(rules.kinds)
        for kind, limit_s in limits_s.items():
            kinds[kind] = replace(kinds.get(kind) or Limits(), offset_s=limit_s)
        task = JudgeTask(policy=replace(rules, kinds=kinds))
        found = {}
        for clip_id in sorted(wanted & clips.keys()):
            result = task((clips[clip_id], known.line(clip_id)))
            if result.trace is not None:
                raise UsageError(
                    f"what was measured of clip '{clip_id}' cannot be judged",
                    path=str(known.path),
                    hint="Measure the variants again with 'syncaudit validate'.",
                )
            found[clip_id] = Judged.from_row(json.loads(result.line))
        return found

    return judge


def _print(console: Console, found: Tuning, goal: Goal, out: Path) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from syncaudit.cli.console import printable
    from syncaudit.formatting import word_count

    size = f"{1e3 * goal.size_s:g} ms"
    table = Table(box=box.SIMPLE_HEAD, expand=False, pad_edge=False, show_edge=False)
    table.add_column("kind")
    for title in ("limit", f"{size} found", "good sources pass"):
        table.add_column(title, justify="right", no_wrap=True)
    for kind, one in found.kinds.items():
        shares = one.tried[one.limit_s]
        table.add_row(
            kind,
            f"{1e3 * one.limit_s:g} ms",
            f"{100 * shares[0]:.0f} %",
            f"{100 * shares[1]:.0f} %",
        )
    console.print(table)
    console.print(
        Text("On the recordings that these limits were chosen on. On others:", style="dim")
    )
    promises = [
        *((f"errors of {size} found, {kind}", one.found) for kind, one in found.kinds.items()),
        ("good clips not rejected", found.kept),
    ]
    for words, promise in promises:
        console.print(Text(_word_promise(words, promise)), soft_wrap=True)
    held = found.passed
    console.print(
        f"Good clips that pass: {held.n_hits} of {held.n}; "
        f"{word_count(found.n_recordings, 'recording')}, each judged by limits chosen without it"
    )
    console.print(printable(f"Written: {out}"), soft_wrap=True)


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
