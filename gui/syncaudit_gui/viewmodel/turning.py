"""Turn rates: the one motion that cameras, gyroscopes and buses all measure.

The norm of an angular rate does not depend on how a sensor is mounted, so the curves of different
sources coincide if their clocks agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from syncaudit.detectors import detect_motion
from syncaudit.model import Quantity, RotationIncrements, SignalStream, Stream
from syncaudit_gui.viewmodel.pyramid import MinMaxPyramid

_DEG = 180.0 / math.pi
# No vehicle turns faster, in rad/s: larger bus values without a unit are in degrees.
FASTEST = 3.5


def sensor_turning(streams: Mapping[str, Stream], epoch_ns: int) -> dict[str, MinMaxPyramid]:
    """Return the turn rate in °/s of every IMU and bus that measures one."""
    curves = {}
    for name, stream in streams.items():
        if not isinstance(stream, SignalStream):
            continue
        for activity in detect_motion(stream):
            if activity.quantity in (Quantity.ANGULAR_RATE, Quantity.YAW_RATE):
                rate = np.linalg.norm(activity.values, axis=1)[:, None]
                is_in_degrees = (
                    activity.quantity is Quantity.YAW_RATE
                    and float(np.max(rate, initial=0.0)) > FASTEST
                )
                rate = rate if is_in_degrees else rate * _DEG
                base_s = (activity.epoch_ns - epoch_ns) * 1e-9
                curves[name] = MinMaxPyramid(base_s + activity.times_s, rate)
                break
    return curves


def camera_turning(rotation: RotationIncrements, epoch_ns: int) -> MinMaxPyramid:
    """Return the turn rate in °/s of a camera, at the middle of each pair of frames."""
    base_s = (rotation.epoch_ns - epoch_ns) * 1e-9
    span_s = rotation.stop_s - rotation.start_s
    usable = span_s > 0.0
    rate = np.linalg.norm(rotation.angles_rad[usable], axis=1) / span_s[usable] * _DEG
    middle_s = 0.5 * (rotation.start_s + rotation.stop_s)[usable]
    return MinMaxPyramid(base_s + middle_s, rate[:, None])
