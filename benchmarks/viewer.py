"""Responsiveness of the viewer: the figures named in its targets, without a screen.

Six cameras of 640x480 with moving texture, nine curves of a million samples each, a run of 100,000
clips. Targets are wall clock on an idle machine; CPU times (of the window's thread, or of all
threads) remain meaningful on a busy machine.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import os
import queue
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import av
import numpy as np

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from base_clips import OUT
from pyqtgraph.Qt import QtCore
from syncaudit_gui.decoding import CameraThread, FrameImage, FrameRequest
from syncaudit_gui.viewmodel.clip_model import ClipModel, build_clip
from syncaudit_gui.viewmodel.timeline import Timeline
from syncaudit_gui.widgets.filmstrip import Filmstrip
from syncaudit_gui.widgets.lane_view import LaneView
from syncaudit_gui.window.application import make_application
from tables import print_table, write_json
from viewer_lists import LIST_TARGETS, list_figures

from syncaudit.model import (
    CameraSpec,
    CameraStream,
    Channel,
    Clip,
    FrameFiles,
    ImuSpec,
    SignalStream,
    SourceKind,
)
from syncaudit.pipeline import ReadClip

SIZE = (640, 480)
RATE_HZ = 30
SECONDS = 20
N_CAMERAS = 6
START_NS = 1_767_225_600_000_000_000


def main() -> int:
    """Run the benchmark and always return 0: it does not gate anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jumps", type=int, default=40)
    parser.add_argument("--out", type=Path, default=OUT / "viewer.json")
    options = parser.parse_args()
    application = make_application()
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        videos = {gop: _video(Path(folder) / f"gop{gop}.mp4", gop) for gop in (12, 60, 250)}
        for gop, path in videos.items():
            figures[f"six exact after a jump, GOP {gop}, ms"] = _jumps(path, options.jumps)
        figures["step one frame on, ms"] = _steps(videos[60])
        figures["first image, ms"] = _first(videos[60])
        figures |= _slots(application.processEvents)
        figures |= _playing(videos[60], application.processEvents)
        figures |= list_figures(Path(folder))
    targets = {
        "six exact after a jump, GOP 12, ms": 120.0,
        "six exact after a jump, GOP 60, ms": 120.0,
        "six exact after a jump, GOP 250, ms": 300.0,
        "step one frame on, ms": 33.0,
        "first image, ms": 50.0,
        "move the cursor, ms": 8.0,
        "pan the whole span, ms": 8.0,
        "zoom to a tenth, ms": 8.0,
        **LIST_TARGETS,
    }
    rows = [
        (
            name,
            found["p50"],
            found["p95"],
            found.get("cpu p50"),
            found.get("cpu p95"),
            targets.get(name),
            found["p95"] <= targets[name] if name in targets else None,
        )
        for name, found in figures.items()
    ]
    header = ("what", "p50", "p95", "cpu p50", "cpu p95", "target p95", "met")
    print_table("viewer", header, rows)
    write_json(options.out, {"figures": figures, "targets": targets})
    return 0


def _video(path: Path, gop: int) -> Path:
    """Write moving texture with B-frames."""
    rng = np.random.default_rng(gop)
    texture = rng.integers(40, 215, (SIZE[1] // 4, SIZE[0] // 2), dtype=np.uint8)
    texture = texture.repeat(4, axis=0).repeat(4, axis=1)
    options = {"g": str(gop), "bf": "2", "sc_threshold": "0", "preset": "veryfast", "crf": "26"}
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=RATE_HZ, options=options)
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        for index in range(RATE_HZ * SECONDS):
            left = (2 * index) % SIZE[0]
            image = np.ascontiguousarray(texture[:, left : left + SIZE[0]])
            frame = av.VideoFrame.from_ndarray(image, format="gray").reformat(format="yuv420p")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def _quantiles(values_s: list[float]) -> dict[str, float]:
    ordered = sorted(1e3 * value for value in values_s)
    return {
        "p50": statistics.median(ordered),
        "p95": ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))],
    }


def _with_cpu(wall_s: list[float], cpu_s: list[float]) -> dict[str, float]:
    return _quantiles(wall_s) | {f"cpu {key}": x for key, x in _quantiles(cpu_s).items()}


class _Rig:
    """Six camera threads on one video, and a queue of what they deliver."""

    def __init__(self, path: Path) -> None:
        self.pictures: queue.Queue[FrameImage] = queue.Queue()
        files = FrameFiles(paths=(str(path),))
        self.threads = [CameraThread(files, self.pictures.put) for _ in range(N_CAMERAS)]

    def show(self, index: int) -> float:
        """Request a frame from all, and return the seconds until all have it."""
        began = time.perf_counter()
        for thread in self.threads:
            thread.ask(FrameRequest(index=index, width_px=240, height_px=180))
        n_left = len(self.threads)
        while n_left:
            image = self.pictures.get(timeout=60)
            n_left -= image.index == index and not image.is_coarse
        return time.perf_counter() - began

    def close(self) -> None:
        for thread in self.threads:
            thread.close()


