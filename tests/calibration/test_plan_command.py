"""`syncaudit flash-plan` prints a plan in words and writes its files."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import av
import pytest
import typer
from syncaudit_calibration.plan_command import flash_plan
from typer.testing import CliRunner

from syncaudit.errors import UsageError
from testkit.places import SAMPLE_DATA

USUAL = ["--fps", "12", "--readout", "25ms", "--exposure", "8ms"]


def plan(*arguments: str) -> str:
    app = typer.Typer()
    app.command()(flash_plan)
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_plan_is_told_in_words() -> None:
    text = plan(*USUAL, "--cameras", "6")
    assert "in bursts of 3 that divide one frame period (83.3 ms) unevenly" in text
    assert "42 ± 2 %" in text
    assert "all 6 together" in text
    assert "line delay not observable in 6 of 6 cameras" in text
    assert "photosensitive epilepsy" in text


def test_spelling_of_times_changes_nothing() -> None:
    assert plan(*USUAL) == plan("--fps", "12", "--readout", "0.025", "--exposure", "8000us")


def test_several_rates_are_told_apart() -> None:
    text = plan("--fps", "12,30", "--readout", "25ms", "--exposure", "8ms", "--cameras", "6")
    assert "3 12 Hz" in text
    assert "3 30 Hz" in text
    assert "line delay to 0." in text


def test_global_shutter_gets_long_light() -> None:
    text = plan("--fps", "12", "--readout", "0", "--exposure", "8ms")
    assert "light on for 175 ms" in text
    assert "Global shutters:" in text


def test_one_clip_of_several_describes_the_cameras() -> None:
    with pytest.raises(UsageError, match="16 clips"):
        plan(str(SAMPLE_DATA))
    assert "pulses of 2 ms" in plan(str(SAMPLE_DATA), "--clip", "flashes")


def test_lights_fired_by_hand_are_told_how() -> None:
    speedlight = plan(*USUAL, "--light", "speedlight")
    assert "with the test button: manual mode" in speedlight
    assert "irregular, 1.5 s to" in speedlight
    torch = plan(*USUAL, "--light", "torch")
    assert "on for 0.3 to 1 s" in torch
    assert "one switching dated to 0.24 ms" in torch
    assert "see of all switchings" in torch
    assert "cannot alias" not in torch  # the drawn train is not the one that is played


def test_a_speedlight_tells_global_shutters_the_exposure_only() -> None:
    text = plan("--fps", "12", "--readout", "0", "--exposure", "8ms", "--light", "speedlight")
    assert "one frame dated to 2.31 ms" in text  # 8 ms / sqrt(12)
    assert "use a light that stays on for two frames" in text


def test_cameras_of_a_recording_are_taken_as_it_states_them(tmp_path: Path) -> None:
    for name, rate_hz in (("left", 12.0), ("right", 30.0)):
        write_camera(tmp_path, name, rate_hz)
    sources = {
        name: {
            "kind": "camera",
            "uri": f"{name}.mp4",
            "timestamps": f"{name}.csv",
            "line_delay_s": 2e-4,
        }
        for name in ("left", "right")
    }
    manifest = tmp_path / "manifest.jsonl"
    manifest.write_text(json.dumps({"clip_id": "drive", "sources": sources}) + "\n")
    text = plan(str(manifest), "--exposure", "8ms")
    assert "1 12 Hz 19 ms 8 ms" in text  # 95 rows of 0.2 ms
    assert "1 30 Hz 19 ms 8 ms" in text
    with pytest.raises(UsageError, match="states no exposure_s of left"):
        plan(str(manifest))
    with pytest.raises(UsageError, match="--readout has 3 values for the 2 cameras"):
        plan(str(manifest), "--exposure", "8ms", "--readout", "1ms,2ms,3ms")
    with pytest.raises(UsageError, match="the recording defines its cameras"):
        plan(str(manifest), "--exposure", "8ms", "--cameras", "3")
    table = tmp_path / "left.csv"
    table.write_text("\n".join(["timestamp_ns", *["7"] * 10]) + "\n")
    with pytest.raises(UsageError, match="the timestamps of left show no frame rate"):
        plan(str(manifest), "--exposure", "8ms")
    del sources["left"]
    manifest.write_text(json.dumps({"clip_id": "drive", "sources": sources}) + "\n")
    with pytest.raises(UsageError, match="drive has 1 readable cameras"):
        plan(str(manifest), "--exposure", "8ms")


def write_camera(folder: Path, name: str, rate_hz: float) -> None:
    with av.open(str(folder / f"{name}.mp4"), "w") as file:
        stream = file.add_stream("libx264", rate=round(rate_hz))
        stream.width, stream.height, stream.pix_fmt = 128, 96, "yuv420p"
        for _ in range(10):
            file.mux(stream.encode(av.VideoFrame(128, 96, "yuv420p")))
        file.mux(stream.encode(None))
    stamps = [10**18 + round(1e9 * k / rate_hz * (1 + 3e-5)) for k in range(10)]
    text = "\n".join(["timestamp_ns", *map(str, stamps)])
    (folder / f"{name}.csv").write_text(text + "\n")


def test_files_are_written(tmp_path: Path) -> None:
    out = tmp_path / "new" / "plan"
    text = plan(*USUAL, "--duration", "10s", "--out", str(out))
    names = {"train.csv", "flash_train.ino", "sync_video.mp4", "sync_video.csv"}
    assert {path.name for path in out.iterdir()} == names
    assert all(name in text for name in names)
    with (out / "train.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert set(rows[0]) == {"start_s", "width_s"}
    assert float(rows[-1]["start_s"]) < 10


def test_video_can_be_left_out(tmp_path: Path) -> None:
    plan(*USUAL, "--no-video", "--out", str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"train.csv", "flash_train.ino"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--fps", "12", "--readout", "25", "--exposure", "8ms"], "write 25ms or 0.025"),
        (["--fps", "twelve", "--readout", "25ms", "--exposure", "8ms"], "frames per second"),
        (["--fps", "12", "--readout", "25ms"], "which cameras"),
        ([*USUAL, "--light", "candle"], "'candle' is no light source"),
        ([*USUAL, "--light", "torch", "--out", "plan"], "fired by hand"),
        ([*USUAL, "--duration", "1h"], "expected a duration"),
        ([*USUAL, "--duration", "2s"], "expected one time from 10 s to 600 s"),
        ([*USUAL, "--duration", "20s,30s"], "expected one time from 10 s to 600 s"),
        (["--fps", "12,15", "--readout", "1ms,2ms,3ms", "--exposure", "8ms"], "do not match"),
    ],
)
def test_wrong_use_is_refused(arguments: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        plan(*arguments)


def test_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan").touch()
    with pytest.raises(UsageError, match="is a file, expected a folder"):
        plan(*USUAL, "--out", str(tmp_path / "plan"))


def test_importing_the_command_leaves_the_plan_for_later() -> None:
    code = (
        "import sys, syncaudit_calibration.plan_command\n"
        "print([name for name in ('av', 'syncaudit_calibration.plan') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert run.stdout.strip() == "[]"
