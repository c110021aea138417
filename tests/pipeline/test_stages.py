"""Stages are timed, and reported to observers."""

from __future__ import annotations

import time
from collections.abc import Iterator

from syncaudit.pipeline.stages import Stages


def work(seconds: float) -> None:
    until_s = time.process_time() + seconds
    while time.process_time() < until_s:
        pass


def test_watcher_is_told_every_stage_as_it_begins() -> None:
    told: list[str] = []
    stages = Stages(on_stage=told.append)
    for name in ("read", "decode", "decode"):
        with stages.timed(name):
            assert told[-1] == name
    assert told == ["read", "decode", "decode"]
    assert set(stages.seconds) == {"read", "decode"}


def test_getting_and_using_items_are_told_apart() -> None:
    def items() -> Iterator[int]:
        for item in range(3):
            work(0.02)
            yield item

    told: list[str] = []
    stages = Stages(on_stage=told.append)
    begun_s = time.process_time()
    for _ in stages.split("decode", items(), "detect"):
        work(0.01)
    assert abs(stages.total_s - (time.process_time() - begun_s)) < 0.005
    assert stages.seconds["decode"] > stages.seconds["detect"] > 0.0
    assert told == ["decode", "detect"] * 3 + ["decode"]


def test_time_is_kept_where_items_are_left_early() -> None:
    stages = Stages()
    for item in stages.split("decode", range(5), "detect"):
        work(0.005)
        if item == 2:
            break
    assert stages.total_s > 0.01
    assert stages.seconds["detect"] > 0.0
