"""Ideal sources that observe the same pulses, with known truth for tests of matching and bundle."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from syncaudit.estimators.events import EventEvidence
from syncaudit.model import EventTrain, FlashEdges, FlashIntervals, Quantity
from syncaudit.model.evidence.flashes import UNSTATED_READOUT_S, UNSTATED_READOUT_SHARE
from testkit.streams import event_train

Floats = NDArray[np.float64]

SPAN_S = 45.0
MIDDLE_S = 22.5
WIDTH_S = 1e-3
# Timing of the cameras in `full_rig`.
LINE_DELAYS_S = (3e-5, 4e-5, 5.5e-5, 2.6e-5)
EXPOSURES_S = (0.002, 0.015, 0.008, 0.004)
RATES_HZ = (12.0, 30.0, 25.0, 12.01)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Correction of a source: ``t_ref = t + offset_s + drift * (t - MIDDLE_S)``."""

    offset_s: float = 0.0
    drift: float = 0.0

    def own(self, reference_s: Floats) -> Floats:
        return MIDDLE_S + (reference_s - self.offset_s - MIDDLE_S) / (1.0 + self.drift)

    def correction_s(self, own_s: float) -> float:
        return self.offset_s + self.drift * (own_s - MIDDLE_S)


def irregular_onsets(rng: np.random.Generator, n: int = 80) -> Floats:
    onsets = np.cumsum(rng.uniform(0.15, 1.2, n))
    return onsets * (SPAN_S - 1.0) / onsets[-1]


def camera(
    rng: np.random.Generator,
    onsets_s: Floats,
    *,
    name: str = "cam",
    clock: Clock | None = None,
    rate_hz: float = 12.0,
    line_delay_s: float = 4e-5,
    exposure_s: float = 0.008,
    is_stated: bool = True,
    noise_s: float = 12e-6,
    height_px: int = 480,
    phase_s: float | None = None,
    epoch_ns: int = 0,
) -> FlashEdges:
    """Return the band edges that a rolling shutter would show, with noise on every row."""
    clock = clock or Clock()
    phase = rng.uniform(0.0, 1.0 / rate_hz) if phase_s is None else phase_s
    frames = clock.own(phase + np.arange(int(SPAN_S * rate_hz)) / rate_hz)
    half_light = clock.own(onsets_s + 0.5 * WIDTH_S)
    rows = []
    band = 0
    for instant in half_light:
        for k in np.flatnonzero(
            np.abs(frames - instant) < 0.5 * (height_px * line_delay_s + exposure_s)
        ):
            seen = [
                (k, frames[k], row, part, band)
                for part in (0.5, -0.5)
                if abs(row := (instant - part * exposure_s - frames[k]) / line_delay_s)
                < 0.5 * height_px - 5
            ]
            rows += seen
            band += bool(seen)
    table = np.array(rows).reshape(-1, 5)
    assumed_s = line_delay_s if is_stated else UNSTATED_READOUT_S / height_px
    half_light_s = 0.5 * WIDTH_S * assumed_s / line_delay_s
    noise_px = noise_s / line_delay_s
    return FlashEdges(
        source=name,
        epoch_ns=epoch_ns,
        frame_index=table[:, 0].astype(np.int64),
        frame_s=table[:, 1],
        row_px=table[:, 2] + rng.normal(0.0, noise_px, table.shape[0]),
        row_std_px=np.full(table.shape[0], noise_px),
        exposure_part=table[:, 3],
        band=table[:, 4].astype(np.int64),
        height_px=height_px,
        watched_s=np.stack([frames[:-1], frames[1:]], axis=1),
        line_delay_s=line_delay_s if is_stated else None,
        exposure_s=exposure_s if is_stated else None,
        half_light_s=half_light_s,
        half_light_std_s=math.hypot(
            2e-5, 0.0 if is_stated else UNSTATED_READOUT_SHARE * half_light_s
        ),
    )


