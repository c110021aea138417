"""How long a run of 100,000 clips blocks the window's thread.

The rows are made up, but written by the code that writes them in a run. For every action, the
longest slot counts; for opening, the latency of a heartbeat of the window's thread.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from pyqtgraph.Qt import QtCore
from syncaudit_gui.viewmodel.bindings import Action
from syncaudit_gui.viewmodel.labels import Label
from syncaudit_gui.window.window import ViewerWindow

from syncaudit.batch.json_encoding import json_line
from syncaudit.batch.outputs import write_split
from syncaudit.datasets import clip_to_row
from syncaudit.model import (
    CameraSpec,
    Clip,
    ClipVerdict,
    Finding,
    ImuSpec,
    PairMeasurement,
    ReasonCode,
    SourceVerdict,
    Verdict,
)

N_ROWS = 100_000
BEAT_MS = 5
CAMERAS = ("cam_front", "cam_rear")
LIMIT_S = 300.0
_LATE = "clips of a run: window late while they open, ms"
_SLOTS = ("sort", "filter by words", "filter by verdict", "next, previous", "label")
LIST_TARGETS = {_LATE: 8.0, **{f"clips of a run: {what}, ms": 8.0 for what in _SLOTS}}


def list_figures(folder: Path, n_rows: int = N_ROWS) -> dict[str, dict[str, float]]:
    """Return p50 and p95 of the user's actions on a long list, in ms."""
    run = write_run(folder / "run", n_rows)
    window = ViewerWindow(is_auditing=False)
    window.resize(1440, 900)
    window.setAttribute(QtCore.Qt.WidgetAttribute.WA_DontShowOnScreen)
    window.show()
    try:
        late_ms, seconds = _open(window, run)
        figures = {
            "clips of a run: open, s": {"p50": seconds, "p95": seconds},
            _LATE: _quantiles(late_ms),
        }
        for what, actions in zip(_SLOTS, _actions(window), strict=True):
            held = [_longest_ms(act) for act in actions]
            cpu = _quantiles([cpu_ms for _, cpu_ms in held])
            figures[f"clips of a run: {what}, ms"] = _quantiles(
                [wall_ms for wall_ms, _ in held]
            ) | {f"cpu {name}": figure for name, figure in cpu.items()}
    finally:
        window.close()
    return figures


