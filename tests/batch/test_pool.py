"""Workers that die or cannot start."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from syncaudit.batch.pool import Lost, map_isolated
from syncaudit.errors import SyncAuditError


class Unloadable:
    """Pickles well and breaks whoever unpickles it."""

    def __reduce__(self):
        return int, ("not a number",)

    def __call__(self, task):
        return task


def test_workers_that_cannot_start_are_an_error():
    with pytest.raises(SyncAuditError, match="worker processes cannot start"):
        list(map_isolated(Unloadable(), [1, 2], workers=1))


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
        time.sleep(0.2)  # the endless task is on its way
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


def die_at_13(task: int) -> int:
    if task == 13:
        os._exit(7)
    return task


def test_dead_worker_costs_only_the_task_in_hand_not_those_sent_ahead():
    answers = list(map_isolated(die_at_13, range(40), workers=2))
    assert sorted(index for index, _ in answers) == list(range(40))
    lost = {index: value for index, value in answers if isinstance(value, Lost)}
    assert lost == {13: Lost(exit_code=7)}
    assert all(value == index for index, value in answers if index != 13)


def sleep_at_13(task: int) -> int:
    if task == 13:
        time.sleep(600.0)
    return task


def test_time_of_tasks_sent_ahead_runs_from_their_turn():
    answers = dict(map_isolated(sleep_at_13, range(40), workers=1, timeout_s=1.0))
    assert [index for index, value in answers.items() if isinstance(value, Lost)] == [13]
    assert answers[13].is_timeout
    assert len(answers) == 40


def doubled(task: bytes) -> bytes:
    return task + task


def test_large_tasks_and_answers_do_not_block_the_pipe():
    tasks = [bytes([k]) * (1_000_000 if k % 3 == 0 else 1000) for k in range(30)]
    answers = dict(map_isolated(doubled, tasks, workers=1, timeout_s=60.0))
    assert [answers[k] for k in range(30)] == [task + task for task in tasks]
