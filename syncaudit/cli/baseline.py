"""`syncaudit baseline`: write the baselines of a fleet's own clips as a policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from syncaudit.cli.console import printable, stdout
from syncaudit.cli.options import Force, Partial, PolicyToExtend, ProfileToExtend, extended_policy
from syncaudit.errors import UsageError
from syncaudit.formatting import word_count, word_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncaudit.policy import Policy
    from syncaudit.policy.fleet import Fleet, FleetBaseline


def baseline(
    verdicts: Annotated[str, typer.Argument(help="Output folder of an earlier 'validate'.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Policy file (TOML) to write.")
    ],
    policy: PolicyToExtend = None,
    profile: ProfileToExtend = None,
    partial: Partial = False,
    force: Force = False,
) -> None:
    """Learn the baselines of a fleet from its measured clips.

    Commands, steering and wheel speed lead or trail the visible motion by a delay of the machine.
    Its median over the clips is written as a policy, with which clips that deviate are found.

    **Example**

    - `syncaudit baseline out/ --profile vla --out fleet.toml`, then
      `syncaudit judge out/ --policy fleet.toml --out new/`
    """
    from syncaudit.policy import load_policy
    from syncaudit.policy.toml_text import policy_text
    from syncaudit.writing import Signature, check_target, replace_text

    rules = load_policy(None if policy is None else str(policy), profile=profile)
    extends = extended_policy(policy, profile, out)
    check_target(out, Signature.BASELINE, is_forced=force)
    found = list(_fleet_of(verdicts, rules, partial=partial).baselines())
    _check(found, verdicts)
    title = f"Baselines of the clips in {verdicts}, by 'syncaudit baseline'."
    replace_text(out, policy_text(found, extends=extends, title=title))
    _print(stdout(), found, out)


def _fleet_of(verdicts: str, rules: Policy, *, partial: bool) -> Fleet:
    from syncaudit.batch import fetched_verdicts
    from syncaudit.policy.fleet import Fleet

    fleet = Fleet(rules)
    with fetched_verdicts(verdicts, partial=partial) as file:
        for clip_id in file.clip_ids:
            fleet.add(file.verdict(clip_id))
    return fleet


def _check(found: Sequence[FleetBaseline], verdicts: str) -> None:
    from syncaudit.policy.fleet import MIN_CLIPS

    if not found:
        raise UsageError(
            "no clip has an accepted measurement that is judged by a baseline",
            path=verdicts,
            hint=(
                "Baselines apply to commands of robots and to steering and wheel speed of vehicles."
            ),
        )
    if not any(item.is_known for item in found):
        most = max(found, key=lambda item: item.n_clips)
        raise UsageError(
            f"only {word_count(most.n_clips, 'clip')} with {most.name}, at least {MIN_CLIPS} "
            "needed",
            path=verdicts,
            hint="Measure more clips of the fleet.",
        )


def _print(console: Console, found: Sequence[FleetBaseline], out: Path) -> None:
    from syncaudit.policy.fleet import MIN_CLIPS

    for item in found:
        clips = word_count(item.n_clips, "clip")
        if not item.is_known:
            line = f"left out: only {clips}, at least {MIN_CLIPS} needed"
        else:
            limit_s = item.tolerance_s or item.limit_s
            line = (
                f"{1e3 * item.offset_s:+.1f} ms, spread {word_duration(item.spread_s)}, "
                f"tolerance {word_duration(limit_s)}, {clips}"
            )
        console.print(printable(f"{item.name}: {line}"), markup=False, soft_wrap=True)
    console.print(printable(f"Written to {out}"), markup=False, soft_wrap=True)
