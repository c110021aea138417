"""`syncaudit doctor`: report the capabilities of this machine."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from syncaudit.cli.console import printable, stdout
from syncaudit.cli.options import AsJson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from syncaudit.doctor import Symptom


def doctor(
    as_json: AsJson = False,
) -> None:
    """Show what this machine can do: codecs, GPU, aligners, viewer, extras, free disk.

    What is optional and absent comes with the line that would install it. The exit code is 0
    whatever is found.

    **Examples**

    - `syncaudit doctor`

    - `syncaudit doctor --json | jq .codecs`
    """
    from syncaudit.doctor import examine_machine

    found = examine_machine()
    if as_json:
        content = {group: [asdict(each) for each in rows] for group, rows in found.items()}
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        stdout().print(_table(found))


def _table(found: Mapping[str, Sequence[Symptom]]) -> Table:
    from syncaudit.doctor import Status

    marks = {
        Status.OK: ("✓", "green"),
        Status.ABSENT: ("–", "dim"),
        Status.FAULTY: ("✕", "red"),
        Status.UNKNOWN: ("?", "yellow"),
    }
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("what", no_wrap=True, max_width=24)
    table.add_column("found", overflow="fold")
    for group, symptoms in found.items():
        for index, symptom in enumerate(symptoms):
            mark, style = marks[symptom.status]
            body = Text(printable(symptom.detail), style="" if mark == "✓" else style)
            if symptom.cure:
                body.append(f"\n{printable(symptom.cure)}", style="cyan")
            table.add_row(
                Text(group if index == 0 else "", style="bold"),
                Text.assemble((f"{mark} ", style), printable(symptom.name)),
                body,
                end_section=index == len(symptoms) - 1,
            )
    return table
