"""Convert model values to plain JSON: no NaN, no numpy, no enums."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import PurePath
from typing import Any

from syncaudit.model.field_names import field_names


def to_plain(value: Any) -> Any:
    """Return `value` as dicts, lists, strings, finite numbers, booleans and None.

    Dataclasses, pydantic models, numpy and enums are converted; anything else raises TypeError. A
    number that is not finite becomes None: JSON cannot represent it, and None means unknown.
    """
    # Most values are exactly of these types.
    kind = type(value)
    if value is None or kind is str or kind is bool or kind is int:
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is dict:
        return {k if type(k) is str else str(to_plain(k)): to_plain(v) for k, v in value.items()}
    if isinstance(value, str):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    return to_plain(_form(value))


def _form(value: object) -> object:
    """Convert a type that JSON lacks to one that it has, leaving its contents as they are."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(to_plain(key)): item for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((to_plain(item) for item in value), key=repr)
    if isinstance(value, PurePath):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: getattr(value, name) for name in field_names(type(value))}
    for method in ("model_dump", "tolist"):  # pydantic; numpy scalars and arrays
        convert = getattr(value, method, None)
        if callable(convert):
            return convert()
    raise TypeError(f"no plain form for {type(value).__name__}")


def json_line(value: object, *, sort_keys: bool = False) -> str:
    """Return `value` as one line of strict JSON, without the newline."""
    encode = _encoder(sort_keys=sort_keys).encode
    try:
        return encode(value)
    except (TypeError, ValueError):  # a number that is not finite, or an odd key: slow path
        return encode(to_plain(value))


@cache
def _encoder(*, sort_keys: bool) -> json.JSONEncoder:
    return json.JSONEncoder(default=_form, ensure_ascii=False, allow_nan=False, sort_keys=sort_keys)