def _jumps(path: Path, n: int) -> dict[str, float]:
    rig = _Rig(path)
    rig.show(0)
    order = np.random.default_rng(1).integers(1, RATE_HZ * SECONDS, n)
    return _shown(rig, order)


def _steps(path: Path) -> dict[str, float]:
    rig = _Rig(path)
    rig.show(100)
    return _shown(rig, range(101, 161))


def _shown(rig: _Rig, order: Iterable[int]) -> dict[str, float]:
    """Show frames on all cameras; CPU time is that of all threads together."""
    wall, cpu = [], []
    for index in order:
        began = time.process_time()
        wall.append(rig.show(int(index)))
        cpu.append(time.process_time() - began)
    rig.close()
    return _with_cpu(wall, cpu)


def _first(path: Path) -> dict[str, float]:
    times = []
    for _ in range(10):
        began = time.perf_counter()
        pictures: queue.Queue[FrameImage] = queue.Queue()
        thread = CameraThread(FrameFiles(paths=(str(path),)), pictures.put)
        thread.ask(FrameRequest(index=0, width_px=240, height_px=180))
        pictures.get(timeout=60)
        times.append(time.perf_counter() - began)
        thread.close()
    return _quantiles(times)


def _slots(process: Callable[[], None]) -> dict[str, dict[str, float]]:
    """Time the work of the window's thread: curves, panning, the cursor."""
    n = 1_000_000
    stamps = START_NS + np.arange(n, dtype=np.int64) * 1_000_000
    rng = np.random.default_rng(2)
    channels = tuple(
        Channel(name=name, time_ns=stamps, values=np.cumsum(rng.normal(size=(n, 3)), axis=0))
        for name in ("one", "two", "three")
    )
    stream = SignalStream(
        name="imu", clock="imu", kind=SourceKind.IMU, time_ns=stamps, channels=channels
    )
    spec = ImuSpec(uri="imu.csv")
    clip = Clip(clip_id="x", recording_id="x", sources={"imu": spec})
    model = build_clip(clip, ReadClip(streams={"imu": stream}))
    timeline = Timeline(limits=model.limits)
    view = LaneView()
    view.set_model(model, timeline)
    view.resize(1000, 600)
    view.setAttribute(QtCore.Qt.WidgetAttribute.WA_DontShowOnScreen)
    view.show()
    process()

    def draw() -> None:
        view.refresh()
        view.overlay.repaint()

    def timed(change: Callable[[int], None], n_times: int) -> dict[str, float]:
        times = []
        for k in range(n_times):
            began, began_cpu = time.perf_counter(), time.thread_time()
            change(k)
            times.append((time.perf_counter() - began, time.thread_time() - began_cpu))
        return _with_cpu([x for x, _ in times], [x for _, x in times])

    def cursor(k: int) -> None:
        timeline.move_to(10.0 + k)
        view.cursor_moved()
        process()

    def pan(k: int) -> None:
        timeline.show(model.limits.zoomed(0.98, 500.0).moved(0.5 * k - 5))
        draw()

    def zoom(k: int) -> None:
        timeline.show(model.limits.zoomed(0.1, 100.0 + 10 * k))
        draw()

    figures = {
        "move the cursor, ms": timed(cursor, 200),
        "pan the whole span, ms": timed(pan, 40),
        "zoom to a tenth, ms": timed(zoom, 40),
    }
    view.close()
    return figures


def _playing(path: Path, process: Callable[[], None]) -> dict[str, dict[str, float]]:
    """Play six panes for five seconds; return the share of frames that reached their pane."""
    stamps = START_NS + np.arange(RATE_HZ * SECONDS, dtype=np.int64) * (10**9 // RATE_HZ)
    streams = {
        f"cam{k}": CameraStream(
            name=f"cam{k}",
            clock=f"cam{k}",
            kind=SourceKind.CAMERA,
            time_ns=stamps,
            files=FrameFiles(paths=(str(path),)),
            width_px=SIZE[0],
            height_px=SIZE[1],
        )
        for k in range(N_CAMERAS)
    }
    specs = {name: CameraSpec(uri=str(path)) for name in streams}
    clip = Clip(clip_id="x", recording_id="x", sources=specs)
    model: ClipModel = build_clip(clip, ReadClip(streams=streams))
    films = Filmstrip()
    films.resize(1200, 180)
    films.setAttribute(QtCore.Qt.WidgetAttribute.WA_DontShowOnScreen)
    films.show()
    films.set_model(model)
    films.show_time(0.0)
    while not films.is_settled:
        process()
    seen: set[tuple[str, int]] = set()
    slots: list[float] = []
    began = time.perf_counter()
    while (now_s := time.perf_counter() - began) < 5.0:
        films.show_time(now_s, n_ahead=4)
        process()
        slots.append(time.perf_counter() - began - now_s)
        for name, pane in films.panes.items():
            if pane.frame is not None:
                seen.add((name, pane.frame.index))
        time.sleep(0.004)
    films.close_threads()
    share = len(seen) / (5.0 * RATE_HZ * N_CAMERAS)
    return {
        "playing six at 1x, share of frames shown": {"p50": share, "p95": share},
        "playing six at 1x, window's thread, ms": _quantiles(slots),
    }


if __name__ == "__main__":
    sys.exit(main())
