"""Find and run the Montreal Forced Aligner, an external program distributed on conda-forge."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from syncaudit.errors import AlignmentError, UsageError

COMMAND_VARIABLE = "SYNCAUDIT_MFA"
INSTALL = (
    "Install it with: conda create -n aligner -c conda-forge montreal-forced-aligner; it is "
    f"then found automatically, or name it in the environment variable {COMMAND_VARIABLE}."
)
_ROOT_VARIABLE = "MFA_ROOT_DIR"
# Its start-up alone takes seconds, `conda run` as much again.
_PROBE_S = 120.0
_CONDA_ENVIRONMENT = "aligner"
# MFA 4.0 changes the arguments of the plain names; since 3.4 the old ones have separate names.
_LEGACY_FROM = (3, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class MfaProgram:
    """A working Montreal Forced Aligner installation."""

    command: tuple[str, ...]  # command that starts it
    version: str  # as reported by the program

    def subcommand(self, name: str) -> str:
        """Return the name in this version of ``align`` or ``align_one`` with a dictionary."""
        major, minor = (int(part) for part in self.version.split(".")[:2])
        return f"{name}_legacy" if (major, minor) >= _LEGACY_FROM else name

    def run(self, arguments: Sequence[str], *, root: Path, timeout_s: float) -> None:
        """Run it with a private root folder in which it finds the user's models.

        `arguments`: subcommand and its arguments. `root`: empty folder; otherwise its databases
        collide with those of other runs. `timeout_s`: it is terminated after that.

        AlignmentError if it reports a failure. No reported failure does not prove success.
        """
        _lend_models(root)
        environment = {**os.environ, _ROOT_VARIABLE: str(root)}
        code, said = _call([*self.command, *arguments], environment, timeout_s)
        if code is None:
            raise AlignmentError(f"mfa did not finish within {timeout_s:.0f} s and was stopped")
        if code:
            raise AlignmentError(f"mfa {arguments[0]} {_words(code)}{_last_words(said)}")


def find_mfa() -> MfaProgram | UsageError:
    """Return the configured program, or that on the PATH or in conda environment ``aligner``."""
    stated = os.environ.get(COMMAND_VARIABLE, "").strip()
    if stated:
        command = tuple(shlex.split(stated))
        version = _version(command)
        if version is None:
            return UsageError(
                f"{COMMAND_VARIABLE} is '{stated}', which does not answer 'version'",
                hint=INSTALL,
            )
        return MfaProgram(command=command, version=version)
    candidates: list[tuple[str, ...]] = [("mfa",)] if shutil.which("mfa") else []
    candidates += [
        (conda, "run", "-n", _CONDA_ENVIRONMENT, "mfa")
        for conda in ("conda", "mamba", "micromamba")
        if shutil.which(conda)
    ][:1]
    for command in candidates:
        version = _version(command)
        if version is not None:
            return MfaProgram(command=command, version=version)
    return UsageError("the Montreal Forced Aligner is not installed", hint=INSTALL)


def _version(command: Sequence[str]) -> str | None:
    code, said = _call([*command, "version"], os.environ, _PROBE_S)
    found = re.search(r"\b\d+\.\d+(\.\w+)*", said)
    return found.group() if code == 0 and found else None


def _call(
    command: Sequence[str], environment: Mapping[str, str], timeout_s: float
) -> tuple[int | None, str]:
    """Return exit code and output of a program; no code if it had to be terminated."""
    try:
        process = subprocess.Popen(  # noqa: S603  # the user's own aligner
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return 127, str(error)
    try:
        said, _ = process.communicate(timeout=timeout_s)
    except BaseException as error:
        # Its children too: `conda run` and worker processes do not end with it.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            return None, ""
        raise
    return process.returncode, said.decode("utf-8", "replace")


def _lend_models(root: Path) -> None:
    """Make the models that the user has downloaded available in the private root."""
    stated = os.environ.get(_ROOT_VARIABLE)
    home = Path(stated) if stated else Path.home() / "Documents" / "MFA"
    models = home / "pretrained_models"
    link = root / "pretrained_models"
    if models.is_dir() and not link.exists():
        link.symlink_to(models, target_is_directory=True)


def _words(code: int) -> str:
    if code < 0:
        return f"was killed (signal {-code})"
    meanings = {
        1: "could not align anything",
        2: "was called incorrectly, or lacks a file or model",
        127: "cannot be started",
    }
    return f"{meanings.get(code, 'failed')} (exit code {code})"


def _last_words(said: str) -> str:
    """Return the last informative line of its output, without borders and colours."""
    plain = re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", said)
    lines = [" ".join(line.split()) for line in plain.splitlines()]
    telling = [line for line in lines if re.search(r"[a-zA-Z]{3}", line)]
    return f": {telling[-1][:200]}" if telling else ""
