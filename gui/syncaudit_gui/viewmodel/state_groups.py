"""Group the channels of a robot into lanes: joints of an arm, grippers, efforts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from syncaudit.model import SignalStream
from syncaudit.model.arrays import Floats, Ints
from syncaudit_gui.viewmodel.wording import n_common

# At most as many curves as there are distinguishable colours.
MAX_CURVES = 7
# Beside a curve larger by this factor, another one looks like a flat line.
MAX_RATIO = 12.0

_KINDS = {
    "grippers": ("grip", "finger", "jaw", "claw"),
    "velocities": ("vel", "twist", "rate", "speed", "delta"),
    "efforts": ("effort", "torque", "current", "force"),
}
_SIDES = ("left", "right")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChannelGroup:
    """Channels that are drawn on one axis."""

    title: str
    names: tuple[str, ...]  # length d: distinguishing parts of their names
    unit: str
    time_ns: Ints  # shape (n,): timestamps
    values: Floats  # shape (n, d): samples


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    name: str
    stem: str  # of a channel with several columns
    unit: str
    time_ns: Ints
    values: Floats

    @property
    def key(self) -> tuple[str, ...]:
        low = self.name.lower()
        kind = next((k for k, words in _KINDS.items() if any(w in low for w in words)), "")
        side = next((x for x in _SIDES if re.search(rf"(^|[^a-z]){x[0]}({x[1:]})?[^a-z]", low)), "")
        return self.stem, side, kind, self.unit, str(self.time_ns.size)

    @property
    def size(self) -> float:
        finite = self.values[np.isfinite(self.values)]
        return float(np.max(np.abs(finite), initial=0.0))


def group_channels(stream: SignalStream) -> list[ChannelGroup]:
    """Return the channels of a stream in groups of similar ones, in table order.

    A group holds at most seven; a channel a dozen times larger than the others has its own.
    """
    by_key: dict[tuple[str, ...], list[_Column]] = {}
    for column in _columns(stream):
        by_key.setdefault(column.key, []).append(column)
    groups = []
    for (stem, side, kind, unit, _), columns in by_key.items():
        sized = _of_like_size(columns)
        for like in sized:
            n_parts = -(-len(like) // MAX_CURVES)
            edges = np.linspace(0, len(like), n_parts + 1).round().astype(int)
            for first, stop in pairwise(edges.tolist()):
                part = like[first:stop]
                names = _short([column.name for column in part], stem)
                common = "" if stem else _stem(part)
                words = " ".join(dict.fromkeys(x for x in (stem, side, kind or common) if x))
                span = names[0] if len(names) == 1 else f"{names[0]}–{names[-1]}"
                is_named = words and (len(part) == len(columns) or kind)
                if len(columns) == 1:
                    words, is_named = columns[0].name, True
                groups.append(
                    ChannelGroup(
                        title=words if is_named else f"{words} {span}".strip(),
                        names=tuple(names) if len(names) > 1 else (),
                        unit=unit,
                        time_ns=part[0].time_ns,
                        values=np.column_stack([column.values for column in part]),
                    )
                )
    return groups


def _columns(stream: SignalStream) -> list[_Column]:
    columns = []
    for channel in stream.channels:
        n = channel.values.shape[1]
        for k in range(n if channel.time_ns.size else 0):
            name, stem = (str(k + 1), channel.name) if n > 1 else (channel.name, "")
            values = np.asarray(channel.values[:, k], dtype=np.float64)
            columns.append(_Column(name, stem, channel.unit.strip(), channel.time_ns, values))
    return columns


def _of_like_size(columns: Sequence[_Column]) -> list[list[_Column]]:
    """Split columns where one would flatten the other, each list in the given order."""
    sizes = np.array([column.size for column in columns])
    ordered = np.sort(sizes[sizes > 0.0])
    jumps = np.flatnonzero(ordered[1:] > MAX_RATIO * ordered[:-1])
    limits = [float(ordered[k]) for k in jumps]
    rank = np.searchsorted(limits, sizes, side="left") if limits else np.zeros(sizes.size, int)
    return [
        [column for column, own in zip(columns, rank, strict=True) if own == k]
        for k in dict.fromkeys(rank.tolist())
    ]


def _stem(columns: Sequence[_Column]) -> str:
    """Return the common prefix of all names, up to a separator."""
    common = columns[0].name[: n_common([column.name for column in columns])]
    return common.rstrip("0123456789").rstrip("._-/ ") if len(columns) > 1 else ""


def _short(names: Sequence[str], stem: str) -> list[str]:
    """Return names without their common prefix and suffix."""
    if len(names) < 2 or stem:
        return list(names)
    backwards = [name[::-1] for name in names]
    begin = re.split(r"(?<=[._\-/ ])", names[0][: n_common(names)])
    end = re.split(r"(?<=[._\-/ ])", backwards[0][: n_common(backwards)])
    n_begin, n_end = len("".join(begin[:-1])), len("".join(end[:-1]))
    return [name[n_begin : len(name) - n_end] or name for name in names]
