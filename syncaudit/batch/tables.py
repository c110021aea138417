"""``verdicts.parquet``: the rows of ``verdicts.jsonl`` under an explicit nested schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from syncaudit.batch.json_encoding import json_line
from syncaudit.writing import replacing

_ROWS_PER_GROUP = 1000


def verdict_schema() -> Any:
    """Return the Arrow schema of one verdict row (formats, section 3)."""
    import pyarrow as pa

    text, number, whole, flag = pa.string(), pa.float64(), pa.int64(), pa.bool_()

    def fields(kind: pa.DataType, names: str) -> list[tuple[str, pa.DataType]]:
        return [(name, kind) for name in names.split()]

    finding = pa.struct([*fields(text, "code source message"), *fields(number, "value limit")])
    steps = pa.list_(pa.struct([("at_ns", whole), ("step_s", number)]))
    offset_and_drift = fields(number, "offset_s offset_std_s drift_ppm drift_std_ppm")
    arrival = pa.struct(
        [
            ("samples", whole),
            *fields(number, "span_s floor_s floor_std_s spread_s"),
            *fields(number, "drift_ppm drift_std_ppm wander_s"),
            ("negative", whole),
            ("steps", steps),
            ("transport_growth_s", number),
        ]
    )
    timing = pa.struct(
        [
            ("samples", whole),
            *fields(number, "rate_hz jitter_s jitter_max_s buffering_s"),
            ("clock_fit", text),
            ("gaps", whole),
            *fields(number, "max_gap_s lost_s"),
            *fields(whole, "duplicates backwards missing doubled"),
            ("steps", steps),
            *fields(flag, "is_synthetic is_irregular"),
            ("arrival", arrival),
        ]
    )
    source = pa.struct(
        [
            *fields(text, "verdict kind clock"),
            *offset_and_drift,
            ("observable", flag),
            ("why_unmeasured", text),
            ("timing", timing),
            ("recording", pa.struct(offset_and_drift)),
        ]
    )
    evidence = pa.struct(
        [
            *fields(number, "start_s step_s peak_s"),
            ("agreement", text),
            ("n_events", whole),
            ("rms_s", number),
            *fields(text, "times residuals"),
        ]
    )
    excerpt = pa.struct(
        [
            ("start_ns", whole),
            *fields(number, "apart_s step_s"),
            ("tells_s", pa.list_(number)),
            ("peak", number),
            *fields(text, "source target"),
        ]
    )
    pair = pa.struct(
        [
            *fields(text, "source target method"),
            *fields(number, "offset_s offset_std_s systematic_std_s drift_ppm drift_std_ppm"),
            ("at_ns", whole),
            ("accepted", flag),
            ("why", text),
            ("is_baseline_only", flag),
            *fields(number, "step_s step_std_s"),
            ("step_at_ns", whole),
            ("diagnostics", pa.map_(text, number)),
            ("evidence", evidence),
            ("excerpt", excerpt),
        ]
    )
    common = pa.struct([("reference", text), ("offset_s", pa.map_(text, number))])
    return pa.schema(
        [
            *fields(text, "clip_id recording_id verdict"),
            ("reasons", pa.list_(finding)),
            ("reference", text),
            ("at_ns", whole),
            ("sources", pa.map_(text, source)),
            ("pairs", pa.list_(pair)),
            ("warnings", pa.list_(finding)),
            ("seconds", number),
            ("stages", pa.map_(text, number)),
            ("record", text),  # what `syncaudit judge` needs besides the columns, as JSON
            ("common_offsets", common),
            ("about", pa.map_(text, text)),
            *fields(text, "fingerprint digest"),
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
        left = iter(rows)
        while group := list(islice(left, _ROWS_PER_GROUP)):
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
        "about": list(row.get("about", {}).items()) or None,
    }
