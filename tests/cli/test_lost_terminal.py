"""A run whose terminal disappears (a dropped ssh) ends cleanly."""

from __future__ import annotations

import json
import os
import pty
import select
import sys
import time

import pytest

from testkit.command_line import environment, faked_command


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_whose_terminal_is_lost_keeps_what_is_done(manifest, tmp_path, workers):
    path = manifest(*(f"slow{k}" for k in range(60)))
    out = tmp_path / "out"
    pid, terminal = pty.fork()
    if pid == 0:
        command = faked_command("validate", path, "--out", out, "-j", workers)
        os.execve(sys.executable, command, environment())  # noqa: S606  # our own command line
    ledger = out / "verdicts.jsonl"
    deadline = time.monotonic() + 60.0
    while not (ledger.exists() and ledger.stat().st_size):
        assert time.monotonic() < deadline
        if select.select([terminal], [], [], 0.02)[0]:
            os.read(terminal, 65536)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["complete"], summary["stopped"]) == (False, "terminated")
    assert 0 < summary["clips"]["done"] < 60
    assert (out / "report.html").exists()
    assert os.waitstatus_to_exitcode(status) == 3
