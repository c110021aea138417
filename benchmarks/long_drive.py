"""A simulated drive of an hour and a quarter as video: clips that share clocks which run away.

Each clip shows a scene of its own, but stamps come from clocks that go on from clip to clip: one
camera drifts by 3 ms/h, another wanders, and the IMU reboots in minute 40 and is 30 ms late from
then on. No clip alone can show the drift.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from syncaudit.simulate import (
    EPOCH_NS,
    SIX_CAMERAS,
    CanConfig,
    ClockFault,
    ImuConfig,
    RigConfig,
)

__all__ = ["CLIP_S", "EVERY_S", "clocks", "configs"]

CLIP_S = 9.0
EVERY_S = 360.0
DRIFT_MS_PER_H = 3.0
REBOOT_AT_S, REBOOT_BY_S = 2400.0, 0.030
WANDER_S = 2e-5  # per root second: 1.2 ms in an hour
_CAMERAS = ("cam_front", "cam_front_left", "cam_rear")
_STYLES = ("city", "highway")


def clocks(n_clips: int, seed: int) -> Mapping[str, np.ndarray]:
    """Return the correction of every clock in the middle of every clip, seconds, shape (n,)."""
    at_s = EVERY_S * np.arange(n_clips)
    steps_s = np.random.default_rng([seed, 77]).normal(0.0, WANDER_S * math.sqrt(EVERY_S), n_clips)
    return {
        "cam_front": np.zeros(n_clips),
        "cam_front_left": DRIFT_MS_PER_H * 1e-3 * at_s / 3600.0,
        "cam_rear": np.cumsum(steps_s) - steps_s[0],
        "imu": np.where(at_s >= REBOOT_AT_S, -REBOOT_BY_S, 0.0),
        "can": np.zeros(n_clips),
    }


def configs(
    n_clips: int, seed: int, *, size_px: tuple[int, int] = (428, 240)
) -> tuple[RigConfig, ...]:
    """Return the configurations of the clips of the drive; styles alternate."""
    course = clocks(n_clips, seed)
    drift = {"cam_front_left": DRIFT_MS_PER_H / 3.6}

    def clock(name: str, k: int) -> ClockFault:
        return ClockFault(offset_s=float(course[name][k]), drift_ppm=drift.get(name, 0.0))

    return tuple(
        RigConfig(
            clip_id=f"clip{k:02d}",
            recording_id="long_drive",
            style=_STYLES[k % len(_STYLES)],
            duration_s=CLIP_S,
            start_ns=EPOCH_NS + round(k * EVERY_S * 1e9),
            cameras={
                name: replace(
                    SIX_CAMERAS[name],
                    size_px=size_px,
                    line_delay_s=5e-5 * 240 / size_px[1],
                    clock=clock(name, k),
                )
                for name in _CAMERAS
            },
            imu=ImuConfig(clock=clock("imu", k)),
            can=CanConfig(clock=clock("can", k)),
        )
        for k in range(n_clips)
    )
