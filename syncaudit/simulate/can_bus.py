"""The vehicle bus: signals with their resolution and dynamics, as a table or a raw log."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from cantools import database
from cantools.database.conversion import BaseConversion
from numpy.typing import NDArray

from syncaudit.writing import replace_text, replacing_text

from .clocks import ClockFault, stamp, to_ns
from .motion import FloatArray, Motion

STEERING_RATIO = 15.0
WHEELBASE_M = 2.7
STEERING_LEAD_S = 0.05  # the wheel turns before the vehicle does
BRAKE_LEAD_S = 0.12  # pressure builds up before the vehicle slows
BRAKE_BAR_PER_MPS2 = 12.0
_MESSAGES: tuple[tuple[int, str, float, tuple[str, ...]], ...] = (  # id, name, period in s, roles
    (0x110, "Wheels", 0.02, ("speed",)),
    (0x120, "Dynamics", 0.01, ("yaw_rate", "long_accel", "lateral_accel")),
    (0x130, "Steering", 0.01, ("steering_angle",)),
    (0x140, "Brakes", 0.02, ("brake",)),
    (0x150, "Strobe", 0.1, ("strobe",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CanConfig:
    """Describe the content of the bus and how it is logged."""

    # ``log``: candump text and a DBC file, periods of 10 and 20 ms. ``csv``: one decoded table with
    # a row every `csv_period_s` in which every signal is sampled at that row's time.
    format: str = "csv"
    csv_period_s: float = 0.02
    arbitration_s: float = 1e-4  # mean (exponential) wait for bus access; included in the timestamp
    # receive timestamps are delayed to multiples of this, as by a USB adapter; 0 for no delay
    bunch_s: float = 0.0
    clock: ClockFault = field(default_factory=ClockFault)

    def __post_init__(self) -> None:
        if self.format not in ("log", "csv"):
            raise ValueError(f"format is {self.format!r}, expected 'log' or 'csv'")
        if not 0.001 <= self.csv_period_s <= 1.0:
            raise ValueError(f"csv_period_s is {self.csv_period_s}, expected 0.001 to 1")
        if self.arbitration_s < 0 or self.bunch_s < 0:
            raise ValueError("arbitration_s and bunch_s must not be negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """Describe one signal: role in a manifest, name in the DBC, resolution, noise."""

    role: str
    name: str
    unit: str
    step: float
    noise: float


SIGNALS = (
    Signal(role="speed", name="Speed", unit="km/h", step=0.01, noise=0.03),
    Signal(role="yaw_rate", name="YawRate", unit="deg/s", step=0.05, noise=0.08),
    Signal(role="steering_angle", name="SteeringWheelAngle", unit="deg", step=0.1, noise=0.05),
    Signal(role="brake", name="BrakePressure", unit="bar", step=0.1, noise=0.03),
    Signal(role="long_accel", name="LongAccel", unit="m/s2", step=0.01, noise=0.03),
    Signal(role="lateral_accel", name="LateralAccel", unit="m/s2", step=0.01, noise=0.03),
    Signal(role="strobe", name="StrobeCount", unit="", step=1.0, noise=0.0),
)
_BY_ROLE = {signal.role: signal for signal in SIGNALS}


def sample_signals(
    motion: Motion, times_s: FloatArray, pulses_s: FloatArray, rng: np.random.Generator
) -> dict[str, FloatArray]:
    """Return every signal by role at true times, in physical units, quantised, each shape (n,).

    Yaw rate and accelerations are those of the body (accelerations with gravity, as measured by
    sensors); the steering angle follows the curvature `STEERING_LEAD_S` ahead, the brake pressure
    the deceleration `BRAKE_LEAD_S` ahead. The strobe counts light pulses, modulo 256.
    """
    force = motion.specific_force(times_s)
    ahead = times_s + STEERING_LEAD_S
    curvature = motion.euler_rad(ahead, 1)[:, 0] / np.maximum(motion.speed(ahead), 0.5)
    later = times_s + BRAKE_LEAD_S
    heading = motion.euler_rad(later)[:, 0]
    along = motion.acceleration(later)
    slowing = -(along[:, 0] * np.cos(heading) + along[:, 1] * np.sin(heading))
    values = {
        "speed": 3.6 * motion.speed(times_s),
        "yaw_rate": np.degrees(motion.angular_rate(times_s)[:, 2]),
        "steering_angle": np.degrees(STEERING_RATIO * np.arctan(WHEELBASE_M * curvature)),
        "brake": BRAKE_BAR_PER_MPS2 * np.maximum(slowing - 0.3, 0.0),
        "long_accel": force[:, 0],
        "lateral_accel": force[:, 1],
        "strobe": np.searchsorted(pulses_s, times_s, side="right") % 256.0,
    }
    for signal in SIGNALS:
        noisy = values[signal.role] + signal.noise * rng.standard_normal(times_s.size)
        if signal.role in ("speed", "brake"):
            noisy = np.where(values[signal.role] > 0, np.maximum(noisy, 0.0), 0.0)
        values[signal.role] = np.rint(noisy / signal.step) * signal.step
    return values


def bus_times(
    duration_s: float, period_s: float, phase_s: float, pulses_s: FloatArray
) -> FloatArray:
    """Return the true times at which a message is created: periodically and at each pulse."""
    regular = np.arange(phase_s, duration_s, period_s)
    return np.unique(np.concatenate([regular, pulses_s[pulses_s < duration_s]]))


def bunch(stamps_ns: NDArray[np.int64], bunch_s: float) -> NDArray[np.int64]:
    """Delay receive timestamps to the next multiple of `bunch_s`, 20 us apart within a bunch."""
    if not bunch_s or not stamps_ns.size:
        return stamps_ns
    period_ns = round(bunch_s * 1e9)
    ready = -(-stamps_ns // period_ns) * period_ns
    place = np.arange(stamps_ns.size) - np.searchsorted(ready, ready)
    return ready + 20_000 * place


def vehicle_database() -> database.Database:
    """Return the bus description: 16-bit little-endian signals, signed except speed and count."""
    messages = []
    for frame_id, name, period_s, roles in _MESSAGES:
        signals = [
            database.Signal(
                name=_BY_ROLE[role].name,
                start=16 * place,
                length=16,
                is_signed=role not in ("speed", "strobe"),
                conversion=BaseConversion.factory(scale=_BY_ROLE[role].step),
                unit=_BY_ROLE[role].unit,
            )
            for place, role in enumerate(roles)
        ]
        messages.append(
            database.Message(
                frame_id=frame_id,
                name=name,
                length=8,
                signals=signals,
                cycle_time=round(period_s * 1000),
                senders=["Vehicle"],
            )
        )
    nodes = [database.Node(name="Vehicle", comment=None)]
    return database.Database(messages=messages, nodes=nodes)


def write_log(
    motion: Motion,
    config: CanConfig,
    duration_s: float,
    pulses_s: FloatArray,
    start_ns: int,
    folder: Path,
    rng: np.random.Generator,
) -> int:
    """Write ``can.log`` and ``vehicle.dbc`` into a folder.

    Candump timestamps have microsecond resolution. Each message waits briefly for the bus
    (exponential), which is part of the timestamp; the strobe message is sent at every pulse and
    ten times a second.
    """
    description = vehicle_database()
    replace_text(folder / "vehicle.dbc", description.as_dbc_string())
    lines: list[tuple[int, str]] = []
    for frame_id, name, period_s, roles in _MESSAGES:
        pulses = pulses_s if "strobe" in roles else np.empty(0)
        times = bus_times(duration_s, period_s, rng.uniform(0, period_s), pulses)
        times = times[~config.clock.is_in_gap(times)]
        values = sample_signals(motion, times, pulses_s, rng)
        wait = rng.exponential(config.arbitration_s, times.size) if config.arbitration_s else 0.0
        stamps = stamp(times, config.clock, at_s=duration_s / 2, rate_hz=1 / period_s, rng=rng)
        stamps_ns = to_ns(stamps + wait, start_ns)
        message = description.get_message_by_name(name)
        table = {_BY_ROLE[role].name: values[role].tolist() for role in roles}
        for row, stamp_ns in enumerate(stamps_ns.tolist()):
            payload = message.encode({key: column[row] for key, column in table.items()})
            lines.append((stamp_ns, f"can0 {frame_id:03X}#{payload.hex().upper()}"))
    lines.sort(key=lambda line: line[0])
    bunched = bunch(np.array([line[0] for line in lines], np.int64), config.bunch_s)
    with replacing_text(folder / "can.log") as file:
        for stamp_ns, (_, text) in zip(bunched.tolist(), lines, strict=True):
            seconds, microseconds = divmod((stamp_ns + 500) // 1000, 1_000_000)
            file.write(f"({seconds}.{microseconds:06d}) {text}\n")
    return len(lines)
