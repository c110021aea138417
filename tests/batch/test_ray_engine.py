"""Ray Data as engine: the same rows, the same isolation."""

import json
import sys
from pathlib import Path

import pytest

from syncaudit.batch import run_batch
from syncaudit.errors import MissingExtraError, SyncAuditError, UsageError
from testkit import fake_audits
from testkit.command_line import environment
from testkit.fake_audits import POLICY, make_clip


def rows_of(out: Path) -> list[dict]:
    rows = [json.loads(line) for line in (out / "verdicts.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if k not in ("seconds", "stages")} for row in rows]


def run(out, ids, **options):
    clips = [make_clip(name) for name in ids]
    return run_batch(clips, POLICY, out=out, audit=fake_audits.audit, **options)


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_ray_gives_the_rows_of_a_local_run(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray", reason="the extra [ray] is not installed")
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    ids = ["pass1", "reject1", "silent1", "crash", "swell", "broken1", "pass2"]
    options = {"workers": 1, "timeout_s": 60.0, "memory_limit": "400M"}
    try:
        run(tmp_path / "ray", ids, engine="ray", **options)
    except SyncAuditError as error:
        pytest.skip(f"Ray does not start on this machine: {error}")
    finally:
        ray.shutdown()
    run(tmp_path / "local", ids, **options)
    assert rows_of(tmp_path / "ray") == rows_of(tmp_path / "local")
    swollen = rows_of(tmp_path / "ray")[ids.index("swell")]
    assert "its limit of 400 MiB" in swollen["reasons"][0]["message"]


def test_without_ray_the_pip_line_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'syncaudit\[ray\]'"):
        run(tmp_path, ["pass1"], engine="ray", workers=1)


def test_unknown_engines_are_refused(tmp_path):
    with pytest.raises(UsageError, match="no engine is called 'rya'"):
        run(tmp_path, ["pass1"], engine="rya")
    with pytest.raises(UsageError, match="--address is for --engine ray"):
        run(tmp_path, ["pass1"], address="auto")
