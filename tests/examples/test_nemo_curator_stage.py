"""The example for NeMo Curator, tested with the package if installed, otherwise with a stand-in.

The stand-in has the part of the nemo_curator 1.4 interface that the example uses: the contents of a
stage and a task, and that a stage returns one task, several, or None. It does not run pipelines.
"""

from __future__ import annotations

import importlib.util
import pickle
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Generic, TypeVar

import pytest

import syncaudit
from testkit.places import SAMPLE_DATA

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "nemo_curator_stage.py"
SAMPLE = SAMPLE_DATA / "manifest.jsonl"
X, Y = TypeVar("X"), TypeVar("Y")


@dataclass
class Task(ABC, Generic[X]):
    dataset_name: str
    data: X
    _stage_perf: list[Any] = field(default_factory=list)
    _metadata: dict[str, Any] = field(default_factory=dict)
    task_id: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self.validate()

    @property
    @abstractmethod
    def num_items(self) -> int: ...

    @abstractmethod
    def validate(self) -> bool: ...


class ProcessingStage(ABC, Generic[X, Y]):
    name = "ProcessingStage"
    batch_size = 1

    def setup(self, worker_metadata: Any = None) -> None: ...

    @abstractmethod
    def process(self, task: X) -> Y | list[Y] | None: ...

    def inputs(self) -> tuple[list[str], list[str]]:
        return [], []


@dataclass
class Start(Task[None]):
    @property
    def num_items(self) -> int:
        return 0

    def validate(self) -> bool:
        return True


@pytest.fixture
def example(monkeypatch):
    """Return the example as a module."""
    if importlib.util.find_spec("nemo_curator") is None:
        contents = {
            "nemo_curator": {},
            "nemo_curator.stages": {},
            "nemo_curator.stages.base": {"ProcessingStage": ProcessingStage},
            "nemo_curator.tasks": {"Task": Task},
        }
        for name, content in contents.items():
            module = ModuleType(name)
            module.__dict__.update(content)
            monkeypatch.setitem(sys.modules, name, module)
    spec = importlib.util.spec_from_file_location("nemo_curator_stage", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def quick_clips(tmp_path) -> str:
    """Write a manifest of the IMU and CAN of two sample clips, which are quick to audit."""
    from dataclasses import replace

    from syncaudit.datasets import clip_to_row, load_manifest, write_manifest

    clips = [clip for clip in load_manifest(str(SAMPLE)) if clip.clip_id in ("good", "can_shifted")]
    quick = [
        replace(clip, sources={n: s for n, s in clip.sources.items() if s.kind in ("imu", "can")})
        for clip in clips
    ]
    path = tmp_path / "manifest.jsonl"
    write_manifest([clip_to_row(clip, relative_to=str(tmp_path)) for clip in quick], path)
    return str(path)


def test_clips_that_did_not_pass_are_dropped(example, tmp_path, monkeypatch):
    reader = example.ClipReader(quick_clips(tmp_path))
    tasks = reader.process(Start(dataset_name="sample", data=None))
    monkeypatch.chdir(tmp_path.parent)  # workers start elsewhere
    tasks = [pickle.loads(pickle.dumps(task)) for task in tasks]  # noqa: S301  # our own
    stage = example.SyncAuditStage()
    stage.setup()
    left = [task for task in map(stage.process, tasks) if task is not None]
    assert [task.data.clip_id for task in left] == ["good"]
    assert left[0]._metadata["syncaudit"]["verdict"] == "pass"
    assert tasks[1]._metadata["syncaudit"]["reasons"][0]["code"] == "offset"


def test_other_verdicts_are_let_in_by_name(example, tmp_path, monkeypatch):
    verdict = SimpleNamespace(verdict="unverified", to_json=lambda: {"verdict": "unverified"})
    monkeypatch.setattr(syncaudit, "audit", lambda *_: verdict)
    [task, _] = example.ClipReader(quick_clips(tmp_path)).process(Start("sample", None))
    for admit, left in ((("pass",), None), (("pass", "unverified"), task)):
        stage = example.SyncAuditStage(profile="vla", admit=admit)
        stage.setup()
        assert stage.process(task) is left
    assert (task.num_items, task.validate()) == (1, True)
