"""Workers that die or fail to start."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from syncaudit.at_work import at_work_on
from syncaudit.batch import pool
from syncaudit.batch.pool import Lost, WorkerPool, map_isolated
from syncaudit.errors import SyncAuditError


class Unloadable:
    """An object that pickles but crashes the process that unpickles it."""

    def __reduce__(self):
        return int, ("not a number",)

    def __call__(self, task):
        return task


def test_workers_that_cannot_start_are_an_error():
    with pytest.raises(SyncAuditError, match="cannot start: it exited with code 1") as caught:
        list(map_isolated(Unloadable(), [1, 2], workers=1))
    assert "workers=0" in (caught.value.hint or "")


def test_workers_that_memory_ends_at_their_start_are_told_so():
    assert "fewer workers" in pool._start_cure(Lost(exit_code=-9))


def work_on(what):
    with at_work_on("reading source 'a'"), at_work_on(what):
        if what == "dying":
            os._exit(3)
        time.sleep(600.0 if what == "sleeping" else 0.0)


def test_what_was_at_work_is_named():
    tasks = ["dying", "sleeping", "working"]
    found = dict(map_isolated(work_on, tasks, workers=1, timeout_s=2.0))
    assert str(found[0]) == "it exited with code 3 while dying"
    assert str(found[1]) == "it exceeded its time while sleeping"
    assert found[2] is None


def halve(number):
    if number == 150:
        os._exit(3)
    if number == 170:
        time.sleep(600.0)
    return number / 2


def test_quick_tasks_travel_together_and_a_crash_costs_one_alone():
    with WorkerPool(halve, workers=2, timeout_s=5.0) as workers:
        found = dict(workers.map(range(300)))
    assert {k: v for k, v in found.items() if k not in (150, 170)} == {
        k: k / 2 for k in range(300) if k not in (150, 170)
    }
    assert str(found[150]) == "it exited with code 3"
    assert found[170].is_timeout


def test_slow_tasks_are_handed_over_one_by_one():
    """A task held by one worker cannot be taken by another."""
    with WorkerPool(time.sleep, workers=1) as workers:
        tasks = [0.0] * 100 + [0.06] * 20
        sizes = [max(w.n_tasks for w in workers._workers) for _ in workers.map(tasks)]
    assert max(sizes) > 4
    assert sizes[-1] == 1


def test_no_tasks_start_no_workers():
    assert list(map_isolated(Unloadable(), [], workers=2)) == []


PARENT = """
import time
from syncaudit.batch.pool import map_isolated
if __name__ == "__main__":
    for _ in map_isolated(time.sleep, [0.0, 600.0], workers=1):
        print("ready", flush=True)
"""


def test_workers_leave_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    parent = subprocess.Popen(  # noqa: S603  # our own script
        [sys.executable, script], stdout=subprocess.PIPE
    )
    with parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
        workers = [pid for pid in children if is_running(pid, b"spawn_main")]
        assert len(workers) == 1
        time.sleep(0.2)  # the endless task has started
        parent.kill()
    deadline = time.monotonic() + 10.0
    while is_running(workers[0], b"spawn_main") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(workers[0], b"spawn_main")


def is_running(pid: str, word: bytes) -> bool:
    try:
        return word in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_memory_is_named_with_its_limit():
    lost = Lost(limit_bytes=2**31)
    assert "limit of 2.0 GiB" in str(lost)
    assert lost.is_memory
    assert not lost.is_timeout


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [
        (None, "exceeded its time"),
        (-9, "memory"),
        (-11, "SIGSEGV"),
        (-99, "signal 99"),
        (7, "code 7"),
    ],
)
def test_endings_are_worded(exit_code, words):
    assert words in str(Lost(exit_code=exit_code))
