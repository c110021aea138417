"""Units that a manifest states, held to what each source has."""

from __future__ import annotations

from collections.abc import Collection

from syncaudit.errors import StreamReadError, nearest_name
from syncaudit.model import CanSpec, ImuSpec, SourceSpec, TranscriptSpec
from syncaudit.model.units import NS_PER_UNIT, STAMPS_KEY, units_of

__all__ = ["check_units"]


def check_units(name: str, spec: SourceSpec) -> None:
    """Refuse units of what a source does not have, and units that are not known."""
    known: dict[str, Collection[str]] = {}
    if not isinstance(spec, TranscriptSpec):
        known[STAMPS_KEY] = NS_PER_UNIT
    if isinstance(spec, ImuSpec):
        known |= {triple: units_of(triple) for triple in ("gyro", "accel")}
    if isinstance(spec, CanSpec):
        known |= {role: units_of(role) for role in spec.signals}
    for key, unit in spec.units.items():
        if key not in known:
            raise _wrong(f"'units' of {name} names '{key}', which it does not have", key, known)
        if unit not in known[key]:
            message = f"'units' of {name} says that {key} is in '{unit}', which is not known"
            raise _wrong(message, unit, known[key])


def _wrong(message: str, found: str, known: Collection[str]) -> StreamReadError:
    return StreamReadError(message, code="manifest", hint=nearest_name(found, known))
