"""Tiny videos, one per codec, to check what decodes here and whether back ends agree.

They show what `tests/testkit/make_samples.py` draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["N_FRAMES", "SAMPLES"]

N_FRAMES = 8

SAMPLES: Mapping[str, Path] = {
    codec: Path(__file__).parent / name
    for codec, name in {
        "H.264": "h264.mp4",
        "HEVC": "hevc.mp4",
        "AV1": "av1.mp4",
        "VP9": "vp9.mp4",
        "MJPEG": "mjpeg.avi",
    }.items()
}
