"""The raw bus log: messages packed by cantools as candump text, and the DBC that unpacks them."""

from collections.abc import Mapping
from pathlib import Path

import cantools
import numpy as np
from cantools.database import Database, Message, Signal
from cantools.database.conversion import BaseConversion

from syncaudit.writing import replace_text, replacing_text

from . import can_bus
from .clocks import stamp, to_ns
from .motion import FloatArray, Motion

_MESSAGES: tuple[tuple[int, str, float, tuple[str, ...]], ...] = (  # id, name, period in s, roles
    (0x110, "Wheels", 0.02, ("speed",)),
    (0x120, "Dynamics", 0.01, ("yaw_rate", "long_accel", "lateral_accel")),
    (0x130, "Steering", 0.01, ("steering_angle",)),
    (0x140, "Brakes", 0.02, ("brake",)),
    (0x150, "Strobe", 0.1, ("strobe",)),
)
_SIGNALS: Mapping[str, can_bus.Signal] = {signal.role: signal for signal in can_bus.SIGNALS}


def vehicle_database() -> Database:
    """Return the bus description: 16-bit signals, little endian, signed but for speed and count."""
    messages = []
    for frame_id, name, period_s, roles in _MESSAGES:
        signals = [
            Signal(
                name=_SIGNALS[role].name,
                start=16 * place,
                length=16,
                is_signed=role not in ("speed", "strobe"),
                conversion=BaseConversion.factory(scale=_SIGNALS[role].step),
                unit=_SIGNALS[role].unit,
            )
            for place, role in enumerate(roles)
        ]
        messages.append(
            Message(
                frame_id=frame_id,
                name=name,
                length=8,
                signals=signals,
                cycle_time=round(period_s * 1000),
                senders=["Vehicle"],
            )
        )
    nodes = [cantools.database.Node(name="Vehicle", comment=None)]
    return Database(messages=messages, nodes=nodes)


def write_log(
    motion: Motion,
    config: can_bus.CanConfig,
    duration_s: float,
    pulses_s: FloatArray,
    start_ns: int,
    folder: Path,
    rng: np.random.Generator,
) -> int:
    """Write ``can.log`` and ``vehicle.dbc`` into a folder.

    Candump stamps have microseconds. Each message waits for the bus a little (exponential), which
    is part of the stamp; the strobe message goes out at every pulse and ten times a second.

    Returns
    -------
    int
        Number of frames written.
    """
    database = vehicle_database()
    replace_text(folder / "vehicle.dbc", database.as_dbc_string())
    lines: list[tuple[int, str]] = []
    for frame_id, name, period_s, roles in _MESSAGES:
        pulses = pulses_s if "strobe" in roles else np.empty(0)
        times = can_bus.bus_times(duration_s, period_s, rng.uniform(0, period_s), pulses)
        times = times[~config.clock.is_in_gap(times)]
        values = can_bus.sample_signals(motion, times, pulses_s, rng)
        wait = rng.exponential(config.arbitration_s, times.size) if config.arbitration_s else 0.0
        stamps = stamp(times, config.clock, at_s=duration_s / 2, rate_hz=1 / period_s, rng=rng)
        stamps_ns = to_ns(stamps + wait, start_ns)
        message = database.get_message_by_name(name)
        table = {_SIGNALS[role].name: values[role].tolist() for role in roles}
        for row, stamp_ns in enumerate(stamps_ns.tolist()):
            payload = message.encode({key: column[row] for key, column in table.items()})
            lines.append((stamp_ns, f"can0 {frame_id:03X}#{payload.hex().upper()}"))
    lines.sort(key=lambda line: line[0])
    bunched = can_bus.bunch(np.array([line[0] for line in lines], np.int64), config.bunch_s)
    with replacing_text(folder / "can.log") as file:
        for stamp_ns, (_, text) in zip(bunched.tolist(), lines, strict=True):
            seconds, microseconds = divmod((stamp_ns + 500) // 1000, 1_000_000)
            file.write(f"({seconds}.{microseconds:06d}) {text}\n")
    return len(lines)
