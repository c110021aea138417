"""Turn file system exceptions into readable errors."""

from __future__ import annotations

import errno
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

from syncaudit.errors import StreamReadError, one_line
from syncaudit.readers.access import is_url


def too_long_a_name(uri: str) -> StreamReadError:
    """Return the error for a `uri` too long for any file system."""
    return StreamReadError(
        "the file name is too long",
        code="missing_file",
        path=uri,
        hint="Correct it in the manifest, or in the table that names it.",
    )


@contextmanager
def reworded(uri: str) -> Iterator[None]:
    """Turn what file systems raise about a resolved `uri` into readable errors."""
    try:
        yield
    except StreamReadError:
        raise
    except FileNotFoundError as error:
        raise StreamReadError(
            "file not found",
            code="missing_file",
            path=uri,
            hint="Check the name; relative URIs start at the folder of the manifest.",
        ) from error
    except ImportError as error:
        raise StreamReadError(
            f"the file system of this URL is not installed ({error})",
            path=uri,
            hint="Install the fsspec package it names.",
        ) from error
    except PermissionError as error:
        raise StreamReadError(
            "no permission to read it", path=uri, hint="Check permissions or credentials."
        ) from error
    except (
        OSError,
        ValueError,
        RuntimeError,
        LookupError,
        TypeError,
        tarfile.TarError,
        zipfile.BadZipFile,
    ) as error:
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            raise too_long_a_name(uri) from error
        raise StreamReadError(
            f"cannot be read ({type(error).__name__}: {error})",
            path=uri,
            hint="Check the URI and whether the storage can be reached.",
        ) from error
    except Exception as error:  # remote stores raise their own exception types
        if not is_url(uri):
            raise
        raise StreamReadError(
            f"cannot be read ({type(error).__name__}: {one_line(error)})",
            path=uri,
            hint="Check the URI and whether the storage can be reached.",
        ) from error
