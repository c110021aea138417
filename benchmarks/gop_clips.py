"""Clips of three cameras with key frames at several distances."""

from __future__ import annotations

import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
from base_clips import BaseClip, base_config, rendered

__all__ = ["CAMERAS", "GOPS", "gop_clip"]

GOPS = (12, 24, 48, 120, 250)
CAMERAS = ("cam_front", "cam_rear_left", "cam_rear")


def gop_clip(
    index: int,
    *,
    size_px: tuple[int, int] = (428, 240),
    rate_hz: float = 12.0,
    seed: int,
    gop: int | None = None,
) -> BaseClip:
    """Return a clip of 20 s; city and highway in turn, a key frame every `GOPS` frames in turn.

    With `gop` its videos are coded again with so many frames from one key frame to the next.
    """
    base = base_config(index, size_px=size_px, seed=seed)
    own = GOPS[index // 2 % len(GOPS)]
    cameras = {name: replace(base.cameras[name], gop=own, fps=rate_hz) for name in CAMERAS}
    config = replace(base, clip_id=f"gop{own}-{index:03d}", cameras=cameras)
    folder = rendered(config, seed + index)
    if gop is not None and gop != own:
        cameras = {name: replace(camera, gop=gop) for name, camera in cameras.items()}
        config, folder = replace(config, cameras=cameras), _coded_again(folder, gop)
    return BaseClip(config=config, seed=seed + index, folder=folder)


def _coded_again(folder: Path, gop: int) -> Path:
    copy = folder.with_name(f"{folder.name}-coded{gop}")
    if (copy / "complete").exists():
        return copy
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*.mp4", "complete"))
    options = {"preset": "veryfast", "crf": "26", "g": str(gop), "bf": "0", "threads": "1"}
    for path in folder.glob("*.mp4"):
        with av.open(str(path)) as source, av.open(str(copy / path.name), "w") as target:
            taken = source.streams.video[0]
            made = target.add_stream(
                "libx264", rate=Fraction(taken.average_rate or 12), options=options
            )
            made.width, made.height, made.pix_fmt = taken.width, taken.height, "yuv420p"
            for frame in source.decode(taken):
                frame.pict_type = av.video.frame.PictureType.NONE  # not as it was coded before
                target.mux(made.encode(frame))
            target.mux(made.encode(None))
    (copy / "complete").write_text("", encoding="utf-8")
    return copy
