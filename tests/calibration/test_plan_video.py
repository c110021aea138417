"""The sync video flashes and clicks at the times in its table."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from syncaudit_calibration.plan import LightKind, PulseTrain, choose_train, planned_cameras
from syncaudit_calibration.plan.video import write_sync_video

from syncaudit.decode.container import decode_sound

CLICK_TOLERANCE_S = 1e-3
LOUD = 0.3


@pytest.fixture(scope="module", params=[0.025, 0.0], ids=["rolling", "global"])
def made(request, tmp_path_factory) -> tuple[PulseTrain, Path]:
    cameras = planned_cameras([Fraction(12)], [request.param], [0.008])
    train = choose_train(cameras, LightKind.SCREEN, duration_s=12.0, rng=np.random.default_rng(0))
    path = tmp_path_factory.mktemp("video") / "sync_video.mp4"
    write_sync_video(train, path)
    return train, path


def test_frames_are_white_exactly_while_pulses_last(made: tuple[PulseTrain, Path]) -> None:
    train, path = made
    with av.open(str(path)) as file:
        assert file.streams.video[0].codec.name == "h264"
        assert file.streams.audio[0].codec.name == "aac"
        frames = [(frame.time, frame.to_ndarray(format="gray")) for frame in file.decode(video=0)]
    times_s = np.array([time for time, _ in frames])
    np.testing.assert_allclose(times_s, np.arange(12 * 60) / 60, rtol=0, atol=1e-4)
    lowest = np.array([image.min() for _, image in frames])
    highest = np.array([image.max() for _, image in frames])
    is_lit = lowest > 200  # every pixel
    assert np.all(highest[~is_lit] < 40)
    changes = np.diff(is_lit.astype(int), prepend=0)
    np.testing.assert_allclose(times_s[changes == 1], train.starts_s, rtol=0, atol=1e-4)
    stops_s = train.starts_s + train.width_s
    np.testing.assert_allclose(times_s[changes == -1], stops_s, rtol=0, atol=1e-4)


def test_clicks_sound_at_the_same_instants(made: tuple[PulseTrain, Path]) -> None:
    train, path = made
    track = decode_sound(str(path))
    loud_s = np.flatnonzero(np.abs(track.samples) > LOUD) / track.rate_hz + track.start_s
    onsets_s = loud_s[np.diff(loud_s, prepend=-1.0) > 0.05]
    np.testing.assert_allclose(onsets_s, train.starts_s, rtol=0, atol=CLICK_TOLERANCE_S)
