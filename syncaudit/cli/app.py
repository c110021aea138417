"""The Typer application: its commands, plugin commands, and last-resort error handling."""

from __future__ import annotations

import errno
import io
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup
from typer.main import get_command

from syncaudit import __version__
from syncaudit.cli.align import align
from syncaudit.cli.baseline import baseline
from syncaudit.cli.check_split import check_split
from syncaudit.cli.console import printable, stderr
from syncaudit.cli.diff import diff
from syncaudit.cli.doctor import doctor
from syncaudit.cli.evaluate import evaluate
from syncaudit.cli.exit_codes import ExitCode
from syncaudit.cli.export_shards import export_shards
from syncaudit.cli.inspect_clip import inspect
from syncaudit.cli.judge import judge
from syncaudit.cli.manifest import manifest
from syncaudit.cli.merge import merge
from syncaudit.cli.options import named_values
from syncaudit.cli.plugins import add_plugins
from syncaudit.cli.policy import policy_app
from syncaudit.cli.sample import sample, sample_speech
from syncaudit.cli.simulate import simulate
from syncaudit.cli.trace import trace
from syncaudit.cli.tune import tune
from syncaudit.cli.validate import validate
from syncaudit.errors import SyncAuditError

_HELP = """
Check whether the streams of a recording share one time.

Stamps claim when a frame, a sample or a message was taken. syncaudit looks at the content
(motion, shaking, sound) and reports for every clip and source how far off the claim is.

**First steps**

- `syncaudit validate manifest.jsonl --out out/`  judge every clip, split good from bad

- `syncaudit inspect manifest.jsonl --clip ID`  one clip in depth

- `syncaudit manifest auto FOLDER --out manifest.jsonl`  the manifest of a data set

- `syncaudit simulate good --out sim/`  a recording with known truth

- `syncaudit doctor`  show what this machine can do

**Exit codes**: 0 all good · 1 a clip was rejected · 2 wrong usage, manifest or policy ·
3 stopped early · 4 nothing could be verified · 130 interrupted.
"""


_AUDIT = "Audit"
_RIG = "Calibrate and correct"
_DATA = "Data sets"
_RATES = "Error rates"
_SPEECH = "Speech"
_COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    _AUDIT: (validate, inspect, judge, merge),
    _RIG: (),
    _DATA: (manifest, check_split, export_shards, trace),
    _RATES: (sample, evaluate, tune, baseline, diff),
    _SPEECH: (align, sample_speech),
    "This machine and test data": (doctor, simulate),
}
# Help panels of commands in packages that are shipped with this one.
_PANELS = {
    "view": _AUDIT,
    "calibrate": _RIG,
    "flash-plan": _RIG,
    "apply": _RIG,
    "inject": _RATES,
}


class _Guarded(TyperGroup):
    """A command group that turns expected errors into one sentence and an exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an empty --out, which pathlib would take for the working directory."""
        pairs = zip(args, [*args[1:], "-"], strict=False)
        if any(
            arg in ("--out=", "-o=") or (arg in ("--out", "-o") and not after.strip())
            for arg, after in pairs
        ):
            raise typer.BadParameter("--out is empty. Name a place; '.' is the working folder.")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; expected errors never show a traceback."""
        try:
            return super().invoke(ctx)
        except SyncAuditError as error:
            _complain(str(error))
            raise typer.Exit(ExitCode.USAGE) from error
        except KeyboardInterrupt as error:
            _complain("interrupted")
            raise typer.Exit(ExitCode.INTERRUPTED) from error


def build_app() -> typer.Typer:
    """Return the application with all commands, including those of installed packages."""
    app = typer.Typer(
        cls=_Guarded,
        help=_HELP,
        rich_markup_mode="markdown",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for panel, commands in _COMMANDS.items():
        for command in commands:
            app.command(rich_help_panel=panel)(command)
    app.add_typer(policy_app, name="policy", rich_help_panel=_AUDIT)
    add_plugins(app, _PANELS)
    return app


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; a traceback is never shown."""
    # This process computes exactly like the workers: one thread each (design, section 8).
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without UTF-8 gets question marks
    try:
        named_values(get_command(build_app()))(args=list(arguments), prog_name="syncaudit")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BrokenPipeError:  # the reader of the output has closed the pipe
        sys.stdout = io.TextIOWrapper(io.BytesIO())
        return ExitCode.STOPPED
    except Exception as error:  # noqa: BLE001  # the boundary of the command line
        worded = worded_system_error(error)
        if worded is None:
            return _report_defect()
        _complain(worded[0])
        return worded[1]
    return ExitCode.DONE


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"syncaudit {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def _report_defect() -> int:
    trace = traceback.format_exc()
    where = ""
    with suppress(OSError):
        # An unpredictable name, readable by this user only.
        handle, name = tempfile.mkstemp(prefix="syncaudit-", suffix=".log")
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:  # noqa: PTH123
            file.write(f"syncaudit {__version__}\n{trace}")
        where = f" The details are in {name}; please send that file with your report."
    last = trace.strip().splitlines()[-1]
    _complain(f"syncaudit failed unexpectedly: {last}. This is a defect of syncaudit.{where}")
    return ExitCode.STOPPED


def _complain(sentence: str) -> None:
    stderr().print(Text(f"Error: {printable(sentence)}", style="red"), soft_wrap=True)


_ROOM = "What is done is kept: make room and run it again."
# Files that are missing or not permitted are usage errors: exit code 2. The rest give 3.
_WRONG = {
    errno.EACCES: "Check its permissions, or choose another place.",
    errno.EPERM: "Check its permissions, or choose another place.",
    errno.ENOENT: "Check the name.",
    errno.EISDIR: "Name a file.",
    errno.ENOTDIR: "A file stands where a folder is expected.",
    errno.EEXIST: "Choose another name.",
    errno.ENOTEMPTY: "Choose another name.",
    errno.ELOOP: "Its links form a loop.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
    errno.ENXIO: "Name a regular file.",
    errno.EINVAL: "Name a regular file on a common file system.",
}
_STARVED = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EROFS: "What is done is kept: choose a place that can be written to, and run it again.",
    errno.EFBIG: "What is done is kept: raise the limit on file sizes (ulimit -f) and run again.",
    errno.EMFILE: "Raise the limit on open files (ulimit -n), or lower --workers.",
    errno.ENFILE: "The machine has too many open files.",
    errno.ENOMEM: "Lower --workers, or free memory.",
    errno.EAGAIN: "Lower --workers, or raise the limit on processes (ulimit -u).",
    errno.EIO: "The disk or share is failing: check it.",
    errno.ESTALE: "The share was lost: mount it again.",
    errno.ETIMEDOUT: "The share or store does not answer: try again later.",
}


def worded_system_error(error: BaseException) -> tuple[str, int] | None:
    """Return (sentence, exit code) for an operating system error; None for any other error."""
    if isinstance(error, MemoryError):
        return f"there is not enough memory. {_STARVED[errno.ENOMEM]}", ExitCode.STOPPED
    number = error.errno if isinstance(error, OSError) else None
    if not isinstance(error, OSError) or number is None:
        return None
    cure = _WRONG.get(number) or _STARVED.get(number)
    if cure is None:
        return None
    place = f"{error.filename}: " if error.filename is not None else ""
    code = ExitCode.USAGE if number in _WRONG else ExitCode.STOPPED
    return f"{place}{error.strerror}. {cure}", code
