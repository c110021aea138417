"""Recordings for a calibration by flashes: a rig at rest, a lamp, and one difficulty each."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from .camera import SIX_CAMERAS, CameraConfig
from .can_bus import CanConfig
from .clocks import ClockFault
from .config import RigConfig
from .draft import part_rng
from .frame_faults import FrameFault
from .imu import ImuConfig
from .light import FlashConfig
from .light_faults import AmbientStep, Headlight, LightFault
from .microphone import MicrophoneConfig
from .pulse_shapes import Lamp, SquarePulse, XenonPulse
from .pulse_trains import BurstTrain, SpacedTrain
from .taps import TapConfig
from .trigger import TriggerConfig

DURATION_S = 45.0
SIZE_PX = (854, 480)
_OFFSETS_S = (0.0, 0.0351, -0.1207, 0.3313, -0.0123, 0.0078)
_DRIFTS_PPM = (0.0, 19.8, -12.5, 4.1, 31.0, -24.6)
_LINE_DELAYS_S = (2.5e-5, 2.5e-5, 2.8e-5, 4.2e-5, 5.2e-5, 3.4e-5)
_EXPOSURE_S = 0.008
_STAMP_JITTER_S = 2e-5  # cameras that stamp in hardware
BURSTS = BurstTrain(n_pulses=4, span_s=1 / 12, mean_interval_s=0.5)
SQUARE = FlashConfig(train=BURSTS, shape=SquarePulse(width_s=0.002), brightness=70.0, falloff=0.5)

_Change = Callable[[CameraConfig], CameraConfig]


def _cameras() -> dict[str, CameraConfig]:
    cameras = {}
    faults = zip(_OFFSETS_S, _DRIFTS_PPM, _LINE_DELAYS_S, strict=True)
    for (name, camera), (offset_s, drift_ppm, line_s) in zip(
        SIX_CAMERAS.items(), faults, strict=True
    ):
        cameras[name] = replace(
            camera,
            size_px=SIZE_PX,
            line_delay_s=line_s,
            exposure_s=_EXPOSURE_S,
            stamp_jitter_s=_STAMP_JITTER_S,
            clock=ClockFault(offset_s=offset_s, drift_ppm=drift_ppm),
        )
    return cameras


def clean_recording() -> RigConfig:
    """Return six cameras on a hand-held rig before a lamp that fires bursts of four pulses."""
    return RigConfig(
        style="held",
        duration_s=DURATION_S,
        cameras=_cameras(),
        imu=None,
        can=None,
        flash=SQUARE,
        n_movers=0,
        is_still=True,
    )


def each(config: RigConfig, change: _Change, *names: str) -> RigConfig:
    """Return a recording in which some cameras (all if none is named) are changed."""
    return replace(
        config,
        cameras={
            name: change(camera) if name in names or not names else camera
            for name, camera in config.cameras.items()
        },
    )


def lit(config: RigConfig, light: LightFault, *names: str) -> RigConfig:
    """Return a recording in which some cameras (all if none is named) see light of their own."""
    return each(config, lambda camera: replace(camera, light=light), *names)


def with_exposures(config: RigConfig) -> RigConfig:
    """Expose cameras for 2, 15 and 8 ms in turn."""
    times = dict(zip(config.cameras, (0.002, 0.015, 0.008) * 2, strict=True))
    cameras = config.cameras.items()
    return replace(
        config,
        cameras={name: replace(camera, exposure_s=times[name]) for name, camera in cameras},
    )


def with_false_flashes(config: RigConfig) -> RigConfig:
    """Let four cameras see light of their own: one or two a second, each camera its own."""
    for name in ("cam_front_left", "cam_front_right", "cam_rear_left", "cam_rear"):
        own = SpacedTrain(mean_interval_s=0.7).draw(DURATION_S, part_rng(0, f"{name} false"))
        light = LightFault(false_flashes_s=tuple(np.round(own, 4).tolist()))
        config = lit(config, light, name)
    return config


def sparse(config: RigConfig) -> RigConfig:
    """Spread the cameras' phases evenly: a pulse reaches two of the six at most."""
    phases = {name: (0.003 + k / 6 / 12) for k, name in enumerate(config.cameras)}
    cameras = {
        name: replace(camera, line_delay_s=2.5e-5, phase_s=phases[name])
        for name, camera in config.cameras.items()
    }
    train = SpacedTrain(mean_interval_s=0.2)
    return replace(config, cameras=cameras, flash=replace(SQUARE, train=train))


def with_headlights(config: RigConfig) -> RigConfig:
    """Let overexposed headlights sweep through three cameras' pictures."""
    sweeps = tuple(
        Headlight(start_s=start, stop_s=start + length, size=size, brightness=level)
        for start, length, size, level in (
            (2.0, 2.5, 0.08, 500.0),
            (9.0, 1.2, 0.15, 300.0),
            (16.5, 4.0, 0.06, 700.0),
            (26.0, 0.8, 0.2, 250.0),
            (35.0, 3.0, 0.1, 500.0),
        )
    )
    return lit(config, LightFault(headlights=sweeps), "cam_front", "cam_front_left", "cam_rear")


