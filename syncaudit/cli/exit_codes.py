"""Exit codes of every command (formats, section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum


class ExitCode(IntEnum):
    """Exit code for the shell."""

    DONE = 0  # no problems
    REJECTED = 1  # at least one clip is bad
    USAGE = 2  # wrong usage, manifest or policy: nothing was audited
    STOPPED = 3  # stopped early; finished clips are kept
    NOTHING_VERIFIED = 4  # every clip is unverified
    INTERRUPTED = 130  # Ctrl-C; finished clips are kept


class FailOn(StrEnum):
    """Mildest verdict with which a run counts as failed."""

    REJECT = "reject"
    UNVERIFIED = "unverified"
    NEVER = "never"


def code_for(
    counts: Mapping[str, int], *, fail_on: FailOn = FailOn.REJECT, stopped: str | None = None
) -> ExitCode:
    """Return the exit code of a run with these verdict counts.

    Stopping (``interrupted`` or ``terminated``) takes precedence over failing, and failing over
    "nothing could be verified".
    """
    if stopped is not None:
        return ExitCode.INTERRUPTED if stopped == "interrupted" else ExitCode.STOPPED
    rejected, unverified = counts["reject"], counts["unverified"]
    if rejected and fail_on is not FailOn.NEVER:
        return ExitCode.REJECTED
    if unverified and fail_on is FailOn.UNVERIFIED:
        return ExitCode.REJECTED
    if unverified and unverified == sum(counts.values()):
        return ExitCode.NOTHING_VERIFIED
    return ExitCode.DONE
