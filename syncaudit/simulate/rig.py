"""A whole recording: drive, render, measure, stamp, and write one folder per clip."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from syncaudit.writing import copy_file

from .camera_recorder import write_camera
from .clocks import to_ns
from .config import RigConfig
from .draft import Draft, Written, part_rng
from .driving import simulate_motion
from .furnish import build_world
from .light import draw_pulses
from .manifests import gather_manifest, manifest_row, write_manifest
from .recorders import write_can, write_imu, write_microphone, write_trigger
from .truth import LightTruth, SourceTruth, Truth, read_truth, write_truth

TRANSFERS = ("reference", "link", "copy")


def simulate_clip(
    config: RigConfig,
    folder: str | Path,
    *,
    seed: int,
    videos_from: str | Path | None = None,
    video_transfer: str = "reference",
) -> Truth:
    """Create one clip and write it with its one-line manifest and its truth.

    Each part draws from its own random stream of the seed, so that a change to one part (or to a
    fault) leaves the others unchanged.

    Parameters
    ----------
    config : RigConfig
    folder : str or Path
        Created; receives videos, tables, ``manifest.jsonl`` and ``truth.json``.
    seed : int
    videos_from : str or Path, optional
        Folder of a clip of the same seed, drive and frame faults, whose videos are reused instead
        of rendering them again, which is expensive.
    video_transfer : str
        ``reference`` (a relative URI), ``link`` (hard link) or ``copy``.

    Raises
    ------
    ValueError
        If the clip in `videos_from` shows different frames.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    motion = simulate_motion(config.style, config.duration_s, part_rng(seed, "motion"))
    pulses = np.empty(0)
    if config.flash:
        pulses = draw_pulses(config.flash, config.duration_s, part_rng(seed, "flash"))
    taps = np.empty(0)
    if config.taps:
        taps = config.taps.draw(config.duration_s, pulses, part_rng(seed, "taps"))
    draft = Draft(
        config=config, folder=folder, seed=seed, motion=motion, pulses_s=pulses, taps_s=taps
    )
    rows: dict[str, dict[str, Any]] = {}
    sources: dict[str, SourceTruth] = {}
    world = None
    if config.cameras and videos_from is None:
        world = build_world(motion, part_rng(seed, "world"), n_movers=config.n_movers)
    for name, camera in config.cameras.items():
        rows[name], sources[name] = write_camera(draft, name, camera, world)
    if videos_from is not None:
        check_same_frames(Path(videos_from), config.style, seed, sources)
        for name in config.cameras:
            rows[name]["uri"] = place_video(
                Path(videos_from) / rows[name]["uri"], folder, video_transfer
            )
    devices: dict[str, tuple[Any, Callable[[Draft, Any], Written]]] = {
        "imu": (config.imu, write_imu),
        "can": (config.can, write_can),
        "mic": (config.microphone, write_microphone),
        "trigger": (config.trigger, write_trigger),
    }
    for name, (device, write) in devices.items():
        if device:
            rows[name], sources[name] = write(draft, device)
    truth = Truth(
        clip_id=config.clip_id,
        style=config.style,
        seed=seed,
        start_ns=config.start_ns,
        end_ns=config.end_ns,
        at_ns=config.at_ns,
        sources=sources,
        flash_ns=tuple(to_ns(pulses, config.start_ns).tolist()),
        flash_width_s=_width_s(config),
        bump_ns=tuple(
            t
            for t in to_ns(motion.bump_times_s, config.start_ns).tolist()
            if config.start_ns <= t < config.end_ns
        ),
        light=LightTruth.of(config.flash),
        tap_ns=tuple(to_ns(taps, config.start_ns).tolist()),
    )
    write_truth([truth], folder)
    write_manifest([manifest_row(config, rows)], folder)
    return truth


def _width_s(config: RigConfig) -> float | None:
    """Return the width of the pulses, if their shape has one."""
    if config.flash is None:
        return None
    shape = config.flash.shape
    return config.flash.width_s if shape is None else getattr(shape, "width_s", None)


def simulate_manifest(
    configs: Sequence[RigConfig], folder: str | Path, seed: int
) -> dict[str, Truth]:
    """Create several clips, each in the folder of its id, with one manifest and one truth.

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


def check_same_frames(
    folder: Path, style: str, seed: int, sources: Mapping[str, SourceTruth]
) -> None:
    """Refuse a rendered clip that does not show the frames that a new clip needs.

    ValueError if seed, style, cameras, frame counts or frame faults differ.
    """
    for truth in read_truth(folder).values():
        if (truth.seed, truth.style) != (seed, style):
            raise ValueError(
                f"{folder} was made with seed {truth.seed} in style {truth.style!r}, "
                f"expected seed {seed} and {style!r}"
            )
        for name, wanted in sources.items():
            if wanted.kind != "camera":
                continue
            if name not in truth.sources:
                raise ValueError(f"{folder} has no camera {name!r}")
            found = truth.sources[name]
            if _shown(found) != _shown(wanted):
                raise ValueError(f"{folder}: frames of {name} differ from the ones wanted")


def _shown(truth: SourceTruth) -> tuple[object, ...]:
    return truth.n_samples, truth.dropped, truth.doubled, truth.frozen, truth.spoilt


def place_video(video: Path, folder: Path, transfer: str) -> str:
    """Make a video available to a clip folder and return its URI relative to that folder."""
    if transfer not in TRANSFERS:
        raise ValueError(f"video_transfer is {transfer!r}, expected one of {', '.join(TRANSFERS)}")
    if transfer == "reference":
        return Path(os.path.relpath(video, folder)).as_posix()
    target = folder / video.name
    if transfer == "link":
        target.unlink(missing_ok=True)
        os.link(video, target)
    else:
        copy_file(video, target)
    return video.name
