"""Named clips with one fault each, everything else being good."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .can_bus import CanConfig
from .clocks import ClockFault
from .config import RigConfig, with_cameras
from .flash_scenarios import FLASH_SCENARIOS
from .frame_faults import FrameFault
from .imu import ImuConfig
from .light import FlashConfig
from .microphone import MicrophoneConfig


def with_all_cameras(
    config: RigConfig,
    *,
    size_px: tuple[int, int] | None = None,
    crf: int | None = None,
    names: tuple[str, ...] | None = None,
) -> RigConfig:
    """Return a clip whose cameras have another size or quality, or only some of them.

    The readout time is kept when the size changes.
    """
    cameras = {}
    for name in names or tuple(config.cameras):
        camera = config.camera(name)
        size = size_px or camera.size_px
        cameras[name] = replace(
            camera,
            size_px=size,
            line_delay_s=camera.line_delay_s * camera.size_px[1] / size[1],
            crf=camera.crf if crf is None else crf,
        )
    return replace(config, cameras=cameras)


def _scenarios() -> dict[str, RigConfig]:
    good = RigConfig(microphone=MicrophoneConfig())
    lost = (60, 61, 62, 131)

    def clock(**fault: Any) -> RigConfig:
        return with_cameras(good, "cam_rear", clock=ClockFault(**fault))

    def frames(**fault: Any) -> RigConfig:
        return with_cameras(good, "cam_rear", frames=FrameFault(**fault))

    clips = {
        "good": good,
        "highway": replace(good, style="highway"),
        "parked": replace(good, style="parked", n_movers=0),
        "straight_smooth": replace(good, style="straight_smooth"),
        "flash": replace(good, flash=FlashConfig(), can=CanConfig(format="log")),
        "shifted_camera": clock(offset_s=0.035),
        "shifted_imu": replace(good, imu=ImuConfig(clock=ClockFault(offset_s=-0.040))),
        "shifted_can": replace(good, can=CanConfig(clock=ClockFault(offset_s=-0.080))),
        "shifted_microphone": replace(
            good, microphone=MicrophoneConfig(clock=ClockFault(offset_s=0.060))
        ),
        "drifting": clock(drift_ppm=800.0),
        "jittering": clock(jitter_std_s=0.006),
        "buffered": clock(delay_mean_s=0.008),
        "clock_step": clock(step_at_s=10.0, step_by_s=0.060),
        "gap": clock(gaps_s=((8.0, 9.5),)),
        "synthetic_stamps": clock(is_synthetic=True),
        "dropped_frames": frames(dropped=lost),
        "lost_frames": frames(dropped=lost, drop_mode="frame_only"),
        "slipped_frames": frames(dropped=lost, drop_mode="slip"),
        "doubled_frames": frames(doubled=(40, 99, 170)),
        "disordered_stamps": clock(duplicate_stamps=(50,), backwards_stamps=(120,)),
    }
    return {
        **{name: replace(config, clip_id=name) for name, config in clips.items()},
        **FLASH_SCENARIOS,
    }


SCENARIOS: Mapping[str, RigConfig] = _scenarios()
"""Clips by name, six cameras each; change them with `dataclasses.replace`.

Drives last 20 s, the recordings for a calibration by flashes (``flash_*``) 45 s."""
