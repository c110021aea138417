"""Read JSON of a data set incrementally: lines, and long lists of objects."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any

from syncaudit.datasets.source import Source, parse_json, refuse_half_pairs
from syncaudit.errors import ManifestError, one_line
from syncaudit.limits import ROW_CHARACTERS

__all__ = ["iter_json_lines", "iter_json_list"]

_CHUNK = 1 << 16


def iter_json_lines(source: Source, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield ("line 3", object) of a JSON Lines file."""
    with source.open(name) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = parse_json(line)
            except (ValueError, RecursionError) as error:
                raise _damaged(source, name, f"line {number}", error) from error
            yield f"line {number}", _checked(source, name, f"line {number}", row)


def iter_json_list(source: Source, name: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file that is one list, which may take gigabytes, incrementally."""
    decoder = json.JSONDecoder()
    decode = codecs.getincrementaldecoder("utf-8")()
    text, at, number = "", 0, 0
    with source.open(name) as file:
        is_open = False
        while True:
            # For a long item, double the size each time: it is parsed again from its start.
            chunk = file.read(max(_CHUNK, len(text) - at))
            try:
                text = text[at:] + decode.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                raise _damaged(source, name, f"item {number}", error) from error
            at = 0
            if not is_open:
                at = _past(text, 0, "\ufeff \t\r\n")
                if at == len(text) and chunk:
                    continue
                if text[at : at + 1] != "[":
                    raise ManifestError(
                        "is not a list of objects", path=source.uri_of(name), hint="Copy it again."
                    )
                at, is_open = at + 1, True
            while True:
                at = start = _past(text, at, ", \t\r\n")
                if text[start : start + 1] == "]":
                    return
                try:
                    row, end = decoder.raw_decode(text, start)
                    refuse_half_pairs(text[start:end], row)
                except (ValueError, RecursionError) as error:
                    if chunk and len(text) - start < ROW_CHARACTERS:
                        break  # the rest of this item is in the next chunk
                    raise _damaged(source, name, f"item {number}", error) from error
                if end == len(text) and chunk:
                    break
                at, number = end, number + 1
                yield _checked(source, name, f"item {number - 1}", row)


def _past(text: str, at: int, characters: str) -> int:
    while at < len(text) and text[at] in characters:
        at += 1
    return at


def _checked(source: Source, name: str, where: str, row: object) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise ManifestError(f"{where} is not an object", path=source.uri_of(name))
    return row


def _damaged(source: Source, name: str, where: str, error: Exception) -> ManifestError:
    return ManifestError(
        f"{where} is not valid JSON ({one_line(error)})",
        path=source.uri_of(name),
        hint="Copy the file again.",
    )
