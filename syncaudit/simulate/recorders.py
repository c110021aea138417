"""Record the devices other than cameras, writing each into the clip's folder."""

import wave
from dataclasses import replace
from typing import Any

import numpy as np

from syncaudit.writing import replacing

from . import can_bus, imu, microphone
from .can_bus import CanConfig, write_log
from .clocks import to_ns
from .draft import Draft, Written, write_table
from .imu import ImuConfig
from .light import TriggerConfig
from .microphone import MicrophoneConfig


def write_imu(draft: Draft, unit: ImuConfig) -> Written:
    """Measure and write ``imu.csv``."""
    phase_s = draft.rng("imu phase").uniform(0.0, 1.0 / unit.rate_hz)
    times = np.arange(phase_s, draft.config.duration_s, 1 / unit.rate_hz)
    shocks = draft.config.taps.shocks(times, draft.taps_s) if draft.config.taps else None
    reading = imu.measure_imu(draft.motion, times, unit, draft.rng("imu noise"), shocks=shocks)
    is_kept = ~unit.clock.is_in_gap(times)
    clock = unit.clock.with_scatter(unit.stamp_jitter_s)
    stamps_ns = draft.stamps_ns(times[is_kept], clock, unit.rate_hz, "imu")
    columns = dict(zip(imu.COLUMNS, reading[is_kept].T, strict=True))
    write_table(draft.folder / "imu.csv", stamps_ns, columns, decimals=6)
    return {"kind": "imu", "uri": "imu.csv"}, draft.truth("imu", clock, len(stamps_ns))


def write_can(draft: Draft, bus: CanConfig) -> Written:
    """Write ``can.csv``, or ``can.log`` and ``vehicle.dbc``."""
    config = draft.config
    roles = [s for s in can_bus.SIGNALS if s.role != "strobe" or config.flash is not None]
    if bus.format == "log":
        n_rows = write_log(
            draft.motion,
            bus,
            config.duration_s,
            draft.pulses_s,
            config.start_ns,
            draft.folder,
            draft.rng("can"),
        )
        row: dict[str, Any] = {"kind": "can", "uri": "can.log", "dbc": "vehicle.dbc"}
    else:
        phase_s = draft.rng("can phase").uniform(0.0, bus.csv_period_s)
        times = can_bus.bus_times(config.duration_s, bus.csv_period_s, phase_s, draft.pulses_s)
        times = times[~bus.clock.is_in_gap(times)]
        values = can_bus.sample_signals(draft.motion, times, draft.pulses_s, draft.rng("can"))
        wait = draft.rng("can wait").exponential(bus.arbitration_s, times.size)
        stamps_ns = draft.stamps_ns(times + wait, bus.clock, 1 / bus.csv_period_s, "can")
        stamps_ns = can_bus.bunch(stamps_ns, bus.bunch_s)
        table = {signal.name: values[signal.role] for signal in roles}
        write_table(draft.folder / "can.csv", stamps_ns, table, decimals=2)
        n_rows = len(stamps_ns)
        row = {"kind": "can", "uri": "can.csv"}
    row["signals"] = {signal.role: signal.name for signal in roles}
    return row, draft.truth("can", bus.clock, n_rows)


def write_microphone(draft: Draft, mic: MicrophoneConfig) -> Written:
    """Record and write ``mic.wav``."""
    config = draft.config
    samples = microphone.record(
        draft.motion,
        mic,
        config.duration_s,
        draft.pulses_s,
        draft.rng("mic"),
        taps_s=draft.taps_s,
        tap_level=config.taps.sound_level if config.taps else 0.0,
    )
    with replacing(draft.folder / "mic.wav") as sound, wave.open(sound, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(mic.rate_hz)
        file.writeframes(samples.astype("<i2").tobytes())
    start_s = -mic.clock.offset_s / (1 + mic.clock.drift_ppm * 1e-6)
    start_ns = int(to_ns(np.array([start_s]), config.start_ns)[0])
    truth = draft.truth("audio", mic.clock, len(samples), 0)
    if mic.lamp_distance_m:
        truth = replace(truth, sound_delay_s=mic.sound_delay_s)
    return {"kind": "audio", "uri": "mic.wav", "start_ns": start_ns}, truth


def write_trigger(draft: Draft, trigger: TriggerConfig) -> Written:
    """Write ``trigger.csv``: the onsets of all pulses on the logger's clock."""
    times = trigger.logged(draft.pulses_s)
    clock = trigger.clock.with_scatter(trigger.stamp_jitter_s)
    rate_hz = max(times.size, 1) / draft.config.duration_s
    stamps_ns = draft.stamps_ns(times, clock, rate_hz, "trigger")
    write_table(draft.folder / "trigger.csv", stamps_ns, {})
    truth = draft.truth("events", clock, len(stamps_ns))
    return {"kind": "events", "uri": "trigger.csv"}, truth
