"""Read vehicle buses: raw logs with their DBC, or decoded tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError
from syncaudit.model import CanSpec, Channel, Finding, ReasonCode, SignalStream
from syncaudit.model.units import fault_of_role
from syncaudit.readers.buslogs import RAW_LOGS, read_frames
from syncaudit.readers.canlog import EXTENDED, BusFrames
from syncaudit.readers.dbc import BusSignal, decode, find_signals
from syncaudit.readers.findings import (
    empty_stream,
    hung,
    longest_hang,
    non_finite,
    stream_fields,
)
from syncaudit.readers.mdf import read_mdf_signals
from syncaudit.readers.tables import read_samples
from syncaudit.readers.uris import resolve


def read_can(
    name: str, spec: CanSpec, base_uri: str, *, scratch: Path | None = None
) -> SignalStream:
    """Read a vehicle bus: one channel per role, with the timestamps of its own message.

    It is a raw log with `dbc` and `signals` (role to ``Signal`` or ``Message.Signal``), or a table
    with ``timestamp_ns`` and `signals` (role to column).
    """
    uri = resolve(spec.uri, base_uri)
    if not spec.signals:
        raise StreamReadError(
            "'signals' names no signal to read",
            code="manifest",
            path=uri,
            hint="Map roles to signals: 'signals': {'yaw_rate': 'YourSignal'}.",
        )
    for role, signal in spec.signals.items():
        fault = fault_of_role(role, signal)
        if fault is not None:
            raise StreamReadError(fault[0], code="manifest", path=uri, hint=fault[1])
    suffix = PurePosixPath(uri.split("::")[0]).suffix.lower()
    if suffix in RAW_LOGS and (spec.stamps is not None or spec.rows is not None):
        raise StreamReadError(
            "'stamps' and 'rows' are for tables, and this is a raw log",
            code="manifest",
            path=uri,
            hint="Leave them out; the window of a clip is start_ns and end_ns.",
        )
    if suffix in (".mf4", ".mdf") and spec.dbc is None:
        time_ns, channels, findings = read_mdf_signals(uri, spec.signals, scratch)
    elif suffix in RAW_LOGS:
        time_ns, channels, findings = _from_log(uri, suffix, spec, base_uri, scratch)
    else:
        time_ns, channels, findings = _from_table(uri, spec, base_uri)
    findings += _hangs(uri, channels)
    return SignalStream(
        **stream_fields(name, spec, uri, time_ns, findings),
        channels=tuple(
            replace(channel, unit=spec.units.get(channel.name, channel.unit))
            for channel in channels
        ),
    )


# Roles whose noise changes every sample; speed, steering and brake may stand still.
_NOISY = frozenset({"yaw_rate", "lateral_accel", "long_accel"})


def _hangs(uri: str, channels: Sequence[Channel]) -> list[Finding]:
    """Return a warning for each message of inertial sensors whose values all stay the same.

    Zeros are no sign of a fault, as control units clamp values to zero at rest.
    """
    messages: dict[bytes, list[Channel]] = {}
    for channel in channels:
        messages.setdefault(channel.time_ns.tobytes(), []).append(channel)
    found = []
    for message in messages.values():
        hang = longest_hang(message[0].time_ns, message)
        if hang is None or _NOISY.isdisjoint(channel.name for channel in message):
            continue
        if any(channel.values[hang[0], 0] for channel in message):
            roles = ", ".join(channel.name for channel in message)
            place = f"timestamp {message[0].time_ns[hang[0]]}"
            found.append(hung(f"{uri}: all values of {roles}", hang[1], place))
    return found


# Timestamps of the stream, channels, findings.
_Read = tuple[NDArray[np.int64], list[Channel], list[Finding]]


def _from_table(uri: str, spec: CanSpec, base_uri: str) -> _Read:
    """Return the columns of a decoded table; a blank cell is not a sample of that signal."""
    if spec.dbc is not None:
        raise StreamReadError(
            "a 'dbc' is given, but this is not a raw log",
            code="manifest",
            path=uri,
            hint=f"Raw logs end in {', '.join(sorted(RAW_LOGS))}; leave 'dbc' out for tables.",
        )
    table, time_ns, findings = read_samples(
        spec, base_uri, spec.signals.values(), what="bus samples"
    )
    channels: list[Channel] = []
    is_used = np.zeros(table.n_rows, dtype=np.bool_)
    for role, column in spec.signals.items():
        values = table.numbers(column, purpose=f"role {role}")
        if values.ndim != 1:
            raise StreamReadError(f"column '{column}' holds lists, not numbers", path=uri)
        is_there = ~table.is_blank(column)
        is_used |= is_there
        if table.n_rows and not is_there.any():
            findings.append(
                _silent(f"{uri}: column '{column}' (role {role}) is blank in every row")
            )
        samples = values[is_there][:, None]
        findings += non_finite(samples, [column], uri=uri, first_row=table.first_row)
        channels.append(Channel(name=role, time_ns=time_ns[is_there], values=samples))
    return time_ns[is_used], channels, findings


def _from_log(uri: str, suffix: str, spec: CanSpec, base_uri: str, scratch: Path | None) -> _Read:
    """Return the signals of a raw log; only frames that carry them are decoded."""
    if spec.dbc is None:
        raise StreamReadError(
            "a raw log needs 'dbc' to decode it",
            code="manifest",
            path=uri,
            hint="Name the DBC, or give a decoded CSV or Parquet.",
        )
    dbc_uri = resolve(spec.dbc, base_uri)
    wanted = find_signals(dbc_uri, spec.signals)
    frames = read_frames(uri, suffix, {signal.key for signal in wanted.values()}, scratch)
    findings = list(frames.findings)
    if not frames.n_total:
        findings += empty_stream(uri, "bus frames")
        return frames.time_ns, [], findings
    if not len(frames.time_ns):
        raise _foreign(uri, dbc_uri, wanted, frames)
    frames, several = frames.of_one_bus_each()
    findings += [_on_several_buses(uri, key, names) for key, names in several.items()]
    channels: list[Channel] = []
    is_used = np.zeros(len(frames.time_ns), dtype=np.bool_)
    short: dict[str, int] = {}
    for role, signal in wanted.items():
        rows, physical, n_short = decode(frames, signal)
        is_used[rows] = True
        if n_short:
            short[signal.message.name] = max(n_short, short.get(signal.message.name, 0))
        values = physical[:, None]
        if not len(values):
            findings.append(
                _silent(
                    f"{uri}: no frame carries {signal.name} (role {role}, "
                    f"id {_words(signal.key)} in {dbc_uri})"
                )
            )
        findings += non_finite(values, [signal.name], uri=uri)
        channels.append(
            Channel(name=role, time_ns=frames.time_ns[rows], values=values, unit=signal.unit)
        )
    if short:
        findings.append(_undecodable(uri, dbc_uri, short))
    return frames.time_ns[is_used], channels, findings


def _foreign(
    uri: str, dbc_uri: str, wanted: dict[str, BusSignal], frames: BusFrames
) -> StreamReadError:
    theirs = ", ".join(_words(key) for key in sorted(frames.ids_seen)[:6])
    ours = ", ".join(sorted({_words(signal.key) for signal in wanted.values()})[:6])
    return StreamReadError(
        f"none of its {frames.n_total} frames (ids {theirs} ...) is a message that "
        f"{dbc_uri} describes for 'signals' (ids {ours})",
        code="manifest",
        path=uri,
        hint="The DBC belongs to another bus or vehicle: name the right one.",
    )


def _on_several_buses(uri: str, key: int, names: list[str]) -> Finding:
    return Finding.warning(
        ReasonCode.MANIFEST,
        None,
        f"{uri}: frames {_words(key)} were received on {', '.join(names)}; only those on "
        f"{names[0]} are read. If that is not the bus of the DBC, log that bus alone.",
    )


def _words(key: int) -> str:
    return f"0x{key - EXTENDED:08X}" if key >= EXTENDED else f"0x{key:03X}"


def _silent(message: str) -> Finding:
    return Finding(
        code=ReasonCode.EMPTY,
        message=f"{message}. Check the name, or leave the role out.",
        value=0.0,
    )


def _undecodable(uri: str, dbc_uri: str, short: dict[str, int]) -> Finding:
    listed = ", ".join(f"{count} of {message}" for message, count in sorted(short.items()))
    return Finding.warning(
        ReasonCode.CORRUPT,
        None,
        f"{uri}: frames too short for what {dbc_uri} describes were skipped: {listed}. Check "
        "that the DBC matches this vehicle's version.",
        value=float(sum(short.values())),
        limit=0.0,
    )
