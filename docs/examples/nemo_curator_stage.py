"""Stages of NVIDIA NeMo Curator (1.x) that let through only clips whose streams share one time.

Pipeline(
name="in_time",
stages=[ClipReader("s3://bucket/manifest.jsonl"), SyncAuditStage(profile="vla"), ...],
).run()
"""

from __future__ import annotations

from dataclasses import dataclass

from nemo_curator.stages.base import ProcessingStage
from nemo_curator.tasks import Task

import syncaudit


@dataclass
class ClipTask(Task[syncaudit.Clip]):
    """One clip of a manifest."""

    @property
    def num_items(self) -> int:
        """Clips in it."""
        return 1

    def validate(self) -> bool:
        """Return whether it holds a clip; a manifest checks its rows itself."""
        return isinstance(self.data, syncaudit.Clip)


@dataclass
class ClipReader(ProcessingStage[Task, ClipTask]):
    """Reads a manifest: one task a clip."""

    manifest: str
    name: str = "syncaudit_reader"

    def process(self, task: Task) -> list[ClipTask]:
        """Return the clips of the manifest."""
        name = task.dataset_name
        return [
            ClipTask(dataset_name=name, data=clip)
            for clip in syncaudit.iter_manifest(self.manifest)
        ]


@dataclass
class SyncAuditStage(ProcessingStage[ClipTask, ClipTask]):
    """Audits a clip; drops it unless its verdict is among `admit`."""

    policy: str | None = None
    profile: str | None = None
    admit: tuple[str, ...] = ("pass",)
    name: str = "syncaudit"

    def setup(self, worker_metadata: object = None) -> None:  # noqa: ARG002  # the interface
        """Read the policy, once a worker."""
        self._policy = syncaudit.load_policy(self.policy, profile=self.profile)

    def process(self, task: ClipTask) -> ClipTask | None:
        """Return the task with its verdict in ``_metadata``; None drops it."""
        verdict = syncaudit.audit(task.data, self._policy)
        task._metadata["syncaudit"] = verdict.to_json()
        return task if str(verdict.verdict) in self.admit else None
