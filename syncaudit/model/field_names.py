"""The fields of dataclasses, and what of a JSON object belongs to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["field_names", "fields_of", "known_fields"]


@cache
def field_names(kind: type[DataclassInstance]) -> tuple[str, ...]:
    """Return the names of the fields, in their order."""
    return tuple(field.name for field in fields(kind))


def known_fields(kind: type[DataclassInstance], item: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an object holds of the fields; other versions wrote fewer keys, or more."""
    return {name: item[name] for name in field_names(kind) if name in item}


def fields_of(value: DataclassInstance) -> dict[str, Any]:
    """Return what a record holds by the names of its fields, in their order, and nothing copied."""
    return {name: getattr(value, name) for name in field_names(type(value))}
