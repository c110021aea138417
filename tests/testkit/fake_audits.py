"""Audit functions for tests: picklable, and succeeding or failing as the clip id requests."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from syncaudit.errors import ClipInputError, MissingExtraError
from syncaudit.model import (
    AgreementCurve,
    CameraSpec,
    Clip,
    ClipVerdict,
    EventResiduals,
    Finding,
    ImuSpec,
    PairMeasurement,
    ReasonCode,
    SourceVerdict,
    StampAudit,
    Verdict,
)
from syncaudit.policy import Limits, Policy

POLICY = Policy(name="test", kinds={"camera": Limits(offset_s=0.010)})

AT_NS = 1_767_225_610_000_000_000


def make_clip(clip_id: str, *, base_uri: str = "", uri: str = "cam.mp4") -> Clip:
    return Clip(
        clip_id=clip_id,
        recording_id=clip_id.split("/")[0],
        base_uri=base_uri,
        sources={
            "cam_rear": CameraSpec(uri=uri, timestamps="cam.csv"),
            "imu": ImuSpec(uri="imu.csv"),
        },
    )


def verdict_for(clip: Clip, verdict: Verdict, *, offset_s: float = 0.0351) -> ClipVerdict:
    timing = StampAudit(samples=238, rate_hz=12.0, jitter_s=0.0011, steps=((AT_NS, 0.02),))
    is_reject = verdict is Verdict.REJECT
    is_observable = verdict is not Verdict.UNVERIFIED
    offset = offset_s if is_reject else 0.0004
    reason = Finding(
        code=ReasonCode.OFFSET if is_reject else ReasonCode.UNOBSERVABLE,
        source="cam_rear",
        message=f"cam_rear stamps {offset * 1e3:.1f} ± 0.6 ms early; limit 10 ms",
        value=offset,
        limit=0.010,
    )
    pairs = (
        PairMeasurement(
            source="cam_rear",
            target="imu",
            method="rotation",
            at_ns=AT_NS,
            offset_s=offset,
            offset_std_s=0.0007,
            accepted=is_observable,
            why=None if is_observable else "the car stands still",
            diagnostics={"gap": 31.5},
            evidence=AgreementCurve(
                start_s=-0.01, step_s=0.01, peak_s=0.0004, levels=bytes([9, 250, 255])
            ),
        ),
        PairMeasurement(
            source="imu",
            target="cam_rear",
            method="onset",
            at_ns=AT_NS,
            step_s=0.01,
            step_std_s=0.001,
            step_at_ns=AT_NS,
            why="no event seen",
            evidence=EventResiduals.of(np.array([-1.0, 2.0]), np.array([1e-4, -2e-4])),
        ),
    )
    camera = SourceVerdict(
        verdict=verdict,
        kind="camera",
        clock="cam_rear",
        offset_s=offset if is_observable else None,
        offset_std_s=0.0006 if is_observable else None,
        is_observable=is_observable,
        timing=timing,
    )
    imu = SourceVerdict(
        verdict=Verdict.PASS,
        kind="imu",
        clock="imu",
        offset_s=0.0,
        offset_std_s=0.0001,
        is_observable=True,
    )
    return ClipVerdict(
        clip_id=clip.clip_id,
        recording_id=clip.recording_id,
        verdict=verdict,
        reasons=() if verdict is Verdict.PASS else (reason,),
        warnings=(Finding(code=ReasonCode.JITTER, message="uneven stamps", source="imu"),),
        reference="imu",
        at_ns=AT_NS,
        sources={"cam_rear": camera, "imu": imu},
        pairs=pairs,
        seconds=0.01,
        stages={"decode": 0.006, "solve": 0.004},
    )


def audit(
    clip: Clip, policy: Policy, *, calibration: Mapping[str, object] | None = None
) -> ClipVerdict:
    """Do what the clip id requests; leave a mark in the folder FAKE_MARKS."""
    if folder := os.environ.get("FAKE_MARKS"):
        (Path(folder) / f"{clip.clip_id}.{os.getpid()}.{time.monotonic_ns()}").touch()
    name = clip.clip_id
    if "crash" in name:
        os.abort()
    if "killed" in name:
        os.kill(os.getpid(), 9)
    if "once" in name:  # crashes on the first attempt only
        flag = Path(os.environ["FAKE_MARKS"]) / "died"
        if not flag.exists():
            flag.touch()
            os._exit(7)
    if "swell" in name:
        held = np.ones(600_000_000, np.uint8)
        time.sleep(0.4)
        del held
    if "starve" in name:
        raise MemoryError("Unable to allocate 7.28 TiB")
    if "hang" in name:
        time.sleep(60)
    if "slow" in name:
        time.sleep(0.15)
    if "broken" in name:
        raise ClipInputError("cam.mp4 ends early", code="corrupt", source="cam_rear")
    if "extra" in name:
        raise MissingExtraError("asammdf", extra="mdf", purpose="reading .mf4")
    if "bug" in name:
        raise ZeroDivisionError("division by zero")
    if "reject" in name:
        return verdict_for(clip, Verdict.REJECT)
    if "silent" in name:
        return verdict_for(clip, Verdict.UNVERIFIED)
    return verdict_for(clip, Verdict.PASS)


def interrupting_audit(
    clip: Clip, policy: Policy, *, calibration: Mapping[str, object] | None = None
) -> ClipVerdict:
    """Simulate Ctrl-C at the clip called `stop`."""
    if clip.clip_id == "stop":
        raise KeyboardInterrupt
    return audit(clip, policy, calibration=calibration)
