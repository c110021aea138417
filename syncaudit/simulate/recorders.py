"""One source at a time: what each device records of a drive, written into the clip's folder."""

import wave
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import can_bus, imu, microphone
from .camera import CameraConfig
from .can_bus import CanConfig
from .can_log import write_log
from .clocks import NS_PER_S, ClockFault, stamp, to_ns
from .config import RigConfig
from .encode import encode_frames
from .imu import ImuConfig
from .light import lit_fraction
from .microphone import MicrophoneConfig
from .motion import FloatArray, Motion
from .render import Renderer
from .sensor import Sensor
from .tables import write_table
from .truth import SourceTruth, Step
from .world import World


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draft:
    """Hold what every writer needs of a clip that is being made."""

    config: RigConfig
    folder: Path
    seed: int
    motion: Motion
    pulses_s: FloatArray

    def rng(self, part: str) -> np.random.Generator:
        """Return the random stream of one part."""
        return part_rng(self.seed, part)

    def stamps_ns(
        self, times_s: FloatArray, fault: ClockFault, rate_hz: float, part: str
    ) -> NDArray[np.int64]:
        """Return the stamps that a part's clock gives to true times."""
        rng = self.rng(f"{part} stamps")
        at_s = self.config.duration_s / 2
        stamps = stamp(times_s, fault, at_s=at_s, rate_hz=rate_hz, rng=rng)
        return to_ns(stamps, self.config.start_ns)


Written = tuple[dict[str, Any], SourceTruth]


def write_camera(draft: Draft, name: str, camera: CameraConfig, world: World | None) -> Written:
    """Render and encode a camera's frames (unless `world` is None) and write its stamps."""
    config = draft.config
    phase_s = draft.rng(f"{name} phase").uniform(0.0, 1.0 / camera.fps)
    if camera.phase_s is not None:
        phase_s = camera.phase_s
    captures_s = np.arange(phase_s, config.duration_s, 1 / camera.fps)
    is_recorded = ~camera.clock.is_in_gap(captures_s)
    encoded, stamped = camera.frames.apply(is_recorded)
    extension = {"images": "", "h264": ".mp4", "hevc": ".mp4", "mjpeg": ".mp4"}[camera.codec]
    if world is not None:
        frames = _frames(draft, name, camera, world, captures_s, encoded)
        encode_frames(frames, draft.folder / f"{name}{extension}", camera)
    clock = camera.clock.with_scatter(camera.stamp_jitter_s)
    stamps_ns = draft.stamps_ns(captures_s[stamped] + camera.stamp_shift_s, clock, camera.fps, name)
    stamps_ns = _resize(stamps_ns, camera.clock.n_rows_extra, round(NS_PER_S / camera.fps))
    write_table(draft.folder / f"{name}.csv", stamps_ns, {})
    row: dict[str, Any] = {
        "kind": "camera",
        "uri": f"{name}{extension}",
        "timestamps": f"{name}.csv",
        "stamp_at": camera.stamp_at,
        "line_delay_s": camera.line_delay_s,
        "exposure_s": camera.exposure_s,
        "focal_px": round(camera.focal_px, 4),
    }
    truth = SourceTruth.from_faults(
        "camera",
        clock,
        start_ns=config.start_ns,
        n_samples=len(encoded),
        n_stamps=len(stamps_ns),
        frames=camera.frames,
        slips=_slips(draft, camera, captures_s, is_recorded),
    )
    return row, truth


def _frames(
    draft: Draft,
    name: str,
    camera: CameraConfig,
    world: World,
    captures_s: FloatArray,
    encoded: NDArray[np.int64],
) -> Iterator[NDArray[np.uint8]]:
    """Yield the frames of a file in order; a doubled frame is rendered once."""
    renderer = Renderer(world, camera)
    sensor = Sensor(camera, len(captures_s), draft.rng(f"{name} sensor"))
    flash_config = draft.config.flash
    index_before, frame = -1, np.zeros((0, 0), np.uint8)
    for index in encoded.tolist():
        if index != index_before:
            time_s = float(captures_s[index])
            flash = None
            if flash_config is not None:
                row_times = camera.row_times_s(time_s)
                flash = flash_config.brightness * lit_fraction(
                    draft.pulses_s, flash_config.width_s, row_times, camera.exposure_s
                )
            frame = sensor.expose(renderer.render(time_s), index, flash)
            index_before = index
        yield frame


