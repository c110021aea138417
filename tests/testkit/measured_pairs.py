"""Measurements between two sources, accepted and rejected."""

from __future__ import annotations

from syncaudit.model import PairMeasurement

AT_NS = 1_767_225_610_000_000_000


def pair(
    source: str, target: str, offset_s: float, std_s: float = 3e-4, **more: object
) -> PairMeasurement:
    """Return an accepted rotation measurement; `more` sets other fields."""
    fields: dict[str, object] = {"method": "rotation", "at_ns": AT_NS, "accepted": True} | more
    return PairMeasurement(
        source=source,
        target=target,
        offset_s=offset_s,
        offset_std_s=std_s,
        **fields,  # type: ignore[arg-type]  # fields of the record
    )


def refused_pair(source: str, target: str, why: str, **more: object) -> PairMeasurement:
    """Return a rotation measurement that was rejected because of `why`."""
    fields: dict[str, object] = {"method": "rotation"} | more
    return PairMeasurement(
        source=source,
        target=target,
        at_ns=AT_NS,
        why=why,
        **fields,  # type: ignore[arg-type]  # fields of the record
    )
