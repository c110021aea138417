"""Audits in a separate process, so that the window never blocks; no Qt in here.

An audit can be stopped at any time, whatever it is doing.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from syncaudit.errors import SyncAuditError
from syncaudit.model import Clip, RotationIncrements, TranscriptStream
from syncaudit.pipeline import Examination, examine, rotations_throughout
from syncaudit.policy import Policy, load_policy
from syncaudit.readers.access import Roots, hold_process_to, process_roots
from syncaudit_gui.viewmodel.events import Event, EventKind, flash_times, train_events
from syncaudit_gui.viewmodel.judgement import Judgement

_REPORT_EVERY_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditProgress:
    """Progress of an audit."""

    stage: str  # ``read``, ``stamps``, ``decode``, ``detect``, ``estimate`` or ``solve``
    n_frames: int  # frames decoded, of `n_all` to decode
    n_all: int

    @property
    def share(self) -> float:
        """Fraction of the frames that is done, in [0, 1]."""
        return min(1.0, self.n_frames / self.n_all) if self.n_all else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AuditResult:
    """Results of a completed audit that the window draws."""

    judgement: Judgement  # verdict, estimates, measurements
    row: Mapping[str, object]  # the row of ``verdicts.jsonl``
    events: tuple[Event, ...] = ()  # flashes, knocks and clicks
    # Camera motion measured from the frames.
    rotations: Mapping[str, RotationIncrements] = field(default_factory=dict)
    # Transcripts aligned by the aligner.
    aligned: Mapping[str, TranscriptStream] = field(default_factory=dict)


AuditMessage = AuditProgress | AuditResult | str
"""How far an audit is, its result, or why it ended without one."""


class AuditProcess:
    """One running audit.

    `on_message` receives every message, on a thread of this object; the last one is a result or a
    failure, unless the audit was cancelled.
    """

    def __init__(
        self,
        clip: Clip,
        policy: Policy | None,
        *,
        epoch_ns: int,
        n_frames: int,
        on_message: Callable[[AuditMessage], None],
    ) -> None:
        # A forked process would share the window's connection to the screen.
        context = multiprocessing.get_context("spawn")
        self._receiver, sender = context.Pipe(duplex=False)
        self._on_message = on_message
        self._is_cancelled = False
        self._process = context.Process(
            target=_audit,
            args=(sender, clip, policy, epoch_ns, n_frames, process_roots()),
            daemon=True,
        )
        self._process.start()
        sender.close()
        self._thread = threading.Thread(target=self._listen, name="syncaudit-audit", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Stop the audit and wait for its process to end; no message follows."""
        self._is_cancelled = True
        self._process.kill()
        self._thread.join()

    def _listen(self) -> None:
        is_answered = False
        with suppress(EOFError, OSError):
            while not is_answered:
                message = self._receiver.recv()
                is_answered = not isinstance(message, AuditProgress)
                if not self._is_cancelled:
                    self._on_message(message)
        self._process.join()
        self._receiver.close()
        if not is_answered and not self._is_cancelled:
            why = f"the audit ended without an answer (exit code {self._process.exitcode})"
            self._on_message(why)


def _audit(
    sender: Connection,
    clip: Clip,
    policy: Policy | None,
    epoch_ns: int,
    n_frames: int,
    roots: Roots | None,
) -> None:
    if roots is not None:
        hold_process_to(roots)
    threading.Thread(target=_end_with_parent, name="syncaudit-parent", daemon=True).start()
    reported_s = 0.0

    def report(progress: AuditProgress) -> None:
        nonlocal reported_s
        now_s = time.monotonic()
        if now_s - reported_s >= _REPORT_EVERY_S:
            reported_s = now_s
            sender.send(progress)

    with suppress(BrokenPipeError):  # the window is gone
        try:
            sender.send(run_audit(clip, policy, epoch_ns, n_frames, report))
        except SyncAuditError as error:
            sender.send(str(error))
        except Exception as error:  # noqa: BLE001  # the boundary of the process
            first = str(error).splitlines()[0] if str(error) else ""
            why = f"the audit failed with {type(error).__name__}: {first}"
            sender.send(f"{why}. This is a defect of syncaudit.")


def _end_with_parent() -> None:
    """End this process as soon as the window's process ends, even if that was killed or crashed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


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
