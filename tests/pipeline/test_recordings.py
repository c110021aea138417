"""Clips of one recording share their clocks: together they determine what a single one cannot."""

from dataclasses import replace

import numpy as np
import pytest

from syncaudit.model import CameraSpec, CanSpec, Clip, ClipRecord, ImuSpec, PairMeasurement
from syncaudit.pipeline import pool_clips
from syncaudit.pipeline.examine import SCREENED
from syncaudit.policy import load_policy

START_NS = 1_767_225_600_000_000_000
SPAN_S = 20.0
STD_S = 0.8e-3
LIMIT_S = load_policy().limits("cam", "camera").offset_s


def clip(k, **sources):
    given = sources or {"cam": CameraSpec(uri="c.mp4"), "imu": ImuSpec(uri="i.csv")}
    return Clip(clip_id=f"drive/{k}", recording_id="drive", reference="imu", sources=given)


def record(k, offset_s, *, std_s=STD_S, every_s=20.0):
    at_ns = START_NS + int(k * every_s * 1e9)
    why = None if offset_s is not None else "the car stands still"
    pair = PairMeasurement(
        source="cam",
        target="imu",
        method="rotation",
        at_ns=at_ns,
        offset_s=offset_s,
        offset_std_s=None if offset_s is None else std_s,
        systematic_std_s=5e-5,
        accepted=offset_s is not None,
        why=why,
    )
    return ClipRecord(at_ns=at_ns, span_s=SPAN_S, max_offset_s=2.0, measurements=(pair,))


def pool(offsets_s, *, seed=0, std_s=STD_S, every_s=20.0):
    rng = np.random.default_rng(seed)
    seen = [None if o is None else o + std_s * rng.normal() for o in offsets_s]
    records = [record(k, o, std_s=std_s, every_s=every_s) for k, o in enumerate(seen)]
    return pool_clips([clip(k) for k in range(len(seen))], records, load_policy())


def without_times(verdict):
    return {k: v for k, v in verdict.to_json().items() if k not in ("seconds", "stages")}


def verdicts(recording):
    return [str(verdict.verdict) for verdict in recording.verdicts]


def test_a_parked_clip_passes_by_its_neighbours():
    recording = pool([0.001, None, 0.001, 0.001])
    assert verdicts(recording) == ["pass"] * 4
    told = [w.message for w in recording.verdicts[1].warnings if w.source == "cam"]
    assert any("passes on the evidence of its recording" in message for message in told)
    assert recording.verdicts[1].sources["cam"].recording.offset_s == pytest.approx(0.001, abs=2e-3)


def test_a_screened_clip_does_not_pass_by_its_neighbours():
    records = [record(k, None if k == 1 else 0.001) for k in range(4)]
    records[1] = replace(records[1], measurements=(), findings=(SCREENED,))
    recording = pool_clips([clip(k) for k in range(4)], records, load_policy())
    assert verdicts(recording) == ["pass", "unverified", "pass", "pass"]
    assert SCREENED in recording.verdicts[1].reasons


def test_a_parked_clip_at_the_end_stays_unverified():
    assert verdicts(pool([0.001, 0.001, 0.001, None])) == ["pass"] * 3 + ["unverified"]


def test_clips_that_are_each_too_vague_are_judged_together():
    vague = 0.7 * LIMIT_S
    outside = pool([1.8 * LIMIT_S] * 30, std_s=vague)
    assert set(verdicts(outside)) == {"reject"}
    late = [v for v in outside.verdicts if any("together" in r.message for r in v.reasons)]
    assert late
    assert verdicts(pool([0.0] * 20, std_s=vague, seed=1)) == ["pass"] * 20


def test_a_drive_that_turns_bad_is_rejected_from_then_on():
    recording = pool([0.0] * 15 + [3.0 * LIMIT_S] * 15)
    assert verdicts(recording) == ["pass"] * 15 + ["reject"] * 15
    (step,) = recording.clocks["cam"].steps
    assert step.step_s == pytest.approx(3.0 * LIMIT_S, abs=3e-3)


def test_a_slow_drift_is_told_in_the_clocks():
    offsets = list(0.833e-6 * 20.0 * np.arange(180.0))
    course = pool(offsets).clocks["cam"]
    assert course.drift_ppm == pytest.approx(0.833, abs=0.2)
    assert course.drift_ppm > 3.0 * course.drift_std_ppm


