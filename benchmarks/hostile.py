"""Hostile inputs, made here: each must end in a verdict or a one-sentence error, within limits.

Each input is passed to the command line in a separate process with its own temporary folder, home
and working folder. The checks look for: a traceback or a "defect of syncaudit", more than 60 s,
more than 1 GiB in a process, files written or changed outside of ``--out``, files left in the
temporary folder, and text from a file outside the data set.

    python benchmarks/hostile.py [--only PART] [--keep FOLDER]
    python benchmarks/hostile.py --fuzz MINUTES [--seed N] [--only PART]
"""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hostile_clips import CLIPS
from hostile_fuzz import fuzz
from hostile_imports import IMPORTS
from hostile_usage import USAGE

from syncaudit.batch.memory import held_bytes

CANARY = "CANARY-5e1f"
MOST_S = 60.0
MOST_BYTES = 2**30
# A worker is sampled every 0.1 s: allow for what it allocates between two samples.
_SLACK_BYTES = 2**28
_BAD_WORDS = ("Traceback (most recent", "defect of syncaudit", "it crashed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of one input."""

    name: str
    code: int
    wall_s: float
    parent_bytes: int
    worker_bytes: int
    said: str
    faults: tuple[str, ...]


def run_hostile(
    name: str, prepare: Callable[[Path], list[str]], folder: Path, n_inputs: int = 1
) -> Outcome:
    """Write one input below `folder`, run the command for it, and check the effects."""
    for part in ("in", "out", "tmp", "home", "outside"):
        (folder / part).mkdir(parents=True)
    (folder / "outside" / "secret.txt").write_text(f"{CANARY}\n{CANARY},1,2\n")
    argv_file = folder / "argv.json"
    _in_child(lambda: argv_file.write_text(json.dumps(prepare(folder / "in"))), folder)
    if not argv_file.exists():
        raise RuntimeError(f"{name} could not be written: {(folder / 'said.txt').read_text()}")
    argv = json.loads(argv_file.read_text())
    before = _listing(folder)
    began = time.monotonic()
    code, parent, worker = _in_child(lambda: _command(argv, folder), folder, watch=True,
                                   limit_s=2 * MOST_S * n_inputs)  # fmt: skip
    wall_s = time.monotonic() - began
    said = "".join(
        path.read_text("utf-8", "replace")
        for path in [folder / "said.txt", *_outputs(folder / "out")]
    )
    faults = [word for word in _BAD_WORDS if word in said]
    if CANARY in said:
        faults.append("quotes a file from outside")
    if code not in (0, 1, 2, 3, 4):
        faults.append(f"exit code {code}")
    if wall_s > MOST_S * n_inputs:
        faults.append(f"took {wall_s:.0f} s")
    faults += [
        f"{who} held {held / 2**30:.1f} GiB"
        for who, held in (("the parent", parent), ("a worker", worker))
        if held > MOST_BYTES + _SLACK_BYTES
    ]
    after = _listing(folder)
    faults += [f"touched {path}" for path in sorted(after.keys() | before.keys())
               if after.get(path) != before.get(path) and not path.startswith("out")]  # fmt: skip
    return Outcome(
        name=name, code=code, wall_s=wall_s, parent_bytes=parent, worker_bytes=worker,
        said=said, faults=tuple(faults),
    )  # fmt: skip


def _outputs(out: Path) -> list[Path]:
    return [p for p in out.rglob("*") if p.suffix in (".jsonl", ".html", ".json", ".log")]


def _listing(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_file() and name not in ("said.txt", "argv.json"):
            status = path.lstat()
            found[name] = (status.st_size, status.st_mtime_ns)
    return found


def _command(argv: list[str], folder: Path) -> int:
    from syncaudit.cli.app import run

    (folder / "cwd").mkdir()
    os.chdir(folder / "cwd")
    os.environ |= {"TMPDIR": str(folder / "tmp"), "HOME": str(folder / "home"), "COLUMNS": "200"}
    tempfile.tempdir = None
    return run([word.replace("{out}", str(folder / "out")) for word in argv])


def _in_child(
    function: Callable[[], Any], folder: Path, *, watch: bool = False, limit_s: float = 600.0
) -> tuple[int, int, int]:
    """Run a function in a child; return its exit code and peak memory, children included."""
    child = os.fork()
    if child == 0:
        os.setsid()
        said = os.open(folder / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(said, 1)
        os.dup2(said, 2)
        code = 99
        try:
            value = function()
            code = value if watch else 0
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    deadline = time.monotonic() + limit_s
    parent = worker = 0
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status), parent, worker
        parent = max(parent, held_bytes(child) or 0)
        worker = max([worker, *(held_bytes(pid) or 0 for pid in _children(child))])
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.02)


def _children(pid: int) -> Iterator[int]:
    try:
        words = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for word in words:
        yield int(word)
        yield from _children(int(word))


def main() -> int:
    """Run all inputs and print the table of faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="inputs whose name holds this")
    parser.add_argument("--keep", type=Path, help="folder that is kept")
    parser.add_argument("--json", type=Path, help="write the outcomes here")
    parser.add_argument("--fuzz", type=float, help="damage valid inputs for so many minutes")
    parser.add_argument("--seed", type=int, default=0, help="of what is damaged")
    options = parser.parse_args()
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of inputs may not be valid UTF-8
        sys.stdout.reconfigure(errors="backslashreplace")
    if options.fuzz is not None:
        with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as scratch:
            return 1 if fuzz(options.fuzz, options.seed, Path(scratch), options.only) else 0
    single = {name: (case, 1) for name, case in {**IMPORTS, **USAGE}.items()}
    cases = {**single, **CLIPS}
    chosen = {name: case for name, case in cases.items() if options.only in name}
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="hostile-", ignore_cleanup_errors=True) as scratch:
        base = options.keep or Path(scratch)
        for number, (name, (prepare, n_inputs)) in enumerate(chosen.items()):
            outcome = run_hostile(name, prepare, base / f"{number:03d}", n_inputs)
            outcomes.append(outcome)
            last = outcome.said.strip().splitlines()[:1] or [""]
            mark = "; ".join(outcome.faults) or f"exit {outcome.code}"
            print(f"{name}: {outcome.wall_s:.1f} s, {mark} | {last[0][:300]}", flush=True)
    faulty = [each for each in outcomes if each.faults]
    print(
        f"{sum(n for _, n in chosen.values())} inputs in {len(outcomes)} runs, {len(faulty)} "
        "with faults; exit codes "
        f"{dict(Counter(each.code for each in outcomes))}; longest "
        f"{max(each.wall_s for each in outcomes):.1f} s; most memory "
        f"{max(each.parent_bytes for each in outcomes) / 2**20:.0f} MiB (parent), "
        f"{max(each.worker_bytes for each in outcomes) / 2**20:.0f} MiB (worker)"
    )
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
