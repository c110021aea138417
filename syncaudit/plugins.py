"""Parts that are imported only if needed: of other packages, by entry points, and our own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module, metadata
from typing import Any, Protocol, TypeVar

from syncaudit.errors import UsageError

COMMANDS = "syncaudit.commands"
DETECTORS = "syncaudit.detectors"
ESTIMATORS = "syncaudit.estimators"
FORMATS = "syncaudit.formats"


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Member = TypeVar("_Member", bound=_Named)


def made_on_demand(module: str, name: str) -> Callable[[], Any]:
    """Return a function that makes an object of a class, and imports its module only then."""
    return lambda: getattr(import_module(module), name)()


def with_added(built_in: Iterable[_Member], group: str) -> tuple[_Member, ...]:
    """Return the members of a table, followed by those that other packages add.

    UsageError if one of another package cannot be imported, is of another type, or has a name that
    is taken: otherwise clips would pass or fail without its checks.
    """
    found = {each.name: each for each in built_in}
    kind = type(next(iter(found.values())))
    for point in entry_points_of(group):
        try:
            added = point.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # third-party code may raise anything
            raise _unusable(kind, point, f"cannot be imported ({error!r})") from error
        if not isinstance(added, kind) or added.name in found:
            raise _unusable(kind, point, f"is not a {kind.__name__} with its own name")
        found[added.name] = added
    return tuple(found.values())


def _unusable(kind: type, point: metadata.EntryPoint, why: str) -> UsageError:
    package = package_of(point)
    return UsageError(
        f"the {kind.__name__.lower()} of the package {package} {why}",
        hint=f"Install it again, or remove it with: pip uninstall {package}",
    )


def entry_points_of(group: str) -> list[metadata.EntryPoint]:
    """Return what is installed in a group of entry points, by name; nothing is imported."""
    return sorted(metadata.entry_points(group=group), key=lambda point: point.name)


def package_of(point: metadata.EntryPoint) -> str:
    """Return the package that an entry point comes from, by its name in pip."""
    return "syncaudit" if point.dist is None else point.dist.name


@cache
def versions_of(group: str) -> Mapping[str, str]:
    """Return what is installed in a group, and which version of which package adds it.

    Read once: this looks into every installed package, which takes as long as screening a clip.
    """
    return {
        point.name: f"{package_of(point)} {point.dist.version if point.dist else ''}".rstrip()
        for point in entry_points_of(group)
    }
