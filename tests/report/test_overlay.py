"""Findings over time, at the timestamps as recorded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from syncaudit.errors import UsageError
from syncaudit.model import (
    ClipVerdict,
    ClockEstimate,
    ClockSolution,
    Finding,
    ReasonCode,
    SourceKind,
    Verdict,
)
from syncaudit.report.overlay import Overlay, overlay_of, write_mcap, write_rerun
from syncaudit.writing import Signature
from testkit.streams import camera_stream, signal_stream

S = 10**9
T0 = 1_767_225_600 * S
STEP_AT = T0 + 6 * S


def overlay(*, start_ns: int = T0, clip_id: str = "drive/1") -> Overlay:
    """Return the overlay of a camera: 10 ms early, drift of 100 ppm, and a 60 ms step at 6 s."""
    camera = camera_stream(start_ns + np.arange(0, 11) * S)
    imu = signal_stream(SourceKind.IMU, start_ns + np.arange(0, 101) * S // 10)
    clocks = {
        "cam": ClockEstimate(
            clock="cam",
            is_observable=True,
            offset_s=0.01,
            offset_std_s=3e-4,
            drift_ppm=100.0,
            drift_std_ppm=80.0,
            step_s=0.06,
            step_std_s=4e-4,
            step_at_ns=STEP_AT,
        ),
        "imu": ClockEstimate(clock="imu", is_observable=True, offset_s=0.0, offset_std_s=0.0),
        "mic": ClockEstimate(clock="mic", is_observable=False),
    }
    solution = ClockSolution(
        reference="imu", is_reference_stated=False, at_ns=start_ns + 5 * S, clocks=clocks
    )
    step = Finding(code=ReasonCode.STEP, source="cam", message="cam jumps 60 ms at 6.0 s")
    verdict = ClipVerdict(
        clip_id=clip_id, recording_id="drive", verdict=Verdict.REJECT, reasons=(step,)
    )
    return overlay_of(verdict, solution, {"cam": camera, "imu": imu})


def test_every_timestamp_has_its_correction_on_its_side_of_a_step() -> None:
    found = overlay().corrections["cam"]
    seconds = np.arange(0.0, 11.0)
    truth = 0.01 + 1e-4 * (seconds - 5.0) + np.where(seconds >= 6.0, 0.06, 0.0)
    assert found.offset_s == pytest.approx(truth, abs=1e-12)
    assert found.offset_std_s[5] == pytest.approx(3e-4)
    assert found.offset_std_s[0] == pytest.approx(np.hypot(3e-4, 80e-6 * 5.0))
    assert found.offset_std_s[10] == pytest.approx(np.sqrt(3e-4**2 + 4e-4**2 + 4e-4**2))


def test_a_step_is_noted_where_it_happens_and_the_verdict_at_the_start() -> None:
    notes = overlay().notes
    assert [(note.time_ns, note.level, note.source) for note in notes] == [
        (T0, "error", ""),
        (STEP_AT, "error", "cam"),
    ]
    assert notes[0].message == "drive/1: reject"


def test_mcap_holds_notes_and_corrections_at_the_reported_times(tmp_path: Path) -> None:
    reader = pytest.importorskip("mcap.reader")
    path = tmp_path / "found.mcap"
    write_mcap(overlay(), path)
    assert Signature.MCAP.fits(path.read_bytes())
    with path.open("rb") as file:
        messages = [
            (schema.name, channel.topic, message.log_time, json.loads(message.data))
            for schema, channel, message in reader.make_reader(file).iter_messages()
        ]
    logged = [content for name, *_, content in messages if name == "foxglove.Log"]
    assert [content["message"] for content in logged] == [
        "drive/1: reject",
        "cam jumps 60 ms at 6.0 s",
    ]
    ((_, _, time_ns, last),) = [
        message for message in messages if message[1:3] == ("/syncaudit/cam", T0 + 10 * S)
    ]
    corrected = last["corrected"]["sec"] * S + last["corrected"]["nsec"]
    assert corrected - time_ns == pytest.approx(70.5e6, abs=1.0)
    assert last["offset_ms"] == pytest.approx(70.5)
    assert sum(topic == "/syncaudit/imu" for _, topic, *_ in messages) == 101


def test_mcap_refuses_what_it_cannot_hold_and_writes_nothing(tmp_path: Path) -> None:
    pytest.importorskip("mcap")
    path = tmp_path / "found.mcap"
    with pytest.raises(UsageError, match="before 1970"):
        write_mcap(overlay(start_ns=-20 * S), path)
    assert not list(tmp_path.iterdir())


def test_rerun_holds_notes_and_corrections(tmp_path: Path) -> None:
    pytest.importorskip("rerun", reason="pip install 'syncaudit[rerun]'")
    path = tmp_path / "found.rrd"
    write_rerun(overlay(), path)
    content = path.read_bytes()
    assert Signature.RERUN.fits(content)
    for entity in (b"syncaudit/log", b"syncaudit/cam/offset_ms", b"syncaudit/imu/offset_std_ms"):
        assert entity in content
