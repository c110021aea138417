"""The command line as a process: speed of help, last-resort error handling, plug-ins."""

import os
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest

from syncaudit import __version__
from testkit.command_line import environment, faked_command


def run(*arguments, **options):
    variables = {"NO_COLOR": "1", "COLUMNS": "100"} | options.pop("env", {})
    return subprocess.run(  # noqa: S603  # our own program
        faked_command(*arguments),
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(**variables),
        check=False,
        **options,
    )


def test_version(invoke):
    result = invoke("--version")
    assert result.exit_code == 0
    assert result.stdout.strip() == f"syncaudit {__version__}"


def test_python_runs_the_package():
    command = [sys.executable, "-m", "syncaudit", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)  # noqa: S603  # our own program
    assert result.stdout.strip() == f"syncaudit {__version__}"


def test_help_teaches(invoke):
    result = invoke("--help", width=120)
    assert result.exit_code == 0
    for words in ("validate", "inspect", "simulate", "Exit codes", "--install-completion"):
        assert words in result.stdout
    assert "Examples" in invoke("validate", "--help", width=120).stdout


def test_nothing_given_shows_help(invoke):
    assert "Usage" in invoke().output


def test_unknown_options_are_usage_errors(invoke):
    assert invoke("validate", "--no-such-option").exit_code == 2


def test_help_imports_nothing_heavy_and_reading_rows_no_scipy():
    code = (
        "import sys; sys.argv[1:] = ['--help']\n"
        "from syncaudit.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'scipy', 'cv2', 'av', 'pyarrow', 'jinja2', 'pydantic'}\n"
        "loaded = heavy & set(sys.modules)\n"
        "import syncaudit.batch, syncaudit.cli.isolated_import\n"
        "sys.stderr.write(','.join(sorted(loaded | {'scipy'} & set(sys.modules))))"
    )
    result = subprocess.run(  # noqa: S603  # our own program
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stderr == ""


def test_an_unexpected_error_shows_no_traceback(manifest, tmp_path):
    result = run("inspect", manifest("bug"), env={"TMPDIR": str(tmp_path)})
    assert result.returncode == 3
    assert "Traceback" not in result.stderr
    assert "ZeroDivisionError" in result.stderr
    [log] = tmp_path.glob("syncaudit-*.log")
    assert "Traceback" in log.read_text()
    assert str(log) in result.stderr.replace("\n", "")


@pytest.mark.parametrize("workers", ["0", "2"])
def test_ctrl_c_keeps_what_is_done(manifest, tmp_path, workers):
    path = manifest("pass1", *[f"slow{i}" for i in range(100)])
    process = subprocess.Popen(  # noqa: S603  # our own program
        faked_command("validate", path, "--out", tmp_path / "out", "-j", workers),
        env=environment(),
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    ledger = tmp_path / "out" / "verdicts.jsonl"
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (ledger.exists() and ledger.stat().st_size):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: workers get it too
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in stderr + stdout
    assert "KeyboardInterrupt" not in stderr + stdout
    assert "run it again to resume" in stdout
    assert 1 <= len(ledger.read_text().splitlines()) < 100


def test_a_full_disk_is_code_3(monkeypatch, manifest, capsys):
    import errno

    from syncaudit.batch import ledger
    from syncaudit.cli.app import run as run_app

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ledger.os, "write", full)
    out = str(Path(manifest("pass1")).parent / "out")
    from testkit import fake_pipeline

    monkeypatch.setitem(sys.modules, "syncaudit.pipeline", fake_pipeline.pipeline())
    assert run_app(["validate", manifest("pass1"), "--out", out, "-j", "0", "-q"]) == 3
    assert "make room and run it again" in capsys.readouterr().err


def plugin(name: str = "World") -> None:
    """Say hello."""
    print(f"hello {name}")  # noqa: T201


def test_packages_add_commands(monkeypatch):
    from typer.testing import CliRunner

    from syncaudit.cli.app import build_app

    group = "syncaudit.commands"
    points = [
        metadata.EntryPoint(name="hello", value="test_app_plugin:plugin", group=group),
        metadata.EntryPoint(name="view", value="no_such_module:view [gui]", group=group),
    ]
    monkeypatch.setitem(sys.modules, "test_app_plugin", sys.modules[__name__])
    monkeypatch.setattr(metadata, "entry_points", lambda **_: points)
    runner = CliRunner(env={"COLUMNS": "120"})
    app = build_app()
    assert "hello World" in runner.invoke(app, ["hello"]).stdout
    help_text = runner.invoke(app, ["--help"]).stdout
    assert "(unavailable)" in help_text
    result = runner.invoke(app, ["view", "file", "--any"])
    assert result.exit_code == 2
    assert "pip install 'syncaudit[gui]'" in result.stderr.replace("\n", " ")


def test_crashing_clips_cost_only_themselves(manifest, tmp_path):
    out = tmp_path / "out"
    result = run("validate", manifest("pass1", "crash", "pass2"), "--out", str(out), "-j", "2")
    assert result.returncode == 1, result.stderr
    assert "2 pass" in result.stdout
    assert "SIGABRT" in result.stdout
    assert "Traceback" not in result.stderr


def test_terminals_without_utf8_get_ascii(manifest, tmp_path):
    result = run(
        *("validate", manifest("pass1"), "--out", str(tmp_path / "out"), "-j", "0"),
        env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert result.returncode == 0, result.stderr
    assert "+ pass" in result.stdout
