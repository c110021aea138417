"""Baselines from the clips of a fleet, and the policy file that holds them."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from syncaudit.model import ClipVerdict, PairMeasurement
from syncaudit.policy import load_policy
from syncaudit.policy.fleet import Fleet
from syncaudit.policy.limits import pair_baseline
from syncaudit.policy.toml_text import policy_text

VLA = load_policy(profile="vla")
# Figures of the file are rounded to 0.01 ms.
ROUNDED_S = 5e-6


def row(offset_s, source="wrist", target="action", method="commanded_motion", **how):
    pair = {
        "source": source,
        "target": target,
        "method": method,
        "offset_s": offset_s,
        "offset_std_s": 0.001,
        "why": "refused where not accepted",
        "accepted": True,
        "is_baseline_only": True,
    }
    sources = {
        source: {"verdict": "pass", "kind": "camera", "observable": False},
        target: {"verdict": "pass", "kind": "state", "observable": False},
    }
    return {"clip_id": "c", "verdict": "pass", "sources": sources, "pairs": [pair | how]}


def fleet_of(rows, policy=VLA):
    fleet = Fleet(policy)
    for item in rows:
        fleet.add(ClipVerdict.from_row(item))
    return list(fleet.baselines())


def test_median_and_spread_withstand_late_clips():
    rng = np.random.default_rng(1)
    offsets_s = -0.07 + 0.003 * rng.standard_normal(40)
    offsets_s[::5] -= 0.133
    (found,) = fleet_of([row(float(offset_s)) for offset_s in offsets_s])
    assert (found.name, found.n_clips, found.is_known) == ("commanded_motion", 40, True)
    # A fifth of late clips shifts median and spread by a third of a deviation: 1 ms of 3.
    assert abs(found.offset_s + 0.07) < 0.0025
    assert 0.002 < found.spread_s < 0.006
    assert found.tolerance_s is None  # the 20 ms of cameras and states are wider


def test_tolerance_covers_a_wide_spread():
    (found,) = fleet_of([row(0.01 * k) for k in range(9)])
    # Absolute deviations of 0 to 40 ms: their median is 20 ms.
    assert found.spread_s == pytest.approx(1.4826 * 0.02)
    assert found.tolerance_s == pytest.approx(4.0 * 1.4826 * 0.02)


def test_several_pairs_have_baselines_of_their_own():
    rows = [row(-0.05) for _ in range(8)] + [row(-0.15, "top") for _ in range(7)]
    found = {item.name: item for item in fleet_of(rows)}
    wrist, top = (pair_baseline("commanded_motion", name, "action") for name in ("wrist", "top"))
    assert list(found) == ["commanded_motion", top, wrist]
    assert found["commanded_motion"].n_clips == 15
    assert found[wrist].offset_s == -0.05
    assert (found[top].n_clips, found[top].is_known) == (7, False)


def test_two_cameras_of_one_clip_count_once():
    both = row(-0.05)
    both["pairs"].append(row(-0.06, "top")["pairs"][0])
    assert fleet_of([both] * 8)[0].n_clips == 8
    assert not fleet_of([both] * 7)[0].is_known


@pytest.mark.parametrize(
    "how",
    [
        {"accepted": False},
        {"step_s": 0.1},
        {"is_baseline_only": False},
        {"offset_s": float("nan")},
    ],
)
def test_what_tells_nothing_usual_is_left_out(how):
    odd = row(-0.05)
    odd["pairs"][0] |= how
    assert fleet_of([odd] * 9) == []


def test_policy_says_which_methods_need_a_baseline():
    rows = [row(0.06, "can", "imu", "steering", is_baseline_only=False)] * 8
    (found,) = fleet_of(rows, load_policy(profile="driving"))
    assert found.name == "steering"


def test_known_clocks_are_taken_off():
    late = row(-0.185)
    late["sources"]["wrist"] |= {"observable": True, "offset_s": -0.1}
    late["sources"]["action"] |= {"observable": True, "offset_s": 0.015}
    (found,) = fleet_of([late] * 8)
    assert found.offset_s == pytest.approx(-0.07)


def test_written_policy_keeps_the_base_and_judges_by_pairs(tmp_path: Path):
    odd = 'le"ft\\ arm\x7f'
    rows = [row(-0.05123)] * 8 + [row(0.01 * k, odd) for k in range(9)] + [row(0.3, "few")]
    text = policy_text(fleet_of(rows), extends="vla", title="two\nlines")
    (tmp_path / "fleet.toml").write_text(text, encoding="utf-8")
    policy = load_policy(str(tmp_path / "fleet.toml"))
    assert policy.kinds == VLA.kinds
    assert policy.baselines["command"] == VLA.baselines["command"]
    assert tomllib.loads(text)["extends"] == "vla"

    def of(source):
        measured = PairMeasurement.refused(source, "action", "commanded_motion", 0, "why")
        return policy.baseline_of(measured)

    assert abs(of("wrist").offset_s + 0.05123) < ROUNDED_S
    assert of("wrist").tolerance_s is None
    assert of(odd).tolerance_s == pytest.approx(4.0 * 1.4826 * 0.02, abs=ROUNDED_S)
    assert of("few") == of("another") == policy.baselines["commanded_motion"]
