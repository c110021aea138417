"""Turn tables of signals and event logs into evidence: motion, robot state, pulses of light.

IMU and CAN channels become clean activities in SI units, a robot's state one activity (where it is,
or is commanded to be), strobe counters and trigger logs pulses of light.

Streams are kept as read; samples that are not evidence (not finite, or stamped before their
predecessor) are removed here, and samples with the same stamp are averaged. Defects are reported by
the stamp audit and by the readers.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from syncaudit.detectors.stamps.grid import resolution_ns
from syncaudit.formatting import word_count
from syncaudit.model import (
    Activity,
    Channel,
    EventStream,
    EventTrain,
    Quantity,
    SignalStream,
    SourceKind,
    is_usable,
    seconds_since,
)
from syncaudit.model.arrays import Floats, Ints
from syncaudit.model.evidence.flashes import FlashIntervals
from syncaudit.model.units import near_stamps, si_per_unit

_QUANTITIES = {
    "gyro": Quantity.ANGULAR_RATE,
    "accel": Quantity.SPECIFIC_FORCE,
    "speed": Quantity.SPEED,
    "yaw_rate": Quantity.YAW_RATE,
    "steering_angle": Quantity.STEERING_ANGLE,
    "brake": Quantity.BRAKE,
    "long_accel": Quantity.LONG_ACCEL,
    "lateral_accel": Quantity.LATERAL_ACCEL,
}

MIN_SAMPLES = 8

MIN_STATE_SAMPLES = 16
# Switches and grippers with few distinct positions are not motion.
MIN_VALUES = 9
# A column with fewer numbers would cost the other columns more than it adds.
MIN_USABLE = 0.5
# Jumps of about a full turn are a wrapping angle.
TURNS = (2.0 * math.pi, 360.0)
TURN_SHARE = 0.9

_COMMANDS = ("action", "command", "cmd", "target", "goal", "setpoint", "desired", "leader")
_RATES = ("vel", "twist", "delta", "rate", "speed")
_NO_MOTION = ("effort", "torque", "current", "force", "temperature", "voltage", "reward", "done")

STROBE_ROLE = "strobe"
# Counters of up to this many bits wrap; longer ones were set back.
MAX_WRAP_BITS = 16
# Counts that float64 represents exactly; NaN fails the comparison as well.
MOST_COUNT = 2.0**53
# Bounds of the rounding of timestamps: none is better than a microsecond.
FINEST_NS, COARSEST_NS = 1_000, 10_000_000


def quantity_of(channel: str) -> Quantity | None:
    """Return the quantity of a channel or CAN role, or None if it is not motion."""
    if channel.startswith("wheel_speed"):
        return Quantity.WHEEL_SPEED
    return _QUANTITIES.get(channel)


def detect_motion(stream: SignalStream) -> list[Activity]:
    """Return one activity for each channel of an IMU or CAN stream that holds motion.

    Channels with fewer than eight usable samples are left out. Values are in SI units if the
    channel states a known unit, otherwise as read.
    """
    activities = []
    for channel in stream.channels:
        quantity = quantity_of(channel.name)
        if quantity is None:
            continue
        activity = _activity(stream.name, quantity, channel)
        if activity is not None:
            activities.append(activity)
    return activities


def _activity(source: str, quantity: Quantity, channel: Channel) -> Activity | None:
    if channel.time_ns.size < MIN_SAMPLES:
        return None
    time_ns, values = channel.time_ns, channel.values
    epoch_ns, usable = near_stamps(time_ns)
    usable &= np.all(is_usable(values), axis=1)
    # Long recordings are copied only if necessary.
    if not usable.all():
        time_ns, values = time_ns[usable], values[usable]
    if time_ns.size < MIN_SAMPLES:
        return None
    time_ns, values = _one_a_stamp(time_ns, values)
    if time_ns.size < MIN_SAMPLES:
        return None
    si = si_per_unit(channel.unit)
    return Activity(
        source=source,
        quantity=quantity,
        epoch_ns=epoch_ns,
        times_s=seconds_since(time_ns, epoch_ns),
        values=values if si is None or si == 1.0 else values * si,
        is_si=si is not None,
    )


def _one_a_stamp(time_ns: Ints, values: Floats) -> tuple[Ints, Floats]:
    """Return samples not stamped before an earlier one, averaging those with equal stamps.

    Stamps that are rounded more coarsely than the sample period represent the middle of the samples
    that share them: the first alone would be half a rounding step early.
    """
    if np.all(time_ns[1:] > time_ns[:-1]):
        return time_ns, values
    latest = np.maximum.accumulate(time_ns)
    in_order = time_ns == latest
    time_ns, values = time_ns[in_order], values[in_order]
    first = np.flatnonzero(np.diff(time_ns, prepend=time_ns[0] - 1))
    n = np.diff(first, append=time_ns.size)
    return time_ns[first], np.add.reduceat(values, first, axis=0) / n[:, None]


def find_state(stream: SignalStream) -> Activity | None:
    """Return the motion in a state source, or None if nothing in it moves.

    Velocities and steps are summed, angles that jump by a full turn are unwrapped; efforts,
    switches and channels that stand still are left out. Commands are distinguished from states by
    the manifest (`is_command`, `is_rate`), else by their names. One column per moving channel.
    """
    if stream.kind is not SourceKind.STATE or stream.time_ns.size < MIN_STATE_SAMPLES:
        return None
    epoch_ns, near = near_stamps(stream.time_ns)
    # All channels come from one table and share its stamps.
    channels = [c for c in stream.channels if c.time_ns.size == stream.time_ns.size]
    moving = [c for c in channels if not _is_called(c.name, _NO_MOTION)]
    if not moving or _is_called(stream.name, _NO_MOTION):
        return None
    later = np.concatenate(
        [[True], stream.time_ns[1:] > np.maximum.accumulate(stream.time_ns)[:-1]]
    )
    usable = near & later
    moving = [replace(c, values=_without_dead(c.values)) for c in moving]
    for channel in moving:
        usable &= is_usable(channel.values).all(axis=1)
    if int(usable.sum()) < MIN_STATE_SAMPLES:
        return None
    times_s = seconds_since(stream.time_ns[usable], epoch_ns)
    is_held = _is_command(stream)
    columns = [
        column
        for channel in moving
        for column in _positions(stream, channel, times_s, channel.values[usable], is_held=is_held)
    ]
    if not columns:
        return None
    return Activity(
        source=stream.name,
        quantity=Quantity.COMMAND if is_held else Quantity.STATE,
        epoch_ns=epoch_ns,
        times_s=times_s,
        values=np.stack(columns, axis=1),
    )


def why_no_state(stream: SignalStream) -> str:
    """Return why `find_state` finds nothing in a source of robot state."""
    n = stream.time_ns.size
    if n < MIN_STATE_SAMPLES:
        span_s = 1e-9 * float(np.ptp(stream.time_ns)) if n else 0.0
        return (
            f"{stream.name} holds {word_count(n, 'sample')} over {span_s:.1f} s: at least "
            f"{MIN_STATE_SAMPLES} are needed, with some seconds of motion"
        )
    return (
        f"nothing in {stream.name} moves: efforts, switches with fewer than {MIN_VALUES} "
        "positions and constant channels show no motion. If the computer that timestamps the "
        'joints timestamps it too, state one "clock" for both'
    )


def _is_command(stream: SignalStream) -> bool:
    if stream.is_command is not None:
        return stream.is_command
    if _is_called(stream.name, _COMMANDS):
        return True
    return bool(stream.channels) and all(_is_called(c.name, _COMMANDS) for c in stream.channels)


def _without_dead(values: Floats) -> Floats:
    """Return the columns of a channel that are mostly numbers; one dead joint must not cost all.

    NaNs are reported as a finding of their own.
    """
    columns = values.reshape(values.shape[0], -1)
    return columns[:, is_usable(columns).mean(axis=0) >= MIN_USABLE]


def _positions(
    stream: SignalStream, channel: Channel, times_s: Floats, values: Floats, *, is_held: bool
) -> list[Floats]:
    """Return the columns of a channel that move, as positions.

    A velocity is sampled, and between two samples their mean applies. A command, be it a velocity
    or a step, is held until the next one: its position is reached at the end.
    """
    is_rate = stream.is_rate
    if is_rate is None:
        is_rate = _is_called(channel.name, _RATES) or _is_called(stream.name, _RATES)
    columns = []
    for column in values.T:
        if np.unique(column).size < MIN_VALUES:
            continue
        if is_rate:
            between = column[:-1] if is_held else 0.5 * (column[1:] + column[:-1])
            columns.append(np.concatenate([[0.0], np.cumsum(between * np.diff(times_s))]))
        else:
            columns.append(_unwrapped(column))
    return columns


def _unwrapped(column: Floats) -> Floats:
    for turn in TURNS:
        if TURN_SHARE * turn < np.ptp(column) <= 1.001 * turn:
            return np.unwrap(column, discont=TURN_SHARE * turn, period=turn)
    return column


def _is_called(name: str, words: tuple[str, ...]) -> bool:
    return any(word in name.lower() for word in words)


def find_strobe(stream: SignalStream) -> FlashIntervals | None:
    """Return when a strobe counter of a bus changed.

    A pulse began between the last message with the old count and the first with the new one, both
    by their stamps; the receive delay of a bus is part of its clock offset. A counter that jumps by
    more than one counts several pulses in the interval; one that falls has wrapped after all values
    of its bits, the fewest that hold all its counts. A signal that changes between two values is
    the level of a light instead, which goes on where it rises. None if there is no channel of the
    role ``strobe`` or it never changes.
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
    n_bits = int(counts.max()).bit_length()
    wraps = not is_level and n_bits <= MAX_WRAP_BITS
    jumps = (np.sign(jumps) if is_level else jumps)[changed]
    jumps = jumps % 2**n_bits if wraps else jumps
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
