"""A whole recording: drive, render, measure, stamp, and write one folder per clip."""

import dataclasses
import json
import wave
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import can_bus, imu, microphone
from .camera import SIX_CAMERAS, CameraConfig
from .can_bus import CanConfig
from .can_log import write_log
from .clocks import NS_PER_S, stamp, to_ns
from .driving import STYLES, simulate_motion
from .encode import encode_frames
from .imu import ImuConfig
from .light import FlashConfig, draw_pulses, lit_fraction
from .microphone import MicrophoneConfig
from .motion import FloatArray, Motion
from .render import Renderer
from .sensor import Sensor
from .tables import write_table
from .truth import SourceTruth, Step, Truth, write_truth
from .videos import check_same_pictures, place_video
from .world import World, build_world

EPOCH_NS = 1_767_225_600_000_000_000
MANIFEST_NAME = "manifest.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class RigConfig:
    """Describe one clip of a simulated vehicle.

    Attributes
    ----------
    clip_id : str
    recording_id : str, optional
    style : str
        A key of `syncaudit.simulate.driving.STYLES`.
    duration_s : float
    start_ns : int
        Reference time at the clip's start.
    cameras : dict of str to CameraConfig
        By source name.
    imu, can, microphone, flash : optional
        None leaves the part out.
    n_movers : int
        Cars on the road (0 for a static world).
    reference : str, optional
        Written into the manifest if given.
    """

    clip_id: str = "clip"
    recording_id: str | None = None
    style: str = "city"
    duration_s: float = 20.0
    start_ns: int = EPOCH_NS
    cameras: Mapping[str, CameraConfig] = field(default_factory=lambda: dict(SIX_CAMERAS))
    imu: ImuConfig | None = ImuConfig()
    can: CanConfig | None = CanConfig()
    microphone: MicrophoneConfig | None = None
    flash: FlashConfig | None = None
    n_movers: int = 2
    reference: str | None = None

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise ValueError(f"unknown driving style {self.style!r}; known: {', '.join(STYLES)}")
        if not 0.5 <= self.duration_s <= 3600:
            raise ValueError(f"duration_s is {self.duration_s}, expected 0.5 to 3600")
        taken = {"imu", "can", "mic"} & set(self.cameras)
        if taken:
            raise ValueError(f"camera names {sorted(taken)} are taken by other sources")
        if self.reference is not None and self.reference not in {*self.cameras, "imu", "can", "mic"}:
            raise ValueError(f"reference {self.reference!r} is not a source of the clip")

    @property
    def at_ns(self) -> int:
        """Return the middle of the clip, where offsets are stated."""
        return self.start_ns + round(self.duration_s * NS_PER_S / 2)

    @property
    def end_ns(self) -> int:
        """Return the end of the clip."""
        return self.start_ns + round(self.duration_s * NS_PER_S)


