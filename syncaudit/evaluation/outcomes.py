"""Outcome of the filter on one variant, compared with its control."""

from __future__ import annotations

from enum import StrEnum

from syncaudit.evaluation.injected import Injected
from syncaudit.evaluation.judged import Judged
from syncaudit.model import Verdict


class Outcome(StrEnum):
    """Outcome for an injected error."""

    FOUND = "found"
    """Rejected, with the moved source named."""
    OTHER_BLAMED = "other_blamed"
    """Rejected because of the change, but another source is named."""
    UNVERIFIED = "unverified"
    """Held back: too little evidence."""
    UNJUDGED = "unjudged"
    """The clip passed, while the moved source itself was unverified and not required."""
    PASSED = "passed"
    """Passed as correct."""


def outcome_of(injected: Injected, variant: Judged, control: Judged | None) -> Outcome | None:
    """Return the outcome for a variant.

    None if the moved source has no verdict, or is already rejected in the control: the verdict on
    the same clip with nothing moved, whose rejected sources do not count as found.
    """
    moved = set(injected.moved)
    before = frozenset[str]() if control is None else control.blamed
    source = variant.sources.get(injected.source or "")
    if source is None or moved & before:
        return None
    was_rejected = control is not None and control.verdict is Verdict.REJECT
    if moved & variant.blamed:
        return Outcome.FOUND
    is_rejected = variant.verdict is Verdict.REJECT
    if variant.blamed - before or (is_rejected and not was_rejected):
        return Outcome.OTHER_BLAMED
    if variant.verdict is Verdict.UNVERIFIED:
        return Outcome.UNVERIFIED
    if source.verdict is Verdict.UNVERIFIED:
        # A clip that is rejected for another reason does not get past the filter.
        return Outcome.UNVERIFIED if is_rejected else Outcome.UNJUDGED
    return Outcome.PASSED
