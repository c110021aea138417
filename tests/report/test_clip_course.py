"""The drawing of an offset that changes within a clip: where it leaves the tolerance."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from syncaudit.model import ClipRecord, ClipVerdict, EventResiduals, PairMeasurement
from syncaudit.report.courses import N_MARKS, clip_course

AT_NS = 1_767_225_600_000_000_000
SPAN_S = 20.0
RESIDUALS = EventResiduals.of(np.array([0.0]), np.array([1e-4]))


def verdict(code: str, **fields: float | int) -> ClipVerdict:
    pair = PairMeasurement(
        source="cam",
        target="imu",
        method="flash",
        at_ns=AT_NS,
        offset_s=0.0,
        offset_std_s=5e-4,
        accepted=True,
        evidence=RESIDUALS,
        **fields,
    )
    row = {
        "clip_id": "c",
        "verdict": "reject",
        "at_ns": AT_NS,
        "reference": "imu",
        "sources": {"cam": {"verdict": "reject"}, "imu": {"verdict": "pass"}},
        "reasons": [{"source": "cam", "code": code, "message": "moves"}],
        "pairs": [pair.to_json()],
    }
    record = ClipRecord(at_ns=AT_NS, span_s=SPAN_S, max_offset_s=2.0, measurements=(pair,))
    return replace(ClipVerdict.from_row(row), record=record)


def heights(found: ClipVerdict) -> list[float]:
    drawing = str(clip_course(found, {"cam": 0.01}))
    (line,) = re.findall(r'class="pooled" d="M([^"]*)"', drawing)
    return [float(place.split()[1]) for place in line.split("L")]


def test_a_drift_is_a_straight_line():
    found = heights(verdict("drift", drift_ppm=2000.0, drift_std_ppm=60.0))
    assert len(found) == N_MARKS
    assert np.diff(found) == pytest.approx(np.full(N_MARKS - 1, np.diff(found)[0]), abs=0.11)
    assert found[0] > found[-1] + 40.0  # later offsets are higher


def test_a_step_is_upright_where_it_happens():
    found = heights(verdict("step", step_s=0.06, step_std_s=1e-3, step_at_ns=AT_NS + 3 * 10**9))
    assert len(set(found)) == 2
    assert int(np.argmax(np.abs(np.diff(found)))) == round((N_MARKS - 1) * 13.0 / SPAN_S)


def test_an_offset_that_stays_has_no_course():
    assert clip_course(verdict("offset"), {}) is None


def test_errors_beyond_a_step_hold_that_of_the_step():
    (pair,) = verdict("step", step_s=0.06, step_std_s=1e-3, step_at_ns=AT_NS + 10**9).pairs
    assert pair.offset_std_at(AT_NS) == pytest.approx(5e-4)
    assert pair.offset_std_at(AT_NS + 2 * 10**9) == pytest.approx(np.hypot(5e-4, 1e-3))
    (pair,) = verdict("drift", drift_ppm=9.0, drift_std_ppm=60.0).pairs
    assert pair.offset_std_at(AT_NS + 10 * 10**9) == pytest.approx(np.hypot(5e-4, 6e-4))