def simulate_clip(
    config: RigConfig, folder: str | Path, *, seed: int, videos_from: str | Path | None = None,
    video_transfer: str = "reference",
) -> Truth:
    """Make one clip and write it with its one-line manifest and its truth.

    Each part draws from its own stream of the seed, so that a change to one part (or to a fault)
    leaves the others as they were.

    Parameters
    ----------
    config : RigConfig
    folder : str or Path
        Created; receives videos, tables, ``manifest.jsonl`` and ``truth.json``.
    seed : int
    videos_from : str or Path, optional
        Folder of a clip of the same seed, drive and frame faults: its videos are taken instead of
        rendering them again, which is dear.
    video_transfer : str
        ``reference`` (a relative URI), ``link`` (hard link) or ``copy``.

    Returns
    -------
    Truth

    Raises
    ------
    ValueError
        If the clip in `videos_from` shows something else.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    motion = simulate_motion(config.style, config.duration_s, _rng(seed, "motion"))
    pulses = np.empty(0)
    if config.flash:
        pulses = draw_pulses(config.flash, config.duration_s, _rng(seed, "flash"))
    clip = _Clip(config=config, folder=folder, seed=seed, motion=motion, pulses_s=pulses)
    rows: dict[str, dict[str, Any]] = {}
    sources: dict[str, SourceTruth] = {}
    world = None
    if config.cameras and videos_from is None:
        world = build_world(motion, _rng(seed, "world"), n_movers=config.n_movers)
    for name, camera in config.cameras.items():
        rows[name], sources[name] = _write_camera(clip, name, camera, world)
    if videos_from is not None:
        check_same_pictures(Path(videos_from), config.style, seed, sources)
        for name in config.cameras:
            rows[name]["uri"] = place_video(
                Path(videos_from) / rows[name]["uri"], folder, video_transfer
            )
    for name, part, write in (
        ("imu", config.imu, _write_imu),
        ("can", config.can, _write_can),
        ("mic", config.microphone, _write_microphone),
    ):
        if part is not None:
            rows[name], sources[name] = write(clip)
    truth = Truth(
        clip_id=config.clip_id,
        style=config.style,
        seed=seed,
        start_ns=config.start_ns,
        end_ns=config.end_ns,
        at_ns=config.at_ns,
        sources=sources,
        flash_ns=tuple(to_ns(pulses, config.start_ns).tolist()),
        flash_width_s=config.flash.width_s if config.flash else None,
        bump_ns=tuple(
            t
            for t in to_ns(motion.bump_times_s, config.start_ns).tolist()
            if config.start_ns <= t < config.end_ns
        ),
    )
    write_truth([truth], folder)
    write_manifest([manifest_row(config, rows)], folder)
    return truth


def simulate_manifest(
    configs: Sequence[RigConfig], folder: str | Path, seed: int
) -> dict[str, Truth]:
    """Make several clips, each in the folder of its id, under one manifest and one truth.

    Clip number i uses ``seed + i``.
    """
    folder = Path(folder)
    clip_ids = [config.clip_id for config in configs]
    if len(set(clip_ids)) != len(clip_ids):
        raise ValueError("clip_id must be unique within a manifest")
    truths = {
        config.clip_id: simulate_clip(config, folder / config.clip_id, seed=seed + index)
        for index, config in enumerate(configs)
    }
    gather_manifest(clip_ids, folder)
    write_truth(truths.values(), folder)
    return truths


def gather_manifest(clip_ids: Sequence[str], folder: Path) -> None:
    """Write one manifest over clips in subfolders named by their ids."""
    rows = []
    for clip_id in clip_ids:
        row = json.loads((folder / clip_id / MANIFEST_NAME).read_text(encoding="utf-8"))
        for source in row["sources"].values():
            for key in ("uri", "timestamps", "dbc"):
                if key in source:
                    source[key] = _simplify(f"{clip_id}/{source[key]}")
        rows.append(row)
    write_manifest(rows, folder)


def manifest_row(config: RigConfig, sources: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a clip's manifest row."""
    row: dict[str, Any] = {"clip_id": config.clip_id}
    if config.recording_id is not None:
        row["recording_id"] = config.recording_id
    row |= {"start_ns": config.start_ns, "end_ns": config.end_ns}
    if config.reference is not None:
        row["reference"] = config.reference
    return {**row, "sources": dict(sources)}


