"""Open untrusted HDF5 files, and list the arrays that they hold themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from syncaudit.datasets.source import Source
from syncaudit.datasets.steps.arrays import READ_ERRORS
from syncaudit.errors import ManifestError, MissingExtraError, one_line
from syncaudit.readers.uris import natural_key

if TYPE_CHECKING:
    import h5py


def require_h5py(name: str) -> None:
    """Raise an error with the pip command if h5py, needed for the format `name`, is missing."""
    if find_spec("h5py") is None:
        raise MissingExtraError("h5py", extra="hdf5", purpose=f"the format {name}")


@contextmanager
def open_hdf5(source: Source, name: str) -> Iterator[h5py.File]:
    """Open a file of a data set.

    ManifestError if it is not HDF5, or is truncated.
    """
    import h5py

    with suppress(ImportError):  # compression filters that HDF5 lacks
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
    """Return the group or array with that name in a group; None if there is none.

    Links to other files and places are not followed: an untrusted file may only read itself.
    ManifestError if the file is damaged.
    """
    import h5py

    with _worded(group):
        for part in name.split("/"):
            if not isinstance(group, h5py.Group) or part not in group:
                return None
            if not isinstance(group.get(part, getlink=True), h5py.HardLink):
                return None
            group = group[part]
    return group


def names_in(group: Any) -> list[str]:
    """Return the names in a group in natural order; none if it is not a group.

    ManifestError if the file is damaged.
    """
    import h5py

    if not isinstance(group, h5py.Group):
        return []
    with _worded(group):
        return sorted(group, key=natural_key)


def arrays_of(group: h5py.Group) -> dict[str, h5py.Dataset]:
    """Return all arrays in a group by name, with ``/`` between groups.

    ManifestError if the file is damaged.
    """
    import h5py

    found: dict[str, h5py.Dataset] = {}

    def take(name: str, item: Any) -> None:
        is_array = isinstance(item, h5py.Dataset) and item.shape
        if is_array and not item.is_virtual and item.external is None:  # reads its own file only
            found[name] = item

    with _worded(group):
        group.visititems(take)  # follows no links, and no group twice
    return found


@contextmanager
def _worded(group: h5py.Group) -> Iterator[None]:
    try:
        yield
    except READ_ERRORS as error:
        raise ManifestError(
            f"cannot be read below '{group.name}' ({one_line(error)})", hint="Copy it again."
        ) from error
