"""Read vehicle buses: raw logs with their DBC, or decoded tables.

Signals are found in the DBC and decoded in whole columns of frames at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError, nearest_name, one_line
from syncaudit.model import CanSpec, Channel, Finding, ReasonCode, SignalStream
from syncaudit.model.arrays import Floats, Ints
from syncaudit.model.units import fault_of_role
from syncaudit.readers.buslogs import RAW_LOGS, read_mdf_signals
from syncaudit.readers.canlog import EXTENDED, BusFrames
from syncaudit.readers.csv_table import decode_loosely
from syncaudit.readers.faults import (
    empty_stream,
    hung,
    longest_hang,
    non_finite,
    stream_fields,
    warned,
)
from syncaudit.readers.tables import read_samples
from syncaudit.readers.uris import read_bytes, resolve

# Timestamps of the stream, channels, findings.
_Read = tuple[NDArray[np.int64], list[Channel], list[Finding]]

# Roles whose noise changes every sample; speed, steering and brake may stand still.
_NOISY = frozenset({"yaw_rate", "lateral_accel", "long_accel"})

# A frame of CAN XL holds 2048 bytes.
_MOST_BITS = 2048 * 8
# A 16-bit multiplexer; cantools lists every page.
_MOST_PAGES = 65535
# Starts and lengths of six or more digits: ``0|2000000000@`` (DBC), ``length="..."`` (KCD),
# ``<LENGTH>...`` (ARXML), ``Len=...`` (SYM).
_VAST = re.compile(
    r"\|\s*[0-9]{6,}\s*@|[0-9]{6,}\s*\|\s*[0-9]+\s*@|(?:length|offset)\s*=\s*\"[0-9]{6,}"
    r"|<(?:[A-Z-]*LENGTH|START-POSITION)>\s*[0-9]{6,}|^\s*Len\s*=\s*[0-9]{6,}",
    re.MULTILINE,
)
_RANGES = re.compile(r"^\s*SG_MUL_VAL_.*", re.MULTILINE)


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
    frames = RAW_LOGS[suffix](uri, {signal.key for signal in wanted.values()}, scratch)
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
    return warned(
        ReasonCode.MANIFEST,
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
    return warned(
        ReasonCode.CORRUPT,
        f"{uri}: frames too short for what {dbc_uri} describes were skipped: {listed}. Check "
        "that the DBC matches this vehicle's version.",
        float(sum(short.values())),
        limit=0.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BusSignal:
    """A signal with the message that carries it (cantools objects)."""

    key: int
    message: Any
    signal: Any

    @property
    def name(self) -> str:
        """``Message.Signal``."""
        return f"{self.message.name}.{self.signal.name}"

    @property
    def unit(self) -> str:
        """Unit given in the DBC, or ""."""
        return str(self.signal.unit or "")


def find_signals(uri: str, names: Mapping[str, str]) -> dict[str, BusSignal]:
    """Return the signal (``Signal`` or ``Message.Signal``) of every role in a bus description.

    StreamReadError if the file is not one, or a signal is missing or in several messages.
    """
    messages = _load(uri, read_bytes(uri))
    known: dict[str, list[BusSignal]] = {}
    for message in messages:
        key = message.frame_id + (EXTENDED if message.is_extended_frame else 0)
        for signal in message.signals:
            if not 0 < signal.length <= _MOST_BITS or not 0 <= signal.start < _MOST_BITS:
                raise StreamReadError(
                    f"signal {message.name}.{signal.name} lies at bit {signal.start} and has "
                    f"{signal.length} bits, expected {_MOST_BITS} at most",
                    path=uri,
                    hint="Correct the bus description.",
                )
            found = BusSignal(key=key, message=message, signal=signal)
            known.setdefault(signal.name, []).append(found)
            known.setdefault(found.name, []).append(found)
    chosen: dict[str, BusSignal] = {}
    for role, name in names.items():
        candidates = known.get(name, [])
        if not candidates:
            plain = sorted(key for key in known if "." not in key)
            raise StreamReadError(
                f"has no signal '{name}' (role {role})",
                code="manifest",
                path=uri,
                hint=nearest_name(name, plain if "." not in name else known),
            )
        if len(candidates) > 1:
            raise StreamReadError(
                f"has the signal '{name}' (role {role}) in {len(candidates)} messages",
                code="manifest",
                path=uri,
                hint=f"Choose one: {', '.join(one.name for one in candidates[:8])}.",
            )
        chosen[role] = candidates[0]
    return chosen


@lru_cache(maxsize=4)
def _parse(data: bytes) -> tuple[Any, ...]:
    """Return the messages of a bus description; cached by content, as clips share it."""
    import cantools

    text = decode_loosely(data)
    _refuse_vast(text)
    found: Any = cantools.database.load_string(text, strict=False)
    return tuple(found.messages)


def _refuse_vast(text: str) -> None:
    """Reject huge lengths and ranges, which cantools would expand bit by bit or value by value."""
    for match in _VAST.finditer(text):
        raise ValueError(f"a signal has {match[0][:40].strip()} bits as its position or length")
    for line in _RANGES.findall(text):
        for first, last in re.findall(r"([0-9]{1,18})\s*-\s*([0-9]{1,18})", line):
            if int(last) - int(first) > _MOST_PAGES:
                raise ValueError(f"a multiplexer has the pages {first}-{last}")


def _load(uri: str, data: bytes) -> tuple[Any, ...]:
    import cantools

    try:
        messages = _parse(data)
    except (
        cantools.Error,
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        SyntaxError,
        TypeError,
        ValueError,
    ) as error:
        raise StreamReadError(
            f"is not a bus description that cantools reads ({one_line(error)})",
            path=uri,
            hint="Expected a DBC, KCD, SYM or ARXML file.",
        ) from error
    if not messages:
        raise StreamReadError("describes no message", code="empty", path=uri)
    return messages


def decode(frames: BusFrames, wanted: BusSignal) -> tuple[Ints, Floats, int]:
    """Decode one signal in all frames at once.

    Return the rows of the frames that carry it, shape (n,), its physical values there
    (enumerations stay numbers), and how many frames of its message are too short to contain it.
    The result equals ``cantools`` message by message with ``decode_choices=False``.
    """
    rows = np.flatnonzero(frames.ids == wanted.key)
    payload, lengths = frames.payload[rows], frames.lengths[rows]
    by_name = {signal.name: signal for signal in wanted.message.signals}
    is_long = lengths >= _n_bytes(wanted.signal)
    is_there = is_long.copy()
    selected, switch = wanted.signal, wanted.signal.multiplexer_signal
    while switch is not None:
        selector = by_name.pop(switch, None)
        if selector is None:
            raise StreamReadError(
                f"the multiplexers of {wanted.name} form a loop, or lead to no signal",
                hint="Correct the bus description.",
            )
        is_there &= lengths >= _n_bytes(selector)
        chosen = np.isin(_raw(payload, selector), selected.multiplexer_ids or ())
        is_there &= chosen
        is_long |= ~chosen  # frames of another page need not hold the signal
        selected, switch = selector, selector.multiplexer_signal
    n_short = int(np.count_nonzero(~is_long))
    rows, payload = rows[is_there], payload[is_there]
    values = _raw(payload, wanted.signal).astype(np.float64)
    values = values * float(wanted.signal.scale) + float(wanted.signal.offset)
    return rows, values, n_short


def _bits(signal: Any) -> list[tuple[int, int]]:
    """Return (byte, bit in byte) for each of a signal's bits, least significant first."""
    if signal.byte_order == "little_endian":
        return [divmod(signal.start + place, 8) for place in range(signal.length)]
    bits, at = [], signal.start  # most significant bit, sawtooth numbering
    for _ in range(signal.length):
        bits.append(divmod(at, 8))
        at = at + 15 if at % 8 == 0 else at - 1
    return bits[::-1]


def _n_bytes(signal: Any) -> int:
    return 1 + max(byte for byte, _ in _bits(signal))


def _raw(payload: NDArray[np.uint8], signal: Any) -> NDArray[Any]:
    """Return raw numbers, shape (n,); bytes beyond the payload count as zero."""
    raw = np.zeros(len(payload), dtype=np.uint64)
    for place, (byte, bit) in enumerate(_bits(signal)[:64]):
        if byte < payload.shape[1]:
            is_set = (payload[:, byte] >> np.uint8(bit)) & np.uint8(1)
            raw |= is_set.astype(np.uint64) << np.uint64(place)
    if signal.is_float:
        whole, real = {16: ("<u2", "<f2"), 32: ("<u4", "<f4")}.get(signal.length, ("<u8", "<f8"))
        return raw.astype(whole).view(real)
    if signal.is_signed and signal.length < 64:
        free = np.int64(64 - signal.length)
        return (raw.view(np.int64) << free) >> free
    return raw.view(np.int64) if signal.is_signed else raw