def stamped_at_start(seen: FlashEdges, *, exposure_s: float) -> FlashEdges:
    """Return the evidence of a camera whose timestamps mark the start of a frame, as from a reader.

    The offset from the timestamp to the middle row is computed from the stated timing.
    """
    assert seen.line_delay_s is not None and seen.exposure_s is not None  # noqa: PT018
    readout_s = seen.readout_px * seen.line_delay_s
    off_s = 0.5 * (exposure_s - seen.exposure_s)
    return replace(
        seen,
        exposure_s=exposure_s,
        frame_s=seen.frame_s + off_s,
        watched_s=seen.watched_s + off_s,
        stamp_part=0.5,
        from_stamp_s=0.5 * (exposure_s + readout_s),
    )


def without_exposure(seen: FlashEdges, *, exposure_s: float, stamp_part: float) -> FlashEdges:
    """Return the evidence of a camera that does not state its exposure, as from a reader.

    Its timestamps mark the start (+0.5), middle (0) or end (-0.5) of its frames.
    """
    assert seen.line_delay_s is not None
    early_s = stamp_part * (exposure_s + seen.readout_px * seen.line_delay_s)
    return replace(
        seen,
        exposure_s=None,
        half_light_s=None,
        half_light_std_s=None,
        frame_s=seen.frame_s - early_s,
        watched_s=seen.watched_s - early_s,
        stamp_part=stamp_part,
    )


def train(times_s: Floats, *, name: str = "trigger", std_s: float = 1e-5) -> EventTrain:
    times_s = np.sort(np.asarray(times_s, dtype=np.float64))
    return event_train(times_s, source=name, std_s=std_s)


def trigger(
    rng: np.random.Generator,
    onsets_s: Floats,
    *,
    name: str = "trigger",
    clock: Clock | None = None,
    std_s: float = 1e-5,
) -> EventTrain:
    own = (clock or Clock()).own(onsets_s)
    return train(own + rng.normal(0.0, std_s, own.size), name=name, std_s=std_s)


def counter(
    rng: np.random.Generator,
    onsets_s: Floats,
    *,
    name: str = "can",
    clock: Clock | None = None,
    period_s: float = 0.02,
) -> FlashIntervals:
    """Return the messages between which a strobe counter increased."""
    messages = np.arange(-30.0, SPAN_S + 30.0, period_s) + rng.uniform(0.0, period_s)
    after, count = np.unique(
        np.searchsorted(messages, (clock or Clock()).own(onsets_s)), return_counts=True
    )
    return FlashIntervals(
        source=name,
        quantity=Quantity.STROBE,
        epoch_ns=0,
        start_s=messages[after - 1],
        stop_s=messages[after],
        std_s=np.full(after.size, 1e-4),
        count=count,
    )


def switches(
    rng: np.random.Generator,
    switches_s: Floats,
    *,
    name: str,
    clock: Clock | None = None,
    rate_hz: float = 10.0,
    line_delay_s: float = 4e-5,
    is_stated: bool = True,
) -> FlashEdges:
    """Return what a camera shows of a light that goes on and off in turn.

    It dates by rows what happens within a readout; what happens between two, by an interval.
    """
    clock = clock or Clock()
    period_s, height_px, noise_px = 1.0 / rate_hz, 480, 6.0
    readout_s = height_px * line_delay_s
    frames_s = rng.uniform(0.0, period_s) + period_s * np.arange(int(60.0 * rate_hz))
    after = np.searchsorted(frames_s, switches_s)
    nearest = after - (switches_s - frames_s[after - 1] < frames_s[after] - switches_s)
    row_px = (switches_s - frames_s[nearest]) / line_delay_s
    is_sharp = np.abs(row_px) < 0.4 * height_px
    # The readout that is not stated widens the interval.
    half_s = 0.5 * (period_s + (readout_s if is_stated else 0.05))
    n = switches_s.size
    return FlashEdges(
        source=name,
        epoch_ns=0,
        frame_index=np.where(is_sharp, nearest, after).astype(np.int64),
        frame_s=clock.own(
            np.where(is_sharp, frames_s[nearest], 0.5 * (frames_s[after - 1] + frames_s[after]))
        ),
        row_px=np.where(is_sharp, row_px + rng.normal(0.0, noise_px, n), 0.0),
        row_std_px=np.where(is_sharp, noise_px, 0.0),
        exposure_part=np.zeros(n),
        band=np.arange(n),
        height_px=height_px,
        watched_s=clock.own(np.stack([frames_s[:-1], frames_s[1:]], axis=1)),
        line_delay_s=line_delay_s if is_stated else None,
        exposure_s=0.002 if is_stated else None,
        half_light_s=0.0,
        half_light_std_s=1e-4,
        sense=np.where(np.arange(n) % 2, -1, 1),
        half_s=np.where(is_sharp, 0.0, half_s),
    )


