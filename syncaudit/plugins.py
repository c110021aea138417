"""Packages of others that add commands, formats or estimators through entry points."""

from __future__ import annotations

from importlib import metadata

__all__ = ["COMMANDS", "ESTIMATORS", "FORMATS", "entry_points_of", "package_of", "versions_of"]

COMMANDS = "syncaudit.commands"
ESTIMATORS = "syncaudit.estimators"
FORMATS = "syncaudit.formats"


def entry_points_of(group: str) -> list[metadata.EntryPoint]:
    """Return what is installed in a group of entry points, by name; nothing is imported."""
    return sorted(metadata.entry_points(group=group), key=lambda point: point.name)


def package_of(point: metadata.EntryPoint) -> str:
    """Return the package that an entry point comes from, as pip names it."""
    return "syncaudit" if point.dist is None else point.dist.name


def versions_of(group: str) -> dict[str, str]:
    """Return what is installed in a group, and which version of which package adds it."""
    return {
        point.name: f"{package_of(point)} {point.dist.version if point.dist else ''}".rstrip()
        for point in entry_points_of(group)
    }
