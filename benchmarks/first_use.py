"""Follow the four quick starts of the README as a new user would, from an empty environment.

The package is installed into a fresh virtual environment with `pip install`, then each line of the
table "Your data" in README.md is run on a matching data set, changing nothing but the path. The
report lists the minutes, the lines that the terminal shows at 80 columns, and the verdicts. LeRobot
and speech are third-party recordings (``../shared/realdata``, skipped if absent), the drive as
files is a clip of ``sample_data`` under its file names, and the bag is a simulated drive.
``python benchmarks/first_use.py`` prints the table and writes ``benchmarks/out/first_use.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import tests_on_path  # noqa: F401
from tables import print_table, write_json

ROOT = Path(__file__).resolve().parents[1]
REAL = ROOT.parent / "shared" / "realdata"
OUT = ROOT / "benchmarks" / "out" / "first_use.json"


@dataclass(frozen=True, kw_only=True)
class Door:
    """The time and output of one quick start."""

    name: str
    minutes: float
    lines: int | None = None
    code: int | None = None
    passed: int | None = None
    rejected: int | None = None
    unverified: int | None = None


def doors() -> dict[str, tuple[str, str]]:
    """Return extras and command of each quick start by the user's kind of data, from README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.partition("## Your data")[2].partition("\n\n##")[0]
    line = r"^\| ([^|]+) \| `pip install '?\.(?:\[(.+)\])?'?` \| `(syncaudit validate [^`]+)`"
    found = re.findall(line, table, flags=re.MULTILINE)
    return {title: (extras, command) for title, extras, command in found}


def data_sets(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield (kind of data, path) of the data sets available on this machine."""
    if REAL.is_dir():
        yield "LeRobot", REAL / "lerobot_g1"
    yield "MCAP", bag(folder / "drive.mcap")
    files = folder / "recordings"
    shutil.copytree(ROOT / "sample_data" / "cam_rear_early", files / "drive1")
    yield "MP4", files
    if REAL.is_dir():
        yield "speech", REAL / "speech"


def bag(path: Path) -> Path:
    """Write a simulated drive with six cameras, one of them 35 ms late, as messages of a bag."""
    from testkit.bags.drive import drive
    from testkit.bags.writing import Messages, write_bag

    messages = Messages(is_ros1=False)
    return write_bag(path, drive(messages, late_ns={"cam_rear": 35_000_000}), messages)


def main() -> None:
    """Install the package, run every quick start, print and write the results."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    rows: list[Door] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began = time.monotonic()
        venv.create(folder / "venv", with_pip=True)
        tool = folder / "venv" / "bin"
        install(tool, "")
        rows.append(Door(name="pip install .", minutes=minutes(began)))
        known = doors()
        for word, data in data_sets(folder):
            (door,) = [title for title in known if word in title]
            extras, command = known[door]
            rows.append(walked(door, tool, command, data, extras, folder))
    header = [field.name for field in fields(Door)]
    print_table("From nothing to a verdict", header, [list(asdict(row).values()) for row in rows])
    write_json(OUT, {"doors": [asdict(row) for row in rows]})


def install(tool: Path, extras: str) -> None:
    """Install the package from this tree into an environment."""
    place = f"{ROOT}[{extras}]" if extras else str(ROOT)
    subprocess.run([tool / "pip", "install", "--quiet", place], check=True)  # noqa: S603  # ours


def walked(door: str, tool: Path, command: str, data: Path, extras: str, folder: Path) -> Door:
    """Run one quick start and return its time and output."""
    began = time.monotonic()
    if extras:
        install(tool, extras)
    words = shlex.split(command)
    out = folder / f"out_{data.name}"
    words[2] = str(data)
    words[words.index("--out") + 1] = str(out)
    done = subprocess.run(  # noqa: S603  # a line of the README
        [str(tool / words[0]), *words[1:]],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": ""},
    )
    summary = out / "summary.json"
    clips = json.loads(summary.read_text())["clips"] if summary.exists() else {}
    if not clips:
        print(f"{door}: {done.stderr.strip()}", file=sys.stderr)
    return Door(
        name=door,
        minutes=minutes(began),
        lines=len(done.stdout.splitlines()),
        code=done.returncode,
        passed=clips.get("pass"),
        rejected=clips.get("reject"),
        unverified=clips.get("unverified"),
    )


def minutes(began: float) -> float:
    """Return the minutes since `began`, a value of `time.monotonic`."""
    return round((time.monotonic() - began) / 60.0, 2)


if __name__ == "__main__":
    main()
