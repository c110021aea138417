"""`syncaudit policy`: show the policy that clips are judged by."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from syncaudit.cli.options import PolicyFile, Profile

policy_app = typer.Typer(
    help="Show what clips are judged by.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


@policy_app.callback()
def _policy() -> None:
    """Show what clips are judged by."""


@policy_app.command()
def show(
    policy: PolicyFile = None,
    profile: Profile = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Every field in seconds, also those that are not set.")
    ] = False,
) -> None:
    """Print the policy in force as a policy file (TOML): all that is set.

    **Example**: `syncaudit policy show --profile vla > mine.toml`
    """
    from syncaudit.batch.json_encoding import to_plain
    from syncaudit.policy import load_policy
    from syncaudit.policy.toml_text import policy_toml

    rules = load_policy(None if policy is None else str(policy), profile=profile)
    if not as_json:
        typer.echo(policy_toml(rules), nl=False)
        return
    typer.echo(json.dumps(to_plain(rules), indent=2, ensure_ascii=False))
