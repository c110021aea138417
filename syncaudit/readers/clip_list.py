"""Read user-supplied lists of clips."""

from __future__ import annotations

import json

from syncaudit.errors import UsageError
from syncaudit.readers.csv_table import decode_text
from syncaudit.readers.uris import read_bytes


def read_clip_ids(path: str, *, may_be_empty: bool = False) -> frozenset[str]:
    """Return the clips of a manifest, of verdict rows, or of a text with one clip_id per line.

    `path` is local or any fsspec URL. Blank lines and lines that begin with ``#`` are ignored.
    UsageError if it cannot be read, is empty (unless it `may_be_empty`), or a JSON line has no
    ``clip_id``.
    """
    found = set()
    for number, line in enumerate(decode_text(path, read_bytes(path)).splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if text.startswith("{"):
            try:
                text = json.loads(text)["clip_id"]
            except (ValueError, KeyError, RecursionError) as error:
                raise UsageError(
                    f"line {number} is not valid JSON with a 'clip_id'",
                    path=path,
                    hint="Expected a manifest, or one clip_id per line.",
                ) from error
        found.add(str(text))
    if not found and not may_be_empty:
        raise UsageError("lists no clip", path=path, hint="Write one clip_id per line.")
    return frozenset(found)
