"""Choose the pulse train: widths, irregular gaps, bursts, and how long to record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syncaudit.model.arrays import Floats
from syncaudit_calibration.plan.cameras import PlannedCamera
from syncaudit_calibration.plan.lights import HAND_LIGHTS, LightKind
from syncaudit_calibration.plan.pulse_train import TICK_S, PulseTrain

SCREEN_RATE_HZ = 60

# A pulse much shorter than the exposure has steep edges; a quarter is still bright enough.
WIDTH_SHARE = 0.25
MIN_WIDTH_S, MAX_WIDTH_S = 2e-4, 2e-3
# Maximum pulses per burst: if pulses are seldom seen, longer ones are used instead of more.
MAX_PULSES = 8
# At most three flashes in any second: WCAG 2.1, success criterion 2.3.1, for people with
# photosensitive epilepsy (ITU-R BT.1702 sets the same limit for television).
SINGLE_DARK_S = 1.0 / 3.0
BURST_DARK_S = 1.0
# Dark frames between bursts: the detector estimates the background from four on either side.
DARK_FRAMES = 5
# Dark times are drawn between the minimum and this much more.
DARK_SPREAD_S = 0.5
# Maximum unevenness of the gaps within a burst, and the minimum below which a pulse is added.
MAX_JITTER, MIN_JITTER = 0.25, 0.08
# Two cameras should share this many flashes; a recording lasts as long as that takes.
MIN_SHARED = 25
MIN_DURATION_S, MAX_DURATION_S, DURATION_STEP_S = 30.0, 600.0, 15.0
# Dark before the first pulse and after the last: automatic exposures settle.
LEAD_S = 2.0
# Number of random trains from which the one least similar to its own shifts is chosen.
N_DRAWS = 16


def choose_train(
    cameras: Sequence[PlannedCamera],
    kind: LightKind = LightKind.LED,
    *,
    duration_s: float | None = None,
    rng: np.random.Generator,
) -> PulseTrain:
    """Return a train for a light; for one fired by hand, an example of its usual pulses.

    Rolling shutters get bursts of ``K = ceil(T_frame / (readout + E + w))`` pulses of an LED that
    divide one frame period of the slowest camera unevenly. No gap is longer than the time in which
    a pulse is visible, so that every camera sees part of each burst whatever its phase. If that
    would leave no room for uneven gaps, K is increased. Global shutters cannot locate a short pulse
    within a frame: they get a light that goes on and off at random instants and stays on for two
    frame periods, a readout and an exposure. Every row is then fully lit in at least two frames,
    which determines the brightness of the light, and the lit fraction of the adjacent frames dates
    its switching on and off.

    The train of a screen is aligned with its frames (60 per second). Flashes are single and last
    one screen frame longer than those of an LED for global shutters: the light of a screen rises
    line by line over one frame, and all rows must see its full light in two frames.

    `duration_s` is by default as long as it takes until two cameras share 25 flashes (global
    shutters: until 25 edges fall into exposures), 30 s to 10 min. `rng` draws the gaps.
    """
    if light := HAND_LIGHTS.get(kind):
        pattern = _Pattern(
            width_s=light.usual_s, dark_s=light.least_dark_s, spread_s=light.dark_spread_s
        )
    elif kind is LightKind.SCREEN:
        tick_s = 1.0 / SCREEN_RATE_HZ
        needed_s = max(_lasting_s(camera) for camera in cameras) + tick_s
        width_s = math.ceil(needed_s / tick_s - 1e-9) * tick_s
        pattern = _Pattern(width_s=width_s, tick_s=tick_s)
    elif any(camera.is_global for camera in cameras):
        pattern = _Pattern(width_s=max(_lasting_s(camera) for camera in cameras))
    else:
        pattern = _bursts(cameras)
    return _best(cameras, pattern, duration_s, rng)


def _bursts(cameras: Sequence[PlannedCamera]) -> _Pattern:
    """Return the bursts of an LED for rolling shutters."""
    width_s = _short_width_s(cameras)
    period_s = max(camera.period_s for camera in cameras)
    n = max(math.ceil(camera.period_s / camera.visible_s(width_s)) for camera in cameras)
    while n > 1 and _room(cameras, width_s, period_s / n) < MIN_JITTER:
        n += 1
    gap_s = period_s / n
    apart_s = bands_apart_s(cameras, width_s)
    jitter = min(MAX_JITTER, _room(cameras, width_s, gap_s), 1.0 - apart_s / gap_s)
    return _Pattern(width_s=width_s, n=n, gap_s=gap_s, jitter=max(jitter, MIN_JITTER))


def bands_apart_s(cameras: Sequence[PlannedCamera], width_s: float) -> float:
    """Return how far apart pulses must start to leave a dark row between their bands.

    A band is E + w long, with ramps as long as the shorter of the two.
    """
    return max(c.exposure_s + width_s + min(c.exposure_s, width_s) for c in cameras)


def _lasting_s(camera: PlannedCamera) -> float:
    """Return how long a light must be on to light two frames fully."""
    return 2.0 * camera.period_s + camera.readout_s + camera.exposure_s


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pattern:
    """Repeated pattern: `n` pulses about `gap_s` apart, at multiples of `tick_s`.

    Between patterns it is dark for `dark_s` plus up to `spread_s`.
    """

    width_s: float
    n: int = 1
    gap_s: float = 0.0
    jitter: float = 0.0
    tick_s: float = TICK_S
    dark_s: float = SINGLE_DARK_S
    spread_s: float = DARK_SPREAD_S


def _short_width_s(cameras: Sequence[PlannedCamera]) -> float:
    """Return a width that is much shorter than the exposure but long enough to be seen."""
    exposure_s = min(camera.exposure_s for camera in cameras)
    needed_s = max(
        (1.0 + MAX_JITTER) * camera.period_s / MAX_PULSES - camera.readout_s - camera.exposure_s
        for camera in cameras
    )
    return max(float(np.clip(WIDTH_SHARE * exposure_s, MIN_WIDTH_S, MAX_WIDTH_S)), needed_s)


def _room(cameras: Sequence[PlannedCamera], width_s: float, gap_s: float) -> float:
    """Return the fraction by which a gap may grow without hiding a burst from any camera."""
    longest_s = max(camera.period_s for camera in cameras)
    slowest = [camera for camera in cameras if camera.period_s == longest_s]
    return min(camera.visible_s(width_s) for camera in slowest) / gap_s - 1.0


def _best(
    cameras: Sequence[PlannedCamera],
    pattern: _Pattern,
    duration_s: float | None,
    rng: np.random.Generator,
) -> PulseTrain:
    """Return the random train with the lowest side peak."""
    width_s = math.ceil(pattern.width_s / pattern.tick_s - 1e-6) * pattern.tick_s
    dark_s = max(
        pattern.dark_s if pattern.n == 1 else BURST_DARK_S,
        DARK_FRAMES * max(camera.period_s for camera in cameras),
    )
    if duration_s is None:
        interval_s = (pattern.n - 1) * pattern.gap_s + width_s + dark_s + pattern.spread_s / 2.0
        duration_s = _long_enough(cameras, width_s, interval_s / pattern.n)
    n_bursts = math.ceil(duration_s / dark_s)
    trains = []
    for _ in range(N_DRAWS):
        offsets_s = _burst_offsets(pattern, n_bursts, rng)
        darks_s = rng.uniform(dark_s, dark_s + pattern.spread_s, n_bursts)
        ends_s = LEAD_S + np.cumsum(offsets_s[:, -1] + width_s + darks_s)
        firsts_s = np.concatenate([[LEAD_S], ends_s[:-1]])
        is_whole = ends_s - darks_s <= duration_s - LEAD_S
        starts_s = (firsts_s[:, None] + offsets_s)[is_whole].ravel()
        trains.append(
            PulseTrain(
                starts_s=np.rint(starts_s / pattern.tick_s) * pattern.tick_s,
                width_s=width_s,
                n_per_burst=pattern.n,
                duration_s=duration_s,
            )
        )
    return min(trains, key=lambda train: train.runner_up)


def _burst_offsets(pattern: _Pattern, n_bursts: int, rng: np.random.Generator) -> Floats:
    """Return the starts of pulses relative to the first of their burst, shape (n_bursts, n).

    The gap from the last pulse to the first one, one frame period later, obeys the same bounds as
    the others: the deviations of all gaps over the period add up to zero.
    """
    deviations = rng.uniform(-1.0, 1.0, (n_bursts, pattern.n))
    deviations -= deviations.mean(axis=1, keepdims=True)
    deviations /= np.maximum(np.abs(deviations).max(axis=1, keepdims=True), 1.0)
    gaps_s = pattern.gap_s * (1.0 + pattern.jitter * deviations[:, :-1])
    return np.concatenate([np.zeros((n_bursts, 1)), np.cumsum(gaps_s, axis=1)], axis=1)


def _long_enough(
    cameras: Sequence[PlannedCamera], width_s: float, seconds_per_pulse: float
) -> float:
    """Return the duration after which two cameras share enough flashes."""
    shares = sorted(camera.share_seen(width_s) for camera in cameras)
    needed = MIN_SHARED / (shares[0] * shares[1])
    for camera in cameras:
        if camera.is_global:  # both edges count where they fall into an exposure
            needed = max(needed, 0.5 * MIN_SHARED * camera.period_s / camera.exposure_s)
    steps = math.ceil((2.0 * LEAD_S + needed * seconds_per_pulse) / DURATION_STEP_S)
    return float(np.clip(steps * DURATION_STEP_S, MIN_DURATION_S, MAX_DURATION_S))
