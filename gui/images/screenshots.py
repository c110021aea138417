"""Renew ``before_after.webp``: the real window before and after a camera is corrected.

A maintainer's script, run by ``make screenshots``; users have ``syncaudit view --shot``.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

if TYPE_CHECKING:
    from syncaudit_gui.window.window import ViewerWindow

ROOT = Path(__file__).parents[2]
SIZE = (960, 640)
CLIP, CAMERA = "cam_rear_early", "cam_rear"
LIMIT_S = 120.0
# Frames of the slide, and how long each and the rests before and after it are seen.
N_SLIDE, SLIDE_MS, REST_MS = 14, 45, 1800


def main(path: Path) -> None:
    """Write the looping picture."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    # Qt asks for the platform as it is imported.
    from syncaudit_gui.viewmodel.timeline import TimeRange
    from syncaudit_gui.window.application import Start, make_application, make_window

    application = make_application()
    window = make_window(Start(theme="dark"))
    window.resize(*SIZE)
    window.show()
    with tempfile.TemporaryDirectory() as folder:
        source = str(ROOT / "sample_data" / "manifest.jsonl")
        labels = Path(folder) / "labels.jsonl"
        window.opening.open_source(source, clip_id=CLIP, labels=labels)
        view = window.panels.comparison
        _wait(application.processEvents, lambda: view.shown is not None)
        found = view.shown
        if found is None:
            raise SystemExit(f"nothing is compared in {CLIP}")
        window.display.jump_to(found.peak_s)
        wanted = TimeRange(start_s=found.peak_s - 0.8, stop_s=found.peak_s + 0.8)
        window.display.show_range(wanted)
        window.panels.fit_films()
        settled_s = time.monotonic() + 1.0
        _wait(
            application.processEvents,
            lambda: time.monotonic() > settled_s and window.panels.films.is_settled,
        )
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
    sys.stdout.write(f"{path} ({path.stat().st_size / 1e3:.0f} kB)\n")


def _wait(process: Callable[[], None], is_done: Callable[[], bool]) -> None:
    end_s = time.monotonic() + LIMIT_S
    while not is_done() and time.monotonic() < end_s:
        process()
        time.sleep(0.01)


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
    main(Path(__file__).with_suffix(".webp"))
