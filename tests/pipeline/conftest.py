"""One small simulated recording for all tests of the pipeline, and ways to change copies of it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from syncaudit.datasets import load_manifest
from syncaudit.model import Clip, ClipVerdict
from syncaudit.pipeline import audit
from syncaudit.simulate import ClockFault, ImuConfig, MicrophoneConfig, RigConfig, simulate_clip
from syncaudit.simulate.scenarios import with_all_cameras

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


@dataclass(frozen=True)
class Folder:
    """One clip on disk, to be damaged and audited."""

    path: Path

    @property
    def row(self) -> dict[str, Any]:
        return json.loads((self.path / "manifest.jsonl").read_text())

    def write(self, row: dict[str, Any]) -> Folder:
        (self.path / "manifest.jsonl").write_text(json.dumps(row) + "\n")
        return self

    def change(self, source: str, **fields: Any) -> Folder:
        row = self.row
        row["sources"][source] |= fields
        return self.write(row)

    def keep(self, *sources: str) -> Folder:
        row = self.row
        row["sources"] = {name: row["sources"][name] for name in sources}
        return self.write(row)

    def stamps(self, file: str) -> np.ndarray:
        lines = (self.path / file).read_text().splitlines()
        return np.array([int(line.split(",")[0]) for line in lines[1:]], dtype=np.int64)

    def restamp(self, file: str, change: Callable[[np.ndarray], Any]) -> Folder:
        """Write other stamps into a table."""
        path = self.path / file
        head, *rows = path.read_text().splitlines()
        new = [str(int(t)) for t in change(self.stamps(file))]
        lines = [",".join([t, *row.split(",")[1:]]) for t, row in zip(new, rows, strict=False)]
        path.unlink()  # it may be linked to the original
        path.write_text("\n".join([head, *lines]) + "\n")
        return self

    def overwrite(self, file: str, content: bytes) -> Folder:
        path = self.path / file
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        return self

    @property
    def clip(self) -> Clip:
        (clip,) = load_manifest(str(self.path / "manifest.jsonl"))
        return clip

    def audit(self, **options: Any) -> ClipVerdict:
        return audit(self.clip, **options)


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
    """Audit the healthy clip once."""
    return Folder(original).audit()


@pytest.fixture
def faulty(original: Path, tmp_path: Path) -> Callable[..., Folder]:
    """Return a function that makes a clip with the same pictures and other clocks."""

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
    """Return what gives the row of a verdict without times and without who decoded."""

    def row_of(verdict: ClipVerdict) -> dict[str, Any]:
        row = verdict.to_json()
        record = {key: value for key, value in row["record"].items() if key != "fallbacks"}
        return {**row, "record": record, "seconds": None, "stages": None}

    return row_of
