"""Turn strobe counters and trigger logs into evidence of light pulses."""

from __future__ import annotations

import math

import numpy as np

from syncaudit.detectors.stamps.grid import resolution_ns
from syncaudit.model import EventStream, EventTrain, Quantity, SignalStream, seconds_since
from syncaudit.model.arrays import Ints
from syncaudit.model.evidence.flashes import FlashIntervals
from syncaudit.model.units import near_stamps

STROBE_ROLE = "strobe"
# Counters wrap after one or two bytes.
WRAPS = (256, 65536)
# Counts that float64 represents exactly; NaN fails the comparison as well.
MOST_COUNT = 2.0**53
# Bounds of the rounding of timestamps: none is better than a microsecond.
FINEST_NS, COARSEST_NS = 1_000, 10_000_000


def find_strobe(stream: SignalStream) -> FlashIntervals | None:
    """Return when a strobe counter of a bus changed.

    A pulse began between the last message with the old count and the first with the new one, both
    by their stamps; the receive delay of a bus is part of its clock offset. A counter that jumps by
    more than one counts several pulses in the interval; one that falls has wrapped after 256 or
    65536, whichever is the first range that holds all its counts. A signal that changes between two
    values is the level of a light instead, which goes on where it rises. None if there is no
    channel of the role ``strobe`` or it never changes.
    """
    channel = stream.channel(STROBE_ROLE)
    if channel is None or channel.values.shape[1] < 1:
        return None
    epoch_ns, usable = near_stamps(channel.time_ns)
    usable &= np.abs(channel.values[:, 0]) < MOST_COUNT
    times_s = seconds_since(channel.time_ns[usable], epoch_ns)
    counts = np.round(channel.values[usable, 0]).astype(np.int64)
    jumps = np.diff(counts)
    changed = np.flatnonzero((jumps != 0) & (np.diff(times_s) >= 0.0))
    if not changed.size:
        return None
    is_level = changed.size > 1 and np.unique(counts).size == 2
    wrap = None if is_level else next((n for n in WRAPS if int(counts.max()) < n), None)
    jumps = np.sign(jumps) if is_level else jumps
    jumps = jumps[changed] if wrap is None else jumps[changed] % wrap
    # Without a known wrap, a falling counter was reset: the number of pulses is unknown.
    forward = jumps > 0
    changed = changed[forward]
    return FlashIntervals(
        source=stream.name,
        quantity=Quantity.STROBE,
        epoch_ns=epoch_ns,
        start_s=times_s[changed],
        stop_s=times_s[changed + 1],
        std_s=np.full(changed.size, _resolution_std_s(channel.time_ns)),
        count=jumps[forward],
    )


def find_triggers(stream: EventStream) -> EventTrain | None:
    """Return the instants of a trigger log, or None if it is empty.

    Stamps may be in any order; duplicates count as one event. The error is the rounding of the
    stamps (resolution / sqrt(12)).
    """
    if not stream.time_ns.size:
        return None
    epoch_ns, usable = near_stamps(stream.time_ns)
    time_ns = np.unique(stream.time_ns[usable])
    return EventTrain(
        source=stream.name,
        quantity=Quantity.TRIGGER,
        epoch_ns=epoch_ns,
        times_s=seconds_since(time_ns, epoch_ns),
        std_s=np.full(time_ns.size, _resolution_std_s(time_ns)),
    )


def _resolution_std_s(time_ns: Ints) -> float:
    """Return the rounding error of stamps from the coarsest unit that divides their intervals."""
    unit_ns = min(max(resolution_ns(time_ns), FINEST_NS), COARSEST_NS)
    return float(unit_ns * 1e-9 / math.sqrt(12.0))
