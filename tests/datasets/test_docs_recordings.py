"""The commands of docs/datasets.md run as they stand there, on small data sets."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from syncaudit.cli.exit_codes import ExitCode
from testkit.command_line import run_command
from testkit.data_sets.flight_logs import write_ardupilot, write_ulog
from testkit.data_sets.slam_data import write_argoverse2, write_euroc, write_kitti
from testkit.data_sets.telemetry_data import write_telemetry
from testkit.data_sets.xdf_data import write_xdf
from testkit.places import ROOT

# Exit codes of commands that did what they are for, whatever they found.
_RAN = {ExitCode.DONE, ExitCode.REJECTED, ExitCode.NOTHING_VERIFIED}
DOC = (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")


def telemetry(folder: Path) -> None:
    card = write_telemetry(folder, 2)
    shutil.copy(card / "DCIM/100GOPRO/GX010001.MP4", folder)


def euroc(folder: Path) -> None:
    write_euroc(folder, 2)


def kitti(folder: Path) -> None:
    write_kitti(folder, 1)


def argoverse2(folder: Path) -> None:
    (write_argoverse2(folder, 1) / "val").rename(folder / "val")


def ulog(folder: Path) -> None:
    write_ulog(folder, 2)


def ardupilot(folder: Path) -> None:
    write_ardupilot(folder, 2)


def xdf(folder: Path) -> None:
    write_xdf(folder, 2)


# What lies in the working folder of the commands of each section.
SECTIONS: dict[str, Callable[[Path], None]] = {
    "telemetry": telemetry,
    "euroc": euroc,
    "kitti": kitti,
    "argoverse2": argoverse2,
    "ulog": ulog,
    "ardupilot": ardupilot,
    "xdf": xdf,
}


def commands(section: str) -> list[str]:
    """Return the words behind ``$ syncaudit`` in the blocks of a section."""
    (text,) = re.findall(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", DOC, re.M | re.S)
    lines = "\n".join(re.findall(r"```console\n(.*?)```", text, re.S)).splitlines()
    return [line.removeprefix("$ syncaudit ") for line in lines if line.startswith("$ syncaudit ")]


@pytest.mark.parametrize("section", SECTIONS)
def test_the_commands_of_a_section_run(section, tmp_path, monkeypatch):
    SECTIONS[section](tmp_path)
    monkeypatch.chdir(tmp_path)
    found = commands(section)
    assert any(line.startswith("validate") for line in found)
    for line in found:
        words = shlex.split(line, comments=True)
        if words[0] == "view":
            pytest.importorskip("PyQt6", reason="the extra [gui] is not installed")
            monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
        result = run_command(*words)
        assert result.exit_code in _RAN, result.stdout + result.stderr
        if "--shot" in words:
            assert (tmp_path / words[words.index("--shot") + 1]).exists()
