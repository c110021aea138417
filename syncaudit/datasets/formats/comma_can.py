"""Import the raw CAN frames of an openpilot log if there is a DBC beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress

from syncaudit.datasets.formats.log_files import Log, Logged
from syncaudit.datasets.signal_names import messages_in_dbc, roles_of
from syncaudit.errors import ManifestError

__all__ = ["raw_can"]

_N_BUSES = 128  # numbers from 128 on are frames sent by openpilot
_LONGEST_STANDARD = 0x7FF

Frame = tuple[int, int, int, bytes]
"""Publish time in ns, identifier, bus, data."""


def raw_can(frames: Sequence[Frame], log: Log) -> dict[str, Logged]:
    """Return the bus with the most frames known to a DBC beside the log or in a folder above.

    Roles of signals are guessed from their names.
    """
    counts = Counter((bus, number) for _, number, bus, _ in frames if bus < _N_BUSES)
    if not counts:
        return {}
    found: list[tuple[int, int, str, dict[str, str]]] = []
    for name in _descriptions(log):
        messages = {}
        with suppress(ManifestError):
            messages = messages_in_dbc(log.source.read(name))
        for bus in {bus for bus, _ in counts}:
            seen = [number for number in messages if (bus, number) in counts]
            places = {
                signal: f"{messages[number][0]}.{signal}"
                for number in reversed(seen)
                for signal in messages[number][1]
            }
            signals = {role: places[signal] for role, signal in roles_of(places).items()}
            if signals:
                n_known = sum(counts[bus, number] for number in seen)
                found.append((n_known, -bus, name, signals))
    if not found:
        log.note("left out raw CAN: no DBC beside the log has a signal of known name on a bus")
        return {}
    _, bus, name, signals = max(found, key=lambda each: each[:2])
    for role, signal in signals.items():
        log.note(f"{name}: {signal} -> {role}")
    text = "".join(_line(frame) for frame in frames if frame[2] == -bus)
    row = {"kind": "can", "dbc": name, "signals": signals, "stamp_kind": "receive"}
    return {"can": Logged(row=row, text=text)}


def _descriptions(log: Log) -> Iterator[str]:
    """Yield the DBC files in a log's folder and in those above it, up to the source."""
    folder = log.name
    while folder:
        folder = folder.rpartition("/")[0]
        yield from log.source.files("*.dbc", folder)


def _line(frame: Frame) -> str:
    """Format a frame as a candump line."""
    time_ns, number, bus, data = frame
    digits = 3 if number <= _LONGEST_STANDARD else 8
    seconds, fraction = divmod(time_ns, 10**9)
    mark = "#" if len(data) <= 8 else "##0"
    return f"({seconds}.{fraction:09d}) can{bus} {number:0{digits}X}{mark}{data.hex()}\n"
