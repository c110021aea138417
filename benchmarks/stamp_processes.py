"""Times at which real devices sample, and how recorders distort them.

Every process returns the instants at which samples were truly taken; true timestamps are those
instants, rounded to the resolution of the clock. Faults turn true timestamps into wrong ones.
Nothing here comes from `syncaudit.simulate`: the audit must not be tested against its own model of
the world.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rng = np.random.Generator

CRYSTAL_PPM = 30.0


def _crystal(rng: Rng) -> float:
    return 1.0 + 1e-6 * float(rng.uniform(-CRYSTAL_PPM, CRYSTAL_PPM))


def _grid(rate_hz: float, span_s: float, rng: Rng) -> Floats:
    """Return the ticks of a crystal."""
    period_s = _crystal(rng) / rate_hz
    return float(rng.uniform(0.0, period_s)) + period_s * np.arange(int(span_s / period_s) - 1)


def hardware_trigger(span_s: float, rng: Rng) -> Floats:
    """Trigger by a crystal, with hardware timestamps."""
    return _grid(float(rng.choice([10.0, 12.0, 20.0, 30.0])), span_s, rng)


def free_running_usb(span_s: float, rng: Rng) -> Floats:
    """Free-running sensor; the driver timestamps the transfer start: 0.1 ms interrupt latency."""
    ticks = _grid(float(rng.choice([15.0, 25.0, 30.0])), span_s, rng)
    return ticks + rng.exponential(1e-4, ticks.size)


def _sleep_loop(rate_hz: float, span_s: float, rng: Rng) -> Floats:
    """Loop over ``sample(); sleep(period)``: every overrun accumulates, so the phase wanders."""
    n = int(span_s * rate_hz * 1.2)
    overhead_s = 6e-5 + float(rng.uniform(1e-4, 2e-3))  # timer slack, and the time of the loop body
    steps = 1.0 / rate_hz + overhead_s + rng.gamma(2.0, 0.3 * overhead_s, n)
    stalls = rng.random(n) < float(rng.choice([0.0, 0.003, 0.02]))
    steps[stalls] += rng.uniform(0.005, min(0.06, 2.0 / rate_hz), int(stalls.sum()))
    times = np.cumsum(steps)
    return times[times < span_s]


def sleep_loop_camera(span_s: float, rng: Rng) -> Floats:
    """Camera triggered by a sleeping loop."""
    return _sleep_loop(float(rng.choice([10.0, 20.0, 30.0])), span_s, rng)


def sleep_loop_state(span_s: float, rng: Rng) -> Floats:
    """Joint states read by a sleeping loop."""
    return _sleep_loop(float(rng.choice([20.0, 50.0, 100.0])), span_s, rng)


def sleep_loop_imu(span_s: float, rng: Rng) -> Floats:
    """IMU read by a sleeping loop."""
    return _sleep_loop(float(rng.choice([10.0, 50.0, 100.0])), span_s, rng)


def _timer_loop(rate_hz: float, span_s: float, rng: Rng) -> Floats:
    """Timer with fixed deadlines (ROS): it catches up after late wake-ups and keeps the grid."""
    due = _grid(rate_hz, span_s, rng)
    late = rng.exponential(float(rng.uniform(5e-5, 6e-4)), due.size)
    busy = rng.random(due.size) < float(rng.choice([0.0, 0.01]))
    late[busy] += rng.uniform(0.0, 2.5 / rate_hz, int(busy.sum()))
    least_s = 0.15 / rate_hz
    times = np.empty(due.size)
    last = -np.inf
    for k in range(due.size):
        last = times[k] = max(due[k] + late[k], last + least_s)
    return times


def timer_loop_camera(span_s: float, rng: Rng) -> Floats:
    """Camera triggered by a timer with catch-up."""
    return _timer_loop(float(rng.choice([10.0, 20.0, 30.0])), span_s, rng)


def timer_loop_state(span_s: float, rng: Rng) -> Floats:
    """Joint states read by a timer with catch-up."""
    return _timer_loop(float(rng.choice([20.0, 50.0, 100.0])), span_s, rng)


def jittered_trigger(span_s: float, rng: Rng) -> Floats:
    """Camera triggered unevenly around an even clock, and timestamped at the trigger."""
    ticks = _grid(float(rng.choice([10.0, 15.0, 20.0])), span_s, rng)
    return np.sort(ticks + rng.normal(0.0, float(rng.uniform(0.006, 0.009)), ticks.size))


def exposure_phone(span_s: float, rng: Rng) -> Floats:
    """Phone that goes from 30 to 24 frames per second as the exposure requires."""
    n = int(31 * span_s)
    brightness = np.cumsum(rng.normal(0.0, 0.03, n)) + np.sin(
        np.arange(n) * float(rng.uniform(0.003, 0.03)) + float(rng.uniform(0.0, 6.0))
    )
    share = np.clip(0.5 + 0.5 * brightness, 0.0, 1.0)
    times = np.cumsum(1 / 30 + share * (1 / 24 - 1 / 30))
    return times[times < span_s]


def low_light_phone(span_s: float, rng: Rng) -> Floats:
    """Phone that halves its rate for seconds in the dark."""
    is_dark = bool(rng.random() < 0.5)
    now, times = 0.0, []
    until = float(rng.uniform(1.0, 6.0))
    while now < span_s:
        times.append(now)
        now += (1 / 15 if is_dark else 1 / 30) * (1.0 + 2e-5 * float(rng.standard_normal()))
        if now > until:
            is_dark, until = not is_dark, now + float(rng.uniform(1.0, 6.0))
    return np.array(times)


def screen(span_s: float, rng: Rng) -> Floats:
    """Screen recorder: a frame at a display refresh if something changed."""
    refresh = _grid(60.0, span_s, rng)
    busy = np.cumsum(rng.normal(0.0, 0.08, refresh.size)) + float(rng.uniform(-1.0, 1.0))
    shown = rng.random(refresh.size) < 0.08 + 0.85 / (1.0 + np.exp(-busy))
    return refresh[shown]


def network_camera(span_s: float, rng: Rng) -> Floats:
    """Network camera under NTP: its clock is slewed by up to 100 ppm now and then."""
    ticks = _grid(float(rng.choice([12.5, 25.0])), span_s, rng)
    slew = np.zeros(ticks.size)
    for _ in range(int(rng.integers(1, 4))):
        begin = float(rng.uniform(0.0, span_s))
        length = float(rng.uniform(2.0, 20.0))
        slew += 1e-6 * float(rng.uniform(-100, 100)) * np.clip(ticks - begin, 0.0, length)
    return ticks + slew


def gps(span_s: float, rng: Rng) -> Floats:
    """Satellite receiver at 10 Hz: intervals of 107 and 93 ms between fixes now and then."""
    n = int(10 * span_s)
    late = np.where(rng.random(n) < 0.15, rng.uniform(0.004, 0.009, n), 0.0)
    return 0.1 * _crystal(rng) * np.arange(n) + late


def can_bus(span_s: float, rng: Rng) -> Floats:
    """Message at 100 Hz that waits for the bus: up to a few CAN frames of 0.25 ms each."""
    ticks = _grid(100.0, span_s, rng)
    return ticks + 2.5e-4 * rng.geometric(0.5, ticks.size) + rng.uniform(0, 1e-4, ticks.size)


def can_usb(span_s: float, rng: Rng) -> Floats:
    """Let a USB adapter poll the same: the timestamps bunch within a few periods."""
    ticks = can_bus(span_s, rng)
    polls = np.cumsum(rng.uniform(0.004, 0.02, int(span_s / 0.004)))
    poll = np.searchsorted(polls, ticks).clip(max=polls.size - 1)
    place = np.arange(ticks.size) - np.searchsorted(poll, poll)  # within its batch
    return np.asarray(polls[poll] + 2e-5 * place)


def fifo_imu(span_s: float, rng: Rng) -> Floats:
    """IMU of 100 to 400 Hz whose FIFO counts its samples: timestamped at sampling."""
    ticks = _grid(float(rng.choice([100.0, 200.0, 400.0])), span_s, rng)
    return ticks + rng.normal(0.0, 2e-5, ticks.size)


def slow_imu(span_s: float, rng: Rng) -> Floats:
    """Attitude at 5 to 10 Hz from a flight log, by a scheduler that keeps no grid."""
    n = int(span_s * 12)
    rate_hz = float(rng.choice([5.0, 10.0]))
    times = np.cumsum(1 / rate_hz + rng.laplace(0.0, 0.004, n))
    return times[times < span_s]


def events(span_s: float, rng: Rng) -> Floats:
    """Events at random times."""
    return np.cumsum(rng.exponential(0.4, int(2.0 * span_s)))


def audio_table(span_s: float, rng: Rng) -> Floats:
    """Sound with the time of a sample stated every second."""
    return _crystal(rng) * np.arange(0.0, span_s, 1.0) + rng.normal(0.0, 1e-4, int(np.ceil(span_s)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A device: its kind in the manifest, its sampling, and the rounding of its timestamps."""

    kind: str
    sample: Callable[[float, Rng], Floats]
    ticks_s: tuple[float, ...] = (1e-9, 1e-6)
    has_clock: bool = True  # samples follow a regular clock


