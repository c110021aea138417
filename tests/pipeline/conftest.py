"""One small simulated recording for all pipeline tests, and fixtures that alter copies of it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from syncaudit.model import ClipVerdict
from syncaudit.simulate import ClockFault, ImuConfig, MicrophoneConfig, RigConfig, simulate_clip
from syncaudit.simulate.scenarios import with_all_cameras
from testkit.clip_folder import Folder

SEED = 103
DURATION_S = 12.0


def rig(**changes: Any) -> RigConfig:
    """Return the small rig: two cameras of 320 x 180, IMU at 100 Hz, decoded CAN."""
    base = with_all_cameras(
        RigConfig(duration_s=DURATION_S, imu=ImuConfig(rate_hz=100.0)),
        size_px=(320, 180),
        names=("cam_front", "cam_rear"),
    )
    return replace(base, **changes)


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Simulate the healthy clip once."""
    folder = tmp_path_factory.mktemp("recording")
    config = rig(clip_id="healthy", microphone=MicrophoneConfig())
    simulate_clip(config, folder, seed=SEED)
    return folder


def _copy(original: Path, folder: Path) -> Folder:
    folder.mkdir(parents=True, exist_ok=True)
    for file in original.iterdir():
        os.link(file, folder / file.name)
    row = json.loads((original / "manifest.jsonl").read_text())
    (folder / "manifest.jsonl").unlink()
    return Folder(folder).write(row)


@pytest.fixture
def clip(original: Path, tmp_path: Path) -> Folder:
    """Return a copy of the healthy clip."""
    return _copy(original, tmp_path / "clip")


@pytest.fixture
def another(original: Path, tmp_path: Path) -> Iterator[Callable[[str], Folder]]:
    """Return a function that makes further copies."""
    yield lambda name: _copy(original, tmp_path / name)
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture(scope="session")
def healthy(original: Path) -> ClipVerdict:
    """Audit the healthy clip once and return its verdict."""
    return Folder(original).audit()


@pytest.fixture
def faulty(original: Path, tmp_path: Path) -> Callable[..., Folder]:
    """Return a function that makes a clip with the same frames and other clocks."""

    def make(**clocks: ClockFault) -> Folder:
        config = rig(clip_id="faulty")
        cameras = {
            name: replace(camera, clock=clocks.get(name, camera.clock))
            for name, camera in config.cameras.items()
        }
        config = replace(
            config,
            cameras=cameras,
            imu=replace(config.imu or ImuConfig(), clock=clocks.get("imu", ClockFault())),
            can=replace(config.can, clock=clocks.get("can", ClockFault())) if config.can else None,
        )
        folder = tmp_path / "faulty"
        simulate_clip(config, folder, seed=SEED, videos_from=original)
        return Folder(folder)

    return make


@pytest.fixture(scope="session")
def figures() -> Callable[[ClipVerdict], dict[str, Any]]:
    """Return a function that strips times and the decoder from a verdict's row."""

    def row_of(verdict: ClipVerdict) -> dict[str, Any]:
        row = verdict.to_json()
        record = {key: value for key, value in row["record"].items() if key != "fallbacks"}
        return {**row, "record": record, "seconds": None, "stages": None}

    return row_of
