"""Named clips: one fault each, everything else good."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from .camera import SIX_CAMERAS, CameraConfig
from .can_bus import CanConfig
from .clocks import ClockFault
from .config import RigConfig
from .flash_scenarios import FLASH_SCENARIOS
from .frame_faults import FrameFault
from .imu import ImuConfig
from .light import FlashConfig
from .microphone import MicrophoneConfig


def with_camera_clock(config: RigConfig, name: str, clock: ClockFault) -> RigConfig:
    """Return a clip in which one camera has a clock fault."""
    return _with_camera(config, name, replace(_camera(config, name), clock=clock))


def with_frame_fault(config: RigConfig, name: str, frames: FrameFault) -> RigConfig:
    """Return a clip in which one camera loses or doubles frames."""
    return _with_camera(config, name, replace(_camera(config, name), frames=frames))


def with_all_cameras(
    config: RigConfig,
    *,
    size_px: tuple[int, int] | None = None,
    crf: int | None = None,
    names: tuple[str, ...] | None = None,
) -> RigConfig:
    """Return a clip whose cameras have another size or quality, or only some of them.

    The read-out keeps its length when the size changes.
    """
    cameras = {}
    for name in names or tuple(config.cameras):
        camera = _camera(config, name)
        size = size_px or camera.size_px
        cameras[name] = replace(
            camera,
            size_px=size,
            line_delay_s=camera.line_delay_s * camera.size_px[1] / size[1],
            crf=camera.crf if crf is None else crf,
        )
    return replace(config, cameras=cameras)


def _camera(config: RigConfig, name: str) -> CameraConfig:
    if name not in config.cameras:
        raise ValueError(f"no camera {name!r}; there are {', '.join(config.cameras)}")
    return config.cameras[name]


def _with_camera(config: RigConfig, name: str, camera: CameraConfig) -> RigConfig:
    return replace(config, cameras={**config.cameras, name: camera})


def _scenarios() -> dict[str, RigConfig]:
    good = RigConfig(cameras=dict(SIX_CAMERAS), microphone=MicrophoneConfig())
    lost = (60, 61, 62, 131)
    clips = {
        "good": good,
        "highway": replace(good, style="highway"),
        "parked": replace(good, style="parked", n_movers=0),
        "straight_smooth": replace(good, style="straight_smooth"),
        "flash": replace(good, flash=FlashConfig(), can=CanConfig(format="log")),
        "shifted_camera": with_camera_clock(good, "cam_rear", ClockFault(offset_s=0.035)),
        "shifted_imu": replace(good, imu=ImuConfig(clock=ClockFault(offset_s=-0.040))),
        "shifted_can": replace(good, can=CanConfig(clock=ClockFault(offset_s=-0.080))),
        "shifted_microphone": replace(
            good, microphone=MicrophoneConfig(clock=ClockFault(offset_s=0.060))
        ),
        "drifting": with_camera_clock(good, "cam_rear", ClockFault(drift_ppm=800.0)),
        "jittering": with_camera_clock(good, "cam_rear", ClockFault(jitter_std_s=0.006)),
        "buffered": with_camera_clock(good, "cam_rear", ClockFault(delay_mean_s=0.008)),
        "clock_step": with_camera_clock(
            good, "cam_rear", ClockFault(step_at_s=10.0, step_by_s=0.060)
        ),
        "gap": with_camera_clock(good, "cam_rear", ClockFault(gaps_s=((8.0, 9.5),))),
        "synthetic_stamps": with_camera_clock(good, "cam_rear", ClockFault(is_synthetic=True)),
        "dropped_frames": with_frame_fault(good, "cam_rear", FrameFault(dropped=lost)),
        "lost_frames": with_frame_fault(
            good, "cam_rear", FrameFault(dropped=lost, drop_mode="frame_only")
        ),
        "slipped_frames": with_frame_fault(
            good, "cam_rear", FrameFault(dropped=lost, drop_mode="slip")
        ),
        "doubled_frames": with_frame_fault(good, "cam_rear", FrameFault(doubled=(40, 99, 170))),
        "disordered_stamps": with_camera_clock(
            good, "cam_rear", ClockFault(duplicate_stamps=(50,), backwards_stamps=(120,))
        ),
    }
    return {
        **{name: replace(config, clip_id=name) for name, config in clips.items()},
        **FLASH_SCENARIOS,
    }


SCENARIOS: Mapping[str, RigConfig] = MappingProxyType(_scenarios())
"""Clips by name, six cameras each; change them with `dataclasses.replace`.

Drives last 20 s, the recordings for a calibration by flashes (``flash_*``) 45 s."""
