"""Clocks that step are drawn piecewise, whichever clock provides reference time."""

from __future__ import annotations

import numpy as np
import pytest
from syncaudit_gui.viewmodel.events import EventKind
from syncaudit_gui.viewmodel.judgement import Judgement

from testkit.jumping_clocks import AT_NS, EXACT_S, NAMES, STEP_S, TIMES_S, measured, opened


@pytest.mark.parametrize("is_from_row", [False, True])
@pytest.mark.parametrize("reference", ["imu", "a"])
@pytest.mark.parametrize("step_after_s", [3.0, -4.0])
def test_clock_that_jumps_is_drawn_piecewise_whoever_is_the_reference(
    reference, step_after_s, is_from_row
):
    model = opened(reference, step_after_s, is_from_row=is_from_row)
    at_s = 10.0 + step_after_s
    moved_s = model.map_of("imu").apply(TIMES_S) - TIMES_S
    is_after = at_s <= TIMES_S
    # The side that contains the middle of the clip, where the offsets hold, does not move.
    expected_s = STEP_S * (is_after.astype(float) - float(step_after_s < 0.0))
    np.testing.assert_allclose(moved_s, expected_s, atol=EXACT_S)
    for name in NAMES[1:]:
        np.testing.assert_allclose(model.map_of(name).apply(TIMES_S), TIMES_S, atol=EXACT_S)
    assert model.judgement.sources["imu"].step_s == pytest.approx(STEP_S, abs=EXACT_S)


def test_jump_is_an_event_of_its_own_clock_and_raw_clocks_stay_raw():
    model = opened("imu", 3.0, is_from_row=True)
    assert model.events.of(EventKind.STEP) == pytest.approx([13.0 + STEP_S], abs=EXACT_S)
    model.is_corrected = False
    model.clocks_changed()
    assert model.events.next(0.0, 1, EventKind.STEP) == pytest.approx(13.0, abs=EXACT_S)
    np.testing.assert_array_equal(model.map_of("imu").apply(TIMES_S), TIMES_S)
    model.show_findings(is_shown=False)
    assert model.events.next(0.0, 1, EventKind.STEP) is None


def test_row_without_a_record_blames_the_source_of_the_pair():
    row = {
        "clip_id": "c",
        "verdict": "reject",
        "reference": "imu",
        "at_ns": AT_NS,
        "sources": {"cam": {"verdict": "reject", "observable": True, "offset_s": 0.0}},
        "pairs": [measured("cam", "imu", -STEP_S, 3.0).to_json()],
    }
    estimate = Judgement.of_row(row).sources["cam"]
    assert (estimate.step_s, estimate.is_step_past) == (-STEP_S, False)
