"""One frame of a video: the one shown at a given time, in colour."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from syncaudit.decode import decode_still
from syncaudit.errors import StreamReadError
from syncaudit.model import FrameFiles

RATE_HZ = 30


def level_of(frame: np.ndarray | None) -> int:
    """Return the frame index encoded in the brightness of an image."""
    assert frame is not None
    assert frame.shape == (48, 64, 3)
    return round((float(frame.mean()) - 42) / 15)


@pytest.mark.parametrize(
    ("at_s", "shown"), [(0.0, 0), (3 / RATE_HZ, 3), (3.9 / RATE_HZ, 3), (9, 9)]
)
@pytest.mark.parametrize("options", [{"g": "4", "bf": "0"}, {"bf": "3"}], ids=["gop 4", "b-frames"])
def test_the_frame_shown_at_a_time_is_taken(
    encode: Callable[..., Path], options: dict[str, str], at_s: float, shown: int
) -> None:
    path = encode("a.mp4", options=options)
    files = FrameFiles(paths=(str(path),))
    frame = decode_still(files, index=0, pts_ns=round(at_s * 1e9) + 1000)
    assert level_of(frame) == shown


def test_without_a_time_the_first_frame_is_taken(encode: Callable[..., Path]) -> None:
    files = FrameFiles(paths=(str(encode("a.h264", container_format="h264")),))
    assert level_of(decode_still(files, index=5, pts_ns=None)) == 0


def test_single_images_are_taken_by_number(tmp_path: Path) -> None:
    paths = []
    for k in range(3):
        paths.append(str(tmp_path / f"{k}.png"))
        cv2.imwrite(paths[-1], np.full((4, 6, 3), (10 * k, 20, 30), np.uint8))
    paths.append(str(tmp_path / "missing.png"))
    files = FrameFiles(paths=tuple(paths), is_images=True)
    frame = decode_still(files, index=2, pts_ns=None)
    assert frame is not None
    assert frame[0, 0].tolist() == [20, 20, 30]
    assert decode_still(files, index=3, pts_ns=None) is None


def test_no_video_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(StreamReadError, match="cannot open"):
        decode_still(FrameFiles(paths=(str(path),)), index=0, pts_ns=0)
