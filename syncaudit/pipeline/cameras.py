"""Process the cameras of a clip: in turn on the CPU, several at once where a GPU decodes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache
from typing import TypeVar

from syncaudit.model import CameraStream
from syncaudit.pipeline.stages import Stages

# Python processes the frames of one camera at a time, with many handovers per frame: on an H100 two
# or four threads decode 4,050 frames/s of 854 x 480, eight 2,330, eight processes of two 15,070
# (`benchmarks/gpu.py`). Further parallelism is therefore left to processes (`--workers`).
CAMERAS_AT_ONCE = 4
_WAKE_S = 0.5

_Found = TypeVar("_Found")


class _StoppedError(Exception):
    """Another camera failed, or the run ends."""


def look_at_each(
    look: Callable[[CameraStream, Stages], _Found],
    cameras: Sequence[CameraStream],
    stages: Stages,
    *,
    decoder: str,
) -> list[_Found]:
    """Return what a function finds in every camera, in their order, whichever was ready first.

    The CPU decoder runs in the caller's thread, as there is one process per core. Other back ends
    get threads that live as long as the process, because each reuses its decoder from clip to
    clip: `look` must not change shared state. `stages` receives the CPU time of all of them.
    Raises the first error in that order, or an interrupt, after all other threads have stopped.
    """
    if decoder == "cpu":
        return [look(camera, stages) for camera in cameras]
    is_stopped = threading.Event()

    def tell(stage: str) -> None:
        if is_stopped.is_set():
            raise _StoppedError
        if stages.on_stage is not None:
            stages.on_stage(stage)

    begun_s = time.process_time()
    spent = [Stages(on_stage=tell, clock=time.thread_time) for _ in cameras]
    running: list[Future[_Found]] = []
    try:
        for camera, own in zip(cameras, spent, strict=True):  # an interrupt finds those begun
            # Limits on files set by the caller (`within_roots`) apply in the thread as well.
            context = copy_context()
            running.append(_threads().submit(context.run, look, camera, own))
        found = [_result(future) for future in running]
    except BaseException:
        is_stopped.set()
        for future in running:
            future.cancel()
        wait(running)
        raise
    stages.share_out(time.process_time() - begun_s, spent)
    return found


def _result(future: Future[_Found]) -> _Found:
    # A signal that arrives just before a thread begins to wait does not wake it.
    while wait((future,), timeout=_WAKE_S).not_done:
        pass
    return future.result()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(CAMERAS_AT_ONCE, thread_name_prefix="camera")


# A forked process has none of the threads.
os.register_at_fork(after_in_child=_threads.cache_clear)
