"""Find where logs belong that count from a start of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from syncaudit.formatting import word_correction
from syncaudit.model import ClipEvidence, Finding, PairMeasurement, ReasonCode, Severity

__all__ = ["find_own_starts"]


def find_own_starts(
    evidence: ClipEvidence, measured: Iterable[PairMeasurement]
) -> Iterator[Finding]:
    """Yield a doubt for every source whose start is not stated.

    The most precise measurement of it, or of another source on the same clock, determines by how
    much to move it.
    """
    pairs = [each for pair in measured if pair.accepted for each in (pair, pair.turned())]
    for name in sorted(evidence.undated):
        own = [
            pair
            for pair in pairs
            if (pair.source == name or evidence.share_a_clock(pair.source, name))
            and pair.target not in evidence.undated
        ]
        best = min(own, key=lambda pair: pair.offset_std_s or 0.0, default=None)
        if best is None or best.offset_s is None:
            where, cure = "nothing in the clip states when that is", "State it in the manifest."
        else:
            words = f"its timestamps are {word_correction(best.offset_s, best.offset_std_s)}"
            where = f"{words} against {best.target} ({best.method.replace('_', ' ')})"
            cure = "Correct them by that and remove 'is_start_assumed'."
        yield Finding(
            code=ReasonCode.MANIFEST,
            source=name,
            message=f"{name} counts from its own start: {where}. {cure}",
            value=None if best is None else best.offset_s,
            severity=Severity.DOUBT,
        )
