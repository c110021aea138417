"""One clip as one task, measured or judged again: every outcome yields a verdict row."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from syncaudit.batch.fingerprint import fingerprint_of, policy_half, with_policy
from syncaudit.batch.json_encoding import json_line
from syncaudit.errors import ClipInputError, MachineError, SyncAuditError
from syncaudit.machine_faults import machine_fault, may_pass
from syncaudit.model import Clip, ClipVerdict, Finding, ReasonCode, SourceVerdict, Verdict, clock_of
from syncaudit.policy import Policy
from syncaudit.readers.access import Roots, within_roots
from syncaudit.readers.runs import sealed
from syncaudit.readers.uris import remove_unused_copies

OUT_OF_MEMORY_HINT = (
    "A damaged file may demand any amount of memory; if the clip is sound, cut it into shorter "
    "ones, raise --memory-limit or lower --workers."
)
"""Advice for a clip that ran out of memory."""

WAITS_S = (1.0, 4.0)
"""A busy server or a full disk may recover within seconds; longer waits would delay a run."""

AuditFunction = Callable[..., ClipVerdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """Result of a task; text only, so that every engine returns the same bytes."""

    verdict: str
    line: str  # row of ``verdicts.jsonl``
    fingerprint: str | None  # None if the next run must try again
    trace: str | None = None  # of an unexpected error, for the log
    is_passing: bool = False  # the machine failed, not the data; retrying soon may help


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTask:
    """The function that workers run; call it with a clip."""

    audit: AuditFunction  # ``audit(clip, policy, calibration=..., **settings) -> ClipVerdict``
    policy: Policy
    calibration: Mapping[str, object] | None = None
    settings: Mapping[str, object] = field(default_factory=dict)  # what changes measurements
    roots: Roots | None = None  # None: the current restriction
    waits_s: tuple[float, ...] = WAITS_S  # before each retry after a machine failure
    _judged_by: str = field(init=False)

    def __post_init__(self) -> None:
        """Digest the policy once."""
        object.__setattr__(self, "_judged_by", policy_half(self.policy))

    def fingerprint(self, clip: Clip) -> str | None:
        """Return the digest that the verdict on a clip depends on (`fingerprint_of`)."""
        with self._held():
            return fingerprint_of(
                clip,
                self.policy,
                calibration=self.calibration,
                settings=self.settings,
                judged_by=self._judged_by,
            )

    def _held(self) -> AbstractContextManager[None]:
        return nullcontext() if self.roots is None else within_roots(self.roots)

    def __call__(self, clip: Clip) -> TaskResult:
        """Audit `clip`; bad data are rejected with a reason.

        After a machine failure the audit is retried after a while; if it keeps failing, the clip
        is `unverified`, and the result is not remembered.
        """
        for wait_s in self.waits_s:
            result = self._try(clip)
            if not result.is_passing:
                return result
            time.sleep(wait_s)
        return self._try(clip)

    def _try(self, clip: Clip) -> TaskResult:
        fingerprint = None
        try:
            # Before the audit: a file that changes during it is then audited again.
            fingerprint = self.fingerprint(clip)
            with self._held():
                verdict = self.audit(
                    clip, self.policy, calibration=self.calibration, **self.settings
                )
            return row_result(verdict, fingerprint)
        except Exception as error:  # noqa: BLE001  # the per-clip boundary
            return _failed(clip, error, fingerprint)
        finally:
            remove_unused_copies()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeTask:
    """Judges a clip again from its measurements; call it with (clip, row)."""

    policy: Policy
    _judged_by: str = field(init=False)

    def __post_init__(self) -> None:
        """Digest the policy once."""
        object.__setattr__(self, "_judged_by", policy_half(self.policy))

    def __call__(self, item: tuple[Clip, str]) -> TaskResult:
        """Judge; a line without measurements (a crash, a timeout) is left as it is."""
        clip, line = item
        try:
            return self._judge(clip, json.loads(line))
        except Exception as error:  # noqa: BLE001  # the per-clip boundary
            return _defect(clip, "judging what was measured", error)

    def _judge(self, clip: Clip, row: dict[str, Any]) -> TaskResult:
        record = ClipVerdict.from_row(row).record
        fingerprint = row.get("fingerprint")
        if fingerprint is not None:
            fingerprint = with_policy(fingerprint, self._judged_by, clip.about)
        if record is None:
            kept = {key: value for key, value in row.items() if key != "digest"}
            return TaskResult(
                verdict=row["verdict"],
                line=sealed(json_line({**kept, "fingerprint": fingerprint})),
                fingerprint=fingerprint,
            )
        from syncaudit.pipeline import conclude  # heavy

        _, verdict = conclude(clip, record, self.policy)
        return row_result(verdict, fingerprint)


def failed_verdict(
    clip: Clip,
    code: ReasonCode,
    message: str,
    *,
    source: str | None = None,
    verdict: Verdict = Verdict.REJECT,
) -> ClipVerdict:
    """Return the verdict on a clip that could not be fully audited."""
    reason = Finding(code=code, message=message, source=source)
    sources = {
        name: SourceVerdict(
            verdict=verdict if name == source else Verdict.UNVERIFIED,
            kind=str(spec.kind),
            clock=clock_of(name, spec),
        )
        for name, spec in clip.sources.items()
    }
    return ClipVerdict(
        clip_id=clip.clip_id,
        recording_id=clip.recording_id,
        verdict=verdict,
        reasons=(reason,),
        sources=sources,
        about=clip.about,
    )


def _failed(clip: Clip, error: Exception, fingerprint: str | None) -> TaskResult:
    """Return the result of a clip whose audit raised the error being handled."""
    fault = error.machine_fault if isinstance(error, ClipInputError) else machine_fault(error)
    source = error.source if isinstance(error, SyncAuditError) else None
    if fault is not None or isinstance(error, MachineError):
        return _machine_fault(clip, error, source)
    if isinstance(error, ClipInputError):
        verdict = failed_verdict(clip, _code(error.code), str(error), source=source)
        return row_result(verdict, fingerprint)
    if isinstance(error, SyncAuditError):  # another run may succeed
        return failed_result(clip, ReasonCode.UNREADABLE, str(error))
    if isinstance(error, MemoryError):
        message = (
            f"the audit needed more memory than is available ({_first_line(error)}). "
            f"{OUT_OF_MEMORY_HINT}"
        )
        return failed_result(clip, ReasonCode.UNREADABLE, message)
    return _defect(clip, "the audit", error)


def _machine_fault(clip: Clip, error: Exception, source: str | None) -> TaskResult:
    message = str(error)
    if not isinstance(error, MachineError):
        message = (
            f"nothing can be said of this clip: {machine_fault(error)} ({_first_line(error)}). Fix "
            "that and run it again: the clip is then measured again."
        )
    verdict = failed_verdict(
        clip, ReasonCode.UNREADABLE, message, source=source, verdict=Verdict.UNVERIFIED
    )
    return replace(row_result(verdict, None), is_passing=may_pass(error))


def _defect(clip: Clip, what: str, error: Exception) -> TaskResult:
    message = (
        f"{what} failed with {type(error).__name__}: {_first_line(error)}. "
        "This is a defect of syncaudit; errors.log has the details."
    )
    verdict = failed_verdict(clip, ReasonCode.UNREADABLE, message)
    return row_result(verdict, None, trace=traceback.format_exc())


def failed_result(
    clip: Clip, code: ReasonCode, message: str, *, verdict: Verdict = Verdict.REJECT
) -> TaskResult:
    """Return the result of a clip whose worker never answered; it is never remembered."""
    return row_result(failed_verdict(clip, code, message, verdict=verdict), None)


def row_result(
    verdict: ClipVerdict, fingerprint: str | None, *, trace: str | None = None
) -> TaskResult:
    """Return a verdict as a task result."""
    line = sealed(json_line({**verdict.to_json(), "fingerprint": fingerprint}))
    return TaskResult(
        verdict=str(verdict.verdict),
        line=line,
        fingerprint=fingerprint,
        trace=trace,
    )


def _code(code: str) -> ReasonCode:
    try:
        return ReasonCode(code)
    except ValueError:
        return ReasonCode.UNREADABLE


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:300] if text else "no message"
