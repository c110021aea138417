"""Names of the fields of a dataclass, looked up once for each."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["field_names"]


@cache
def field_names(kind: type[DataclassInstance]) -> tuple[str, ...]:
    """Return the names of the fields, in their order."""
    return tuple(field.name for field in fields(kind))
