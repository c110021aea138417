"""Read robot state and action tables: one column, or a group of columns, a channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from syncaudit.errors import StreamReadError
from syncaudit.model import Channel, Finding, SignalStream, SourceKind, StateSpec, clock_of
from syncaudit.model.units import STAMPS_KEY
from syncaudit.readers.findings import empty_stream, non_finite
from syncaudit.readers.tables import STAMPS, read_table
from syncaudit.readers.uris import resolve

__all__ = ["read_state"]

# Columns that count or stamp rows in common exports and are no state.
_BOOKKEEPING = frozenset(
    {
        STAMPS,
        "receive_ns",
        "publish_ns",
        "timestamp",
        "frame",
        "frame_index",
        "episode_index",
        "index",
        "task_index",
    }
)


def read_state(
    name: str,
    spec: StateSpec,
    base_uri: str,
    *,
    scratch: Path | None = None,  # noqa: ARG001  # one signature for every reader
) -> SignalStream:
    """Read a table of state: each group of `spec.columns` is a channel.

    Without `columns` every column but stamps and row counters is a channel of its own. A Parquet
    column of lists is a channel of as many dimensions.
    """
    uri = resolve(spec.uri, base_uri)
    wanted = None
    if spec.columns is not None:
        wanted = [
            spec.stamps or STAMPS,
            *(name for group in spec.columns.values() for name in group),
        ]
    table = read_table(uri, text_columns=(spec.stamps or STAMPS,), rows=spec.rows, columns=wanted)
    time_ns = table.stamps(
        spec.stamps, may_be_seconds=spec.stamps is not None, unit=spec.units.get(STAMPS_KEY)
    )
    groups: Mapping[str, Sequence[str]]
    if spec.columns is not None:
        groups = spec.columns
    else:
        groups = {
            column: [column] for column in table.names if column not in {*_BOOKKEEPING, spec.stamps}
        }
    if not any(groups.values()):
        raise StreamReadError(
            f"has no column of state beside: {', '.join(table.names)}",
            path=uri,
            hint="Export one column a channel beside 'timestamp_ns'.",
        )
    findings: list[Finding] = list(table.findings)
    if not table.n_rows:
        findings += empty_stream(uri, "state samples")
    channels: list[Channel] = []
    for group, columns in groups.items():
        if not columns:
            raise StreamReadError(
                f"the group '{group}' of 'columns' names no column",
                code="manifest",
                path=uri,
                hint="List its columns, or leave the group out.",
            )
        parts = [table.numbers(column, purpose=f"group '{group}'") for column in columns]
        values = np.column_stack(parts)
        names = [
            column
            for column, part in zip(columns, parts, strict=True)
            for _ in range(1 if part.ndim == 1 else part.shape[1])
        ]
        findings += non_finite(values, names, uri=uri, first_row=table.first_row)
        channels.append(Channel(name=group, time_ns=time_ns, values=values))
    return SignalStream(
        name=name,
        clock=clock_of(name, spec),
        kind=SourceKind.STATE,
        time_ns=time_ns,
        uri=uri,
        stamp_kind=spec.stamp_kind,
        findings=tuple(findings),
        channels=tuple(channels),
        is_command=spec.is_command,
        is_rate=spec.is_rate,
    )
