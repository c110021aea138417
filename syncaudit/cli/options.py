"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Force", "Partial", "Prune", "Root"]

Force = Annotated[
    bool,
    typer.Option("--force", help="Write also over files that syncaudit did not write."),
]
Partial = Annotated[
    bool,
    typer.Option("--partial", help="Take what is there of a run that was not finished."),
]
Prune = Annotated[
    bool,
    typer.Option(
        "--prune", help="Take verdicts of clips that this run does not name out of --out."
    ),
]
Root = Annotated[
    list[str] | None,
    typer.Option(
        "--root",
        help="Open files of these folders alone. Without it files outside of the manifest's "
        "folder are opened, but told of and never quoted. Repeatable.",
    ),
]
