"""Filters for common training data loaders; each uses a `VerdictIndex` and imports no loader."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

import numpy as np

from syncaudit.errors import MissingExtraError, UsageError
from syncaudit.ingest.verdict_index import VerdictIndex

_Sample = TypeVar("_Sample")
# Parts of a WebDataset sample that may be its manifest row: the one added to a copied sample, and
# the one that other clips are packed with.
_ROW_PARTS = ("syncaudit.json", "json")


class PassedDataset(Generic[_Sample]):
    """Map-style data set (PyTorch, or anything with a length) without clips that did not pass.

    `clip_ids` holds the clip id of every sample, or is a function from index to clip id that does
    not read samples.
    """

    def __init__(
        self,
        dataset: Sequence[_Sample],
        verdicts: VerdictIndex,
        clip_ids: Sequence[str] | Callable[[int], str],
    ) -> None:
        n = len(dataset)
        if not callable(clip_ids):
            if len(clip_ids) != n:
                raise ValueError(f"{len(clip_ids)} clip ids for {n} samples")
            clip_ids = clip_ids.__getitem__
        self._dataset = dataset
        self.indices = [k for k in range(n) if verdicts.admits(clip_ids(k))]
        """Indices of the remaining samples in the wrapped data set."""

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> _Sample:
        return self._dataset[self.indices[index]]


class PassedStream(Generic[_Sample]):
    """Iterable data set without clips that did not pass; `clip_id_of` returns that of a sample.

    PyTorch's loader requires an `IterableDataset`: `syncaudit.ingest.torch_stream` makes one.
    """

    def __init__(
        self,
        dataset: Iterable[_Sample],
        verdicts: VerdictIndex,
        clip_id_of: Callable[[_Sample], str],
    ) -> None:
        self._dataset = dataset
        self._verdicts = verdicts
        self._clip_id_of = clip_id_of

    def __iter__(self) -> Iterator[_Sample]:
        for sample in self._dataset:
            if self._verdicts.admits(self._clip_id_of(sample)):
                yield sample


def torch_stream(
    dataset: Iterable[Any], verdicts: VerdictIndex, clip_id_of: Callable[[Any], str]
) -> Any:
    """Return an `IterableDataset` without clips that did not pass; arguments as for `PassedStream`.

    The wrapped `IterableDataset` splits its work among the loader's workers as before.
    MissingExtraError if PyTorch is not installed.
    """
    try:
        from torch.utils.data import IterableDataset
    except ImportError as error:
        raise MissingExtraError("torch", extra="torch", purpose="torch_stream") from error

    class _Passed(PassedStream[Any], IterableDataset):  # type: ignore[misc]  # torch is untyped
        """A `PassedStream` that PyTorch's loader accepts."""

    return _Passed(dataset, verdicts, clip_id_of)


def _ids_of(sample: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the possible clip ids of a WebDataset sample, the likeliest first.

    That of the manifest row which `syncaudit export-shards` adds; ``shard/key``, as written by
    `syncaudit manifest webdataset`, since keys may repeat between shards; or the key alone, as in a
    user's own manifest.
    """
    for content in filter(None, map(sample.get, _ROW_PARTS)):
        with suppress(ValueError, TypeError, RecursionError):  # the data set's own part
            row = content if isinstance(content, dict) else json.loads(content)
            if isinstance(row, dict) and {"clip_id", "sources"} <= row.keys():
                return (str(row["clip_id"]),)
    key = str(sample["__key__"]).removeprefix("./")
    url = str(sample.get("__url__", ""))
    shard = url.rstrip("/").rpartition("/")[2].removesuffix(".tar")
    return (f"{shard}/{key}", key) if shard else (key,)


def passed_samples(
    verdicts: VerdictIndex, clip_id_of: Callable[[Mapping[str, Any]], str] | None = None
) -> Callable[[Iterable[Mapping[str, Any]]], Iterator[Mapping[str, Any]]]:
    """Return a stage for WebDataset pipelines: ``WebDataset(urls).compose(passed_samples(v))``.

    By default the clip id is that of the manifest row in samples of `syncaudit export-shards`, else
    ``shard/key``, or the key if only that has a verdict.
    """

    def known_id(sample: Mapping[str, Any]) -> str:
        names = _ids_of(sample)
        return next((name for name in names if verdicts.verdict(name) is not None), names[0])

    def stage(samples: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        return iter(PassedStream(samples, verdicts, clip_id_of or known_id))

    return stage


class PassedRows:
    """Row predicate for Ray Data and Hugging Face: ``ds.filter(PassedRows(verdicts))``.

    The verdicts are sent to the workers with it. `column` holds the clip ids.
    """

    def __init__(self, verdicts: VerdictIndex, column: str = "clip_id") -> None:
        self._verdicts = verdicts
        self._column = column

    def __call__(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row is admitted."""
        return self._verdicts.admits(str(_column(row, self._column)))


class PassedBatches:
    """Batch function for Ray Data: ``ds.map_batches(PassedBatches(verdicts))``.

    Takes dictionaries of arrays, Arrow tables and pandas frames, and returns the same type without
    the rows that are not admitted; arguments as for `PassedRows`.
    """

    def __init__(self, verdicts: VerdictIndex, column: str = "clip_id") -> None:
        self._verdicts = verdicts
        self._column = column

    def __call__(self, batch: Any) -> Any:
        """Return the admitted rows."""
        names = _column(batch, self._column)
        names = names.to_pylist() if hasattr(names, "to_pylist") else names
        admitted = [self._verdicts.admits(str(name)) for name in names]
        if isinstance(batch, Mapping):
            return {key: _picked(values, admitted) for key, values in batch.items()}
        return batch.filter(admitted) if hasattr(batch, "schema") else batch[admitted]


def _picked(values: Any, admitted: Sequence[bool]) -> Any:
    if isinstance(values, list | tuple):
        return [value for value, is_in in zip(values, admitted, strict=True) if is_in]
    return values[np.array(admitted, dtype=np.bool_)]


def _column(rows: Any, name: str) -> Any:
    try:
        return rows[name]
    except KeyError as error:
        raise UsageError(
            f"the rows have no column '{name}'", hint="Name the one that holds the clip's id."
        ) from error