def _slips(
    draft: Draft, camera: CameraConfig, captures_s: FloatArray, is_recorded: NDArray[np.bool_]
) -> tuple[Step, ...]:
    """Return the steps that slipped frames amount to: one frame period at each loss."""
    if camera.frames.drop_mode != "slip":
        return ()
    lost = [i for i in sorted(set(camera.frames.dropped)) if i < len(captures_s) and is_recorded[i]]
    times_ns = to_ns(captures_s[lost], draft.config.start_ns).tolist()
    return tuple(Step(at_ns=at_ns, by_s=1 / camera.fps) for at_ns in times_ns)


def write_imu(draft: Draft, unit: ImuConfig) -> Written:
    """Measure and write ``imu.csv``."""
    phase_s = draft.rng("imu phase").uniform(0.0, 1.0 / unit.rate_hz)
    times = np.arange(phase_s, draft.config.duration_s, 1 / unit.rate_hz)
    reading = imu.measure_imu(draft.motion, times, unit, draft.rng("imu noise"))
    is_kept = ~unit.clock.is_in_gap(times)
    clock = unit.clock.with_scatter(unit.stamp_jitter_s)
    stamps_ns = draft.stamps_ns(times[is_kept], clock, unit.rate_hz, "imu")
    columns = dict(zip(imu.COLUMNS, reading[is_kept].T, strict=True))
    write_table(draft.folder / "imu.csv", stamps_ns, columns, decimals=6)
    truth = SourceTruth.from_faults(
        "imu",
        clock,
        start_ns=draft.config.start_ns,
        n_samples=len(stamps_ns),
        n_stamps=len(stamps_ns),
    )
    return {"kind": "imu", "uri": "imu.csv"}, truth


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
    truth = SourceTruth.from_faults(
        "can", bus.clock, start_ns=config.start_ns, n_samples=n_rows, n_stamps=n_rows
    )
    return row, truth


def write_microphone(draft: Draft, mic: MicrophoneConfig) -> Written:
    """Record and write ``mic.wav``."""
    config = draft.config
    samples = microphone.record(
        draft.motion, mic, config.duration_s, draft.pulses_s, draft.rng("mic")
    )
    with wave.open(str(draft.folder / "mic.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(mic.rate_hz)
        file.writeframes(samples.astype("<i2").tobytes())
    start_s = -mic.clock.offset_s / (1 + mic.clock.drift_ppm * 1e-6)
    start_ns = int(to_ns(np.array([start_s]), config.start_ns)[0])
    truth = SourceTruth.from_faults(
        "audio", mic.clock, start_ns=config.start_ns, n_samples=len(samples), n_stamps=0
    )
    return {"kind": "audio", "uri": "mic.wav", "start_ns": start_ns}, truth


def _resize(stamps_ns: NDArray[np.int64], n_rows_extra: int, period_ns: int) -> NDArray[np.int64]:
    """Add rows at the end, a period apart, or cut some off."""
    if n_rows_extra < 0:
        return stamps_ns[:n_rows_extra]
    last_ns = int(stamps_ns[-1]) if len(stamps_ns) else 0
    more = last_ns + period_ns * np.arange(1, n_rows_extra + 1)
    return np.concatenate([stamps_ns, more.astype(np.int64)])


def part_rng(seed: int, part: str) -> np.random.Generator:
    """Return the random stream of one part: it depends on nothing but the seed and the name."""
    return np.random.default_rng([seed, zlib.crc32(part.encode())])
