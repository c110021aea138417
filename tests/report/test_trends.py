"""Weeks, vehicles and conditions on the page: counts, level changes, and what gets rarer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from syncaudit.model import ClipVerdict, Verdict
from syncaudit.report.strictness import Strictness
from syncaudit.report.trends import Trends, week_of
from testkit.fake_audits import AT_NS
from testkit.made_rows import TOLERANCES_S, measured, write

DAY_NS = 86_400 * 10**9


def drives(
    n: int, *, since: int | None = None, shift_s: float = 0.004, seed: int = 0
) -> Iterator[ClipVerdict]:
    """Yield one clip a day of two vehicles; from `since` on, clips have another offset."""
    rng = np.random.default_rng(seed)
    for k in range(n):
        is_new = since is not None and k >= since
        offset_s = 0.001 * rng.normal() + (shift_s if is_new else 0.0)
        row = measured(f"c{k}", Verdict.REJECT, offset_s=offset_s)
        row["record"] |= {"at_ns": AT_NS + k * DAY_NS}
        about = {"vehicle": f"v{k % 2}", "software": "2.4" if is_new else "2.3"}
        yield ClipVerdict.from_row(row | {"recording_id": f"r{k}", "about": about})


def view_of(clips: Iterator[ClipVerdict]) -> dict[str, list[dict[str, str]]]:
    trends = Trends(TOLERANCES_S)
    for clip in clips:
        trends.add(clip)
    return trends.to_view()


def test_a_change_is_told_with_its_day_its_cause_and_the_clips_beside_it() -> None:
    first, *_ = view_of(drives(40, since=20))["changes"]
    assert (first["scope"], first["what"]) == ("all", "offset of cam_rear against imu")
    assert first["with"] == "software 2.3 → 2.4"
    assert first["before"][-1] == "c19"
    assert first["after"][0] == "c20"


@pytest.mark.parametrize("seed", range(5))
def test_without_a_change_none_is_told(seed: int) -> None:
    assert view_of(drives(40, seed=seed))["changes"] == []


def test_changes_that_no_tolerance_feels_are_left_out() -> None:
    """A tenth of a camera's 10 ms, however significant."""
    assert view_of(drives(400, since=200, shift_s=0.0008))["changes"] == []


def test_weeks_and_vehicles_are_counted() -> None:
    view = view_of(drives(14))
    assert sum(week["clips"] for week in view["weeks"]) == 14  # type: ignore[misc]  # numbers
    groups = {group["key"]: group["lines"] for group in view["groups"]}
    assert [line["name"] for line in groups["vehicle"]] == ["v0", "v1"]  # type: ignore[index]


def test_clocks_that_begin_at_zero_have_no_week() -> None:
    assert week_of(5 * DAY_NS) is None
    assert week_of(None) is None
    assert week_of(1_767_571_200_000_000_000) == "2026-01-05"


def strictness_of(lines: Iterator[tuple[float, Verdict]]) -> dict[str, list[dict[str, object]]]:
    found = Strictness()
    for k, (turning, verdict) in enumerate(lines):
        row = measured(f"c{k}", verdict)
        row["record"] |= {"conditions": {"turning": turning}}
        found.add(ClipVerdict.from_row(row))
    return found.to_view()


def test_a_condition_that_hardly_passes_is_marked() -> None:
    straight = [(0.001, Verdict.UNVERIFIED)] * 30 + [(0.001, Verdict.PASS)] * 5
    curves = [(0.3, Verdict.PASS)] * 60 + [(0.3, Verdict.REJECT)] * 5
    (one,) = strictness_of(iter(straight + curves))["conditions"]
    lines = {line["name"]: line for line in one["lines"]}  # type: ignore[attr-defined]
    lost = lines["hardly any (below 1.5 °/s)"]
    assert (lost["clips"], lost["of_all"], lost["of_passed"]) == (35, "35 %", "7.7 %")
    assert [name for name, line in lines.items() if line["is_lost"]] == [lost["name"]]


def test_what_passes_alike_is_not_marked() -> None:
    mixed = [(0.001, Verdict.PASS), (0.3, Verdict.PASS), (0.3, Verdict.REJECT)] * 4
    (one,) = strictness_of(iter(mixed))["conditions"]
    assert not any(line["is_lost"] for line in one["lines"])  # type: ignore[attr-defined]


def test_the_page_shows_both_and_escapes_what_strangers_wrote(tmp_path: object) -> None:
    rows = [clip.to_json() for clip in drives(40, since=20)]
    rows[0]["about"] = {"vehicle": "<script>"}
    page = write(tmp_path / "r.html", rows)  # type: ignore[operator]  # a path
    assert "Over the weeks, and by what recorded it" in page
    assert "software 2.3 → 2.4" in page
    assert "<script><" not in page
    assert "&lt;script&gt;" in page
