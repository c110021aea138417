"""Report faults of what is read: errors that stop a source, and findings that leave it usable."""

from __future__ import annotations

import errno
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError, one_line
from syncaudit.model import (
    MOST_VALUE,
    Channel,
    Finding,
    ReasonCode,
    Severity,
    SourceKind,
    SourceSpec,
    clock_of,
    is_usable,
)
from syncaudit.readers.access import is_url

# The noise of a sensor seldom repeats all of its values. One that repeats more of its rows than
# this elsewhere, as a coarse one does at rest, may also repeat them for long.
_MOST_REPEATED = 0.05
# Shortest time and number of rows for which that tells of a fault.
_HANG_S, _HANG_ROWS = 0.25, 10


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


class StreamFields(TypedDict):
    """The fields that every stream has."""

    name: str
    clock: str
    kind: SourceKind
    time_ns: NDArray[np.int64]
    uri: str
    stamp_kind: str
    findings: tuple[Finding, ...]


def stream_fields(
    name: str,
    spec: SourceSpec,
    uri: str,
    time_ns: NDArray[np.int64],
    findings: Iterable[Finding],
) -> StreamFields:
    """Return the fields of a source's stream that do not depend on its kind."""
    return {
        "name": name,
        "clock": clock_of(name, spec),
        "kind": SourceKind(spec.kind),
        "time_ns": time_ns,
        "uri": uri,
        "stamp_kind": spec.stamp_kind,
        "findings": tuple(findings),
    }


def non_finite(
    values: NDArray[np.float64], names: Sequence[str], *, uri: str, first_row: int = 0
) -> tuple[Finding, ...]:
    """Return a finding if samples are NaN, infinite or absurdly large, else nothing.

    `values` have shape (n, d), `names` are the d columns of the file; `first_row` is the number of
    the first sample for people.
    """
    with np.errstate(invalid="ignore"):  # no temporary array in the good case
        if not values.size or bool(values.min() >= -MOST_VALUE and values.max() <= MOST_VALUE):
            return ()
    bad = ~is_usable(values)
    n_bad = int(np.count_nonzero(bad.any(axis=1)))
    if not n_bad:
        return ()
    row = int(np.argmax(bad.any(axis=1)))
    columns = ", ".join(name for place, name in enumerate(names) if bool(bad[:, place].any()))
    return (
        Finding(
            code=ReasonCode.NON_FINITE,
            message=f"{uri}: {n_bad} of {len(values)} samples are blank, NaN, infinite or "
            f"beyond {MOST_VALUE:g} in {columns}, the first in row {row + first_row}. "
            "Export the recording without them.",
            value=float(n_bad),
            limit=0.0,
        ),
    )


def empty_stream(uri: str, what: str) -> tuple[Finding, ...]:
    """Return the finding for a file that holds nothing of a clip."""
    return (
        Finding(
            code=ReasonCode.EMPTY,
            message=f"{uri} holds no {what} of this clip. Record or export it again.",
            value=0.0,
        ),
    )


def assumed_start(uri: str) -> Finding:
    """Return the doubt about a source without a stated start: offsets refer to a guess."""
    return Finding(
        code=ReasonCode.MANIFEST,
        message=f"{uri}: nothing states when it began, so its start is assumed, and what is "
        "measured is the offset of that assumption. Give 'start_ns', or 'timestamps'.",
        severity=Severity.DOUBT,
    )


def assumed_rate() -> Finding:
    """Return the doubt about a source whose samples are only numbered: its time is a guess."""
    return Finding(
        code=ReasonCode.RATE,
        message="its samples are numbered, and nothing states a time or a rate: numbers are "
        "not timestamps. Import it with timestamps, or with its rate (rate_hz in --rules).",
        severity=Severity.DOUBT,
    )


def warned(
    code: ReasonCode, message: str, value: float | None = None, limit: float | None = None
) -> Finding:
    """Return a finding that rejects nothing."""
    return Finding.warning(code, None, message, value=value, limit=limit)


def noted(lines: Sequence[str]) -> tuple[Finding, ...]:
    """Return the findings that a data set's importer left in the manifest, as warnings.

    Those known to be unobservable, such as the motion of a stabilised camera, prevent a pass.
    """
    found = [(ReasonCode(code), text) for code, _, text in (line.partition(":") for line in lines)]
    return tuple(
        Finding(
            code=code,
            message=text.strip(),
            severity=Severity.DOUBT if code is ReasonCode.UNOBSERVABLE else Severity.WARNING,
        )
        for code, text in found
    )


def longest_hang(
    time_ns: NDArray[np.int64], channels: Sequence[Channel]
) -> tuple[int, float] | None:
    """Return where all values stay the same for a while, as noise never does, or None.

    The first sample, and for how many seconds. `time_ns`, shape (n,), is common to the channels.
    """
    if len(time_ns) < 2 * _HANG_ROWS or not channels:
        return None
    is_new = np.ones(len(time_ns) + 1, dtype=np.bool_)
    is_new[1:-1] = np.any([np.any(c.values[1:] != c.values[:-1], axis=1) for c in channels], axis=0)
    starts = np.flatnonzero(is_new)
    lengths = np.diff(starts)
    longest = int(np.argmax(lengths))
    first, n_rows = int(starts[longest]), int(lengths[longest])
    rest = len(time_ns) - n_rows
    n_repeated = rest - (lengths.size - 1)
    span_s = float(time_ns[first + n_rows - 1] - time_ns[first]) * 1e-9
    if min(n_rows, rest) < _HANG_ROWS or span_s < _HANG_S or n_repeated > _MOST_REPEATED * rest:
        return None
    return first, span_s


def hung(what: str, span_s: float, place: str) -> Finding:
    """Return the warning about such values (`what`), from a place on."""
    return warned(
        ReasonCode.DUPLICATE,
        f"{what} stay the same for {span_s:.3g} s from {place} on, and hardly ever elsewhere: the "
        "sensor or its driver hung.",
    )
