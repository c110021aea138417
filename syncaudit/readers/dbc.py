"""Find signals in a DBC and decode whole columns of frames at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError, nearest_name, one_line
from syncaudit.model.arrays import Floats, Ints
from syncaudit.readers.canlog import EXTENDED, BusFrames
from syncaudit.readers.uris import read_bytes

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

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
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
