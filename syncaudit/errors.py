"""Expected errors: each states where, what was expected, what was found and what to do."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable

from syncaudit.machine_faults import machine_fault

_MOST_CHARACTERS = 2000


def cut(text: str) -> str:
    """Return a message of readable length: what it quotes may be megabytes long."""
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."


def _cut_inside(path: str) -> str:
    """Return a path shortened in the middle, so that both ends are readable."""
    half = _MOST_CHARACTERS // 4
    return path if len(path) <= 2 * half else f"{path[:half]}...{path[-half:]}"


class SyncAuditError(Exception):
    """Base of every error that syncaudit expects and words for users.

    The message states what is wrong, with the place; `path` is the file or URI concerned, `source`
    the stream of the clip, `hint` what to do about it.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        source: str | None = None,
        hint: str | None = None,
    ) -> None:
        message = cut(message)
        super().__init__(message)
        self.message = message
        self.path = path
        self.source = source
        self.hint = None if hint is None else cut(hint)

    def __str__(self) -> str:
        """Return place, message and remedy as a pair of sentences."""
        text = self.message
        if self.path and self.path not in text:
            text = f"{_cut_inside(self.path)}: {text}"
        if self.hint:
            text = f"{text.rstrip('.')}. {self.hint}"
        return text

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the keyword fields when the error crosses a process boundary."""
        return (_rebuild_error, (type(self), self.message, self.__dict__.copy()))


def _rebuild_error(
    kind: type[SyncAuditError], message: str, state: dict[str, object]
) -> SyncAuditError:
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class UsageError(SyncAuditError, ValueError):
    """The caller asked for something that does not exist or make sense."""


class ManifestError(SyncAuditError, ValueError):
    """A manifest breaks the contract; nothing is audited."""


class PolicyError(SyncAuditError, ValueError):
    """A policy breaks the contract; nothing is audited."""


class MissingExtraError(SyncAuditError, ImportError):
    """An optional package is not installed; the hint holds the pip line."""

    def __init__(self, package: str, *, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed",
            hint=f"Install it with: pip install 'syncaudit[{extra}]'",
        )
        self.package = package
        self.extra = extra


def require_matplotlib() -> None:
    """Raise `MissingExtraError` if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("matplotlib", extra="plots", purpose="drawing plots") from error


class AlignmentError(SyncAuditError):
    """A text could not be aligned, or the result is not reliable."""


class MachineError(SyncAuditError):
    """The machine, its storage or the network failed: the clip has no verdict."""


class ClipInputError(SyncAuditError):
    """A clip's data are defective; it becomes a finding of that clip.

    `code` is a stable reason code of the public contract (`syncaudit.model.ReasonCode`).
    If raised while an error of the machine is handled (a full disk, a server that is down), its
    `machine_fault` describes what was wrong, and it must not become a finding.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "unreadable",
        path: str | None = None,
        source: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, path=path, source=source, hint=hint)
        self.code = code
        self.machine_fault = machine_fault(sys.exception())


class StreamReadError(ClipInputError, OSError):
    """A stream's file cannot be read at all."""


def nearest_name(wrong: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests the nearest of `known` for `wrong`, or lists the members."""
    members = sorted(known)
    close = difflib.get_close_matches(wrong, members, n=1)
    if close:
        return f"Did you mean '{close[0]}'?"
    return f"Known: {', '.join(members)}." if members else "None is known."


def reason_of(error: BaseException) -> str:
    """Return what the system or FFmpeg says of an error, without number and path."""
    return str(getattr(error, "strerror", None) or error or type(error).__name__)


def one_line(error: BaseException) -> str:
    """Return the message of a library's error, on one line that fits into a sentence."""
    return " ".join(str(error).split())[:160]
