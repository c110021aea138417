"""A clip of four clocks, one of which steps in the middle."""

from __future__ import annotations

import json

import numpy as np
from syncaudit_gui.viewmodel.clip_model import ClipModel, build_clip
from syncaudit_gui.viewmodel.judgement import Judgement

from syncaudit.model import (
    Channel,
    Clip,
    ClipRecord,
    ImuSpec,
    PairMeasurement,
    SignalStream,
    SourceKind,
)
from syncaudit.pipeline import ReadClip
from syncaudit.pipeline.conclude import conclude
from syncaudit.policy import load_policy
from testkit.measured_pairs import pair

START_NS = 1_767_225_600_000_000_000
AT_NS = START_NS + 10 * 10**9
STEP_S = 0.03
NAMES = ("imu", "a", "b", "c")
# Rounding of float64 seconds and whole nanoseconds.
EXACT_S = 1e-7
# No sample coincides with the step.
TIMES_S = np.arange(0.05, 20.0, 0.1)


def measured(source: str, target: str, step_s: float, step_after_s: float) -> PairMeasurement:
    return pair(
        source,
        target,
        0.0,
        3e-4,
        method="angular_rate",
        at_ns=AT_NS,
        step_s=step_s,
        step_std_s=3e-4,
        step_at_ns=AT_NS + round(step_after_s * 1e9),
    )


def opened(reference: str, step_after_s: float, *, is_from_row: bool) -> ClipModel:
    """Return a clip whose `imu` steps: the correction of its timestamps increases by STEP_S."""
    clip = Clip(
        clip_id="x",
        recording_id="x",
        start_ns=START_NS,
        end_ns=START_NS + 20 * 10**9,
        reference=reference,
        sources={name: ImuSpec(uri=f"{name}.csv") for name in NAMES},
    )
    # Pair offset = correction(source) - correction(imu): it decreases as that of the imu increases.
    pairs = tuple(measured(name, "imu", -STEP_S, step_after_s) for name in NAMES[1:])
    record = ClipRecord(at_ns=AT_NS, span_s=20.0, max_offset_s=2.0, measurements=pairs)
    solution, verdict = conclude(clip, record, load_policy())
    model = build_clip(clip, ReadClip(streams={name: signal(name) for name in NAMES}))
    if is_from_row:
        row = json.loads(json.dumps(verdict.to_json()))
        model.judgement = Judgement.of_row(row, clip)
    else:
        model.judgement = Judgement.of_verdict(verdict, solution)
    model.is_corrected = True
    model.show_findings(is_shown=True)
    return model


def signal(name: str) -> SignalStream:
    stamps = START_NS + np.rint(TIMES_S * 1e9).astype(np.int64)
    channel = Channel(name="gyro", time_ns=stamps, values=np.zeros((stamps.size, 3)))
    return SignalStream(
        name=name, clock=name, kind=SourceKind.IMU, time_ns=stamps, channels=(channel,)
    )
