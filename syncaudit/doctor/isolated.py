"""Run a few lines of Python in a separate process, which may crash or hang."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from syncaudit.formatting import signal_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Output of the process, or a one-line reason if it failed."""

    is_ok: bool
    said: str


def ask_python(
    code: str, *, timeout_s: float = 15.0, environment: Mapping[str, str] | None = None
) -> Answer:
    """Run `code` and return its output; an exception, crash or timeout is also an answer."""
    try:
        done = subprocess.run(  # noqa: S603  # our own interpreter and code
            [sys.executable, "-c", code],
            env=None if environment is None else dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Answer(is_ok=False, said=f"no answer within {timeout_s:g} s")
    except OSError as error:
        return Answer(is_ok=False, said=f"Python cannot be started: {error}")
    if done.returncode == 0:
        return Answer(is_ok=True, said=done.stdout.decode("utf-8", "replace").strip("\n"))
    if done.returncode < 0:
        return Answer(is_ok=False, said=f"it crashed ({signal_name(-done.returncode)})")
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return Answer(is_ok=False, said=_last_error(lines) or f"exit code {done.returncode}")


def _last_error(lines: list[str]) -> str:
    """Return the error message in a traceback, without the lines that follow it."""
    for line in reversed(lines):
        kind, colon, text = line.partition(": ")
        if colon and kind.replace(".", "").isidentifier() and line[:1] != " ":
            return text.strip()[:200]
    return lines[-1].strip()[:200] if lines else ""
