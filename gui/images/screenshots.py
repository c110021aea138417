"""Renew the images of the documentation from the clips of ``sample_data``.

A maintainer's script, run by ``make screenshots``; users have ``syncaudit view --shot``. The viewer
is shown in each of its states, and before and after a correction as a looping image; report and
calibration are drawn by their commands, the former in Chromium where that is installed.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

if TYPE_CHECKING:
    from syncaudit_gui.window.window import ViewerWindow

ROOT = Path(__file__).parents[2]
MANIFEST = "sample_data/manifest.jsonl"
SIZE, LOOP_SIZE, REPORT_SIZE = (1280, 800), (960, 640), (1280, 1500)
LIMIT_S, SETTLED_S = 240.0, 1.0
# Frames of the slide, and how long each and the rests before and after it are seen.
N_SLIDE, SLIDE_MS, REST_MS = 14, 45, 1800


@dataclass(frozen=True, slots=True)
class Still:
    """A state of the window: the clip (none: the start page), what is seen of it, keys pressed."""

    name: str
    clip: str
    keys: tuple[str, ...] = ()
    at_s: float | None = None
    span_s: float | None = None
    theme: str = "dark"


STILLS = (
    Still("overview", "cam_rear_early", ("corrected",), at_s=6.6, span_s=1.6),
    Still("flashes", "flashes", at_s=6.0, theme="light"),
    Still("clock_step", "clock_step", at_s=10.0),
    Still("events", "can_shifted", ("events",), at_s=8.4, span_s=6.0, theme="light"),
    Still("cameras", "good", ("grid",), at_s=12.0),
    Still("missing_file", "missing_file", theme="light"),
    Still("start", ""),
)


def main(folder: Path) -> None:
    """Write all images."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    with tempfile.TemporaryDirectory() as kept:
        # Labels of nobody: the images shall not depend on what was labelled here.
        labels = Path(kept) / "labels.jsonl"
        for still in STILLS:
            window = _opened(still, SIZE, labels)
            _grab(window).save(folder / f"{still.name}.webp", lossless=True, method=6)
            window.close()
        loop = Still("before_after", "cam_rear_early", span_s=1.6)
        _write_loop(_opened(loop, LOOP_SIZE, labels), folder / f"{loop.name}.webp")
        _draw_pages(Path(kept), ROOT / "docs" / "images")


def _opened(still: Still, size: tuple[int, int], labels: Path) -> ViewerWindow:
    """Return the window in a state, with exact frames."""
    # Qt asks for the platform as it is imported.
    from syncaudit_gui.viewmodel.bindings import Action
    from syncaudit_gui.window.application import Start, make_application, make_window, show_start
    from syncaudit_gui.window.shot import wait_until

    process = make_application().processEvents
    window = make_window(Start(theme=still.theme))
    window.resize(*size)
    window.show()
    if still.clip:
        window.opening.open_source(str(ROOT / MANIFEST), clip_id=still.clip, labels=labels)
        wait_until(process, lambda: window.session.model is not None, LIMIT_S)
        _settle(process, window)
        at_s = still.at_s
        if at_s is None and window.panels.comparison.shown is not None:
            at_s = window.panels.comparison.shown.peak_s
        show_start(window, Start(at_s=at_s, span_s=still.span_s))
    for name in still.keys:
        window.verbs.do(Action(name))
    window.panels.fit_films()
    window.panels.comparison.end_slide()
    _settle(process, window)
    return window


def _write_loop(window: ViewerWindow, path: Path) -> None:
    """Write the slide from raw to corrected timestamps and back."""
    view = window.panels.comparison
    images, spans_ms = [_grab(window)], [REST_MS]
    for begin, end in ((0.0, 1.0), (1.0, 0.0)):
        window.display.toggle_corrected()
        view.end_slide()
        for k in range(1, N_SLIDE + 1):
            part = 0.5 - 0.5 * math.cos(math.pi * k / N_SLIDE)
            view.put(begin + (end - begin) * part)
            images.append(_grab(window))
            spans_ms.append(REST_MS if k == N_SLIDE else SLIDE_MS)
    window.close()
    first, *others = images[:-1]  # the last is the first again
    first.save(
        path,
        save_all=True,
        append_images=others,
        duration=spans_ms[:-1],
        loop=0,
        lossless=True,
        minimize_size=True,
    )


def _draw_pages(kept: Path, folder: Path) -> None:
    """Draw the report of a run, and the bands of a calibration."""
    command = (str(Path(sys.executable).with_name("syncaudit")),)
    plots, out = kept / "plots", kept / "out"
    wanted = ("-c", "flashes", "--out", str(kept / "c.json"), "--plots", str(plots))
    # Its exit code tells that the IMU saw no flash.
    subprocess.run((*command, "calibrate", MANIFEST, *wanted), cwd=ROOT, check=False)  # noqa: S603  # fixed
    shutil.copy(plots / "bands_cam_rear.png", folder / "bands.png")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.stderr.write("no Chromium found: report.png is unchanged\n")
        return
    judging = (*command, "validate", MANIFEST, "--out", str(out), "--fail-on", "never")
    subprocess.run(judging, cwd=ROOT, check=True)  # noqa: S603  # fixed
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
    quiet = ("--disable-background-networking", "--disable-sync", f"--user-data-dir={kept / 'b'}")
    size = "--window-size={},{}".format(*REPORT_SIZE)
    shot = f"--screenshot={folder / 'report.png'}"
    page = (out / "report.html").as_uri()
    subprocess.run((browser, *options, *quiet, size, shot, page), check=True)  # noqa: S603  # fixed


def _settle(process: Callable[[], None], window: ViewerWindow) -> None:
    """Wait for audits, frames and the layout."""
    from syncaudit_gui.window.shot import wait_until

    settled_s = time.monotonic() + SETTLED_S

    def is_settled() -> bool:
        is_audited = not window.auditor.is_running and window.panels.films.is_settled
        return time.monotonic() > settled_s and is_audited

    wait_until(process, is_settled, LIMIT_S)


def _grab(window: ViewerWindow) -> Image.Image:
    """Return what is seen of the window."""
    from pyqtgraph.Qt import QtGui

    image = window.grab().toImage().convertToFormat(QtGui.QImage.Format.Format_RGB888)
    bits = image.constBits()
    bits.setsize(image.sizeInBytes())
    return Image.frombytes(
        "RGB", (image.width(), image.height()), bytes(bits), "raw", "RGB", image.bytesPerLine()
    )


if __name__ == "__main__":  # audits run in processes that import this file again
    main(Path(__file__).parent)
