"""Filters for the loaders people train with; each asks a `VerdictIndex` and imports no loader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from syncaudit.ingest.verdict_index import VerdictIndex

__all__ = ["PassedDataset", "PassedRows", "PassedStream", "key_of", "passed_samples"]

_Sample = TypeVar("_Sample")


class PassedDataset(Generic[_Sample]):
    """Map-style data set (PyTorch, or anything with a length) without clips that did not pass.

    Parameters
    ----------
    dataset : sequence
        The data set: `len` and integer indices.
    verdicts : VerdictIndex
        What may pass.
    clip_ids : sequence of str, or callable
        Clip id of every sample, or a function from index to clip id that reads no sample.
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
        """Positions of the samples that are left, in the wrapped data set."""

    def __len__(self) -> int:
        """Return how many samples are left."""
        return len(self.indices)

    def __getitem__(self, index: int) -> _Sample:
        """Return a sample."""
        return self._dataset[self.indices[index]]


class PassedStream(Generic[_Sample]):
    """Iterable data set without clips that did not pass.

    PyTorch's loader wants an `IterableDataset`: `syncaudit.ingest.torch_stream` makes one of it.

    Parameters
    ----------
    dataset : iterable
        The samples.
    verdicts : VerdictIndex
        What may pass.
    clip_id_of : callable
        Clip id of a sample.
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
        """Yield the samples that may train."""
        for sample in self._dataset:
            if self._verdicts.admits(self._clip_id_of(sample)):
                yield sample


def key_of(sample: Mapping[str, Any]) -> str:
    """Return the key of a WebDataset sample: the clip's id in shards that hold a clip a sample."""
    return str(sample["__key__"])


def passed_samples(
    verdicts: VerdictIndex, clip_id_of: Callable[[Mapping[str, Any]], str] = key_of
) -> Callable[[Iterable[Mapping[str, Any]]], Iterator[Mapping[str, Any]]]:
    """Return a stage for WebDataset pipelines: ``WebDataset(urls).compose(passed_samples(v))``.

    Parameters
    ----------
    verdicts : VerdictIndex
        What may pass.
    clip_id_of : callable
        Clip id of a sample; default its ``__key__``.
    """

    def stage(samples: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        return iter(PassedStream(samples, verdicts, clip_id_of))

    return stage


class PassedRows:
    """Row predicate for Ray Data and Hugging Face: ``ds.filter(PassedRows(verdicts))``.

    Parameters
    ----------
    verdicts : VerdictIndex
        What may pass. It travels to the workers with the predicate.
    column : str
        Column with the clip id.
    """

    def __init__(self, verdicts: VerdictIndex, column: str = "clip_id") -> None:
        self._verdicts = verdicts
        self._column = column

    def __call__(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row may train."""
        return self._verdicts.admits(str(row[self._column]))
