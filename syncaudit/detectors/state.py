"""Turn a table of robot state into one activity: where the robot is, or is commanded to be."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from syncaudit.formatting import word_count
from syncaudit.model import (
    Activity,
    Channel,
    Quantity,
    SignalStream,
    SourceKind,
    is_usable,
    seconds_since,
)
from syncaudit.model.arrays import Floats
from syncaudit.model.time import near_stamps

MIN_SAMPLES = 16
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


def find_state(stream: SignalStream) -> Activity | None:
    """Return the motion in a state source, or None if nothing in it moves.

    Velocities and steps are summed, angles that jump by a full turn are unwrapped; efforts,
    switches and channels that stand still are left out. Commands are distinguished from states by
    the manifest (`is_command`, `is_rate`), else by their names. One column per moving channel.
    """
    if stream.kind is not SourceKind.STATE or stream.time_ns.size < MIN_SAMPLES:
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
    if int(usable.sum()) < MIN_SAMPLES:
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
    if n < MIN_SAMPLES:
        span_s = 1e-9 * float(np.ptp(stream.time_ns)) if n else 0.0
        return (
            f"{stream.name} holds {word_count(n, 'sample')} over {span_s:.1f} s: at least "
            f"{MIN_SAMPLES} are needed, with some seconds of motion"
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
