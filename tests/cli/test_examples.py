"""Every command line in help, README and documents is valid for syncaudit."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from syncaudit.cli.app import build_app
from syncaudit.simulate.scenarios import SCENARIOS

ROOT = Path(__file__).parents[2]
APP = get_command(build_app())
# What may follow a command in a shell.
ENDS = {"|", ">", ">>", "&&", ";", "#", "||"}


def of_help() -> list[str]:
    texts = [APP.help, *(command.help for command in APP.commands.values())]
    return [line for text in texts for line in re.findall(r"`(syncaudit [^`]+)`", text or "")]


def of_documents() -> list[str]:
    lines = []
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
        for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL):
            lines += re.findall(r"^\$ (syncaudit .*)$", block, flags=re.MULTILINE)
    return lines


def arguments_of(line: str) -> list[str]:
    words = shlex.split(line, comments=True)[1:]
    return words[: next((k for k, word in enumerate(words) if word in ENDS), len(words))]


def test_there_are_examples():
    assert len(of_help()) > 30
    assert len(of_documents()) > 30


@pytest.mark.parametrize("line", sorted({*of_help(), *of_documents()}))
def test_example_is_understood(line: str):
    name, *arguments = arguments_of(line)
    if name.startswith("-"):
        return  # of the program itself
    command = APP.commands[name]
    if arguments and arguments[0] in getattr(command, "commands", {}):
        command, arguments = command.commands[arguments[0]], arguments[1:]
    # Resilient parsing runs no callback and asks for nothing, but knows every option.
    command.make_context(name, list(arguments), resilient_parsing=True)
    known = {opt for param in command.params for opt in (*param.opts, *param.secondary_opts)}
    asked = {word.partition("=")[0] for word in arguments if word.startswith("--")}
    assert asked <= known | {"--help"}
    if name == "simulate" and not arguments[0].startswith("-"):
        assert arguments[0] in SCENARIOS
    if "sample_data/manifest.jsonl" in arguments and "--clip" in arguments:
        rows = (ROOT / "sample_data/manifest.jsonl").read_text(encoding="utf-8").splitlines()
        wanted = arguments[arguments.index("--clip") + 1]
        assert wanted in {json.loads(row)["clip_id"] for row in rows}


# Commands that need nothing beyond this repository.
RUNNABLE = {"doctor", "flash-plan", "policy"}


def is_runnable(line: str) -> bool:
    name = arguments_of(line)[0]
    if name == "view" or "--rerun" in line or "drive.jsonl" in line:
        return False  # a screen, an extra that is not installed for tests, a user's own manifest
    return name in RUNNABLE or "sample_data" in line


@pytest.mark.parametrize("line", sorted(filter(is_runnable, {*of_help(), *of_documents()})))
def test_example_runs(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(build_app(), arguments_of(line))
    assert result.exit_code in (0, 1, 4), result.output  # 1 and 4: done, with clips that fail
