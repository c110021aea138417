"""Group the events of all sources into flashes, given rough clock maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from syncaudit.estimators.events import Corrections, EventMatch, Instants
from syncaudit.model.arrays import Floats, Ints

# Maximum distance from a flash at which an event is attached to it, in addition to its own error.
ATTACH_S = 2e-4
ATTACH_SIGMAS = 5.0
# Error of the maps along the pairs while line delays or the half-light latency are not known yet.
MAP_ERROR_S = 3e-3
# Maximum distance between the bands of one pulse that is split between two frames.
SPLIT_S = 5e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """Map from a source's own time to reference time: ``start + rate * t`` plus past steps.

    Both in seconds since the epochs of the two evidences; `steps` are pairs of own time and size.
    """

    start_s: float = 0.0
    rate: float = 1.0
    corrections: Corrections = field(default_factory=Corrections)
    steps: tuple[tuple[float, float], ...] = ()

    def of(self, events: Instants) -> Floats:
        """Return the reference times of own events."""
        times = events.at(self.corrections)
        mapped: Floats = self.start_s + self.rate * times
        for at_s, size_s in self.steps:
            mapped = mapped + size_s * (times >= at_s)
        return mapped


def associate(
    maps: Mapping[str, Map],
    events: Mapping[str, Instants],
    matches: Mapping[tuple[str, str], EventMatch],
    bad: set[tuple[str, str]],
) -> tuple[dict[str, Ints], Floats]:
    """Return the flash number of every event, and the rough time of every flash.

    Matched events are joined over all pairs; events that no pair matched are attached to the
    nearest flash if it lies within their error.
    """
    names = list(events)
    base = dict(zip(names, np.cumsum([0] + [events[n].n for n in names[:-1]]), strict=True))
    times = np.concatenate([maps[n].of(events[n]) for n in names])
    half = np.concatenate([events[n].half_s for n in names])
    gate = half + ATTACH_S + ATTACH_SIGMAS * np.concatenate([events[n].std_s for n in names])
    owner = np.repeat(np.arange(len(names)), [events[n].n for n in names])
    matched = [
        (base[one] + match.i, base[other] + match.j)
        for (one, other), match in matches.items()
        if one in base and other in base and (one, other) not in bad
    ]
    i, j = np.concatenate([np.zeros((2, 0), dtype=np.int64), *matched], axis=1)
    # Sharp and near pairs first: an interval may contain two flashes of a burst.
    order = np.lexsort((np.abs(times[i] - times[j]), (half[i] > 0.0) | (half[j] > 0.0)))
    roots = _joined(i[order], j[order], times, gate + MAP_ERROR_S)
    flash, centre = _number(roots, times, half, owner)
    flash = _attach(flash, centre, times, gate, owner)
    return {n: flash[base[n] : base[n] + events[n].n] for n in names}, centre


def _joined(i: Ints, j: Ints, times: Floats, gate: Floats) -> Ints:
    """Join events by pairs and return a representative of each event's set.

    Union-find, in which every set keeps the interval of times within the gates of all its events;
    sets whose intervals do not overlap are not joined.
    """
    parent = np.arange(times.size)
    lowest, highest = times - gate, times + gate

    def root_of(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = int(parent[k])
        return k

    for one, other in zip(i.tolist(), j.tolist(), strict=True):
        a, b = root_of(one), root_of(other)
        low, high = max(lowest[a], lowest[b]), min(highest[a], highest[b])
        if low <= high:
            parent[a] = b
            lowest[b], highest[b] = low, high
    return np.array([root_of(k) for k in range(times.size)])


def _number(roots: Ints, times: Floats, half: Floats, owner: Ints) -> tuple[Ints, Floats]:
    """Assign numbers, in time order, to the sets of joined events from at least two sources."""
    groups: list[tuple[float, Ints]] = []
    order = np.argsort(roots, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(roots[order])) + 1):
        if np.unique(owner[members]).size < 2:
            continue
        sharp = members[half[members] <= half[members].min() + 1e-9]
        groups.append((float(np.median(times[sharp])), members))
    groups.sort(key=lambda group: group[0])
    flash = np.full(roots.size, -1, dtype=np.int64)
    for number, (_, members) in enumerate(groups):
        flash[members] = number
    return flash, np.array([group[0] for group in groups])


def _attach(flash: Ints, centre: Floats, times: Floats, gate: Floats, owner: Ints) -> Ints:
    if centre.size == 0:
        return flash
    flash = flash.copy()
    taken = {(int(o), int(f)) for o, f in zip(owner, flash, strict=True) if f >= 0}
    right = np.clip(np.searchsorted(centre, times), 1, max(1, centre.size - 1))
    left = right - 1
    right = np.minimum(right, centre.size - 1)
    nearest = np.where(np.abs(times - centre[left]) < np.abs(times - centre[right]), left, right)
    off = np.abs(times - centre[nearest])
    for k in np.flatnonzero((flash < 0) & (off <= gate)):
        key = (int(owner[k]), int(nearest[k]))
        if key not in taken or off[k] <= SPLIT_S:
            flash[k] = nearest[k]
            taken.add(key)
    return flash
