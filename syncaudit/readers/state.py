"""Read robot state and action tables: one channel per column or group of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from syncaudit.errors import StreamReadError
from syncaudit.model import Channel, SignalStream, StateSpec
from syncaudit.readers.columns import STAMPS
from syncaudit.readers.findings import non_finite, stream_fields
from syncaudit.readers.tables import read_samples
from syncaudit.readers.uris import resolve

# Columns that count or timestamp rows in common exports and are not state.
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


def read_state(name: str, spec: StateSpec, base_uri: str) -> SignalStream:
    """Read a state table: each group of `spec.columns` is a channel.

    Without `columns` every column but timestamps and row counters is a channel of its own. A
    Parquet column of lists is a channel of as many dimensions.
    """
    uri = resolve(spec.uri, base_uri)
    listed = None if spec.columns is None else list(chain.from_iterable(spec.columns.values()))
    table, time_ns, findings = read_samples(spec, base_uri, listed, what="state samples")
    groups: Mapping[str, Sequence[str]]
    if spec.columns is not None:
        groups = spec.columns
    else:
        groups = {
            column: [column] for column in table.names if column not in {*_BOOKKEEPING, spec.stamps}
        }
    if not any(groups.values()):
        raise StreamReadError(
            f"has no state column, only: {', '.join(table.names)}",
            path=uri,
            hint="Export one column per channel beside 'timestamp_ns'.",
        )
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
        **stream_fields(name, spec, uri, time_ns, findings),
        channels=tuple(channels),
        is_command=spec.is_command,
        is_rate=spec.is_rate,
    )
