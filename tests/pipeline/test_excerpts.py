"""Excerpts of videos clear cameras that agree with the gyroscope; of others all is decoded."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from syncaudit.datasets import load_manifest
from syncaudit.decode import iter_luma
from syncaudit.model import (
    CameraStream,
    Clip,
    ClipVerdict,
    FrameFiles,
    PairMeasurement,
    PictureFault,
    Quantity,
    Verdict,
)
from syncaudit.pipeline import Examination, audit, conclude, examine
from syncaudit.pipeline.excerpts import choose_excerpt
from syncaudit.policy import load_policy
from testkit.places import SAMPLE_DATA
from testkit.videos import exact_frame, write_video

# Cleared cameras are known to 1.2 ms.
NEAR_S = 0.003
N_FRAMES = 240


@cache
def sample(name: str) -> Clip:
    (clip,) = load_manifest(str(SAMPLE_DATA / name / "manifest.jsonl"))
    return clip


@cache
def seen(name: str) -> Examination:
    return examine(sample(name), is_sparse=True)


def pairs_of(examination: Examination, camera: str) -> list[PairMeasurement]:
    return [pair for pair in examination.measurements if pair.source == camera]


def test_a_good_clip_is_decoded_in_part() -> None:
    verdict, excerpts = seen("synthetic_stamps").verdict, seen("synthetic_stamps").evidence.excerpts
    assert verdict.verdict is Verdict.PASS
    assert excerpts.keys() == {"cam_front", "cam_rear_left", "cam_rear"}
    told = [warning.message for warning in verdict.warnings]
    for name, frames in excerpts.items():
        assert frames.sum() <= 0.5 * N_FRAMES
        assert verdict.record is not None
        assert verdict.record.pictures[name].frames == frames.sum()
        assert verdict.record.pictures[name].counts == {}
        assert any(f"{name}: {frames.sum()} of 240 frames were decoded" in one for one in told)
        (pair,) = pairs_of(seen("synthetic_stamps"), name)
        assert pair.accepted
        assert abs(pair.offset_s or 1.0) < NEAR_S


@pytest.mark.parametrize("name", ["cam_rear_early", "clock_step", "dropped_frames"])
def test_a_camera_that_is_not_cleared_is_measured_as_without_excerpts(name: str) -> None:
    whole = examine(sample(name))
    assert seen(name).verdict.verdict is whole.verdict.verdict is Verdict.REJECT
    assert "cam_rear" not in seen(name).evidence.excerpts
    assert seen(name).evidence.excerpts
    for one, other in zip(
        pairs_of(seen(name), "cam_rear"), pairs_of(whole, "cam_rear"), strict=True
    ):
        assert (one.offset_s, one.offset_std_s) == (other.offset_s, other.offset_std_s)
        assert (one.step_s, one.why) == (other.step_s, other.why)


def test_images_frozen_between_excerpts_are_found(tmp_path: Path) -> None:
    clip = sample("synthetic_stamps")
    camera = seen("synthetic_stamps").streams["cam_front"]
    assert isinstance(camera, CameraStream)
    skipped = np.flatnonzero(~seen("synthetic_stamps").evidence.excerpts["cam_front"])
    first = int(skipped[skipped.size // 2])
    pictures = [picture.luma.copy() for picture in iter_luma(camera.files)]
    pictures[first + 1 : first + 10] = [pictures[first]] * 9
    path = write_video(
        tmp_path / "frozen.mp4",
        map(exact_frame, pictures),
        rate=12,
        options={"g": "24", "crf": "26", "preset": "veryfast", "bf": "0"},
    )
    sources = {name: spec for name, spec in clip.sources.items() if name in ("cam_front", "imu")}
    sources["cam_front"] = replace(sources["cam_front"], uri=str(path))
    verdict = audit(replace(clip, sources=sources), is_sparse=True)
    assert verdict.record is not None
    images = verdict.record.pictures["cam_front"]
    assert images.frames == N_FRAMES
    assert images.counts[PictureFault.FROZEN] >= 8


def test_judging_an_excerpt_by_another_policy_gives_what_auditing_gives() -> None:
    strict = load_policy(profile="strict")
    row = json.loads(json.dumps(seen("synthetic_stamps").verdict.to_json()))
    record = ClipVerdict.from_row(row).record
    assert record is not None
    again = conclude(sample("synthetic_stamps"), record, strict)[1].to_json()
    anew = audit(sample("synthetic_stamps"), strict, is_sparse=True).to_json()
    ignored = {"seconds": None, "stages": None}
    assert json.loads(json.dumps(again)) | ignored == json.loads(json.dumps(anew)) | ignored


def late(time_ns: np.ndarray) -> np.ndarray:
    return time_ns + np.where(np.arange(time_ns.size) == 100, 30_000_000, 0)


@pytest.mark.parametrize(
    "change",
    [
        lambda camera: replace(camera, time_ns=late(camera.time_ns)),
        lambda camera: replace(camera, time_ns=np.full_like(camera.time_ns, camera.time_ns[0])),
        lambda camera: replace(camera, pts_s=None),
        lambda camera: replace(camera, pts_s=camera.pts_s[1:]),
        lambda camera: replace(
            camera, files=FrameFiles(paths=("gone.mp4",)), n_frames_container=None
        ),
    ],
    ids=["uneven", "one instant", "untimed", "uncounted", "unreadable"],
)
def test_there_is_no_excerpt_of(change: Callable[[CameraStream], CameraStream]) -> None:
    camera = seen("synthetic_stamps").streams["cam_front"]
    assert isinstance(camera, CameraStream)
    rate = seen("synthetic_stamps").evidence.motion["imu"][Quantity.ANGULAR_RATE]
    assert choose_excerpt(camera, rate) is not None
    assert choose_excerpt(change(camera), rate) is None


def test_an_excerpt_of_a_window_lies_within_it() -> None:
    camera = seen("synthetic_stamps").streams["cam_front"]
    assert isinstance(camera, CameraStream)
    rate = seen("synthetic_stamps").evidence.motion["imu"][Quantity.ANGULAR_RATE]
    wanted = (np.arange(N_FRAMES) >= 24) & (np.arange(N_FRAMES) < 230)
    excerpt = choose_excerpt(camera, rate, wanted)
    assert excerpt is not None
    assert excerpt[24]
    assert excerpt[229]
    assert not excerpt[~wanted].any()
