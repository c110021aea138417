"""Frames of a raw bus log as arrays, whatever the log's format; a parser of candump."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError
from syncaudit.model import Finding, ReasonCode

# Added to 29-bit identifiers, so that 0x123 and 0x00000123 stay apart.
EXTENDED = 1 << 31
# ``(1436509052.249713) can0 123#DEADBEEF`` (candump -l, -L), FD frames with ## and a flag digit,
# and the screen format ``(1436509052.249713)  can0  123   [4]  DE AD BE EF`` (candump -ta).
_LINE = re.compile(
    rb"^[ \t]*\((\d{1,12})\.(\d{1,9})\)[ \t]+(\S+)[ \t]+(?:[TR]X[ \t-]+\S*[ \t]+)?"
    rb"([0-9A-Fa-f]{8}|[0-9A-Fa-f]{3})"
    rb"(?:#(?:#[0-9A-Fa-f])?([Rr][0-9A-Fa-f]*|(?:[0-9A-Fa-f]{2}\.?)*)(?:_[0-9A-Fa-f])?"
    rb"|[ \t]+\[ ?\d+\][ \t]*((?:[0-9A-Fa-f]{2}[ \t]*)*|remote request))"
    rb"[ \t]*(?:[TR])?(?:[ \t]+'.*')?[ \t]*\r?$",
    re.MULTILINE,
)
_ID_LIMIT = 0x1FFFFFFF  # error frames lie above it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BusFrames:
    """Frames with wanted identifiers, in file order."""

    time_ns: NDArray[np.int64]  # shape (n,)
    ids: NDArray[np.int64]  # shape (n,); 29-bit ones plus `EXTENDED`
    payload: NDArray[np.uint8]  # shape (n, width), padded with zeros
    lengths: NDArray[np.int64]  # shape (n,); bytes of data in each frame
    buses: NDArray[np.int64]  # shape (n,); places in `bus_names`
    bus_names: tuple[str, ...]  # interfaces or channels that frames were received on
    n_total: int  # frames in the log, wanted or not
    ids_seen: frozenset[int]  # every identifier in the log
    findings: tuple[Finding, ...] = ()

    def of_one_bus_each(self) -> tuple[BusFrames, dict[int, list[str]]]:
        """Return the frames of every identifier on the bus that carries most of them.

        On another bus they are copies, or another message. Also return the names of the buses, the
        one that is kept first, of identifiers on several.
        """
        is_kept = np.ones(self.ids.size, dtype=np.bool_)
        several: dict[int, list[str]] = {}
        for key in np.unique(self.ids).tolist():
            is_own = self.ids == key
            counts = np.bincount(self.buses[is_own])
            if np.count_nonzero(counts) > 1:
                order = np.argsort(-counts, kind="stable")
                is_kept &= ~is_own | (self.buses == order[0])
                several[key] = [self.bus_names[bus] for bus in order if counts[bus]]
        if not several:
            return self, {}
        kept = {
            name: getattr(self, name)[is_kept]
            for name in ("time_ns", "ids", "payload", "lengths", "buses")
        }
        return replace(self, **kept), several


def frames_of(
    time_ns: Sequence[int],
    ids: Sequence[int],
    data: Sequence[bytes],
    buses: Sequence[str],
    *,
    n_total: int,
    ids_seen: Collection[int],
    findings: tuple[Finding, ...] = (),
) -> BusFrames:
    """Return the arrays of frames that a parser collected as lists."""
    lengths = np.fromiter(map(len, data), np.int64, len(data))
    width = int(lengths.max(initial=0))
    flat = b"".join([item.ljust(width, b"\0") for item in data])
    places = {name: place for place, name in enumerate(dict.fromkeys(buses))}
    return BusFrames(
        time_ns=np.array(time_ns, dtype=np.int64),
        ids=np.array(ids, dtype=np.int64),
        payload=np.frombuffer(flat, np.uint8).reshape(len(data), width),
        lengths=lengths,
        buses=np.fromiter(map(places.__getitem__, buses), np.int64, len(buses)),
        bus_names=tuple(places),
        n_total=n_total,
        ids_seen=frozenset(ids_seen),
        findings=findings,
    )


def parse_candump(uri: str, data: bytes, wanted: Collection[int]) -> BusFrames:
    """Return the frames of a candump log with `wanted` identifiers.

    Timestamps are exact: seconds and fraction are read as digits (resolution as written, typically
    1 us).
    """
    keys: dict[bytes, int | None] = {}
    time_ns: list[int] = []
    ids: list[int] = []
    payloads: list[bytes] = []
    buses: list[bytes] = []
    n_total = 0
    ids_seen: set[int] = set()
    wanted = frozenset(wanted)
    data = _without_cut_frame(data)
    for match in _LINE.finditer(data):
        seconds, fraction, bus, id_text, packed, spaced = match.groups()
        n_total += 1
        if id_text in keys:
            key = keys[id_text]
        else:
            key = _key(id_text)
            if key is not None:
                ids_seen.add(key)
                key = key if key in wanted else None
            keys[id_text] = key
        if key is None:
            continue
        text = packed if packed is not None else spaced
        if text[:1] in (b"R", b"r"):  # remote frame, no data
            continue
        stamp = int(seconds) * 10**9 + int(fraction.ljust(9, b"0"))
        if stamp >= 2**63:
            raise StreamReadError(
                f"a timestamp of {seconds.decode()} s is too large for int64 nanoseconds",
                code="corrupt",
                path=uri,
                hint="Write the log again.",
            )
        time_ns.append(stamp)
        ids.append(key)
        buses.append(bus)
        payloads.append(bytes.fromhex(text.replace(b".", b"").decode("ascii")))
    if not n_total:
        raise StreamReadError(
            "holds no candump line such as '(1436509052.249713) can0 123#DEADBEEF'",
            code="unreadable",
            path=uri,
            hint="Record it with 'candump -l', or export .asc, .blf or a decoded CSV.",
        )
    return frames_of(
        time_ns,
        ids,
        payloads,
        [bus.decode("ascii", "replace") for bus in buses],
        n_total=n_total,
        ids_seen=ids_seen,
        findings=_faulty_lines(uri, data, n_total),
    )


def _key(id_text: bytes) -> int | None:
    number = int(id_text, 16)
    if number > _ID_LIMIT:
        return None
    return number + EXTENDED if len(id_text) == 8 else number


def _without_cut_frame(data: bytes) -> bytes:
    """Return a log without the data of its last frame, if the file ends within them.

    That line lacks its line feed, and has fewer data than any other frame of its identifier.
    """
    start = data.rfind(b"\n") + 1
    last = _LINE.match(data, start)
    if last is None or start == len(data):
        return data
    same = [m for m in _LINE.finditer(data, 0, start) if m[4] == last[4]]
    lengths = [len((m[5] or m[6] or b"").strip()) for m in (last, *same)]
    return data[: last.end(4)] if same and lengths[0] < min(lengths[1:]) else data


def _faulty_lines(uri: str, data: bytes, n_good: int) -> tuple[Finding, ...]:
    """Return a finding if lines that are neither blank nor comments did not parse."""
    lines = [line for line in data.split(b"\n") if line.strip() and not line.startswith(b"#")]
    n_bad = len(lines) - n_good
    if n_bad <= 0:
        return ()
    is_last = n_bad == 1 and _LINE.match(lines[-1]) is None
    numbered = enumerate(data.split(b"\n"), start=1)
    first = next(
        number
        for number, line in numbered
        if line.strip() and not line.startswith(b"#") and _LINE.match(line) is None
    )
    what = (
        f"the last line ({first}) is cut off"
        if is_last
        else f"{n_bad} of {len(lines)} lines are not frames, the first is line {first}"
    )
    return (
        Finding(
            code=ReasonCode.CORRUPT,
            message=f"{uri}: {what}. The log is incomplete; copy it again.",
            value=float(n_bad),
            limit=0.0,
        ),
    )
