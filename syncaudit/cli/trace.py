"""`syncaudit trace`: look up the verdicts of the samples of a batch."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from syncaudit.cli.console import printable, stderr, stdout
from syncaudit.cli.exit_codes import ExitCode
from syncaudit.cli.options import Verdicts
from syncaudit.errors import UsageError, reason_of

if TYPE_CHECKING:
    from syncaudit.batch import VerdictFile

# Separators between a clip id and the rest of a sample id: drive/7:000123, drive-7_f0042.jpg ...
_JOINTS = re.compile(r"[/:._\-#@ ]")


def trace(
    verdicts: Verdicts,
    ids: Annotated[
        list[str] | None, typer.Argument(help="Clip ids, or sample ids that begin with one.")
    ] = None,
    listed: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="File with ids: one per line, or the log of a guard (JSON Lines); '-' for stdin.",
        ),
    ] = None,
) -> None:
    """Look up the verdicts of samples or clips by their ids.

    For the batch that made a loss explode: which of its samples come from clips that were rejected,
    unverified, or never audited, and what was found about their clocks.

    **Examples**

    - `syncaudit trace out/ drive07/000123 drive09/000002/f0042`

    - `syncaudit trace out/ --from bad_samples.jsonl`

    **Exit codes**: 0 every clip passed · 1 some did not, or have no verdict.
    """
    from syncaudit.batch import fetched_verdicts
    from syncaudit.cli.verdict_table import verdict_table
    from syncaudit.model import Verdict

    asked = list(dict.fromkeys([*(ids or []), *_read_ids(listed)]))
    if not asked:
        raise UsageError("no ids to trace", hint="Name clips or samples, or a file with --from.")
    clips: dict[str, list[str]] = {}
    unknown = []
    with fetched_verdicts(verdicts, partial=True) as file:
        remark = _unfinished(file.path)
        for name in asked:
            clip_id = clip_of(name, file)
            if clip_id is None:
                unknown.append(name)
            else:
                clips.setdefault(clip_id, []).append(name)
        found = [file.verdict(clip_id) for clip_id in clips]
    console = stdout()
    if remark is not None:
        stderr().print(Text(f"Note: {printable(remark)}", style="yellow"), soft_wrap=True)
    if found:
        console.print(verdict_table(found))
    for clip_id, names in clips.items():
        samples = [name for name in names if name != clip_id]
        if samples:
            text = f"{clip_id}: {', '.join(samples)}"
            console.print(Text(printable(text), style="dim"), soft_wrap=True)
    for name in unknown:
        console.print(Text(f"? {printable(name)}: no verdict on such a clip", style="yellow"))
    is_good = not unknown and all(clip.verdict is Verdict.PASS for clip in found)
    raise typer.Exit(ExitCode.DONE if is_good else ExitCode.REJECTED)


def _unfinished(file: Path) -> str | None:
    """Return a message about an unfinished run; None if it was finished."""
    from syncaudit.readers.runs import finished_run

    try:
        finished_run(str(file))
    except UsageError as error:
        return f"{error.message}; what is there is shown"
    return None


def clip_of(name: str, verdicts: VerdictFile) -> str | None:
    """Return the clip that a sample belongs to: the longest clip id that its id starts with."""
    if name in verdicts:
        return name
    for joint in reversed(list(_JOINTS.finditer(name))):
        if name[: joint.start()] in verdicts:
            return name[: joint.start()]
    return None


def _read_ids(path: Path | None) -> Iterator[str]:
    if path is None:
        return
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the ids cannot be read: {reason_of(error)}", path=str(path)) from error
    yield from _ids_in(text.splitlines())


def _ids_in(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        name = line.strip()
        if name.startswith("{"):
            try:
                row = json.loads(name)
            except ValueError:
                row = {}
            name = str(row.get("sample") or row.get("clip_id") or "")
        if name:
            yield name
