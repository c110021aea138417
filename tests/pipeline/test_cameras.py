"""Several cameras are processed in parallel, which affects nothing but the run time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from syncaudit.model import CameraStream, FrameFiles, SourceKind
from syncaudit.pipeline.evidence import CAMERAS_AT_ONCE, look_at_each
from syncaudit.pipeline.stages import Stages
from syncaudit.readers import access
from syncaudit.readers.access import RefusedError, Roots, is_outside, within_roots
from syncaudit.readers.uris import read_bytes

PATIENCE_S = 10.0


def cameras(n: int) -> list[CameraStream]:
    return [
        CameraStream(
            name=f"cam_{k}",
            clock=f"cam_{k}",
            kind=SourceKind.CAMERA,
            time_ns=np.empty(0, dtype=np.int64),
            files=FrameFiles(paths=()),
        )
        for k in range(n)
    ]


class Endless:
    """A camera task that ends only when it is stopped."""

    def __init__(self, n: int) -> None:
        self.begun = threading.Barrier(n + 1)
        self.n_running = 0

    def __call__(self, stages: Stages) -> None:
        self.n_running += 1
        try:
            self.begun.wait(PATIENCE_S)
            until_s = time.monotonic() + PATIENCE_S
            while time.monotonic() < until_s:
                with stages.timed("decode"):
                    time.sleep(0.001)
        finally:
            self.n_running -= 1


def work(seconds: float) -> None:
    until_s = time.thread_time() + seconds
    while time.thread_time() < until_s:
        pass


def test_the_cpu_decodes_in_the_thread_that_asks() -> None:
    stages = Stages()
    own = threading.current_thread()

    def look(camera: CameraStream, given: Stages) -> str:
        assert threading.current_thread() is own
        assert given is stages
        return camera.name

    assert look_at_each(look, cameras(3), stages, decoder="cpu") == ["cam_0", "cam_1", "cam_2"]


def test_others_decode_at_once_and_answer_in_order() -> None:
    met = threading.Barrier(3)

    def look(camera: CameraStream, _: Stages) -> str:
        met.wait(PATIENCE_S)  # passes only if all three are there
        time.sleep(0.05 if camera.name == "cam_0" else 0.0)
        return camera.name

    assert look_at_each(look, cameras(3), Stages(), decoder="nvdec") == ["cam_0", "cam_1", "cam_2"]


def test_threads_are_those_of_the_clips_before() -> None:
    seen: set[int] = set()

    def look(_: CameraStream, __: Stages) -> None:
        seen.add(threading.get_ident())
        time.sleep(0.002)

    for _ in range(10):
        look_at_each(look, cameras(2 * CAMERAS_AT_ONCE), Stages(), decoder="nvdec")
    assert len(seen) == CAMERAS_AT_ONCE


def test_time_of_threads_adds_up_to_that_of_the_process() -> None:
    def look(_: CameraStream, stages: Stages) -> None:
        for _ in stages.split("decode", iter([1, 2]), "detect"):
            work(0.02)

    stages = Stages()
    begun_s = time.process_time()
    look_at_each(look, cameras(4), stages, decoder="nvdec")
    spent_s = time.process_time() - begun_s
    assert spent_s > 4 * 2 * 0.02 * 0.9
    assert abs(stages.total_s - spent_s) < 0.01
    assert stages.seconds["detect"] > 0.9 * spent_s


def test_an_error_stops_the_others_and_is_the_first_in_order() -> None:
    endless = Endless(2)

    def look(camera: CameraStream, stages: Stages) -> None:
        if camera.name == "cam_1":
            endless.begun.wait(PATIENCE_S)
            time.sleep(0.02)  # later than the others
            raise ValueError(camera.name)
        if camera.name == "cam_2":
            raise ValueError(camera.name)
        endless(stages)

    _, *others = cameras(5)
    with pytest.raises(ValueError, match="cam_1"):
        look_at_each(look, others, Stages(), decoder="nvdec")
    assert endless.n_running == 0


def test_what_a_watcher_raises_comes_out() -> None:
    def refuse(stage: str) -> None:
        raise InterruptedError(stage)

    def look(_: CameraStream, stages: Stages) -> None:
        with stages.timed("decode"):
            raise AssertionError

    with pytest.raises(InterruptedError, match="decode"):
        look_at_each(look, cameras(2), Stages(on_stage=refuse), decoder="nvdec")


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="no signals in this thread"
)
def test_an_interrupt_leaves_no_thread_at_work() -> None:
    endless = Endless(3)

    def interrupt() -> None:
        endless.begun.wait(PATIENCE_S)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    begun_s = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        look_at_each(lambda _, stages: endless(stages), cameras(3), Stages(), decoder="nvdec")
    assert endless.n_running == 0
    assert time.monotonic() - begun_s < PATIENCE_S


def test_a_forked_process_has_threads_of_its_own() -> None:
    script = """
import os, sys
from syncaudit.pipeline.evidence import look_at_each
from syncaudit.pipeline.stages import Stages
def look():
    return look_at_each(lambda camera, _: camera, ["a", "b"], Stages(), decoder="nvdec")
look()
child = os.fork()
if child == 0:
    os._exit(0 if look() == ["a", "b"] else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", script], timeout=60.0, check=False)  # noqa: S603
    assert done.returncode == 0


def test_rows_are_the_same_with_threads(
    clip: Any, healthy: Any, figures: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from syncaudit import decode
    from syncaudit.decode import DECODERS

    # The CPU's own decoder, as a stand-in for any other.
    monkeypatch.setattr(decode, "DECODERS", {**DECODERS, "in_threads": DECODERS["cpu"]})
    verdict = clip.audit(decoder="in_threads")
    assert figures(verdict) == figures(healthy)
    assert verdict.stages.keys() == healthy.stages.keys()


def test_threads_hold_files_to_the_roots_of_their_caller(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(b"1")
    roots = Roots(places=(str(tmp_path / "data"),), is_strict=True)

    def look(_: CameraStream, __: Stages) -> bool:
        try:
            read_bytes(str(tmp_path / "secret.png"))
        except RefusedError:
            return True
        return False

    for is_held in (True, False, True):  # threads are reused
        with within_roots(roots if is_held else None):
            found = look_at_each(look, cameras(3), Stages(), decoder="nvdec")
        assert found == [is_held] * 3


def test_a_process_can_be_held_to_roots_in_every_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "_PROCESS", [])
    access.hold_process_to(Roots(places=(str(tmp_path / "data"),), is_strict=True))
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(is_outside(str(tmp_path / "x"))))
    thread.start()
    thread.join()
    assert found == [True]
