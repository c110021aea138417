"""Recording conditions and devices of a clip are written into its row."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from syncaudit.batch.fingerprint import content_half, fingerprint_of, policy_half, with_policy
from syncaudit.datasets import clip_to_row, load_manifest
from syncaudit.model import Activity, Clip, ClipEvidence, ClipVerdict, ImageAudit, Quantity
from syncaudit.pipeline.evidence import conditions_of
from testkit.judged_clips import POLICY, judge_measured


def activity(quantity: Quantity, values: NDArray[np.float64]) -> Activity:
    times_s = np.arange(values.shape[0]) * 0.01
    return Activity(source="s", quantity=quantity, epoch_ns=0, times_s=times_s, values=values)


def test_speed_turning_and_light() -> None:
    rng = np.random.default_rng(0)
    times_s = np.arange(2000) * 0.01
    # A slow rotation of 0.2 rad/s about one axis, a zero offset, and noise from sample to sample.
    rate = 0.2 * np.sin(2 * np.pi * 0.1 * times_s)[:, None] * [0.0, 0.0, 1.0] + 0.05
    gyro = activity(Quantity.ANGULAR_RATE, rate + rng.normal(0.0, 0.05, rate.shape))
    speed = activity(Quantity.SPEED, np.full((2000, 1), 12.0))
    evidence = ClipEvidence(
        motion={"imu": {Quantity.ANGULAR_RATE: gyro}, "can": {Quantity.SPEED: speed}},
        pictures={"a": ImageAudit(frames=2, light=30.0), "b": ImageAudit(frames=2, light=80.0)},
    )
    found = conditions_of(evidence)
    assert found["speed"] == pytest.approx(12.0)
    assert found["turning"] == pytest.approx(0.2 / np.sqrt(2.0), abs=0.01)
    assert found["light"] == 80.0
    assert conditions_of(ClipEvidence()) == {}


def clip_of(folder: Path, vehicle: str) -> Clip:
    row = {
        "clip_id": "a",
        "about": {"vehicle": vehicle},
        "sources": {"imu": {"kind": "imu", "uri": "i.csv"}},
    }
    (folder / "m.jsonl").write_text(json.dumps(row) + "\n")
    if not (folder / "i.csv").exists():  # its modification time counts
        (folder / "i.csv").write_text("timestamp_ns,gyro_x,gyro_y,gyro_z\n1,0,0,0\n")
    (clip,) = load_manifest(str(folder / "m.jsonl"))
    return clip


def test_rows_keep_what_a_clip_was_recorded_with(tmp_path: Path) -> None:
    clip = clip_of(tmp_path, "7")
    assert clip.about == {"vehicle": "7"}
    assert clip_to_row(clip, relative_to=str(tmp_path))["about"] == {"vehicle": "7"}
    told = judge_measured().to_json() | {"about": {"vehicle": "7"}}
    again = ClipVerdict.from_row(told)
    assert again.about == {"vehicle": "7"}
    assert again.to_json()["about"] == {"vehicle": "7"}


def test_for_another_vehicle_nothing_is_measured_again_and_the_row_is_written_anew(
    tmp_path: Path,
) -> None:
    one, other = (fingerprint_of(clip_of(tmp_path, name), POLICY) for name in ("7", "8"))
    assert one is not None
    assert other is not None
    assert content_half(one) == content_half(other)
    assert one != other
    assert with_policy(one, policy_half(POLICY), {"vehicle": "8"}) == other
