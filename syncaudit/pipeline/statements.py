"""Find what a manifest states, or leaves unstated, about cameras that flashes contradict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from syncaudit.estimators.events import METHOD, READ_UP, are_equally_high, why_bands_contradict
from syncaudit.model import ClipEvidence, Finding, FlashEdges, PairMeasurement, ReasonCode, Severity


def contradicted_statements(
    evidence: ClipEvidence, measured: Iterable[PairMeasurement]
) -> Iterator[Finding]:
    """Yield a finding for every camera whose flashes contradict its exposure and line delay.

    Only flashes are evidence: those that another source saw too (an accepted measurement has
    matched those of both, beyond chance), or that left bands of one height.
    """
    confirmed = {
        name
        for pair in measured
        if pair.accepted and pair.method == METHOD
        for name in (pair.source, pair.target)
    }
    for name, flashes in evidence.flashes.items():
        if not isinstance(flashes, FlashEdges):
            continue
        why = why_bands_contradict(flashes)
        if why is not None and (name in confirmed or are_equally_high(flashes)):
            yield Finding(
                code=ReasonCode.MANIFEST,
                source=name,
                message=f"{name}: {why}",
                severity=Severity.DOUBT if flashes.stamp_part else Severity.WARNING,
            )


def cameras_read_upwards(measured: Iterable[PairMeasurement]) -> list[Finding]:
    """Return a warning for every camera whose flashes match only if its images are read upwards."""
    names = {
        name
        for pair in measured
        if pair.accepted
        for side, name in (("source", pair.source), ("target", pair.target))
        if f"{side}_{READ_UP}" in pair.diagnostics
    }
    return [
        Finding.warning(
            ReasonCode.MANIFEST,
            name,
            f"{name}: its flashes match those of others only if its images are read from the last "
            'row to the first, as if rotated by 180 degrees: state "scan": "up" in the manifest',
        )
        for name in sorted(names)
    ]
