"""A clip's stated window decides what is examined."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from syncaudit.model import (
    AudioStream,
    CameraSpec,
    Channel,
    Clip,
    ClipVerdict,
    EventStream,
    FrameFiles,
    ReasonCode,
    SignalStream,
    SourceKind,
    Verdict,
)
from syncaudit.pipeline import conclude
from syncaudit.pipeline.reading import MARGIN_S, NEAR_S, crop, part_of, window_of
from syncaudit.policy import load_policy
from testkit.streams import camera_stream, signal_stream, sound_stream

S = 10**9
T0 = 1_767_225_600 * S


def clip_of(start_s: float | None, end_s: float | None) -> Clip:
    return Clip(
        clip_id="c",
        recording_id="c",
        start_ns=None if start_s is None else T0 + round(start_s * S),
        end_ns=None if end_s is None else T0 + round(end_s * S),
        sources={"a": CameraSpec(uri="a.mp4")},
    )


def signal(times_s: np.ndarray) -> SignalStream:
    stamps = T0 + np.rint(times_s * S).astype(np.int64)
    channel = Channel(name="gyro", time_ns=stamps, values=np.zeros((stamps.size, 3)))
    return signal_stream(SourceKind.IMU, stamps, channel)


def sound(seconds: float, rate_hz: float = 100.0) -> AudioStream:
    return sound_stream(np.arange(round(seconds * rate_hz), dtype=np.float32), rate_hz, start_ns=T0)


def test_signals_keep_a_margin_for_shifted_clocks() -> None:
    cut = crop(signal(np.arange(0.0, 100.0, 0.1)), clip_of(40.0, 60.0), margin_s=MARGIN_S)
    assert isinstance(cut, SignalStream)
    assert cut.time_ns[0] == T0 + 34 * S
    assert cut.time_ns[-1] < T0 + 66 * S
    assert cut.channels[0].values.shape[0] == cut.time_ns.size == 320


def test_absurd_stamps_inside_the_window_stay() -> None:
    times = np.arange(0.0, 100.0, 1.0)
    times[50] = -1e5
    cut = crop(signal(times), clip_of(40.0, 60.0), margin_s=0.0)
    assert cut.time_ns.size == 20
    assert cut.time_ns.min() == T0 - 10**5 * S


@pytest.mark.parametrize("window", [(None, None), (1e6, 1e6 + 20.0), (-10.0, 200.0)])
def test_nothing_is_cropped_without_a_window_that_fits(
    window: tuple[float | None, float | None],
) -> None:
    stream = signal(np.arange(0.0, 100.0, 1.0))
    assert crop(stream, clip_of(*window)) is stream


def test_sound_is_cut_to_the_sample() -> None:
    cut = crop(sound(100.0), clip_of(40.005, 60.0))
    assert isinstance(cut, AudioStream)
    assert cut.samples[0] == 3901  # the first whole sample at least 1 s before the window
    assert cut.time_ns[0] == T0 + 39_010_000_000
    assert cut.samples.size == pytest.approx((60.0 + NEAR_S) * 100 - 3901, abs=1)
    assert cut.first_sample == 3901
    assert cut.file_seconds == 100.0
    again = crop(cut, clip_of(50.0, 55.0))
    assert isinstance(again, AudioStream)
    assert again.first_sample == 4900
    assert again.file_seconds == 100.0


def test_one_open_end() -> None:
    assert (
        crop(signal(np.arange(0.0, 9.0, 1.0)), clip_of(5.0, None), margin_s=0.0).time_ns.size == 4
    )
    assert (
        crop(signal(np.arange(0.0, 9.0, 1.0)), clip_of(None, 5.0), margin_s=0.0).time_ns.size == 5
    )


def test_window_is_the_overlap_of_the_sources() -> None:
    early = signal(np.arange(0.0, 20.001, 0.1))
    late = signal(np.arange(5.0, 30.001, 0.1))
    event = EventStream(
        name="e", clock="e", kind=SourceKind.EVENTS, time_ns=np.array([T0 + 7 * S], dtype=np.int64)
    )
    window = window_of(clip_of(None, None), {"a": early, "b": late, "e": event})
    assert window.at_ns == pytest.approx(T0 + 12.5 * S, abs=S // 10)
    assert window.span_s == pytest.approx(15.0, abs=0.1)


def test_window_of_sources_that_never_meet_is_the_longest() -> None:
    window = window_of(
        clip_of(None, None),
        {"a": signal(np.arange(0.0, 9.0, 0.1)), "b": signal(1e6 + np.arange(0.0, 20.0, 0.1))},
    )
    assert window.span_s == pytest.approx(20.0, abs=0.2)


def test_one_clock_of_another_epoch_does_not_move_the_window() -> None:
    near = np.arange(0.0, 20.001, 0.1)
    window = window_of(
        clip_of(None, None),
        {
            "a": signal(near),
            "b": signal(near + 1.0),
            "c": signal(np.arange(-T0 * 1e-9, -T0 * 1e-9 + 30.0, 0.1)),
        },
    )
    assert window.start_ns == pytest.approx(T0 + S, abs=S // 10)
    assert window.span_s == pytest.approx(19.0, abs=0.2)


def test_faults_far_outside_the_window_do_not_count(clip) -> None:
    """Frames at the start go back in time, but the clip is the last five seconds."""
    verdict = clip.restamp(
        "cam_rear.csv", lambda t: np.where(np.arange(t.size) == 9, t - S, t)
    ).audit()
    assert verdict.verdict is Verdict.REJECT
    row = clip.row
    verdict = clip.write(row | {"start_ns": row["end_ns"] - 5 * S}).audit()
    assert verdict.sources["cam_rear"].timing.backwards == 0
    assert verdict.sources["cam_rear"].timing.samples == pytest.approx(6 * 12, abs=2)
    assert {str(reason.code) for reason in verdict.reasons} <= {"unobservable"}
    assert verdict.at_ns == row["end_ns"] - 5 * S // 2


def test_a_long_video_is_reduced_to_the_wanted_frames() -> None:
    pts_s = np.arange(1000) / 30
    stream = camera_stream(np.rint(pts_s * 1e9).astype(np.int64), video="v.mp4", pts_s=pts_s)
    wanted = np.zeros(1000, np.bool_)
    wanted[300:400] = True
    part = part_of(stream, wanted)
    assert part.first == 300
    assert part.span_ns == (10_000_000_000, 13_300_000_001)
    images = replace(stream, files=FrameFiles(paths=tuple(map(str, range(1000))), is_images=True))
    part = part_of(images, wanted)
    assert (part.first, part.paths[0], part.paths[-1]) == (300, "300", "399")
    stored = FrameFiles(paths=("p.parquet",), is_images=True, column="cam", rows=(50, 1050))
    part = part_of(replace(stream, files=stored), wanted)
    assert (part.first, part.rows) == (300, (350, 450))


def test_a_video_whose_frames_are_not_its_stamps_stays_whole() -> None:
    stream = camera_stream(np.arange(10), video="v.mp4", pts_s=np.arange(9) / 30)
    assert part_of(stream, np.arange(10) > 3) == stream.files


@pytest.mark.parametrize("away_s", [1, 7, 20, 80, 150])
@pytest.mark.parametrize("way", [-1, 1])
def test_a_window_without_any_sample_never_passes(clip, away_s, way) -> None:
    row = clip.row
    shift = way * (row["end_ns"] - row["start_ns"] + away_s * S)
    moved = {"start_ns": row["start_ns"] + shift, "end_ns": row["end_ns"] + shift}
    verdict = clip.write(row | moved).audit()
    assert verdict.verdict is Verdict.REJECT
    assert Verdict.PASS not in {source.verdict for source in verdict.sources.values()}
    (reason,) = [reason for reason in verdict.reasons if reason.source is None]
    assert reason.code is ReasonCode.EMPTY
    assert "holds no sample of any source" in reason.message
    assert reason.value == pytest.approx(away_s, abs=0.2)


def test_a_measured_correction_maps_another_epoch_into_the_window(clip) -> None:
    """A phone counts from its boot: it is judged by its offset, over the whole clip."""
    boot_ns = int(clip.stamps("imu.csv")[0]) - 90 * S
    verdict = clip.restamp("imu.csv", lambda t: t - boot_ns).audit()
    (reason,) = verdict.reasons
    assert (reason.source, reason.code) == ("imu", ReasonCode.OFFSET)
    assert reason.value == pytest.approx(boot_ns * 1e-9, abs=0.01)


@pytest.mark.parametrize("is_stated", [True, False])
def test_a_source_outside_the_window_is_not_vouched_for(clip, is_stated) -> None:
    row = clip.row
    stamps = clip.stamps("imu.csv") - 7 * S - (row["end_ns"] - row["start_ns"])
    lines = ["timestamp_ns,joint", *(f"{t},{k % 7}" for k, t in enumerate(stamps[::5]))]
    clip.overwrite("state.csv", "\n".join(lines).encode())
    row["sources"]["state"] = {"kind": "state", "uri": "state.csv", "clock": "imu"}
    if not is_stated:
        row = {key: value for key, value in row.items() if key not in ("start_ns", "end_ns")}
    verdict = clip.write(row).audit()
    assert verdict.verdict is Verdict.PASS  # states are not required for a car
    assert verdict.sources["state"].verdict is Verdict.UNVERIFIED
    of_state = [warning for warning in verdict.warnings if warning.source == "state"]
    (warning,) = [warning for warning in of_state if warning.code is ReasonCode.EMPTY]
    window = "the clip's window" if is_stated else "what most sources cover"
    assert f"state has no sample in {window}" in warning.message
    assert "before it" in warning.message
    assert warning.value == pytest.approx(7.0, abs=0.2)


def test_a_source_that_covers_a_part_of_the_window_is_not_vouched_for(clip) -> None:
    row = clip.row
    lines = (clip.path / "can.csv").read_text().splitlines()
    stamps = clip.stamps("can.csv")
    kept = [line for line, t in zip(lines[1:], stamps, strict=True) if t < row["end_ns"] - 3 * S]
    clip.overwrite("can.csv", "\n".join([lines[0], *kept, ""]).encode())
    verdict = clip.audit()
    assert verdict.sources["can"].offset_s is not None  # measured on the available data
    assert verdict.verdict is Verdict.UNVERIFIED
    (reason,) = verdict.reasons
    assert (reason.source, reason.code) == ("can", ReasonCode.GAP)
    assert "ends 3.0" in reason.message
    assert "nothing confirms the rest" in reason.message


def test_a_window_in_whole_seconds_is_covered(clip) -> None:
    row = clip.row
    wide = {"start_ns": row["start_ns"] - S // 2, "end_ns": row["end_ns"] + S // 2}
    assert clip.write(row | wide).audit().verdict is Verdict.PASS


def test_judging_again_holds_back_as_well(clip) -> None:
    row = clip.row
    verdict = clip.write(row | {"end_ns": row["end_ns"] + 10 * S}).audit()
    assert verdict.verdict is Verdict.UNVERIFIED
    record = ClipVerdict.from_row(json.loads(json.dumps(verdict.to_json()))).record
    assert record is not None
    again = conclude(clip.clip, record, load_policy())[1]
    assert [reason.message for reason in again.reasons] == [r.message for r in verdict.reasons]