def write_manifest(rows: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Write rows as ``manifest.jsonl`` into a folder."""
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / MANIFEST_NAME).write_text(lines, encoding="utf-8", newline="\n")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Clip:
    """Hold what every writer needs."""

    config: RigConfig
    folder: Path
    seed: int
    motion: Motion
    pulses_s: FloatArray

    def rng(self, part: str) -> np.random.Generator:
        return _rng(self.seed, part)

    def stamps_ns(self, times_s: FloatArray, fault: Any, rate_hz: float, part: str) -> Any:
        rng = self.rng(f"{part} stamps")
        at_s = self.config.duration_s / 2
        stamps = stamp(times_s, fault, at_s=at_s, rate_hz=rate_hz, rng=rng)
        return to_ns(stamps, self.config.start_ns)


_Written = tuple[dict[str, Any], SourceTruth]


def _write_camera(clip: _Clip, name: str, camera: CameraConfig, world: World | None) -> _Written:
    config = clip.config
    phase_s = clip.rng(f"{name} phase").uniform(0.0, 1.0 / camera.fps)
    if camera.phase_s is not None:
        phase_s = camera.phase_s
    captures_s = np.arange(phase_s, config.duration_s, 1 / camera.fps)
    is_recorded = ~camera.clock.is_in_gap(captures_s)
    encoded, stamped = camera.frames.apply(is_recorded)
    extension = {"images": "", "h264": ".mp4", "hevc": ".mp4", "mjpeg": ".mp4"}[camera.codec]
    if world is not None:
        frames = _frames(clip, name, camera, world, captures_s, encoded)
        encode_frames(frames, clip.folder / f"{name}{extension}", camera)
    stamps_ns = clip.stamps_ns(
        captures_s[stamped] + camera.stamp_shift_s, camera.clock, camera.fps, name
    )
    stamps_ns = _resize(stamps_ns, camera.clock.n_rows_extra, round(NS_PER_S / camera.fps))
    write_table(clip.folder / f"{name}.csv", stamps_ns, {})
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
        camera.clock,
        start_ns=config.start_ns,
        n_samples=len(encoded),
        n_stamps=len(stamps_ns),
        frames=camera.frames,
        slips=_slips(clip, camera, captures_s, is_recorded),
    )
    return row, truth


def _frames(
    clip: _Clip,
    name: str,
    camera: CameraConfig,
    world: World,
    captures_s: FloatArray,
    encoded: NDArray[np.int64],
) -> Iterator[NDArray[np.uint8]]:
    """Yield the frames of a file in order; a doubled frame is rendered once."""
    renderer = Renderer(world, camera)
    sensor = Sensor(camera, len(captures_s), clip.rng(f"{name} sensor"))
    flash_config = clip.config.flash
    index_before, frame = -1, np.zeros((0, 0), np.uint8)
    for index in encoded.tolist():
        if index != index_before:
            time_s = float(captures_s[index])
            flash = None
            if flash_config is not None:
                row_times = camera.row_times_s(time_s)
                flash = flash_config.brightness * lit_fraction(
                    clip.pulses_s, flash_config.width_s, row_times, camera.exposure_s
                )
            frame = sensor.expose(renderer.render(time_s), index, flash)
            index_before = index
        yield frame


def _slips(
    clip: _Clip, camera: CameraConfig, captures_s: FloatArray, is_recorded: NDArray[np.bool_]
) -> tuple[Step, ...]:
    """Return the steps that slipped frames amount to: one frame period at each loss."""
    if camera.frames.drop_mode != "slip":
        return ()
    lost = [i for i in sorted(set(camera.frames.dropped)) if i < len(captures_s) and is_recorded[i]]
    times_ns = to_ns(captures_s[lost], clip.config.start_ns).tolist()
    return tuple(Step(at_ns=at_ns, by_s=1 / camera.fps) for at_ns in times_ns)


def _write_imu(clip: _Clip) -> _Written:
    unit = clip.config.imu
    assert unit is not None  # noqa: S101 - the caller checked
    phase_s = clip.rng("imu phase").uniform(0.0, 1.0 / unit.rate_hz)
    times = np.arange(phase_s, clip.config.duration_s, 1 / unit.rate_hz)
    reading = imu.measure_imu(clip.motion, times, unit, clip.rng("imu noise"))
    is_kept = ~unit.clock.is_in_gap(times)
    stamps_ns = clip.stamps_ns(times[is_kept], unit.clock, unit.rate_hz, "imu")
    columns = dict(zip(imu.COLUMNS, reading[is_kept].T, strict=True))
    write_table(clip.folder / "imu.csv", stamps_ns, columns, decimals=6)
    truth = SourceTruth.from_faults(
        "imu",
        unit.clock,
        start_ns=clip.config.start_ns,
        n_samples=len(stamps_ns),
        n_stamps=len(stamps_ns),
    )
    return {"kind": "imu", "uri": "imu.csv"}, truth


def _write_can(clip: _Clip) -> _Written:
    bus, config = clip.config.can, clip.config
    assert bus is not None  # noqa: S101 - the caller checked
    roles = [s for s in can_bus.SIGNALS if s.role != "strobe" or config.flash is not None]
    if bus.format == "log":
        n_rows = write_log(
            clip.motion,
            bus,
            config.duration_s,
            clip.pulses_s,
            config.start_ns,
            clip.folder,
            clip.rng("can"),
        )
        row: dict[str, Any] = {"kind": "can", "uri": "can.log", "dbc": "vehicle.dbc"}
    else:
        phase_s = clip.rng("can phase").uniform(0.0, bus.csv_period_s)
        times = can_bus.bus_times(config.duration_s, bus.csv_period_s, phase_s, clip.pulses_s)
        times = times[~bus.clock.is_in_gap(times)]
        values = can_bus.sample_signals(clip.motion, times, clip.pulses_s, clip.rng("can"))
        stamps_ns = clip.stamps_ns(times, bus.clock, 1 / bus.csv_period_s, "can")
        stamps_ns = can_bus.bunch(stamps_ns, bus.bunch_s)
        table = {signal.name: values[signal.role] for signal in roles}
        write_table(clip.folder / "can.csv", stamps_ns, table, decimals=2)
        n_rows = len(stamps_ns)
        row = {"kind": "can", "uri": "can.csv"}
    row["signals"] = {signal.role: signal.name for signal in roles}
    truth = SourceTruth.from_faults(
        "can", bus.clock, start_ns=config.start_ns, n_samples=n_rows, n_stamps=n_rows
    )
    return row, truth


def _write_microphone(clip: _Clip) -> _Written:
    config, mic = clip.config, clip.config.microphone
    assert mic is not None  # noqa: S101 - the caller checked
    samples = microphone.record(
        clip.motion, mic, config.duration_s, clip.pulses_s, clip.rng("mic")
    )
    with wave.open(str(clip.folder / "mic.wav"), "wb") as file:
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


def _resize(stamps_ns: Any, n_rows_extra: int, period_ns: int) -> Any:
    if n_rows_extra < 0:
        return stamps_ns[:n_rows_extra]
    last_ns = int(stamps_ns[-1]) if len(stamps_ns) else 0
    more = last_ns + period_ns * np.arange(1, n_rows_extra + 1)
    return np.concatenate([stamps_ns, more.astype(np.int64)])


def _simplify(uri: str) -> str:
    """Resolve ``a/../b`` to ``b``."""
    parts: list[str] = []
    for part in uri.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _rng(seed: int, part: str) -> np.random.Generator:
    """Return the random stream of one part: it depends on nothing but the seed and the name."""
    return np.random.default_rng([seed, zlib.crc32(part.encode())])
