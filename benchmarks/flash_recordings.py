"""The recordings of the flash benchmark: the issue's scenarios, seeded, cached, with truth.

Rendered clips are stored in ``benchmarks/out/flash`` (about 10 MB and 20 s of CPU each), keyed by
configuration and by the simulator's own code.
"""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import syncaudit.simulate as simulate_package
from syncaudit.datasets import load_manifest
from syncaudit.model import Clip
from syncaudit.simulate import RigConfig, Truth, read_truth, simulate_clip
from syncaudit.simulate.flash_scenarios import FLASH_SCENARIOS

# These only name clips; their configuration is part of the cache key anyway.
_CONFIGURATIONS = ("scenarios", "flash_rigs", "flash_scenarios", "sample_clips", "sample_data")

OUT = Path(__file__).resolve().parent / "out"
OFFSET_RANGE_S = 0.5
DRIFT_RANGE_PPM = 40.0
SCENARIOS = (
    "clean",
    "exposures",
    "xenon",
    "noisy",
    "first_missed",
    "false",
    "sparse",
    "30hz",
    "global_shutter",
    "global_lamp",
    "headlights",
    "tunnel",
    "bright",
    "strobe",
    "lamp",
    "periodic",
    "dropped",
    "drift",
    "withheld",
    "all_sources",
)
"""In the order of the issue, followed by those that design 3.1 warns of."""
_BEYOND = ("global_lamp", "tunnel", "bright", "strobe", "lamp", "withheld", "all_sources")
ISSUE_SCENARIOS = tuple(name for name in SCENARIOS if name not in _BEYOND)
"""The scenarios to which the targets apply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlashRecording:
    """One rendered recording.

    Attributes
    ----------
    name : str
        Name of its scenario.
    config : RigConfig
    truth : Truth
    folder : Path
    clip : Clip
        The clip loaded from its manifest row.
    """

    name: str
    config: RigConfig
    truth: Truth
    folder: Path
    clip: Clip


def recording(
    name: str, *, seed: int, duration_s: float | None = None, cameras: int = 6
) -> FlashRecording:
    """Return a scenario with clocks drawn from the seed, rendering it if it is not cached.

    Parameters
    ----------
    name : str
        One of `SCENARIOS`.
    seed : int
        Seed 0 keeps the scenario's clocks; other seeds draw offsets and drifts.
    duration_s : float, optional
        Shorter than the scenario's duration, for a quick check.
    cameras : int
        How many of its cameras to use.
    """
    config = FLASH_SCENARIOS[f"flash_{name}"]
    names = list(config.cameras)[:cameras]
    config = replace(config, cameras={key: config.cameras[key] for key in names})
    if duration_s is not None:
        config = replace(config, duration_s=duration_s)
    if seed:
        config = _with_drawn_clocks(config, seed)
    folder = _rendered(config, seed)
    (truth,) = read_truth(folder).values()
    (clip,) = load_manifest(str(folder / "manifest.jsonl"))
    return FlashRecording(name=name, config=config, truth=truth, folder=folder, clip=clip)


def _with_drawn_clocks(config: RigConfig, seed: int) -> RigConfig:
    rng = np.random.default_rng([seed, 3])
    cameras = {}
    for name, camera in config.cameras.items():
        offset_s = round(float(rng.uniform(-OFFSET_RANGE_S, OFFSET_RANGE_S)), 7)
        drift_ppm = round(float(rng.uniform(-DRIFT_RANGE_PPM, DRIFT_RANGE_PPM)), 3)
        if abs(camera.clock.drift_ppm) > 100:  # the scenario of a drifting clock
            drift_ppm = camera.clock.drift_ppm
        clock = replace(camera.clock, offset_s=offset_s, drift_ppm=drift_ppm)
        cameras[name] = replace(camera, clock=clock)
    return replace(config, cameras=cameras)


def _rendered(config: RigConfig, seed: int) -> Path:
    digest = hashlib.sha256(f"{config!r} {seed} {_simulator_digest()}".encode()).hexdigest()[:16]
    folder = OUT / "flash" / f"{config.clip_id}-{seed}-{digest}"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        simulate_clip(config, folder, seed=seed)
        (folder / "complete").write_text("", encoding="utf-8")
    return folder


def _simulator_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(simulate_package.__file__).parent.glob("*.py")):
        if path.stem not in _CONFIGURATIONS:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
