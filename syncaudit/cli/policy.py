"""`syncaudit policy`: show what clips are judged by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["policy_app"]

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
    policy: Annotated[Path | None, typer.Option("--policy", help="Policy file (TOML).")] = None,
    profile: Annotated[str | None, typer.Option("--profile", help="Policy profile.")] = None,
) -> None:
    """Print the policy in force as JSON, with every default filled in."""
    from syncaudit.batch.json_encoding import plain
    from syncaudit.policy import load_policy

    rules = load_policy(None if policy is None else str(policy), profile=profile)
    typer.echo(json.dumps(plain(rules), indent=2, ensure_ascii=False))