def test_one_bad_clip_stays_rejected_and_is_told_apart():
    recording = pool([0.0] * 10 + [5.0 * LIMIT_S] + [0.0] * 10)
    assert verdicts(recording) == ["pass"] * 10 + ["reject"] + ["pass"] * 10
    warnings = [w for w in recording.verdicts[10].warnings if w.source == "cam"]
    assert any("this clip alone is off" in w.message for w in warnings)


def test_clips_in_any_order_give_the_same():
    offsets = list(np.linspace(0.0, 0.004, 12))
    records = [record(k, o) for k, o in enumerate(offsets)]
    clips = [clip(k) for k in range(12)]
    there = pool_clips(clips, records, load_policy())
    back = pool_clips(clips[::-1], records[::-1], load_policy())
    assert [without_times(v) for v in there.verdicts] == [
        without_times(v) for v in back.verdicts[::-1]
    ]


def test_a_clip_without_the_reference_does_no_harm():
    records = [record(k, 0.001) for k in range(4)]
    alone = clip(2, cam=CameraSpec(uri="c.mp4"))
    alone = replace(alone, reference=None)
    records[2] = replace(records[2], measurements=())
    recording = pool_clips([clip(0), clip(1), alone, clip(3)], records, load_policy())
    assert verdicts(recording) == ["pass"] * 4


def long_drive(n=13, every_s=360.0, seed=4):
    """Return clips of two cameras, an IMU and a bus; a camera drifts by 3 ms/h, the IMU reboots."""
    rng = np.random.default_rng(seed)
    sources = {
        "cam": CameraSpec(uri="c.mp4"),
        "left": CameraSpec(uri="l.mp4"),
        "imu": ImuSpec(uri="i.csv"),
        "can": CanSpec(uri="b.csv"),
    }
    clips, records = [], []
    for k in range(n):
        at_s = k * every_s
        truth_s = {
            "cam": 0.0,
            "left": 3e-3 / 3600.0 * at_s,
            "imu": -0.03 if at_s >= 2400.0 else 0.0,
            "can": 0.0,
        }
        at_ns = START_NS + round(at_s * 1e9)
        pairs = []
        for source, method, random_s, systematic_s in (
            ("cam", "rotation", 5e-4, 2.8e-4),
            ("left", "rotation", 5e-4, 2.8e-4),
            ("can", "yaw_rate", 5e-4, 1.3e-3),
        ):
            pairs.append(
                PairMeasurement(
                    source=source,
                    target="imu",
                    method=method,
                    at_ns=at_ns,
                    offset_s=truth_s[source] - truth_s["imu"] + random_s * rng.normal(),
                    offset_std_s=float(np.hypot(random_s, systematic_s)),
                    systematic_std_s=systematic_s,
                    accepted=True,
                )
            )
        given = Clip(clip_id=f"drive/{k}", recording_id="drive", sources=sources)
        clips.append(given)
        records.append(
            ClipRecord(at_ns=at_ns, span_s=9.0, max_offset_s=2.0, measurements=tuple(pairs))
        )
    return clips, records


def test_a_drive_is_bad_from_the_reboot_of_its_imu_on():
    clips, records = long_drive()
    recording = pool_clips(clips, records, load_policy())
    # Minute 40 lies between the clips of minutes 36 and 42.
    assert verdicts(recording) == ["pass"] * 7 + ["reject"] * 6
    assert all(r.source == "imu" for v in recording.verdicts for r in v.reasons)
    (step,) = recording.clocks["imu"].steps
    assert (step.after_ns, step.before_ns) == (records[6].at_ns, records[7].at_ns)
    # Two sides of six clips, 0.7 ms each.
    assert step.step_s == pytest.approx(-0.03, abs=2e-3)
    left = recording.clocks["left"]
    assert left.drift_ppm * 3.6 == pytest.approx(3.0, abs=3.0 * left.drift_std_ppm * 3.6)
    assert left.drift_std_ppm * 3.6 < 1.0
    assert not left.steps
    assert not recording.clocks["cam"].steps


def test_what_the_bus_has_wrong_in_every_clip_is_not_averaged_away():
    clips, records = long_drive(n=60, every_s=20.0)
    stated = [replace(clip, reference="can") for clip in clips]
    recording = pool_clips(stated, records, load_policy())
    # The cameras are linked to the bus through the IMU.
    for clock in ("imu", "cam", "left"):
        assert np.all(recording.clocks[clock].offset_std_s >= 1.3e-3)
