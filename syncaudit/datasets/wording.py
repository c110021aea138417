"""Format validation errors of manifest rows for users."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from syncaudit.errors import ManifestError, nearest_name
from syncaudit.model import SPEC_OF_KIND, Distortion, SourceKind

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_Content = TypeVar("_Content")

_UNKNOWN_KEY = frozenset({"extra_forbidden", "unexpected_keyword_argument"})

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "dict_type": "an object",
    "mapping_type": "an object",
    "list_type": "a list",
    "dataclass_type": "an object",
    "dataclass_exact_type": "an object",
    "model_attributes_type": "an object with 'kind' and 'uri'",
}


def describe(value: object) -> str:
    """Format a value as it appears in the file, truncated to a readable length."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    # Formatting huge numbers takes seconds.
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of some {value.bit_length() * 3 // 10} digits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def checked(kind: type[_Content], content: object, *, path: str) -> _Content:
    """Return parsed JSON as a dataclass whose annotations are checked (``__pydantic_config__``).

    ManifestError if a key is missing or has a wrong type.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_json(json.dumps(content))
    except ValidationError as error:
        message, hint = word_validation_error(error, kind)
        raise ManifestError(message, path=path, hint=hint) from error


def word_validation_error(error: ValidationError, row: type) -> tuple[str, str]:
    """Return (what is wrong, what to do) for the first fault of a row, and count the others."""
    faults = error.errors(include_url=False)
    # A misspelt key appears as an unknown and perhaps as a missing one: the former is more useful.
    faults.sort(key=lambda fault: fault["type"] not in _UNKNOWN_KEY)
    message, hint = _word(faults[0], row)
    if len(faults) > 1:
        message += f" (and {len(faults) - 1} more fault(s))"
    return message, hint


def _word(fault: ErrorDetails, row: type) -> tuple[str, str]:
    at, owner = _place(fault["loc"], row)
    kind = fault["type"]
    context: dict[str, Any] = fault.get("ctx", {})
    if kind in _UNKNOWN_KEY:
        key = str(fault["loc"][-1])
        known = [field.name for field in fields(owner)]
        return f"unknown key {at}", nearest_name(key, known)
    if kind in {"missing", "missing_argument", "missing_keyword_only_argument"}:
        return f"{at} is missing", f"Add the key '{fault['loc'][-1]}'."
    if kind == "union_tag_not_found":
        return f"{at}.kind is missing", f"Add 'kind': one of {', '.join(SourceKind)}."
    if kind == "union_tag_invalid":
        found = str(context.get("tag"))
        return f"{at}.kind is '{found}', which does not exist", nearest_name(found, SourceKind)
    if kind == "literal_error":
        choices = str(context.get("expected"))
        members = [part.strip().strip("'") for part in choices.replace(" or ", ",").split(",")]
        found = describe(fault["input"])
        return f"{at} is {found}, expected {choices}", nearest_name(found.strip("'"), members)
    found = describe(fault["input"])
    expected = _EXPECTED.get(kind)
    if expected is None:
        return f"{at} is {found}: {fault['msg'].lower()}", "Correct the value."
    hint = f"Write {expected}."
    if kind.startswith("int") and isinstance(fault["input"], float):
        hint = (
            "Write nanoseconds as integers (pandas turns integer columns with gaps into floats: "
            "use the type Int64)."
        )
    elif isinstance(fault["input"], str) and expected.endswith("number"):
        hint = f"Write {expected} without quotes."
    return f"{at} is {found}, expected {expected}", hint


def _place(loc: tuple[int | str, ...], row: type) -> tuple[str, type]:
    """Return the key path without pydantic's union tags, and the class that owns the key."""
    parts = [str(part) for part in loc]
    owner = row
    if len(parts) >= 3 and parts[0] == "sources" and parts[2] in SPEC_OF_KIND:
        owner = SPEC_OF_KIND[parts[2]]
        del parts[2]
        if parts[2:3] == ["distortion"] and len(parts) > 3:
            owner = Distortion
    return ".".join(part for part in parts if part != "[key]") or "the row", owner
