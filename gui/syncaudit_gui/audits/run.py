"""Run one audit and collect everything that the window draws of it."""

from __future__ import annotations

from collections.abc import Callable

from syncaudit.model import Clip, TranscriptStream
from syncaudit.pipeline import Examination, examine, rotations_throughout
from syncaudit.policy import Policy, load_policy
from syncaudit_gui.audits.process import AuditProgress, AuditResult
from syncaudit_gui.viewmodel.events import Event, EventKind, flash_times, train_events
from syncaudit_gui.viewmodel.judgement import Judgement


def run_audit(
    clip: Clip,
    policy: Policy | None,
    epoch_ns: int,
    n_frames: int,
    on_progress: Callable[[AuditProgress], None],
) -> AuditResult:
    """Audit a clip as `syncaudit validate` does, with identical results.

    Without a policy it is judged by the profile ``driving``. `on_progress` is called at every stage
    and at every frame. SyncAuditError if the clip cannot be audited at all.
    """
    n_done = 0

    def report(stage: str) -> None:
        nonlocal n_done
        n_done += stage == "decode"
        on_progress(AuditProgress(stage=stage, n_frames=n_done, n_all=n_frames))

    policy = policy or load_policy()
    examination = examine(clip, policy, on_stage=report)
    limits_s = {
        name: policy.limits(name, spec.kind).offset_s for name, spec in clip.sources.items()
    }
    return AuditResult(
        judgement=Judgement.of_verdict(examination.verdict, examination.solution, limits_s),
        row=examination.verdict.to_json(),
        events=tuple(_events(examination, epoch_ns)),
        rotations=rotations_throughout(examination),
        aligned={
            name: stream
            for name, stream in examination.streams.items()
            if isinstance(stream, TranscriptStream) and stream.tiers
        },
    )


def _events(examination: Examination, epoch_ns: int) -> list[Event]:
    found = examination.evidence
    events: list[Event] = []
    for name, flashes in found.flashes.items():
        events += [
            Event(kind=EventKind.FLASH, source=name, stamp_s=float(time_s))
            for time_s in flash_times(flashes, epoch_ns)
        ]
    for train in found.clicks.values():
        events += train_events(EventKind.ONSET, train, epoch_ns)
    for train in found.taps.values():
        events += train_events(EventKind.BUMP, train, epoch_ns)
    return events
