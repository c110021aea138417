"""Build the re-paired rows of an episode: find the samples that belong to one row, by offsets."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from syncaudit.model.arrays import Floats

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """How the rows of an episode are re-paired."""

    # Original rows that are kept, half open: beyond them some source has no sample.
    start: int
    stop: int
    # Row ``j`` takes sample ``j + move`` of a source; a fraction is interpolated.
    moves: Mapping[str, float]
    # Remaining offset of the source: positive if its content is later than its row.
    left_s: Mapping[str, float]

    @property
    def n_rows(self) -> int:
        """Return the number of rows that are kept."""
        return self.stop - self.start

    def samples(self, source: str) -> Floats:
        """Return the sample index of every row, shape (n_rows,)."""
        return np.arange(self.start, self.stop, dtype=np.float64) + self.moves[source]

    def shortened(self, n_rows: int) -> Pairing:
        """Return the pairing reduced to its first `n_rows` rows."""
        return replace(self, stop=self.start + n_rows)


def pair_rows(
    n_rows: int,
    fps: float,
    offsets_s: Mapping[str, float],
    *,
    cameras: Collection[str],
    interpolated: Collection[str] = (),
) -> Pairing:
    """Find the samples of every source that are nearest in time to the rows.

    Sample ``k`` of a source was taken at ``k / fps + offset``; a row represents one time. Frames
    cannot be interpolated: if other sources are, rows represent the times of the frames (the
    median over the cameras), otherwise their nominal times ``j / fps``.

    `offsets_s` is what is added to the timestamps of each source to get reference time; `cameras`
    are the sources that hold frames, `interpolated` those that may be interpolated.
    """
    nearest = {name: round(-offset_s * fps) for name, offset_s in offsets_s.items()}
    grid_s = 0.0
    if interpolated and cameras:
        grid_s = float(np.median([offsets_s[name] + nearest[name] / fps for name in cameras]))
    moves: dict[str, float] = {}
    for name, offset_s in offsets_s.items():
        move = (grid_s - offset_s) * fps
        moves[name] = move if name in interpolated else round(move)
    start = max(0, *(math.ceil(-move) for move in moves.values()))
    stop = min(n_rows, *(math.floor(n_rows - 1 - move) + 1 for move in moves.values()))
    return Pairing(
        start=start,
        stop=max(start, stop),
        moves=moves,
        left_s={
            name: offset_s + moves[name] / fps - grid_s for name, offset_s in offsets_s.items()
        },
    )