def write_run(folder: Path, n_rows: int) -> Path:
    """Write the output folder of a run; its clips name files that do not exist."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(7)
    offsets_s = rng.normal(scale=0.02, size=n_rows)
    verdicts: dict[str, str] = {}
    clips = []
    with (folder / "verdicts.jsonl").open("w", encoding="utf-8") as file:
        for k, offset_s in enumerate(offsets_s.tolist()):
            clip = _clip(f"drive{k // 100:04d}/{(k * 7919) % n_rows:06d}")
            row = _verdict(clip, offset_s)
            verdicts[clip.clip_id] = str(row.verdict)
            clips.append(clip)
            file.write(json_line(row.to_json()) + "\n")
    write_split(clips, verdicts.get, clip_to_row, folder)
    return folder


def _clip(clip_id: str) -> Clip:
    cameras = {name: CameraSpec(uri=f"/nowhere/{clip_id}/{name}.mp4") for name in CAMERAS}
    return Clip(
        clip_id=clip_id,
        recording_id=clip_id.partition("/")[0],
        sources={**cameras, "imu": ImuSpec(uri=f"/nowhere/{clip_id}/imu.csv")},
    )


def _verdict(clip: Clip, offset_s: float) -> ClipVerdict:
    is_bad = abs(offset_s) > 0.03
    verdict = Verdict.REJECT if is_bad else Verdict.PASS
    message = f"cam_rear is {1e3 * abs(offset_s):.1f} ± 0.4 ms early; limit 30 ms"
    finding = Finding(code=ReasonCode.OFFSET, message=message, source="cam_rear")
    source = SourceVerdict(
        verdict=verdict, kind="camera", clock="cam_rear", offset_s=offset_s, offset_std_s=4e-4
    )
    pairs = tuple(
        PairMeasurement(
            source=name,
            target="imu",
            method="rotation",
            at_ns=0,
            offset_s=offset_s,
            offset_std_s=4e-4,
            accepted=True,
        )
        for name in CAMERAS
    )
    return ClipVerdict(
        clip_id=clip.clip_id,
        recording_id=clip.recording_id,
        verdict=verdict,
        reasons=(finding,) if is_bad else (),
        reference="imu",
        at_ns=0,
        sources=dict.fromkeys(clip.sources, source),
        pairs=pairs,
    )


def _open(window: ViewerWindow, run: Path) -> tuple[list[float], float]:
    """Open the run; return how late each heartbeat was, and the seconds that it took."""
    beats: list[float] = []
    heart = QtCore.QTimer()
    heart.setTimerType(QtCore.Qt.TimerType.PreciseTimer)
    heart.timeout.connect(lambda: beats.append(time.perf_counter()))
    heart.start(BEAT_MS)
    began = time.perf_counter()
    window.opening.open_source(str(run))
    _wait(lambda: window.session.model is not None)
    heart.stop()
    return [max(0.0, 1e3 * x - BEAT_MS) for x in np.diff(beats)], time.perf_counter() - began


def _actions(window: ViewerWindow) -> tuple[Iterator[Callable[[], object]], ...]:
    """Return the actions for each of `_SLOTS`."""
    clips, do = window.panels.clips, window.verbs.do

    def typed(words: str) -> Iterator[Callable[[], object]]:
        for _ in range(3):
            for k in range(len(words) + 1):
                yield lambda k=k: clips.filter.setText(words[:k])
        yield clips.filter.clear

    def sorted_by() -> Iterator[Callable[[], object]]:
        for _ in range(4):
            for section in range(4):
                for _direction in range(3):  # ascending, descending, in file order
                    yield lambda section=section: clips._sort(section)

    def shown() -> Iterator[Callable[[], object]]:
        for _ in range(4):
            for k in (1, 2, 3, 4, 0):
                yield lambda k=k: clips.show_which.setCurrentIndex(k)

    def gone_to() -> Iterator[Callable[[], object]]:
        for k in range(30):
            yield lambda k=k: do(Action.NEXT_CLIP if k % 3 else Action.PREVIOUS_CLIP)

    def labelled() -> Iterator[Callable[[], object]]:
        for k in range(30):
            yield lambda k=k: window.decisions.give_label(list(Label)[k % 3])

    return sorted_by(), typed("drive07 rear early"), shown(), gone_to(), labelled()


def _longest_ms(act: Callable[[], object]) -> tuple[float, float]:
    """Return the longest time an action blocked the window's thread: wall clock, and CPU."""
    spans = [_timed(act)]
    end_s = time.perf_counter() + 0.15
    while time.perf_counter() < end_s:
        spans.append(_timed(QtCore.QCoreApplication.processEvents))
        time.sleep(0.001)
    return 1e3 * max(wall for wall, _ in spans), 1e3 * max(cpu for _, cpu in spans)


def _timed(act: Callable[[], object]) -> tuple[float, float]:
    began, began_cpu = time.perf_counter(), time.thread_time()
    act()
    return time.perf_counter() - began, time.thread_time() - began_cpu


def _wait(is_done: Callable[[], bool]) -> None:
    end_s = time.perf_counter() + LIMIT_S
    while not is_done():
        if time.perf_counter() > end_s:
            raise TimeoutError("the run was not opened")
        QtCore.QCoreApplication.processEvents()
        time.sleep(0.001)


def _quantiles(values_ms: list[float]) -> dict[str, float]:
    ordered = sorted(values_ms)
    return {
        "p50": statistics.median(ordered),
        "p95": ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))],
        "most": ordered[-1],
    }
