"""A command line on a stand-in pipeline, in this process."""

import json
import sys
import zlib
from functools import partial

import pytest

from testkit.command_line import import_here, run_command


@pytest.fixture
def manifest(tmp_path):
    """Return a function that writes a manifest with these clip ids."""

    def write(*clip_ids: str) -> str:
        sources = {
            "cam_rear": {"kind": "camera", "uri": "cam.mp4", "timestamps": "cam.csv"},
            "imu": {"kind": "imu", "uri": "imu.csv"},
        }
        path = tmp_path / "manifest.jsonl"
        # Each has its own window in one recording.
        starts = {name: zlib.crc32(name.encode()) * 10**9 for name in clip_ids}
        lines = [
            json.dumps(
                {"clip_id": name, "start_ns": start, "end_ns": start + 1, "sources": sources}
            )
            for name, start in starts.items()
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def in_this_process(monkeypatch):
    """Import data sets without a worker."""
    monkeypatch.setattr("syncaudit.cli.isolated_import.import_isolated", import_here)


@pytest.fixture
def invoke(monkeypatch):
    """Return a function that runs the command line with arguments."""
    from testkit import fake_pipeline

    monkeypatch.setitem(sys.modules, "syncaudit.pipeline", fake_pipeline.pipeline())
    return partial(run_command, width=80)
