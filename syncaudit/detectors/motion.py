"""Turn IMU and CAN channels into clean activities in SI units.

Streams are kept as read; samples that are not evidence (not finite, or stamped before their
predecessor) are removed here, and samples with the same stamp are averaged. Defects are
reported by the stamp audit and by the readers.
"""

from __future__ import annotations

import numpy as np

from syncaudit.model import Activity, Channel, Quantity, SignalStream, is_usable, seconds_since
from syncaudit.model.arrays import Floats, Ints
from syncaudit.model.time import near_stamps
from syncaudit.model.units import si_per_unit

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
