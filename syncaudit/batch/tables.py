"""``verdicts.parquet``: the rows of ``verdicts.jsonl`` under an explicit nested schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from syncaudit.batch.json_encoding import json_line
from syncaudit.writing import replacing

__all__ = ["verdict_schema", "write_parquet"]

_ROWS_PER_GROUP = 1000


def verdict_schema() -> Any:
    """Return the Arrow schema of one verdict row (formats, section 3)."""
    import pyarrow as pa

    finding = pa.struct(
        [
            ("code", pa.string()),
            ("source", pa.string()),
            ("message", pa.string()),
            ("value", pa.float64()),
            ("limit", pa.float64()),
        ]
    )
    step = pa.struct([("at_ns", pa.int64()), ("step_s", pa.float64())])
    arrival = pa.struct(
        [
            ("samples", pa.int64()),
            ("span_s", pa.float64()),
            ("floor_s", pa.float64()),
            ("floor_std_s", pa.float64()),
            ("spread_s", pa.float64()),
            ("drift_ppm", pa.float64()),
            ("drift_std_ppm", pa.float64()),
            ("wander_s", pa.float64()),
            ("negative", pa.int64()),
            ("steps", pa.list_(step)),
            ("transport_growth_s", pa.float64()),
        ]
    )
    timing = pa.struct(
        [
            ("samples", pa.int64()),
            ("rate_hz", pa.float64()),
            ("jitter_s", pa.float64()),
            ("jitter_max_s", pa.float64()),
            ("buffering_s", pa.float64()),
            ("clock_fit", pa.string()),
            ("gaps", pa.int64()),
            ("max_gap_s", pa.float64()),
            ("lost_s", pa.float64()),
            ("duplicates", pa.int64()),
            ("backwards", pa.int64()),
            ("missing", pa.int64()),
            ("doubled", pa.int64()),
            ("steps", pa.list_(step)),
            ("is_synthetic", pa.bool_()),
            ("is_irregular", pa.bool_()),
            ("arrival", arrival),
        ]
    )
    pooled = pa.struct(
        [
            ("offset_s", pa.float64()),
            ("offset_std_s", pa.float64()),
            ("drift_ppm", pa.float64()),
            ("drift_std_ppm", pa.float64()),
        ]
    )
    source = pa.struct(
        [
            ("verdict", pa.string()),
            ("kind", pa.string()),
            ("clock", pa.string()),
            ("offset_s", pa.float64()),
            ("offset_std_s", pa.float64()),
            ("drift_ppm", pa.float64()),
            ("drift_std_ppm", pa.float64()),
            ("observable", pa.bool_()),
            ("why_unmeasured", pa.string()),
            ("timing", timing),
            ("recording", pooled),
        ]
    )
    evidence = pa.struct(
        [
            ("start_s", pa.float64()),
            ("step_s", pa.float64()),
            ("peak_s", pa.float64()),
            ("agreement", pa.string()),
            ("n_events", pa.int64()),
            ("rms_s", pa.float64()),
            ("times", pa.string()),
            ("residuals", pa.string()),
        ]
    )
    excerpt = pa.struct(
        [
            ("start_ns", pa.int64()),
            ("apart_s", pa.float64()),
            ("step_s", pa.float64()),
            ("tells_s", pa.list_(pa.float64())),
            ("peak", pa.float64()),
            ("source", pa.string()),
            ("target", pa.string()),
        ]
    )
    pair = pa.struct(
        [
            ("source", pa.string()),
            ("target", pa.string()),
            ("method", pa.string()),
            ("offset_s", pa.float64()),
            ("offset_std_s", pa.float64()),
            ("systematic_std_s", pa.float64()),
            ("drift_ppm", pa.float64()),
            ("drift_std_ppm", pa.float64()),
            ("at_ns", pa.int64()),
            ("accepted", pa.bool_()),
            ("why", pa.string()),
            ("is_baseline_only", pa.bool_()),
            ("step_s", pa.float64()),
            ("step_std_s", pa.float64()),
            ("step_at_ns", pa.int64()),
            ("diagnostics", pa.map_(pa.string(), pa.float64())),
            ("evidence", evidence),
            ("excerpt", excerpt),
        ]
    )
    common = pa.struct(
        [("reference", pa.string()), ("offset_s", pa.map_(pa.string(), pa.float64()))]
    )
    return pa.schema(
        [
            ("clip_id", pa.string()),
            ("recording_id", pa.string()),
            ("verdict", pa.string()),
            ("reasons", pa.list_(finding)),
            ("reference", pa.string()),
            ("at_ns", pa.int64()),
            ("sources", pa.map_(pa.string(), source)),
            ("pairs", pa.list_(pair)),
            ("warnings", pa.list_(finding)),
            ("seconds", pa.float64()),
            ("stages", pa.map_(pa.string(), pa.float64())),
            # What `syncaudit judge` needs beside the columns, as JSON.
            ("record", pa.string()),
            ("common_offsets", common),
            ("fingerprint", pa.string()),
            ("digest", pa.string()),
        ]
    )


def write_parquet(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write verdict rows to `path`, a row group of 1000 at a time; replaced in one step."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = verdict_schema()
    with (
        replacing(path, is_durable=True) as file,
        pq.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for group in _groups(rows, _ROWS_PER_GROUP):
            writer.write_table(pa.Table.from_pylist([_arrow_row(row) for row in group], schema))


def _arrow_row(row: Mapping[str, Any]) -> dict[str, Any]:
    pairs = [
        {**pair, "diagnostics": list(pair.get("diagnostics", {}).items())}
        for pair in row.get("pairs", ())
    ]
    return {
        **row,
        "sources": list(row.get("sources", {}).items()),
        "pairs": pairs,
        "stages": list(row.get("stages", {}).items()),
        "record": None if row.get("record") is None else json_line(row["record"]),
        "common_offsets": None
        if row.get("common_offsets") is None
        else {
            **row["common_offsets"],
            "offset_s": list(row["common_offsets"]["offset_s"].items()),
        },
    }


def _groups(rows: Iterable[Mapping[str, Any]], size: int) -> Iterator[list[Mapping[str, Any]]]:
    iterator = iter(rows)
    while group := list(islice(iterator, size)):
        yield group
