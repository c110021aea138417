"""The one class that PyTorch insists on inheriting from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from syncaudit.errors import MissingExtraError
from syncaudit.ingest.filters import PassedStream
from syncaudit.ingest.verdict_index import VerdictIndex

__all__ = ["torch_stream"]


def torch_stream(
    dataset: Iterable[Any], verdicts: VerdictIndex, clip_id_of: Callable[[Any], str]
) -> Any:
    """Return an `IterableDataset` without clips that did not pass.

    The wrapped data set splits its work among the loader's workers as before.

    Parameters
    ----------
    dataset : iterable
        An `IterableDataset`.
    verdicts : VerdictIndex
        What may pass.
    clip_id_of : callable
        Clip id of a sample.

    Raises
    ------
    MissingExtraError
        If PyTorch is not installed.
    """
    try:
        from torch.utils.data import IterableDataset
    except ImportError as error:
        raise MissingExtraError("torch", extra="torch", purpose="torch_stream") from error

    class _Passed(PassedStream[Any], IterableDataset):  # type: ignore[misc]  # torch is untyped
        """A `PassedStream` that PyTorch's loader takes."""

    return _Passed(dataset, verdicts, clip_id_of)
