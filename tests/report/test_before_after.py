"""The drawing of an offset on the page: an arrow of its width, and two curves that align."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from syncaudit.model import ClipVerdict, PairMeasurement, SignalExcerpt
from syncaudit.report.before_after import before_after

EPOCH_NS = 1_767_225_600_000_000_000
TIMES_S = np.arange(0.0, 1.6, 0.01)
PEAK = np.exp(-0.5 * ((TIMES_S - 0.9) / 0.06) ** 2)


def row(offset_s: float = 0.04, *, name: str = "cam") -> dict[str, object]:
    excerpt = SignalExcerpt.of(
        TIMES_S, PEAK, PEAK, epoch_ns=EPOCH_NS, apart_s=offset_s, tells_s=(0.3, 1.3)
    )
    pair = PairMeasurement(
        source=name,
        target="imu",
        method="rotation",
        at_ns=EPOCH_NS,
        offset_s=offset_s,
        offset_std_s=0.001,
        accepted=True,
        excerpt=excerpt,
    )
    found: dict[str, object] = {
        "clip_id": "c",
        "verdict": "reject",
        "at_ns": EPOCH_NS,
        "reference": "imu",
        "sources": {name: {"verdict": "reject"}, "imu": {"verdict": "pass"}},
        "reasons": [{"source": name, "code": "offset", "message": "late"}],
        "pairs": [pair.to_json()],
    }
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def path(drawing: str, kind: str) -> list[str]:
    return re.findall(rf'class="{kind}" d="M([^"]*)"', drawing)


def highest(curve: str) -> tuple[float, ...]:
    places = [tuple(map(float, place.split())) for place in curve.split("L")]
    return min(places, key=lambda place: place[1])


def test_arrow_is_as_wide_as_the_offset():
    drawing = str(before_after(ClipVerdict.from_row(row())))
    (arrow,) = path(drawing, "arrow")
    begin, end = (float(x) for x in re.match(r"([\d.]+) [\d.]+H([\d.]+)", arrow).groups())
    # Half of the drawing, less half the gap, shows half a second.
    assert end - begin == pytest.approx(0.04 / 0.5 * 468, abs=0.2)
    assert "40.0 ± 1.0 ms early" in drawing


def test_curves_lie_apart_before_and_on_one_another_after():
    drawing = str(before_after(ClipVerdict.from_row(row())))
    curves = [path(drawing, f"signal {kind}")[:2] for kind in ("source", "target")]
    peaks = [[highest(curve) for curve in side] for side in curves]
    (raw, corrected), (target, target_after) = peaks
    assert target[0] - raw[0] == pytest.approx(0.04 / 0.5 * 468, abs=10.0)  # a sample's width
    assert corrected[0] == pytest.approx(target_after[0], abs=0.2)


def test_names_are_escaped():
    drawing = str(before_after(ClipVerdict.from_row(row(name="<b>&"))))
    assert "<b>" not in drawing
    assert "&lt;b&gt;" in drawing


def test_nothing_is_drawn_of_what_was_not_kept_or_lies_an_hour_away():
    assert before_after(ClipVerdict.from_row(row(3600.0))) is None
    bare = row()
    del bare["pairs"][0]["excerpt"]
    assert before_after(ClipVerdict.from_row(bare)) is None
    passed = row()
    passed["sources"]["cam"]["verdict"] = "pass"
    assert before_after(ClipVerdict.from_row(passed)) is None
