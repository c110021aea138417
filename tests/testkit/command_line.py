"""Run the command line in this process or as a separate process."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Collection, Mapping
from typing import Any
from unittest.mock import patch

from typer.testing import CliRunner, Result

from syncaudit.cli import isolated_import
from syncaudit.cli.app import build_app
from syncaudit.datasets.importing import Imported, import_dataset
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


def import_here(*arguments: Any, memory_limit: str, **options: Any) -> Imported:
    """Stand in for `import_isolated`, whose worker takes seconds to start."""
    return import_dataset(*arguments, **options)


def run_documented(line: str, expected: Collection[int] = (0,)) -> None:
    """Run the words after ``syncaudit`` in this process, without any workers."""
    words = shlex.split(line, comments=True)
    if words[0] == "validate":
        words += ["-j", "0"]
    with patch.object(isolated_import, "import_isolated", import_here):
        result = run_command(*words)
    assert result.exit_code in expected, f"{line}\n{result.output}"


def faked_command(*arguments: object) -> list[str]:
    """Return the command that runs the command line on a stand-in pipeline in another process."""
    return [sys.executable, "-m", "testkit.fake_pipeline", *map(str, arguments)]


def environment(**variables: str) -> Mapping[str, str]:
    """Return an environment for a subprocess that can import `testkit`."""
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))} | variables
