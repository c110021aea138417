"""The commands of docs/datasets.md run as written, on the example of each format."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from syncaudit.datasets.formats import all_formats
from testkit.command_line import run_documented
from testkit.data_sets.examples import EXAMPLES

DOC = Path(__file__).parents[3] / "docs/datasets.md"
N_CLIPS = 2


def documented() -> dict[str, list[str]]:
    """Return the commands of every section named after a format."""
    _, *sections = re.split(r"^## ", DOC.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {}
    for section in sections:
        name = section.partition("\n")[0].strip()
        blocks = re.findall(r"```console\n(.*?)```", section, flags=re.DOTALL)
        lines = [line for block in blocks for line in re.findall(r"^\$ (.*)$", block, re.MULTILINE)]
        if name in all_formats() and lines:
            found[name] = lines
    return found


@pytest.mark.parametrize("name", sorted(documented()))
def test_they_run_one_after_the_other(name, tmp_path, monkeypatch):
    EXAMPLES[name].write(tmp_path, N_CLIPS)
    monkeypatch.chdir(tmp_path)
    place = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": place, "QT_QPA_PLATFORM": "offscreen"}
    for line in documented()[name]:
        command, *words = shlex.split(line, comments=True)
        if command == "pip":
            continue  # a network
        if command == "syncaudit" and words[0] != "view":
            run_documented(shlex.join(words), expected=(0, 4))
            continue
        if command == "syncaudit":
            line += " --no-audit --shot view.png"  # without a screen
        ran = subprocess.run(  # noqa: S602  # our own document
            line, shell=True, env=env, check=False, capture_output=True, text=True
        )
        assert ran.returncode in (0, 4), f"{line}\n{ran.stdout}\n{ran.stderr}"
