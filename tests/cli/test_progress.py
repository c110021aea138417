"""The progress of a run in a terminal, in a pipe, and in words."""

import io

import pytest
from rich.console import Console

from syncaudit.batch import Progress
from syncaudit.cli import progress
from syncaudit.cli.progress import ProgressView
from syncaudit.formatting import word_span


def state(done, reused=0):
    counts = {"pass": done, "reject": 0, "unverified": 0}
    return Progress(total=10, done=done, reused=reused, counts=counts)


def show(*, is_terminal, states, **options):
    file = io.StringIO()
    console = Console(file=file, force_terminal=is_terminal, width=80, color_system=None)
    with ProgressView(console, **options) as view:
        for each in states:
            view(each)
            if is_terminal:
                view._bar.refresh()
    return file.getvalue()


def test_a_terminal_shows_counts_rate_and_time_left(monkeypatch):
    clock = iter([100.0, 100.0, *[104.0] * 50])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock, 104.0))
    text = show(is_terminal=True, states=[state(0), state(4)])
    assert "4/10 clips" in text
    assert "left" in text
    assert "? 0" in text


def test_a_pipe_gets_a_line_now_and_then(monkeypatch):
    clock = {"now": 0.0}
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock["now"])
    lines = []
    file = io.StringIO()
    with ProgressView(Console(file=file, width=80)) as view:
        for done in range(11):
            clock["now"] = done * 4.0
            view(state(done))
            lines = file.getvalue().splitlines()
    assert lines == [
        "4/10 clips, 15.0/min, 24 s left: 4 pass, 0 reject, 0 unverified",
        "8/10 clips, 15.0/min, 8 s left: 8 pass, 0 reject, 0 unverified",
    ]


def test_clips_of_an_earlier_run_do_not_speed_up_this_one(monkeypatch):
    clock = {"now": 0.0}
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock["now"])
    file = io.StringIO()
    with ProgressView(Console(file=file, width=80)) as view:
        view(state(5, reused=5))
        clock["now"] = 20.0
        view(state(7, reused=5))
    assert "6.0/min, 30 s left" in file.getvalue()


def test_quiet_shows_nothing():
    assert show(is_terminal=True, is_quiet=True, states=[state(1)]) == ""


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (89, "89 s"), (720, "12 min"), (12240, "3.4 h")]
)
def test_spans_are_worded(seconds, words):
    assert word_span(seconds) == words
