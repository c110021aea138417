"""True stamps of real devices are not rejected, whole or cut to windows."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from syncaudit.detectors import audit_streams
from syncaudit.model import CameraStream, FrameFiles, SignalStream, SourceKind, Stream
from syncaudit.policy import load_policy
from syncaudit.policy.stamps import judge_stamps

pytestmark = pytest.mark.realdata


def as_stream(kind: str, stamps: object) -> Stream:
    fields = {"name": "x", "clock": "x", "kind": SourceKind(kind), "time_ns": stamps}
    if kind == "camera":
        return CameraStream(**fields, files=FrameFiles(paths=("x.mp4",)))  # type: ignore[arg-type]  # as named
    return SignalStream(**fields)  # type: ignore[arg-type]  # as named


@pytest.mark.parametrize("profile", ["driving", "vla"])
def test_no_true_stamps_are_rejected(
    recordings: ModuleType, monkeypatch: pytest.MonkeyPatch, profile: str
) -> None:
    monkeypatch.syspath_prepend(str(Path(recordings.__file__ or "").parent))
    from stamp_recordings import real_columns

    policy = load_policy(profile=profile)
    n, rejected = 0, []
    for name, kind, stamps in real_columns():
        audit = audit_streams({"x": as_stream(kind, stamps)})["x"]
        found = judge_stamps(name, audit, policy.limits(name, kind))
        rejected += [finding.message for finding in found if str(finding.severity) == "defect"]
        n += 1
    assert rejected == []
    assert n > 600
