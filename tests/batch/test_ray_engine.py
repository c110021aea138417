"""Ray Data as engine: the same rows and the same isolation."""

import sys

import pytest

from syncaudit.errors import MissingExtraError, SyncAuditError, UsageError
from testkit.command_line import environment
from testkit.fake_batches import run_faked
from testkit.json_lines import read_verdicts


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_ray_gives_the_rows_of_a_local_run(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray", reason="the extra [ray] is not installed")
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    ids = ["pass1", "reject1", "silent1", "crash", "swell", "broken1", "pass2"]
    options = {"workers": 1, "timeout_s": 60.0, "memory_limit": "400M"}
    try:
        run_faked(ids, tmp_path / "ray", engine="ray", **options)
    except SyncAuditError as error:
        pytest.skip(f"Ray does not start on this machine: {error}")
    finally:
        ray.shutdown()
    run_faked(ids, tmp_path / "local", **options)
    assert read_verdicts(tmp_path / "ray") == read_verdicts(tmp_path / "local")
    swollen = read_verdicts(tmp_path / "ray")[ids.index("swell")]
    assert "its limit of 400 MiB" in swollen["reasons"][0]["message"]


def test_without_ray_the_pip_line_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'syncaudit\[ray\]'"):
        run_faked(["pass1"], tmp_path, engine="ray", workers=1)


def test_unknown_engines_are_refused(tmp_path):
    with pytest.raises(UsageError, match="no engine is called 'rya'"):
        run_faked(["pass1"], tmp_path, engine="rya")
    assert not list(tmp_path.iterdir())
    with pytest.raises(UsageError, match="--address is for --engine ray"):
        run_faked(["pass1"], tmp_path, address="auto")
    assert not list(tmp_path.iterdir())
