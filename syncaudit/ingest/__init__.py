"""Keep clips that did not pass out of training: filters, guards, traces.

Every filter reads the verdicts of `syncaudit validate`. Clips without a verdict are never let
through silently. Nothing here imports a loader before it is used.
"""

from syncaudit.ingest.filters import (
    PassedBatches,
    PassedDataset,
    PassedRows,
    PassedStream,
    passed_samples,
    torch_stream,
)
from syncaudit.ingest.guard import BadSampleError, Expected, bisect, guard
from syncaudit.ingest.verdict_index import UnknownClipError, VerdictIndex

__all__ = [
    "BadSampleError",
    "Expected",
    "PassedBatches",
    "PassedDataset",
    "PassedRows",
    "PassedStream",
    "UnknownClipError",
    "VerdictIndex",
    "bisect",
    "guard",
    "passed_samples",
    "torch_stream",
]
