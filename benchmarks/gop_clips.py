"""Clips of three cameras with different key frame intervals."""

from __future__ import annotations

from dataclasses import replace

from base_clips import BaseClip, base_config, rendered

GOPS = (12, 24, 48, 120, 250)
CAMERAS = ("cam_front", "cam_rear_left", "cam_rear")


def gop_clip(index: int, *, size_px: tuple[int, int] = (428, 240), seed: int) -> BaseClip:
    """Return a 20 s clip; city and highway alternate, key frame intervals cycle through `GOPS`."""
    base = base_config(index, size_px=size_px, seed=seed)
    gop = GOPS[index // 2 % len(GOPS)]
    cameras = {name: replace(base.cameras[name], gop=gop) for name in CAMERAS}
    config = replace(base, clip_id=f"gop{gop}-{index:03d}", cameras=cameras)
    return BaseClip(config=config, seed=seed + index, folder=rendered(config, seed + index))
