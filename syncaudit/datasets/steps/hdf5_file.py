"""Open HDF5 files of strangers, and list the arrays that they themselves hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from syncaudit.datasets.source import Source
from syncaudit.errors import ManifestError, MissingExtraError, one_line

if TYPE_CHECKING:
    import h5py

__all__ = ["arrays_of", "child_of", "open_hdf5", "require_h5py"]

# Groups within groups: robots' files have five.
_MOST_DEPTH = 12


def require_h5py(name: str) -> None:
    """Refuse to read the format `name` without h5py, with the pip line."""
    if find_spec("h5py") is None:
        raise MissingExtraError("h5py", extra="hdf5", purpose=f"the format {name}")


@contextmanager
def open_hdf5(source: Source, name: str) -> Iterator[h5py.File]:
    """Open a file of a data set.

    Raises
    ------
    ManifestError
        If it is no HDF5, or breaks off.
    """
    import h5py

    with suppress(ImportError):  # packings that HDF5 does not have itself
        import hdf5plugin  # noqa: F401
    with source.local(name) as path:
        try:
            file = h5py.File(path, "r", locking=False)
        except (OSError, RuntimeError) as error:
            raise ManifestError(
                f"is not an intact HDF5 file ({one_line(error)})",
                path=source.uri_of(name),
                hint="Copy it again; if its recorder was killed, h5clear -s may help.",
            ) from error
        with file:
            yield file


def child_of(group: h5py.Group, name: str) -> Any:
    """Return the group or array of that name in a group; None where there is none.

    Links to other files and places are not followed: a file of a stranger reads itself alone.
    """
    import h5py

    for part in name.split("/"):
        if not isinstance(group, h5py.Group) or part not in group:
            return None
        if not isinstance(group.get(part, getlink=True), h5py.HardLink):
            return None
        group = group[part]
    return group


def arrays_of(group: h5py.Group) -> Iterator[tuple[str, h5py.Dataset]]:
    """Yield (name with ``/`` between groups, array) of all that a group holds."""
    yield from _arrays(group, "", _MOST_DEPTH)


def _arrays(group: h5py.Group, prefix: str, depth: int) -> Iterator[tuple[str, h5py.Dataset]]:
    import h5py

    for name in group:
        child = child_of(group, name)
        if isinstance(child, h5py.Group) and depth:
            yield from _arrays(child, f"{prefix}{name}/", depth - 1)
        elif isinstance(child, h5py.Dataset) and child.shape and _is_own(child):
            yield f"{prefix}{name}", child


def _is_own(array: h5py.Dataset) -> bool:
    """Return whether an array is read from its own file alone."""
    return not array.is_virtual and array.external is None
