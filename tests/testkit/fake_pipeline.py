"""A pipeline controlled by clip ids; `python fake_pipeline.py ARGS` runs the CLI on it."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import ModuleType, SimpleNamespace

import numpy as np

from syncaudit.errors import ClipInputError
from syncaudit.model import (
    ClockEstimate,
    ClockSolution,
    EdgeResidual,
    LoopClosure,
    ReasonCode,
    SourceKind,
    StampAudit,
    StampRemark,
    Stream,
    Verdict,
)
from testkit import fake_audits


def audit(clip, policy, *, calibration=None, is_screen=False, decoder="cpu", is_thorough=False):
    if is_screen:
        return fake_audits.verdict_for(clip, Verdict.UNVERIFIED)
    if clip.clip_id == "stop":
        raise KeyboardInterrupt
    if clip.clip_id == "terminate":
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)
    return fake_audits.audit(clip, policy, calibration=calibration)


def examine(clip, policy, *, calibration=None, decoder="cpu"):
    if "broken" in clip.clip_id:
        raise ClipInputError("cam.mp4 ends early", code="corrupt", source="cam_rear")
    if "bug" in clip.clip_id:
        raise ZeroDivisionError("division by zero")
    verdict = fake_audits.audit(clip, policy, calibration=calibration)
    clocks = {
        "imu": ClockEstimate(clock="imu", is_observable=True, offset_s=0.0, offset_std_s=1e-4),
        "cam_rear": ClockEstimate(
            clock="cam_rear",
            is_observable=True,
            offset_s=0.0351,
            offset_std_s=0.0006,
            drift_ppm=19.8,
            drift_std_ppm=3.1,
            n_measurements=1,
        ),
        "mic": ClockEstimate(clock="mic", is_observable=False),
    }
    loop = LoopClosure(clocks=("imu", "cam_rear", "can"), closure_s=0.004, closure_std_s=0.001)
    solution = ClockSolution(
        reference="imu",
        is_reference_stated=False,
        at_ns=fake_audits.AT_NS,
        clocks=clocks,
        edges=(EdgeResidual(index=0, residual_s=0.0, z=0.3, is_contradicted=False),),
        loops=(loop,),
    )
    stream = Stream(
        name="imu",
        clock="imu",
        kind=SourceKind.IMU,
        time_ns=np.arange(3, dtype=np.int64),
        uri="imu.csv",
    )
    return SimpleNamespace(
        verdict=verdict,
        streams={"imu": stream},
        measurements=verdict.pairs,
        solution=solution,
        stamps={
            "imu": StampAudit(
                samples=2000,
                rate_hz=100.0,
                jitter_s=1e-4,
                missing=3,
                remarks=(StampRemark(code=ReasonCode.RATE, text="w"),),
            )
        },
    )


class DataSet:
    """Clips that have nothing in common."""

    def __init__(self, name, policy):
        pass

    def add(self, clip, row):
        pass

    def clocks(self):
        return None


def pipeline() -> ModuleType:
    """Return the stand-in for `syncaudit.pipeline`."""
    module = ModuleType("syncaudit.pipeline")
    module.audit = audit
    module.examine = examine
    module.DataSet = DataSet
    return module


if __name__ == "__main__":
    sys.modules["syncaudit.pipeline"] = pipeline()
    from syncaudit.cli import main

    main()
