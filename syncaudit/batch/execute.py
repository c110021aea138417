"""Run the clips of a run and produce results for clips whose worker never answered."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from syncaudit.batch.engines import ENGINES, Engine
from syncaudit.batch.ledger import Ledger
from syncaudit.batch.task import OUT_OF_MEMORY_HINT, AuditTask, JudgeTask, TaskResult, failed_result
from syncaudit.batch.worker import Lost
from syncaudit.model import Clip, ReasonCode, Verdict
from syncaudit.policy import Policy

_Item = TypeVar("_Item")


class LazySequence(Generic[_Item]):
    """Items made on demand at given positions: a million tasks need no memory."""

    def __init__(self, positions: Sequence[int], make: Callable[[int], _Item]) -> None:
        self._positions = positions
        self._make = make

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, index: int) -> _Item:
        return self._make(self._positions[index])


def judged(
    policy: Policy, clips: Sequence[Clip], again: Sequence[int], ledger: Ledger, workers: int
) -> Iterator[tuple[Clip, TaskResult]]:
    """Yield the clips at some positions, judged again from their rows."""
    items = LazySequence(again, lambda k: (clips[k], ledger.outdated(clips[k].clip_id) or "{}"))
    for index, value in ENGINES["local"](JudgeTask(policy=policy), items, workers=workers):
        clip = clips[again[index]]
        if isinstance(value, Lost):
            message = f"the process that judged this clip again ended without an answer: {value}"
            value = failed_result(clip, ReasonCode.UNREADABLE, message)
        yield clip, value


def audited(
    task: AuditTask,
    clips: Sequence[Clip],
    todo: Sequence[int],
    run: Engine,
    timeout_s: float | None,
) -> Iterator[tuple[Clip, TaskResult]]:
    """Yield the clips at some positions with their audit results, or why there is none."""
    for index, value in run(task, LazySequence(todo, lambda k: clips[k])):
        clip = clips[todo[index]]
        yield clip, _unanswered(clip, value, timeout_s) if isinstance(value, Lost) else value


def _unanswered(clip: Clip, lost: Lost, timeout_s: float | None) -> TaskResult:
    if lost.is_timeout:
        message = (
            f"the audit took longer than {timeout_s:g} s and was "
            f"stopped{f' while {lost.at_work}' if lost.at_work else ''}. A damaged file may keep "
            "a decoder busy forever; if the clip is sound, raise --timeout."
        )
        return failed_result(clip, ReasonCode.TIMEOUT, message)
    cure = "A damaged file may crash a decoder; the other clips are not affected."
    if lost.is_memory:
        cure = OUT_OF_MEMORY_HINT
    message = f"the process that audited this clip ended without an answer, twice: {lost}. {cure}"
    # Killed from outside, e.g. by a system out of memory: that proves nothing about the clip.
    is_killed = lost.exit_code == -signal.SIGKILL
    verdict = Verdict.UNVERIFIED if is_killed else Verdict.REJECT
    return failed_result(clip, ReasonCode.UNREADABLE, message, verdict=verdict)
