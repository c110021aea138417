"""Run the command line in this process or as a separate process."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from typer.testing import CliRunner, Result

from syncaudit.cli.app import build_app
from testkit.places import TESTS


def run_command(*arguments: object, width: int = 200, expected: int | None = None) -> Result:
    """Run `syncaudit ARGUMENTS` in this process, on a terminal without colours.

    Parameters
    ----------
    arguments
        Words of the command line, of any type.
    width
        Width of the terminal, columns.
    expected
        The expected exit code; None skips the check.
    """
    runner = CliRunner(env={"COLUMNS": str(width), "NO_COLOR": "1", "TERM": "dumb"})
    words = [str(argument) for argument in arguments]
    result = runner.invoke(build_app(), words, prog_name="syncaudit")
    if expected is not None:
        assert result.exit_code == expected, result.stdout + result.stderr
    return result


def faked_command(*arguments: object) -> list[str]:
    """Return the command that runs the command line on a stand-in pipeline in another process."""
    return [sys.executable, "-m", "testkit.fake_pipeline", *map(str, arguments)]


def environment(**variables: str) -> Mapping[str, str]:
    """Return an environment for a subprocess that can import `testkit`."""
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))} | variables
