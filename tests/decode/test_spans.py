"""Part of a video gives the same frames as the whole, with a fraction of the packets."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from syncaudit.decode import iter_luma
from syncaudit.decode.container import list_frames, open_container, video_stream
from syncaudit.decode.spans import is_inside, packets_of, ticks_of
from syncaudit.model import FrameFiles
from testkit.videos import exact_frame, write_video

N_FRAMES = 300
RATE_HZ = 30


@pytest.fixture(scope="module", params=["h264", "h264 b-frames", "hevc open gop", "mkv", "mpegts"])
def video(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a video of 300 frames whose brightness encodes the index, a key frame every 25."""
    kind = request.param
    suffix = {"mkv": "mkv", "mpegts": "ts"}.get(kind, "mp4")
    path = tmp_path_factory.mktemp("spans") / f"a.{suffix}"
    codec = "libx265" if kind == "hevc open gop" else "libx264"
    options = {"g": "25", "crf": "20", "preset": "veryfast", "bf": "0"}
    if kind == "h264 b-frames":
        options |= {"bf": "3"}
    if kind == "hevc open gop":
        options = {"x265-params": "keyint=25:open-gop=1:bframes=3:log-level=none", "crf": "20"}
    rng = np.random.default_rng(1)
    noise = (rng.integers(0, 20, (96, 64), dtype=np.uint8) for _ in range(N_FRAMES))
    frames = (
        exact_frame(luma[:64] + np.uint8(20 + index % 200)) for index, luma in enumerate(noise)
    )
    return write_video(path, frames, codec, rate=RATE_HZ, options=options)


def pts_ns_of(video: Path, span_ns: tuple[int, int] | None = None) -> list[int]:
    pts_ns = list_frames(str(video), span_ns=span_ns).pts_ns()
    return [] if pts_ns is None else pts_ns.tolist()


def spans(video: Path) -> list[tuple[int, int]]:
    pts_ns = pts_ns_of(video)
    # On and off key frames, at both ends, and a single frame.
    return [(pts_ns[a], pts_ns[b]) for a, b in ((0, 40), (25, 50), (113, 171), (260, 299), (7, 8))]


def test_listing_a_span_is_part_of_listing_all(video: Path) -> None:
    whole = pts_ns_of(video)
    for first_ns, stop_ns in spans(video):
        expected = [pts for pts in whole if first_ns <= pts < stop_ns]
        assert pts_ns_of(video, (first_ns, stop_ns)) == expected
        assert list_frames(str(video), span_ns=(first_ns, stop_ns)).n_frames == len(expected)


def test_images_of_a_span_are_those_of_the_whole(video: Path) -> None:
    whole = [frame.luma.copy() for frame in iter_luma(FrameFiles(paths=(str(video),)))]
    pts_ns = pts_ns_of(video)
    for span_ns in spans(video):
        first = pts_ns.index(span_ns[0])
        files = FrameFiles(paths=(str(video),), span_ns=span_ns, first=first)
        found = [(frame.index, frame.luma.copy()) for frame in iter_luma(files)]
        assert [index for index, _ in found] == list(range(first, pts_ns.index(span_ns[1])))
        for index, luma in found:
            np.testing.assert_array_equal(luma, whole[index])


def test_a_span_reads_no_more_than_its_groups_of_pictures(video: Path) -> None:
    if video.suffix == ".ts":
        pytest.skip("an MPEG transport stream has no index: it may be read from the start")
    with open_container(str(video)) as container:
        stream = video_stream(container, 0, str(video))
        n_read = sum(1 for _ in packets_of(container, stream, spans(video)[2]))
    # 58 frames, up to a whole group before them, and the reordering of B-frames after them.
    assert 58 <= n_read <= 58 + 25 + 6


def test_a_span_without_frames_yields_none(video: Path) -> None:
    span_ns = (10**12, 10**12 + 10**9)
    assert list_frames(str(video), span_ns=span_ns).n_frames == 0
    assert list(iter_luma(FrameFiles(paths=(str(video),), span_ns=span_ns))) == []


@pytest.mark.parametrize("time_base", [Fraction(1, 12800), Fraction(1001, 30000), Fraction(1)])
def test_ticks_are_those_inside_the_span(time_base: Fraction) -> None:
    rng = np.random.default_rng(3)
    for begin_ns in rng.integers(-(10**10), 10**11, 200).tolist():
        span_ns = (begin_ns, begin_ns + int(rng.integers(0, 10**9)))
        ticks = ticks_of(span_ns, time_base)
        for end_ns in span_ns:
            near = round(Fraction(end_ns, 10**9) / time_base)
            for pts in range(near - 2, near + 3):
                assert (pts in ticks) == is_inside(pts, time_base, span_ns)
    assert 2**62 in ticks_of(None, time_base)