def with_dropped_frames(config: RigConfig) -> RigConfig:
    """Lose frames of one camera with their stamps, and of another while its stamps run on."""
    lost = FrameFault(dropped=(37, 38, 120, 261, 262, 263, 400))
    config = each(config, lambda camera: replace(camera, frames=lost), "cam_rear_left")
    slipped = FrameFault(dropped=(200,), drop_mode="slip")
    return each(config, lambda camera: replace(camera, frames=slipped), "cam_rear")


def drifting(config: RigConfig) -> RigConfig:
    """Let one camera's clock drift by 300 ppm."""

    def change(camera: CameraConfig) -> CameraConfig:
        return replace(camera, clock=replace(camera.clock, drift_ppm=300.0))

    return each(config, change, "cam_rear")


def withheld(config: RigConfig) -> RigConfig:
    """State no line delay or exposure; two frame rates and a trigger log make them observable."""

    def change(camera: CameraConfig) -> CameraConfig:
        return replace(camera, is_line_delay_stated=False, is_exposure_stated=False)

    config = each(config, change)
    config = each(config, lambda camera: replace(camera, fps=15.0), "cam_front_left", "cam_rear")
    return replace(config, trigger=TriggerConfig(clock=ClockFault(offset_s=-0.0042)))


def with_all_sources(config: RigConfig) -> RigConfig:
    """Add a trigger log, the CAN strobe, clicks of the lamp and taps that fire it."""
    return replace(
        config,
        trigger=TriggerConfig(clock=ClockFault(offset_s=-0.0042, drift_ppm=8.0)),
        can=CanConfig(format="log", clock=ClockFault(offset_s=0.0517, drift_ppm=-15.0)),
        imu=ImuConfig(clock=ClockFault(offset_s=-0.0186)),
        microphone=MicrophoneConfig(
            click_level=0.5, lamp_distance_m=1.5, clock=ClockFault(offset_s=0.0224, drift_ppm=12.0)
        ),
        taps=TapConfig(fires_flash=True),
    )


def with_train(config: RigConfig, train: SpacedTrain | BurstTrain) -> RigConfig:
    """Fire other pulses."""
    return replace(config, flash=replace(SQUARE, train=train))


def _scenarios() -> dict[str, RigConfig]:
    clean = clean_recording()
    clips = {
        "flash_clean": clean,
        "flash_exposures": with_exposures(clean),
        "flash_xenon": replace(
            clean,
            flash=replace(SQUARE, shape=XenonPulse(rise_s=1e-4, decay_s=1.2e-3), brightness=110.0),
        ),
        "flash_noisy": each(clean, lambda c: replace(c, read_noise=4.0, photon_noise=0.06, crf=28)),
        "flash_first_missed": lit(clean, LightFault(blind_s=((0.0, 6.0),)), "cam_rear"),
        "flash_false": with_false_flashes(clean),
        "flash_sparse": sparse(clean),
        "flash_30hz": with_train(
            each(clean, lambda c: replace(c, fps=30.0)),
            BurstTrain(n_pulses=2, span_s=1 / 30, mean_interval_s=0.5),
        ),
        "flash_global_shutter": each(
            clean, lambda c: replace(c, line_delay_s=0.0), "cam_front_left", "cam_rear_left"
        ),
        "flash_global_lamp": replace(
            each(clean, lambda c: replace(c, line_delay_s=0.0), "cam_front_left", "cam_rear_left"),
            # On for two frame periods, a read-out and an exposure; and the trigger is logged, for
            # frames of one rate keep their phases: as a plan for such cameras has it.
            trigger=TriggerConfig(clock=ClockFault(offset_s=-0.0042, drift_ppm=8.0)),
            flash=replace(
                SQUARE,
                shape=Lamp(width_s=0.2),
                train=SpacedTrain(mean_interval_s=0.85, spread=0.3),
            ),
        ),
        "flash_headlights": with_headlights(clean),
        "flash_tunnel": lit(
            clean,
            LightFault(
                ambient_steps=tuple(
                    AmbientStep(at_s=at_s, factor=factor, ramp_s=ramp_s)
                    for at_s, factor, ramp_s in (
                        (8.0, 0.4, 0.0),
                        (21.0, 2.5, 0.3),
                        (33.0, 0.6, 0.05),
                    )
                )
            ),
        ),
        "flash_bright": replace(clean, flash=replace(SQUARE, brightness=400.0)),
        "flash_periodic": with_train(clean, SpacedTrain(mean_interval_s=0.23, spread=0.0)),
        "flash_strobe": with_train(clean, SpacedTrain(mean_interval_s=0.007, spread=0.25)),
        "flash_lamp": replace(
            clean,
            flash=replace(SQUARE, shape=Lamp(width_s=0.7), train=SpacedTrain(mean_interval_s=1.5)),
        ),
        "flash_dropped": with_dropped_frames(clean),
        "flash_drift": drifting(clean),
        "flash_withheld": withheld(clean),
        "flash_all_sources": with_all_sources(clean),
    }
    return {name: replace(config, clip_id=name) for name, config in clips.items()}


FLASH_SCENARIOS: Mapping[str, RigConfig] = MappingProxyType(_scenarios())
"""Recordings by name, 45 s each with six cameras of 480 lines at rest."""
