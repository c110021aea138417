"""The calibration as JSON, and its error budget."""

import dataclasses
import json

import numpy as np
import pytest
from syncaudit_calibration import calibrate_events, error_budget

from syncaudit.errors import UsageError
from testkit.flash_calibration import OFFSET_S


def test_json_lists_steps(rig):
    own = rig[0][2]
    lost = dataclasses.replace(own, frame_s=own.frame_s - 0.04 * (own.frame_s > 22.0))
    found = calibrate_events([*rig[0][:2], lost])
    rows = json.loads(json.dumps(found.to_json()))["sources"]
    assert "steps" not in rows["cam_1"]
    (step,) = rows["cam_2"]["steps"]
    assert step["frames"] == 1
    assert set(step) == {"after_ns", "before_ns", "step_s", "step_std_s", "frames"}


def test_json_holds_the_contract(calibration):
    document = json.loads(json.dumps(calibration.to_json()))
    assert document["version"] == 1
    assert document["reference"] == "cam_0"
    row = document["sources"]["cam_1"]
    assert {
        "offset_s",
        "offset_std_s",
        "drift_ppm",
        "drift_std_ppm",
        "line_delay_s",
        "line_delay_std_s",
        "flashes_seen",
        "residual_rms_s",
    } <= set(row)
    assert document["flashes"][0]["seen_by"]


def test_error_budget_is_smallest_among_the_flashes(calibration):
    seconds = np.array([-600.0, 0.0, 22.0, 45.0, 600.0])
    sigma = error_budget(calibration, "cam_1", np.rint(seconds * 1e9).astype(np.int64))
    assert sigma[2] == min(sigma)
    assert sigma[0] > 10.0 * sigma[2]
    source = calibration.sources["cam_1"]
    at = error_budget(calibration, "cam_1", np.array([source.at_ns]))
    assert at[0] == pytest.approx(source.offset_std_s)


def test_error_budget_knows_steps(rig):
    evidence = rig[0]
    own = evidence[2]
    lost = dataclasses.replace(own, frame_s=own.frame_s - 0.04 * (own.frame_s > 35.0))
    found = calibrate_events([*evidence[:2], lost, evidence[5]])
    source = found.sources["cam_2"]
    (step,) = source.steps
    own_ns = np.array([source.at_ns, step.after_ns - 1, step.before_ns])
    assert np.array_equal(source.jumps_s(own_ns), [0.0, 0.0, step.step_s])
    sigma = error_budget(found, "cam_2", own_ns)
    assert sigma[0] == pytest.approx(source.offset_std_s)
    assert sigma[2] > sigma[1]  # few flashes followed


def test_error_budget_names_what_it_knows(calibration):
    with pytest.raises(UsageError, match="no source 'cam_x'"):
        error_budget(calibration, "cam_x", np.array([0]))


def test_an_error_that_all_events_of_a_train_share_stays_in_its_offset(rig):
    evidence, _, _ = rig
    shared = dataclasses.replace(evidence[5], systematic_std_s=7e-4)
    found = calibrate_events([evidence[0], evidence[1], shared])
    assert found.sources["trigger"].offset_std_s == pytest.approx(7e-4, rel=0.01)
    assert found.sources["cam_1"].offset_std_s < OFFSET_S
