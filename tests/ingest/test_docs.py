"""The examples of docs/ingest.md run as written."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import tarfile
from pathlib import Path

import pytest

DOC = Path(__file__).parents[2] / "docs" / "ingest.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", DOC.read_text(encoding="utf-8"), re.DOTALL)
NEEDED = ("torch", "webdataset", "ray", "datasets")


def title(example: str) -> str:
    return next(
        (name for name in NEEDED if re.search(rf"^(import|from) {name}\b", example, re.M)), ""
    )


def example_with(word: str) -> str:
    (found,) = [example for example in EXAMPLES if word in example]
    return found


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return a function that runs an example beside out/ and shards/ and returns its lines."""
    verdicts = {"clip1": "pass", "clip2": "reject", "clip3": "pass"}
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "verdicts.jsonl").write_text(
        "".join(json.dumps({"clip_id": k, "verdict": v}) + "\n" for k, v in verdicts.items())
    )
    clips = {"total": 3, "pass": 2, "reject": 1, "unverified": 0}
    summary = {"version": 1, "complete": True, "clips": clips}
    (tmp_path / "out" / "summary.json").write_text(json.dumps(summary))
    (tmp_path / "shards").mkdir()
    with tarfile.open(tmp_path / "shards" / "train-000000.tar", "w") as archive:
        for name in verdicts:
            info = tarfile.TarInfo(f"{name}.txt")
            info.size = 1
            archive.addfile(info, io.BytesIO(b"x"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))

    def execute(example: str) -> list[str]:
        need = title(example)
        if need and importlib.util.find_spec(need) is None:
            pytest.skip(f"{need} is not installed")
        exec(compile(example, str(DOC), "exec"), {"__name__": "example"})  # noqa: S102  # our docs
        return capsys.readouterr().out.splitlines()

    return execute


def test_every_example_is_run_here():
    assert len(EXAMPLES) == 8


def test_index(run):
    assert run(example_with("lenient = ")) == ["{'reject': 1}"]


def test_what_splits_share_is_refused(run, tmp_path):
    (tmp_path / "leaks.txt").write_text("clip1\n")
    assert run(example_with("leaks.txt")) == ["False"]


def test_map_style(run):
    assert run(example_with("PassedDataset(")) == ["3"]


def test_torch_stream(run):
    assert "clip1" in run(example_with("torch_stream("))[0]


@pytest.mark.filterwarnings("ignore")  # it leaves its files open
def test_webdataset(run):
    assert run(example_with("passed_samples(")) == ["clip1", "clip3"]


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_ray_data(run):
    ray = pytest.importorskip("ray", reason="the extra [ray] is not installed")
    try:
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
        pytest.skip(f"Ray does not start on this machine: {error}")
    try:
        assert run(example_with("PassedBatches("))[-2:] == ["[{'clip_id': 'clip1', 'x': 1}]", "1"]
    finally:
        ray.shutdown()


@pytest.mark.filterwarnings("ignore")  # its own
def test_hugging_face(run):
    lines = run(example_with("input_columns"))
    assert lines[-1] == "[1, 3]"
    assert "[1, 3]" in lines[0]


def test_guard_and_bisect(run):
    assert run(example_with("bisect(")) == ["1", "clip2"]
