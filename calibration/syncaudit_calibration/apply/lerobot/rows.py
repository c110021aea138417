"""Build the re-paired rows of an episode."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from syncaudit.model.arrays import Floats
from syncaudit_calibration.apply.lerobot.pairing import Pairing

ORIGINAL = "original_timestamp."
"""Prefix, before the source name, of columns with the original timestamps of a row's samples."""
_NUMBERS = ("float", "int", "uint", "bool")


def paired_rows(
    table: pa.Table,
    pairing: Pairing,
    *,
    sources: Mapping[str, str],
    fps: float,
    episode: int,
    first_index: int,
) -> pa.Table:
    """Return the kept rows, each with the samples that belong to it.

    Columns that belong to no source (rewards, tasks) stay with the row.

    `sources` maps features to their sources; `episode` and `first_index` number the episode, and
    its first row in the data set.
    """
    n = pairing.n_rows
    frames = np.arange(n)
    counted: Mapping[str, NDArray[Any]] = {
        "timestamp": frames / fps,
        "frame_index": frames,
        "episode_index": np.full(n, episode),
        "index": first_index + frames,
    }
    columns = {}
    for name in table.column_names:
        old = table.column(name)
        if name in counted:
            columns[name] = pa.array(counted[name]).cast(old.type, safe=False)
        elif name in sources:
            columns[name] = _at(old, pairing.samples(sources[name]))
        else:
            columns[name] = old.slice(pairing.start, n)
    stamps = table.column("timestamp").to_numpy()
    for source in sources.values():
        was = np.interp(pairing.samples(source), np.arange(len(stamps)), stamps)
        columns[ORIGINAL + source] = pa.array(was.astype(np.float32))
    return pa.table(columns).replace_schema_metadata(_metadata(table, columns))


def _at(column: pa.ChunkedArray, samples: Floats) -> pa.ChunkedArray | pa.Array:
    """Return a column at given sample positions, interpolated linearly between samples."""
    below = np.floor(samples).astype(np.int64)
    share = samples - below
    if not share.any():
        return column.take(pa.array(below))
    values = np.array(column.to_pylist(), dtype=np.float64)
    share = share.reshape(-1, *[1] * (values.ndim - 1))
    above = np.minimum(below + 1, len(values) - 1)
    between = (1.0 - share) * values[below] + share * values[above]
    return pa.array(between.tolist()).cast(column.type)


def _metadata(table: pa.Table, columns: Mapping[str, Any]) -> dict[bytes, bytes] | None:
    """Return the schema metadata, where the 'datasets' library keeps the types of all columns."""
    metadata = dict(table.schema.metadata or {})
    known = json.loads(metadata.get(b"huggingface", b"{}"))
    if "features" in known.get("info", {}):
        kind = {"dtype": "float32", "_type": "Value"}
        added = {name: kind for name in columns if name.startswith(ORIGINAL)}
        known["info"]["features"] |= added
        metadata[b"huggingface"] = json.dumps(known).encode("utf-8")
    return metadata or None


def numbers_in(table: pa.Table, features: Mapping[str, Mapping[str, Any]]) -> dict[str, Floats]:
    """Return the columns that hold numbers, each of shape (n, ...)."""
    return {
        name: np.array(table.column(name).to_pylist(), dtype=np.float64)
        for name in table.column_names
        if str(features.get(name, {}).get("dtype")).startswith(_NUMBERS)
    }
