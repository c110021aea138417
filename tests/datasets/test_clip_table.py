"""Packed clips are restored unchanged and take little memory."""

from dataclasses import replace

import pytest

from syncaudit.datasets import ClipTable
from syncaudit.model import CameraSpec, Clip, ImuSpec

CLIP = Clip(
    clip_id="drive/0",
    recording_id="drive",
    start_ns=1_767_225_600_000_000_000,
    sources={
        **{f"cam_{k}": CameraSpec(uri=f"{k}.mp4", timestamps=f"{k}.csv") for k in range(6)},
        "imu": ImuSpec(uri="imu.csv", columns={"gyro_x": "wx"}),
    },
)
CLIPS = [replace(CLIP, clip_id=f"drive/{k}", start_ns=CLIP.start_ns + k) for k in range(50)]


def test_clips_come_back_as_they_were():
    table = ClipTable(iter(CLIPS))
    assert len(table) == 50
    assert list(table) == CLIPS
    assert [table[k] for k in (0, 7, -1)] == [CLIPS[0], CLIPS[7], CLIPS[-1]]


def test_shards_are_slices():
    assert list(ClipTable(CLIPS)[2::8]) == CLIPS[2::8]


def test_an_index_beyond_the_end_is_refused():
    with pytest.raises(IndexError):
        ClipTable(CLIPS)[50]


def test_clips_alike_take_little_memory():
    table = ClipTable(CLIPS)
    assert sum(map(len, table._packed)) < 200 * len(CLIPS)
