"""`syncaudit view` as a process: an image without a screen, and the real window on one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import cv2
import pytest
from syncaudit_gui.command import view
from syncaudit_gui.window.application import Start
from syncaudit_gui.window.shot import parse_size, take_shot

from syncaudit.errors import MissingExtraError, UsageError
from testkit.barcodes import read_barcode
from testkit.command_line import run_command

COMMAND = "import typer; from syncaudit_gui.command import view; typer.run(view)"
LIMIT_S = 120


def viewer(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603  # this very interpreter
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def test_shot_writes_the_window_without_a_screen(barcode_folder, tmp_path):
    frame, labels = tmp_path / "shot.png", tmp_path / "labels.jsonl"
    run = viewer(
        barcode_folder / "manifest.jsonl", "--no-audit", "--at", "1.51", "--span", "1",
        "--source", "imu", "--shot", frame, "--size", "1000x700@2", "--labels", labels,
        DISPLAY="",
    )  # fmt: skip
    out, errors = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 0, errors
    assert out.strip() == str(frame)
    assert errors == ""
    grey = cv2.imread(str(frame), cv2.IMREAD_GRAYSCALE)
    assert grey.shape == (1400, 2000)
    # The first pane begins below the headline; its image is 160 x 96 scaled to its width.
    width = round((1000 - 12 - 6 - 400 - 5 * 4) / 6 * 2)
    assert grey[:200, :300].std() > 30
    part = grey[66 : 66 + round(width * 0.58), 16 : 16 + width - 8]
    assert read_barcode(part) == 30


def test_shot_of_nothing_readable_is_a_usage_error(tmp_path, monkeypatch):
    for name in ("QT_QPA_PLATFORM", "QT_SCALE_FACTOR"):
        monkeypatch.setenv(name, os.environ.get(name, "offscreen" if "QPA" in name else "1"))
    (tmp_path / "m.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(UsageError, match="clip_id"):
        take_shot(Start(source=str(tmp_path / "m.jsonl")), tmp_path / "x.png", 900, 600)
    assert not (tmp_path / "x.png").exists()


def test_shot_of_a_source_that_is_not_there_is_a_usage_error(barcode_folder, tmp_path, monkeypatch):
    for name in ("QT_QPA_PLATFORM", "QT_SCALE_FACTOR"):
        monkeypatch.setenv(name, os.environ.get(name, "offscreen" if "QPA" in name else "1"))
    source = str(barcode_folder / "manifest.jsonl")
    start = Start(source=source, selected="imuu", is_auditing=False)
    with pytest.raises(UsageError, match="no source 'imuu' in this clip"):
        take_shot(start, tmp_path / "x.png", 900, 600)


def test_window_of_nothing_readable_ends_with_a_message(tmp_path):
    place = {"QT_QPA_PLATFORM": "offscreen", "XDG_CONFIG_HOME": str(tmp_path)}
    run = viewer(tmp_path / "nowhere.jsonl", **place)
    _, errors = run.communicate(timeout=LIMIT_S)
    assert run.returncode != 0  # 2 where the command line reports it
    assert "file not found" in errors


@pytest.mark.parametrize("text", ["", "12", "axb", "10x10", "1440x900@9", "1440x900@x"])
def test_wrong_sizes_are_refused(text):
    with pytest.raises(UsageError, match="expected WIDTHxHEIGHT"):
        parse_size(text)


def test_without_the_extra_the_pip_line_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyqtgraph", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'syncaudit\[gui\]'"):
        view()


def test_without_a_screen_it_says_what_to_do(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match=r"no screen.*--shot"):
        view(None)


def test_help_lists_every_option():
    result = run_command("view", "--help", expected=0)
    for option in ("--shot", "--verdicts", "--at", "--span", "--labels", "--theme"):
        assert option in result.output


def test_real_window_opens_takes_keys_and_ends(barcode_folder, tmp_path):
    """One pass through a real X server: labels arrive on disk, Ctrl-C ends it cleanly."""
    missing = [name for name in ("Xvfb", "xdotool") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}: sudo apt install xvfb xdotool")
    read, write = os.pipe()
    server = subprocess.Popen(  # noqa: S603
        [str(shutil.which("Xvfb")), "-displayfd", str(write), "-screen", "0", "1300x900x24"],
        pass_fds=(write,),
        stderr=subprocess.DEVNULL,
    )
    try:
        os.close(write)
        with os.fdopen(read) as pipe:
            display = f":{pipe.readline().strip()}"
        _drive(display, barcode_folder, tmp_path)
    finally:
        server.terminate()
        server.wait(timeout=LIMIT_S)


def _drive(display: str, folder: Path, tmp_path: Path) -> None:
    labels, place = tmp_path / "labels.jsonl", {"DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
    home = {"XDG_CONFIG_HOME": str(tmp_path), "WAYLAND_DISPLAY": ""}
    run = viewer(folder / "manifest.jsonl", "--no-audit", "--labels", labels, **place, **home)
    try:
        xdotool = [str(shutil.which("xdotool"))]
        env = {**os.environ, **place}
        find = [*xdotool, "search", "--sync", "--onlyvisible", "--name", "manifest.jsonl"]
        subprocess.run(find, env=env, check=True, timeout=LIMIT_S, capture_output=True)  # noqa: S603
        end_s = time.monotonic() + LIMIT_S
        while not labels.exists() and run.poll() is None and time.monotonic() < end_s:
            click = [*xdotool, "mousemove", "500", "300", "click", "1", "key", "a"]
            subprocess.run(click, env=env, check=True, timeout=LIMIT_S)  # noqa: S603
            time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=LIMIT_S)
    finally:
        run.kill()
    assert run.returncode == 0, errors
    first = json.loads(labels.read_text(encoding="utf-8").splitlines()[0])
    assert (first["clip_id"], first["label"]) == ("first", "accept")
    assert (tmp_path / "syncaudit" / "viewer.conf").is_file()
