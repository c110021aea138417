"""What kind of file a name is of."""

from __future__ import annotations

__all__ = ["PICTURES", "is_picture", "suffix_of"]

PICTURES = frozenset(
    {".bmp", ".jp2", ".jpe", ".jpeg", ".jpg", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff"}
    | {".webp"}
)


def is_picture(path: str) -> bool:
    """Return whether a file is a picture by its name."""
    return suffix_of(path) in PICTURES


def suffix_of(path: str) -> str:
    """Return the ending of a file's name in lower case, of what is in an archive the archive's."""
    name = path.split("::")[0].rstrip("/").rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    return f"{dot}{ending.lower()}" if stem.strip(".") else ""  # of hidden files the dot is none
