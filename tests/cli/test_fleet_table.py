"""Causes on one screen: those that differ only by their source share a line."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from syncaudit.cli.fleet_table import cause_table


def cause(code: str, source: str, clips: int, offset_s: float | None = None) -> dict[str, Any]:
    return {
        "code": code, "source": source, "clips": clips, "verdict": "reject", "size": None,
        "offset_s": offset_s, "is_constant": offset_s is not None, "spread_s": 0.001,
    }  # fmt: skip


def printed(*causes: dict[str, Any]) -> list[str]:
    text = StringIO()
    Console(file=text, width=80).print(cause_table(causes))
    return [" ".join(line.split()) for line in text.getvalue().splitlines()[2:]]


def test_sources_with_one_cause_and_no_figure_share_a_line() -> None:
    (line,) = printed(*(cause("empty", f"cam{k}", 9 - k) for k in range(4)))
    assert "4 sources 6-9 each record it again" in line


def test_figures_of_sources_are_told_apart() -> None:
    lines = printed(cause("offset", "cam", 5, 0.035), cause("offset", "[red]imu", 3, -0.02))
    assert "cam 5 35.0 ± 1.0 ms early" in lines[0]
    assert "[red]imu 3 20.0 ± 1.0 ms late" in lines[1]


def test_a_cause_without_a_source_is_that_of_the_clip() -> None:
    (line,) = printed(cause("manifest", "", 2))
    assert "clip 2" in line
