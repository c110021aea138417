"""Recordings for flash calibration: a rig at rest, a lamp, and one difficulty each."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .camera import SIX_CAMERAS
from .can_bus import CanConfig
from .clocks import ClockFault
from .config import RigConfig, with_cameras
from .draft import part_rng
from .frame_faults import FrameFault
from .imu import ImuConfig
from .light import FlashConfig, TriggerConfig
from .light_faults import AmbientStep, Headlight, LightFault
from .microphone import MicrophoneConfig
from .pulse_shapes import Lamp, SquarePulse, XenonPulse
from .pulse_trains import BurstTrain, SpacedTrain
from .taps import TapConfig

_DURATION_S = 45.0
_CLOCKS = tuple(
    ClockFault(offset_s=offset_s, drift_ppm=drift_ppm)
    for offset_s, drift_ppm in (
        (0.0, 0.0),
        (0.0351, 19.8),
        (-0.1207, -12.5),
        (0.3313, 4.1),
        (-0.0123, 31.0),
        (0.0078, -24.6),
    )
)
_LINE_DELAYS_S = (2.5e-5, 2.5e-5, 2.8e-5, 4.2e-5, 5.2e-5, 3.4e-5)
_SQUARE = FlashConfig(
    train=BurstTrain(n_pulses=4, span_s=1 / 12, mean_interval_s=0.5),
    shape=SquarePulse(width_s=0.002),
    brightness=70.0,
    falloff=0.5,
)
# Start and length in seconds, size and brightness of overexposed headlights that sweep by.
_SWEEPS = (
    (2.0, 2.5, 0.08, 500.0),
    (9.0, 1.2, 0.15, 300.0),
    (16.5, 4.0, 0.06, 700.0),
    (26.0, 0.8, 0.2, 250.0),
    (35.0, 3.0, 0.1, 500.0),
)


def _dealt(config: RigConfig, **values: Sequence[Any]) -> RigConfig:
    """Give each camera its own settings, in camera order."""
    cameras = {
        name: replace(camera, **{key: dealt[k] for key, dealt in values.items()})
        for k, (name, camera) in enumerate(config.cameras.items())
    }
    return replace(config, cameras=cameras)


def _clean() -> RigConfig:
    """Return six cameras on a hand-held rig facing a lamp that fires bursts of four pulses."""
    rig = RigConfig(
        style="held",
        duration_s=_DURATION_S,
        cameras=dict(SIX_CAMERAS),
        imu=None,
        can=None,
        flash=_SQUARE,
        n_movers=0,
        is_still=True,
    )
    # These cameras are stamped in hardware.
    rig = with_cameras(rig, size_px=(854, 480), exposure_s=0.008, stamp_jitter_s=2e-5)
    return _dealt(rig, line_delay_s=_LINE_DELAYS_S, clock=_CLOCKS)


def _with_false_flashes(config: RigConfig) -> RigConfig:
    """Give four cameras one or two false flashes a second, different in each camera."""
    for name in ("cam_front_left", "cam_front_right", "cam_rear_left", "cam_rear"):
        own = SpacedTrain(mean_interval_s=0.7).draw(_DURATION_S, part_rng(0, f"{name} false"))
        light = LightFault(false_flashes_s=tuple(np.round(own, 4).tolist()))
        config = with_cameras(config, name, light=light)
    return config


def _scenarios() -> dict[str, RigConfig]:
    clean = _clean()

    def flashing(config: RigConfig = clean, **changes: Any) -> RigConfig:
        return replace(config, flash=replace(_SQUARE, **changes))

    two_global = with_cameras(clean, "cam_front_left", "cam_rear_left", line_delay_s=0.0)
    trigger = TriggerConfig(clock=ClockFault(offset_s=-0.0042, drift_ppm=8.0))
    lost = FrameFault(dropped=(37, 38, 120, 261, 262, 263, 400))
    # Line delay and exposure are not stated; two frame rates and a trigger log determine them.
    unstated = with_cameras(clean, is_line_delay_stated=False, is_exposure_stated=False)
    clips = {
        "flash_clean": clean,
        "flash_exposures": _dealt(clean, exposure_s=(0.002, 0.015, 0.008) * 2),
        "flash_xenon": flashing(shape=XenonPulse(rise_s=1e-4, decay_s=1.2e-3), brightness=110.0),
        "flash_noisy": with_cameras(clean, read_noise=4.0, photon_noise=0.06, crf=28),
        "flash_first_missed": with_cameras(
            clean, "cam_rear", light=LightFault(blind_s=((0.0, 6.0),))
        ),
        "flash_false": _with_false_flashes(clean),
        # Phases are spread evenly: a pulse reaches at most two of the six cameras.
        "flash_sparse": flashing(
            _dealt(
                clean, line_delay_s=[2.5e-5] * 6, phase_s=[0.003 + k / 6 / 12 for k in range(6)]
            ),
            train=SpacedTrain(mean_interval_s=0.2),
        ),
        "flash_30hz": flashing(
            with_cameras(clean, fps=30.0),
            train=BurstTrain(n_pulses=2, span_s=1 / 30, mean_interval_s=0.5),
        ),
        "flash_global_shutter": two_global,
        # On for two frame periods, a readout and an exposure, with the trigger logged, since
        # frames of equal rate keep their phases: as in a flash plan for such cameras.
        "flash_global_lamp": flashing(
            replace(two_global, trigger=trigger),
            shape=Lamp(width_s=0.2),
            train=SpacedTrain(mean_interval_s=0.85, spread=0.3),
        ),
        "flash_headlights": with_cameras(
            clean,
            "cam_front",
            "cam_front_left",
            "cam_rear",
            light=LightFault(
                headlights=tuple(
                    Headlight(start_s=start, stop_s=start + length, size=size, brightness=level)
                    for start, length, size, level in _SWEEPS
                )
            ),
        ),
        "flash_tunnel": with_cameras(
            clean,
            light=LightFault(
                ambient_steps=(
                    AmbientStep(at_s=8.0, factor=0.4),
                    AmbientStep(at_s=21.0, factor=2.5, ramp_s=0.3),
                    AmbientStep(at_s=33.0, factor=0.6, ramp_s=0.05),
                )
            ),
        ),
        "flash_bright": flashing(brightness=400.0),
        "flash_periodic": flashing(train=SpacedTrain(mean_interval_s=0.23, spread=0.0)),
        "flash_strobe": flashing(train=SpacedTrain(mean_interval_s=0.007, spread=0.25)),
        "flash_lamp": flashing(shape=Lamp(width_s=0.7), train=SpacedTrain(mean_interval_s=1.5)),
        # One camera loses frames with their timestamps, another loses frames only.
        "flash_dropped": with_cameras(
            with_cameras(clean, "cam_rear_left", frames=lost),
            "cam_rear",
            frames=FrameFault(dropped=(200,), drop_mode="slip"),
        ),
        "flash_drift": with_cameras(
            clean, "cam_rear", clock=replace(clean.camera("cam_rear").clock, drift_ppm=300.0)
        ),
        "flash_withheld": replace(
            with_cameras(unstated, "cam_front_left", "cam_rear", fps=15.0),
            trigger=TriggerConfig(clock=ClockFault(offset_s=-0.0042)),
        ),
        # A trigger log, the CAN strobe, clicks of the lamp, and taps that fire it.
        "flash_all_sources": replace(
            clean,
            trigger=trigger,
            can=CanConfig(format="log", clock=ClockFault(offset_s=0.0517, drift_ppm=-15.0)),
            imu=ImuConfig(clock=ClockFault(offset_s=-0.0186)),
            microphone=MicrophoneConfig(
                click_level=0.5,
                lamp_distance_m=1.5,
                clock=ClockFault(offset_s=0.0224, drift_ppm=12.0),
            ),
            taps=TapConfig(fires_flash=True),
        ),
    }
    return {name: replace(config, clip_id=name) for name, config in clips.items()}


FLASH_SCENARIOS: Mapping[str, RigConfig] = _scenarios()
"""Recordings by name, 45 s each with six cameras of 480 lines at rest."""
