"""Catch batches that would make a loss explode, and name the samples responsible."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from syncaudit.errors import SyncAuditError, UsageError
from syncaudit.writing import append_line

_Sample = TypeVar("_Sample")
_LOGGER = logging.getLogger("syncaudit.ingest")


class BadSampleError(SyncAuditError, ValueError):
    """A sample does not meet the expectations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Requirements on a field of a sample; None is not checked."""

    shape: tuple[int | None, ...] | None = None  # lengths of the axes; None accepts any
    dtype: str | None = None  # name of the type, such as ``float32``
    low: float | None = None  # smallest value allowed
    high: float | None = None  # largest value allowed


def guard(
    collate: Callable[[list[Any]], Any],
    *,
    expected: Mapping[str, Expected] | None = None,
    id_of: Callable[[Any], str] | None = None,
    on_bad: Literal["skip", "raise"] = "skip",
    log: str | Path | None = None,
) -> Callable[[Sequence[Any]], Any]:
    """Return a collate function that checks every sample first.

    NaN and infinite numbers and empty arrays are always bad; shape, type and range are checked
    if given. Bad samples are logged with their ids, then skipped or raised.

    Parameters
    ----------
    collate : callable
        The collate function that makes a batch of samples.
    expected : mapping of str to Expected, optional
        By field: ``camera.front``, ``0`` for sequences, "" for a sample that is an array itself.
    id_of : callable, optional
        Id of a sample; default its ``clip_id``, ``__key__`` or ``id``, else its index in the batch.
    on_bad : {"skip", "raise"}
        A batch without any good sample raises in any case.
    log : str or Path, optional
        JSON Lines file that gets one row per bad sample.

    Returns
    -------
    callable
        Takes a list of samples.

    Raises
    ------
    BadSampleError
        Raised by the returned function for a bad sample, or if no good one is left.
    """
    if on_bad not in ("skip", "raise"):
        raise UsageError(f"on_bad is '{on_bad}', expected 'skip' or 'raise'")
    wanted = dict(expected or {})

    def guarded(samples: Sequence[Any]) -> Any:
        good, messages = [], []
        for place, sample in enumerate(samples):
            faults = list(_faults(sample, wanted))
            if not faults:
                good.append(sample)
                continue
            name = _id(sample, place) if id_of is None else id_of(sample)
            messages.append(f"sample {name}: {'; '.join(faults)}")
            _LOGGER.warning("%s", messages[-1])
            if log is not None:
                append_line(Path(log), json.dumps({"sample": name, "faults": faults}) + "\n")
        if messages and (on_bad == "raise" or not good):
            more = f" (and {len(messages) - 1} more)" if len(messages) > 1 else ""
            raise BadSampleError(
                f"{messages[0]}{more}", hint="'syncaudit trace' shows what is known about its clip."
            )
        return collate(good)

    return guarded


def bisect(samples: Sequence[_Sample], breaks: Callable[[list[_Sample]], object]) -> list[_Sample]:
    """Return a minimal part of a batch that still breaks a function; [] if the batch does not.

    `breaks` raises or returns non-finite values. Removing any one of the samples returned fixes it.
    Leaves out halves at first, then ever smaller parts (delta debugging; Zeller, Hildebrandt,
    "Simplifying and isolating failure-inducing input", IEEE Trans. Software Engineering 28, 2002).
    One guilty sample among n takes about 2 log2(n) calls.
    """
    if not _breaks(breaks, list(samples)):
        return []
    left, n_parts = list(samples), 2
    while len(left) > 1:
        size = math.ceil(len(left) / n_parts)
        starts = range(0, len(left), size)
        part = _first(breaks, (left[k : k + size] for k in starts))
        if part is not None:
            left, n_parts = part, 2
            continue
        rest = _first(breaks, (left[:k] + left[k + size :] for k in starts))
        if rest is not None:
            left, n_parts = rest, max(n_parts - 1, 2)
        elif n_parts >= len(left):
            break
        else:
            n_parts = min(2 * n_parts, len(left))
    return left


def _first(
    breaks: Callable[[list[_Sample]], object], choices: Iterable[list[_Sample]]
) -> list[_Sample] | None:
    return next((some for some in choices if some and _breaks(breaks, some)), None)


def _breaks(function: Callable[[list[Any]], object], samples: list[Any]) -> bool:
    try:
        result = function(samples)
    except Exception:  # noqa: BLE001  # any exception counts as breaking
        return True
    return any(_count_bad(array) for _, array in _arrays(result))


def _id(sample: Any, place: int) -> str:
    if isinstance(sample, Mapping):
        for key in ("clip_id", "__key__", "id"):
            if key in sample:
                return str(sample[key])
    return f"#{place}"


def _faults(sample: Any, expected: Mapping[str, Expected]) -> Iterator[str]:
    seen = set()
    for field, array in _arrays(sample):
        seen.add(field)
        at = f"{field}: " if field else ""
        if array.size == 0:
            yield f"{at}empty"
            continue
        n_bad = _count_bad(array)
        if n_bad:
            yield f"{at}{n_bad} of {array.size} values are NaN or infinite"
        if field in expected:
            yield from (f"{at}{fault}" for fault in _misfits(array, expected[field]))
    for field in expected:
        if field not in seen:
            yield f"{field}: missing"


def _misfits(array: np.ndarray[Any, Any], wanted: Expected) -> Iterator[str]:
    if wanted.shape is not None and not (
        array.ndim == len(wanted.shape)
        and all(w in (None, n) for n, w in zip(array.shape, wanted.shape, strict=True))
    ):
        yield f"shape {array.shape}, expected {wanted.shape}"
    if wanted.dtype is not None and array.dtype != np.dtype(wanted.dtype):
        yield f"type {array.dtype}, expected {wanted.dtype}"
    if array.dtype.kind not in "biuf":
        return
    with np.errstate(invalid="ignore"):
        if wanted.low is not None and np.any(array < wanted.low):
            yield f"smallest value {array.min()}, expected at least {wanted.low}"
        if wanted.high is not None and np.any(array > wanted.high):
            yield f"largest value {array.max()}, expected at most {wanted.high}"


def _arrays(value: Any, field: str = "") -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield (dotted name, array) for every number and array in a nested sample."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _arrays(item, f"{field}.{key}" if field else str(key))
    elif isinstance(value, list | tuple) and not all(isinstance(x, int | float) for x in value):
        for place, item in enumerate(value):
            yield from _arrays(item, f"{field}.{place}" if field else str(place))
    elif isinstance(value, str | bytes) or value is None:
        return
    else:
        try:
            # Tensors on a device: detach and copy, as their own numpy() refuses to.
            if hasattr(value, "detach"):
                value = value.detach().cpu()
            array = np.asarray(value)
        except (TypeError, ValueError, RuntimeError):
            return
        if array.dtype != object:
            yield field, array


def _count_bad(array: np.ndarray[Any, Any]) -> int:
    return int(np.count_nonzero(~np.isfinite(array))) if array.dtype.kind in "fc" else 0
