"""Names of clips and sources as names of folders and files: safe, distinct, always the same."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable

__all__ = ["file_names"]

_LONGEST = 120  # bytes; file systems take 255, and endings follow
# Names that mean a device on Windows.
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
)


def file_names(
    names: Iterable[str], *, plain: str = "._-", reserved: Iterable[str] = ()
) -> dict[str, str]:
    """Return a file name for every name.

    A name of letters and digits stays as it is. Where anything had to change, or two names
    differ only in case, a digest of the name is appended, so that a name's file does not depend
    on the names around it.

    Parameters
    ----------
    names : iterable of str
        Distinct names.
    plain : str
        Characters that are kept beside letters and digits.
    reserved : iterable of str
        File names that are taken.
    """
    drafts = {name: _draft(name, plain) for name in names}
    counts = Counter(draft.casefold() for name, draft in drafts.items() if draft == name)
    taken = {name.casefold() for name in reserved}
    found: dict[str, str] = {}
    for name, draft in drafts.items():
        is_free = not {draft.casefold(), draft.split(".")[0].casefold()} & (taken | _DEVICES)
        if is_free and draft == name and counts[name.casefold()] == 1:
            found[name] = name
    used = taken | {name.casefold() for name in found}
    for name, draft in drafts.items():
        if name in found:
            continue
        file = f"{draft}-{_digest(name)}"
        while file.casefold() in used:  # only a name made up to collide
            file += "_"
        used.add(file.casefold())
        found[name] = file
    return found


def _draft(name: str, plain: str) -> str:
    text = unicodedata.normalize("NFC", name)
    text = "".join(char if char.isalnum() or char in plain else "_" for char in text)
    text = text.encode("utf-8", "replace")[:_LONGEST].decode("utf-8", "ignore")
    return text.strip(".") or "_"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
