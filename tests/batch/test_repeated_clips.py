"""Clips copied in the manifest are reported; files that clips legitimately share are not."""

from dataclasses import replace

import pytest

from syncaudit.batch import run_batch
from syncaudit.batch.finish import MAX_NAMED, repeated_clips
from syncaudit.datasets import clip_to_row
from syncaudit.model import CameraSpec, CanSpec, Clip
from testkit.fake_audits import POLICY, audit, make_clip


def clip(clip_id, video, *, window=(None, None), rows=None, can="drive.log"):
    camera = CameraSpec(uri=video, timestamps=f"{video}.csv", rows=rows)
    sources = {"cam": camera, "can": CanSpec(uri=can)}
    return Clip(
        clip_id=clip_id, recording_id=clip_id, sources=sources, start_ns=window[0], end_ns=window[1]
    )


def test_a_video_in_two_clips_is_told_with_both():
    found = repeated_clips(
        [clip("a", "1.mp4"), clip("b", "2.mp4"), clip("c", "1.mp4", can="x.log")]
    )
    assert found == {"clips": 1, "first": [{"clip_id": "c", "same_as": "a", "source": "cam"}]}


@pytest.mark.parametrize(
    "others",
    [
        [clip("b", "1.mp4", window=(0, 10)), clip("c", "1.mp4", window=(10, 20))],
        [clip("b", "1.mp4", rows=[0, 10]), clip("c", "1.mp4", rows=[10, 20])],
        [clip("b", "2.mp4"), clip("c", "3.mp4")],
        [replace(clip("b", "1.mp4"), base_uri="/elsewhere")],
        [],
    ],
)
def test_parts_of_one_file_and_shared_logs_are_usual(others):
    assert repeated_clips([clip("a", "1.mp4"), *others]) is None


def test_clips_without_cameras_are_the_same_if_all_sources_are():
    def bus(clip_id, *uris):
        sources = {f"can{k}": CanSpec(uri=uri) for k, uri in enumerate(uris)}
        return Clip(clip_id=clip_id, recording_id=clip_id, sources=sources)

    found = repeated_clips([bus("a", "1", "2"), bus("b", "1", "3"), bus("c", "1", "2")])
    assert found["first"] == [{"clip_id": "c", "same_as": "a", "source": None}]


def test_all_are_counted_and_the_first_are_named():
    found = repeated_clips([clip(f"c{k}", "1.mp4") for k in range(MAX_NAMED + 5)])
    assert (found["clips"], len(found["first"])) == (MAX_NAMED + 4, MAX_NAMED)


def test_a_run_tells_of_them_in_its_summary(tmp_path):
    sources = make_clip("pass1").sources
    clips = [replace(make_clip(name), sources=sources) for name in ("pass1", "pass2")]
    summary = run_batch(
        clips, POLICY, out=tmp_path, workers=0, audit=audit, to_row=clip_to_row
    ).to_json()
    assert summary["repeated_clips"]["clips"] == 1
