"""Rendered base clips of the benchmarks, cached by configuration and renderer."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import syncaudit.simulate as simulate_package
from syncaudit.simulate import (
    SIX_CAMERAS,
    CanConfig,
    ClockFault,
    ImuConfig,
    RigConfig,
    simulate_clip,
)

OUT = Path(__file__).resolve().parent / "out"
STAMP_JITTER_STD_S = 1e-4
STYLES = ("city", "highway")
DURATION_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseClip:
    """One rendered clip.

    Parameters
    ----------
    config : RigConfig
        Without faults except for the usual timestamp jitter.
    seed : int
        Seed of all randomness in the clip.
    folder : Path
        Folder that contains the clip.
    """

    config: RigConfig
    seed: int
    folder: Path


def base_config(index: int, *, size_px: tuple[int, int], seed: int) -> RigConfig:
    """Return the fault-free configuration of base clip `index`.

    Styles alternate. A quarter of the cameras has a global shutter, the others a line delay of 25
    to 50 us; exposures are 2 to 12 ms and frame phases random.
    """
    rng = np.random.default_rng([seed, index])
    clock = ClockFault(jitter_std_s=STAMP_JITTER_STD_S)
    cameras = {}
    for name, camera in SIX_CAMERAS.items():
        is_global = rng.random() < 0.25
        line_delay_s = 0.0 if is_global else float(rng.uniform(2.5e-5, 5e-5))
        cameras[name] = replace(
            camera,
            size_px=size_px,
            line_delay_s=round(line_delay_s, 9),
            exposure_s=round(float(rng.uniform(0.002, 0.012)), 6),
            clock=clock,
        )
    return RigConfig(
        clip_id=f"base{index:02d}",
        style=STYLES[index % len(STYLES)],
        duration_s=DURATION_S,
        cameras=cameras,
        imu=ImuConfig(clock=clock),
        can=CanConfig(clock=clock),
    )


def base_clip(index: int, *, size_px: tuple[int, int], seed: int) -> BaseClip:
    """Return base clip `index`, rendering it if it is not in the cache."""
    config = base_config(index, size_px=size_px, seed=seed)
    clip_seed = seed + index
    return BaseClip(config=config, seed=clip_seed, folder=rendered(config, clip_seed))


def rendered(config: RigConfig, seed: int) -> Path:
    """Return the folder of a rendered clip; the cache is keyed by configuration and renderer."""
    digest = hashlib.sha256(f"{config!r} {seed} {_renderer_digest()}".encode()).hexdigest()[:16]
    folder = OUT / "clips" / f"{config.clip_id}-{digest}"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        simulate_clip(config, folder, seed=seed)
        (folder / "complete").write_text("", encoding="utf-8")
    return folder


def restamped(base: BaseClip, config: RigConfig, folder: Path) -> Path:
    """Write a variant of `base` with different timestamps and the same frames."""
    shutil.rmtree(folder, ignore_errors=True)
    simulate_clip(config, folder, seed=base.seed, videos_from=base.folder)
    return folder


def manifest_row(folder: Path) -> dict[str, object]:
    """Return the only manifest row in a clip's folder."""
    row: dict[str, object] = json.loads((folder / "manifest.jsonl").read_text(encoding="utf-8"))
    return row


def _renderer_digest() -> str:
    root = Path(simulate_package.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
