"""Recordings for a calibration by flashes: a rig at rest, a lamp, and one difficulty each."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from .clocks import ClockFault
from .config import RigConfig
from .flash_rigs import (
    SQUARE,
    clean_recording,
    drifting,
    each,
    lit,
    sparse,
    with_all_sources,
    with_dropped_frames,
    with_exposures,
    with_false_flashes,
    with_headlights,
    with_train,
    withheld,
)
from .light_faults import AmbientStep, LightFault
from .pulse_shapes import Lamp, XenonPulse
from .pulse_trains import BurstTrain, SpacedTrain
from .trigger import TriggerConfig


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
