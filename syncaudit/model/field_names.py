"""The fields of dataclasses, and the keys of a JSON object that match them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@cache
def field_names(kind: type[DataclassInstance]) -> tuple[str, ...]:
    """Return the names of the fields, in their order."""
    return tuple(field.name for field in fields(kind))


def known_fields(kind: type[DataclassInstance], item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of an object that are fields; other versions wrote fewer keys, or more."""
    return {name: item[name] for name in field_names(kind) if name in item}


def fields_of(value: DataclassInstance) -> dict[str, Any]:
    """Return the values of a record by the names of its fields, in their order, without copying."""
    return {name: getattr(value, name) for name in field_names(type(value))}