def global_shutter(
    rng: np.random.Generator,
    onsets_s: Floats,
    *,
    name: str,
    rate_hz: float,
    exposure_s: float,
    width_s: float = 0.0,
) -> FlashIntervals:
    """Return the frames of a global shutter that flashes light."""
    period_s, phase_s = 1.0 / rate_hz, rng.uniform(0.0, 1.0 / rate_hz)
    frames_s = phase_s + period_s * np.arange(int(SPAN_S * rate_hz))
    begin_s = phase_s + period_s * np.floor((onsets_s + width_s - phase_s) / period_s)
    lit_s = np.unique(begin_s[onsets_s < begin_s + exposure_s])
    return FlashIntervals(
        source=name,
        quantity=Quantity.FLASH,
        epoch_ns=0,
        start_s=lit_s - (period_s - exposure_s),
        stop_s=lit_s + exposure_s,
        lit_s=lit_s,
        std_s=np.full(lit_s.size, 1e-4),
        count=np.ones(lit_s.size, dtype=np.int64),
        dead_s=np.stack([frames_s - period_s + exposure_s, frames_s], axis=1),
    )


def _clocks(rng: np.random.Generator) -> dict[str, Clock]:
    names = ("cam_0", "cam_1", "cam_2", "cam_3", "can", "trigger")
    clocks = {
        name: Clock(offset_s=rng.uniform(-3.0, 3.0), drift=rng.normal(0.0, 3e-5)) for name in names
    }
    return clocks | {"cam_0": Clock()}


def turned_rig(
    seed: int = 1,
    *,
    turned: Collection[str] = (),
    rates_hz: Sequence[float] = (12.0, 12.0, 12.0),
    with_trigger: bool = False,
) -> dict[str, EventEvidence]:
    """Return cameras by name, 7 ms apart, some of them upside down, and maybe a trigger."""
    rng = np.random.default_rng(seed)
    onsets_s = irregular_onsets(rng, 90)
    rig: dict[str, EventEvidence] = {}
    for k, rate_hz in enumerate(rates_hz):
        name, clock = f"cam_{k}", Clock(offset_s=0.007 * k)
        item = camera(rng, onsets_s, name=name, rate_hz=rate_hz, phase_s=0.004 * k, clock=clock)
        rig[name] = item.mirrored() if name in turned else item
    return rig | ({"trigger": trigger(rng, onsets_s)} if with_trigger else {})


def full_rig(
    rng: np.random.Generator, *, is_stated: bool = True
) -> tuple[list[EventEvidence], dict[str, Clock], Floats]:
    """Return the evidence of four cameras, a counter and a trigger, their clocks and the onsets."""
    onsets = irregular_onsets(rng)
    clocks = _clocks(rng)
    evidence = [
        camera(
            rng,
            onsets,
            name=f"cam_{k}",
            clock=clocks[f"cam_{k}"],
            rate_hz=RATES_HZ[k],
            line_delay_s=LINE_DELAYS_S[k],
            exposure_s=EXPOSURES_S[k],
            is_stated=is_stated,
        )
        for k in range(4)
    ]
    evidence.append(counter(rng, onsets, clock=clocks["can"]))
    evidence.append(trigger(rng, onsets, clock=clocks["trigger"]))
    return evidence, clocks, onsets