PROCESSES: Mapping[str, Process] = {
    "hardware trigger": Process(kind="camera", sample=hardware_trigger),
    "USB camera, driver's stamps": Process(kind="camera", sample=free_running_usb),
    "sleeping loop, camera": Process(kind="camera", sample=sleep_loop_camera, has_clock=False),
    "timer loop, camera": Process(kind="camera", sample=timer_loop_camera),
    "jittered trigger": Process(kind="camera", sample=jittered_trigger),
    "phone, 24 to 30 fps": Process(kind="camera", sample=exposure_phone, has_clock=False),
    "phone, halved in the dark": Process(kind="camera", sample=low_light_phone, has_clock=False),
    "screen": Process(kind="camera", sample=screen, has_clock=False),
    "network camera, NTP": Process(kind="camera", sample=network_camera, ticks_s=(1e-9, 1e-3)),
    "IMU with FIFO": Process(kind="imu", sample=fifo_imu),
    "sleeping loop, IMU": Process(kind="imu", sample=sleep_loop_imu, has_clock=False),
    "attitude, 5 to 10 Hz": Process(kind="imu", sample=slow_imu, has_clock=False),
    "GPS, 10 Hz": Process(kind="imu", sample=gps, ticks_s=(1e-9, 1e-3)),
    "sleeping loop, state": Process(kind="state", sample=sleep_loop_state, has_clock=False),
    "timer loop, state": Process(kind="state", sample=timer_loop_state),
    "CAN, 100 Hz": Process(kind="can", sample=can_bus),
    "CAN behind USB": Process(kind="can", sample=can_usb),
    "sound, a row a second": Process(kind="audio", sample=audio_table),
    "events": Process(kind="events", sample=events),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """How a recorder distorts true timestamps, in multiples of the limit of the kind."""

    spoil: Callable[[Floats, float, Rng], tuple[Floats, Floats]]  # -> times taken, timestamps
    codes: tuple[str, ...]
    kinds: tuple[str, ...]


def received(times: Floats, limit_s: float, rng: Rng) -> tuple[Floats, Floats]:
    """Timestamp on arrival: one-sided latency of two to four times the limit, order kept."""
    waiting = rng.exponential(limit_s * float(rng.uniform(2.0, 4.0)), times.size)
    return times, np.maximum.accumulate(times + waiting) + 1e-6 * np.arange(times.size)


def scattered(times: Floats, limit_s: float, rng: Rng) -> tuple[Floats, Floats]:
    """Add symmetric jitter of 1.6 to 3 times the limit to the timestamps, order kept."""
    noise = rng.normal(0.0, limit_s * float(rng.uniform(1.6, 3.0)), times.size)
    return times, np.sort(times + noise)


def stepped(times: Floats, limit_s: float, rng: Rng) -> tuple[Floats, Floats]:
    """Step the clock by 3 to 10 times the limit, either way."""
    size = limit_s * float(rng.uniform(3.0, 10.0)) * float(rng.choice([-1.0, 1.0]))
    at = int(times.size * float(rng.uniform(0.25, 0.75)))
    return times, times + size * (np.arange(times.size) >= at)


def lost(times: Floats, _limit_s: float, rng: Rng) -> tuple[Floats, Floats]:
    """Lose samples for 0.8 to 2 s; their timestamps are lost with them."""
    begin = float(rng.uniform(0.25, 0.6)) * times[-1]
    kept = times[(times < begin) | (times > begin + float(rng.uniform(0.8, 2.0)))]
    return kept, kept


def renumbered(times: Floats, _limit_s: float, rng: Rng) -> tuple[Floats, Floats]:
    """Lose one sample in twelve; the timestamps of all later ones move up (index / rate)."""
    keep = np.sort(rng.permutation(times.size)[: times.size - times.size // 12])
    return times[keep], times[: keep.size]


def repeated(times: Floats, _limit_s: float, rng: Rng) -> tuple[Floats, Floats]:
    """Repeat the previous timestamp at 1 in 12 samples."""
    stamps = times.copy()
    for k in np.sort(rng.permutation(np.arange(1, times.size))[: times.size // 12]):
        stamps[k] = stamps[k - 1]
    return times, stamps


FAULTS: Mapping[str, Fault] = {
    "stamped on arrival": Fault(
        spoil=received, codes=("jitter",), kinds=("camera", "imu", "can", "state")
    ),
    "stamps scatter": Fault(spoil=scattered, codes=("jitter",), kinds=("camera", "imu", "state")),
    "clock steps": Fault(
        spoil=stepped,
        codes=("step", "backwards", "gap"),
        kinds=("camera", "imu", "can", "state", "audio"),
    ),
    "samples lost": Fault(
        spoil=lost, codes=("gap", "missing_frames", "step"), kinds=("camera", "imu", "can", "state")
    ),
    "lost, stamps renumbered": Fault(
        spoil=renumbered, codes=("offset", "drift", "step", "inconsistent"), kinds=("camera",)
    ),
    "stamps repeat": Fault(spoil=repeated, codes=("duplicate",), kinds=("camera", "imu", "state")),
}
