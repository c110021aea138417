"""One clip as one task, measured or judged again: whatever happens, a verdict row comes out."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from syncaudit.batch.fingerprint import fingerprint_of, policy_half, with_policy
from syncaudit.batch.plain import json_line
from syncaudit.errors import ClipInputError, SyncAuditError
from syncaudit.model import (
    Clip,
    ClipRecord,
    ClipVerdict,
    Finding,
    ReasonCode,
    SourceVerdict,
    Verdict,
    clock_of,
)
from syncaudit.policy import Policy
from syncaudit.readers.runs import sealed

__all__ = [
    "SWOLLEN",
    "AuditFunction",
    "AuditTask",
    "JudgeTask",
    "TaskResult",
    "failed_result",
    "failed_verdict",
    "row_result",
]

SWOLLEN = (
    "A damaged file may ask for any amount; if the clip is sound, cut it into shorter ones, "
    "raise --memory-limit or lower --workers."
)
"""What to do about a clip that memory did not suffice for."""

AuditFunction = Callable[..., ClipVerdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """What a task hands back; text only, so that every way of running gives the same bytes.

    Parameters
    ----------
    clip_id : str
        Clip concerned.
    verdict : str
        The clip's verdict.
    line : str
        Row of ``verdicts.jsonl``.
    fingerprint : str, optional
        Circumstances; None where the next run shall try again.
    trace : str, optional
        Traceback of an unexpected error, for the log.
    """

    clip_id: str
    verdict: str
    line: str
    fingerprint: str | None
    trace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTask:
    """The function that workers run: call it with a clip.

    Parameters
    ----------
    audit : callable
        ``audit(clip, policy, calibration=..., **settings) -> ClipVerdict``.
    policy : Policy
        Policy handed on.
    calibration : mapping, optional
        Known corrections handed on.
    settings : mapping
        Further arguments of `audit` that change what is measured.
    """

    audit: AuditFunction
    policy: Policy
    calibration: Mapping[str, object] | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    _judged_by: str = field(init=False)

    def __post_init__(self) -> None:
        """Digest the policy once."""
        object.__setattr__(self, "_judged_by", policy_half(self.policy))

    def fingerprint(self, clip: Clip) -> str | None:
        """Return what the verdict on a clip depends on (`fingerprint_of`)."""
        return fingerprint_of(
            clip,
            self.policy,
            calibration=self.calibration,
            settings=self.settings,
            judged_by=self._judged_by,
        )

    def __call__(self, clip: Clip) -> TaskResult:
        """Audit `clip`; an exception becomes a reject with its reason."""
        fingerprint = None
        try:
            # Before the audit: a file that changes meanwhile is then audited again.
            fingerprint = self.fingerprint(clip)
            verdict = self.audit(clip, self.policy, calibration=self.calibration, **self.settings)
            return row_result(verdict, fingerprint)
        except ClipInputError as error:
            verdict = failed_verdict(clip, _code(error.code), str(error), source=error.source)
            return row_result(verdict, fingerprint)
        except SyncAuditError as error:
            # The machine lacks something (an optional package): another run may fare better.
            return row_result(failed_verdict(clip, ReasonCode.UNREADABLE, str(error)), None)
        except MemoryError as error:
            message = (
                f"the audit asked for more memory than there is ({_first_line(error)}). {SWOLLEN}"
            )
            return row_result(failed_verdict(clip, ReasonCode.UNREADABLE, message), None)
        except Exception as error:  # noqa: BLE001  # the per-clip boundary
            return _defect(clip, "the audit", error)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeTask:
    """Judges a clip anew by what was measured before: call it with (clip, row).

    Parameters
    ----------
    policy : Policy
        The new policy.
    """

    policy: Policy
    _judged_by: str = field(init=False)

    def __post_init__(self) -> None:
        """Digest the policy once."""
        object.__setattr__(self, "_judged_by", policy_half(self.policy))

    def __call__(self, item: tuple[Clip, dict[str, Any]]) -> TaskResult:
        """Judge; a row without measurements (a crash, a timeout) stays as it is."""
        clip, row = item
        try:
            return self._judge(clip, row)
        except Exception as error:  # noqa: BLE001  # the per-clip boundary
            return _defect(clip, "judging what was measured", error)

    def _judge(self, clip: Clip, row: dict[str, Any]) -> TaskResult:
        record = ClipRecord.from_row(row)
        fingerprint = row.get("fingerprint")
        if fingerprint is not None:
            fingerprint = with_policy(fingerprint, self._judged_by)
        if record is None:
            kept = {key: value for key, value in row.items() if key != "digest"}
            return TaskResult(
                clip_id=clip.clip_id,
                verdict=row["verdict"],
                line=sealed(json_line({**kept, "fingerprint": fingerprint})),
                fingerprint=fingerprint,
            )
        from syncaudit.pipeline import conclude  # heavy

        _, verdict = conclude(clip, record, self.policy)
        return row_result(verdict, fingerprint)


def failed_verdict(
    clip: Clip, code: ReasonCode, message: str, *, source: str | None = None
) -> ClipVerdict:
    """Return the reject of a clip that could not be audited to the end."""
    reason = Finding(code=code, message=message, source=source)
    sources = {
        name: SourceVerdict(
            verdict=Verdict.REJECT if name == source else Verdict.UNVERIFIED,
            kind=str(spec.kind),
            clock=clock_of(name, spec),
        )
        for name, spec in clip.sources.items()
    }
    return ClipVerdict(
        clip_id=clip.clip_id,
        recording_id=clip.recording_id,
        verdict=Verdict.REJECT,
        reasons=(reason,),
        sources=sources,
    )


def _defect(clip: Clip, what: str, error: Exception) -> TaskResult:
    message = (
        f"{what} failed with {type(error).__name__}: {_first_line(error)}. "
        "This is a defect of syncaudit; errors.log has the details."
    )
    verdict = failed_verdict(clip, ReasonCode.UNREADABLE, message)
    return row_result(verdict, None, trace=traceback.format_exc())


def failed_result(clip: Clip, code: ReasonCode, message: str) -> TaskResult:
    """Return the result of a clip whose worker never answered; never remembered."""
    return row_result(failed_verdict(clip, code, message), None)


def row_result(
    verdict: ClipVerdict, fingerprint: str | None, *, trace: str | None = None
) -> TaskResult:
    """Return a verdict as its row."""
    line = sealed(json_line({**verdict.to_json(), "fingerprint": fingerprint}))
    return TaskResult(
        clip_id=verdict.clip_id,
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
