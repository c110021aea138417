"""Predict how accurately a train determines offsets, drifts and line delays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syncaudit.model.arrays import Bools, Floats
from syncaudit_calibration.plan.cameras import PlannedCamera
from syncaudit_calibration.plan.lights import LightKind
from syncaudit_calibration.plan.pulse_train import PulseTrain
from syncaudit_calibration.plan.train import SCREEN_RATE_HZ
from syncaudit_calibration.plan.visibility import draw_phases

# Band edges in H.264 480p date a flash this well (design, section 3.1: 7 to 20 us).
EDGE_STD_S = 15e-6
# Error that remains however many flashes there are: rows, pulse shape, encoders. It is larger than
# the 5 us that the estimator uses, since real footage is harder than rendered videos.
FLOOR_STD_S = 1e-5
# Error of the lit fraction of an exposure, from a partly lit frame or row: noise, tone curve.
PARTIAL_SHARE_STD = 0.03
# Screens light up line by line within one frame, so their light on the scene rises over that time.
# Objects nearer to the top of the screen than to its bottom reach half-light earlier: by a
# twentieth of the rise if one end lights them a fifth more than the middle does, and the other end
# a fifth less.
SCREEN_RISE_S = 1.0 / SCREEN_RATE_HZ
SCREEN_STD_S = 2.0**0.5 * 0.05 * SCREEN_RISE_S
N_DRAWS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """One-sigma errors for the pair of cameras that shares fewest flashes; the bundle is better."""

    flash_std_s: float  # of one flash in one camera
    offset_std_s: float  # in the middle of the recording
    drift_std_ppm: float  # over the recording
    # Offset of one camera against a log of the pulses themselves (the trigger output).
    triggered_offset_std_s: float


def expected_accuracy(
    cameras: Sequence[PlannedCamera],
    train: PulseTrain,
    *,
    n_shared: float,
    rng: np.random.Generator,
    kind: LightKind = LightKind.LED,
) -> Accuracy:
    """Predict the errors of the offset and the drift between two cameras.

    With n shared flashes of error s in either camera, spread evenly over a time D, a straight line
    has ``sigma(offset) = s sqrt(2 / n)`` in the middle and ``sigma(drift) = s sqrt(24 / n) / D``;
    a floor of 10 us is added (1.2 ms for a screen, which cancels in the drift). For global shutters
    the errors come from `_global_stds_s` instead.

    `n_shared` is the number of flashes that the two cameras share; `rng` draws the phases of global
    shutters. For a light that stays on, `train` and `n_shared` refer to its switching on and off
    (`switchings`): each is a ramp over the exposure, plus the rise of a screen's light, and is
    dated to a fraction of the ramp.
    """
    span_s = max(float(np.ptp(train.starts_s)), train.width_s)
    is_screen = kind is LightKind.SCREEN
    if kind is LightKind.SPEEDLIGHT and any(camera.is_global for camera in cameras):
        # A short pulse lies anywhere within the exposures that it lights; with constant frame
        # phases, more pulses give no more information.
        flash_s = max(camera.exposure_s for camera in cameras) / math.sqrt(12.0)
        offset_s, triggered_s = math.sqrt(2.0) * flash_s, flash_s
    elif any(camera.is_global for camera in cameras):
        slowest = max(cameras, key=lambda camera: camera.period_s)
        flash_s = (slowest.period_s - slowest.exposure_s) / math.sqrt(12.0)
        offset_s, triggered_s = _global_stds_s(cameras, train, rng)
    else:
        n = max(n_shared, 1.0)
        n_seen = max(train.n * min(camera.share_seen(train.width_s) for camera in cameras), 1.0)
        flash_s = EDGE_STD_S
        if kind.stays_on:
            longest_s = max(camera.exposure_s for camera in cameras) + is_screen * SCREEN_RISE_S
            flash_s = math.hypot(EDGE_STD_S, PARTIAL_SHARE_STD * longest_s)
        offset_s, triggered_s = flash_s * math.sqrt(2.0 / n), flash_s / math.sqrt(n_seen)
    floor_s = SCREEN_STD_S if is_screen else FLOOR_STD_S
    return Accuracy(
        flash_std_s=math.hypot(flash_s, SCREEN_STD_S / math.sqrt(2.0) if is_screen else 0.0),
        offset_std_s=math.hypot(offset_s, floor_s),
        drift_std_ppm=1e6 * math.sqrt(12.0) * math.hypot(offset_s, FLOOR_STD_S) / span_s,
        triggered_offset_std_s=math.hypot(triggered_s, floor_s),
    )


def _global_stds_s(
    cameras: Sequence[PlannedCamera], train: PulseTrain, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the error of the worst pair of cameras, and of the worst one against a trigger log.

    An edge of the light within an exposure is dated by the fraction of light in the frame; any
    other edge lies between the end of an exposure and the start of the next. Every edge thus bounds
    the offset from both sides; the error is the width left by all bounds over sqrt(12). The results
    are medians over random phases. (If rolling and global shutters are mixed, rolling shutters are
    also evaluated by whole frames, which is conservative.)
    """
    edges_s = np.concatenate([train.starts_s, train.starts_s + train.width_s])
    periods_s = np.array([camera.period_s for camera in cameras])[:, None]
    exposures_s = np.array([camera.exposure_s for camera in cameras])[:, None]
    into_s = np.mod(edges_s - draw_phases(cameras, N_DRAWS, rng)[:, :, None], periods_s)
    is_sharp = into_s < exposures_s
    before_s = np.where(is_sharp, 0.0, into_s - exposures_s)
    after_s = np.where(is_sharp, 0.0, periods_s - into_s)
    blur_s = PARTIAL_SHARE_STD * exposures_s[:, 0]

    def left_s(late: Floats, early: Floats, is_dated: Bools, blur: float) -> float:
        bounds_s = late.min(axis=1) + early.min(axis=1)
        noise_s = blur / np.sqrt(np.maximum(is_dated.sum(axis=1), 1))
        return float(np.median(np.hypot(bounds_s / math.sqrt(12.0), noise_s)))

    alone = [
        left_s(after_s[:, k], before_s[:, k], is_sharp[:, k], float(blur_s[k]))
        for k in range(len(cameras))
    ]
    pairs = [
        left_s(
            after_s[:, i] + before_s[:, j],
            before_s[:, i] + after_s[:, j],
            is_sharp[:, i] & is_sharp[:, j],
            math.hypot(blur_s[i], blur_s[j]),
        )
        for i, j in itertools.combinations(range(len(cameras)), 2)
    ]
    return max(pairs), max(alone)


def unobservable(cameras: Sequence[PlannedCamera], train: PulseTrain) -> tuple[int, ...]:
    """Return the indices of rolling-shutter cameras whose line delay is not observable.

    The rows in which two cameras see a flash differ by ``(s_A - s_B) / T``. Frames at the rates p
    and q have relative phases that are ``1 / lcm(p, q)`` apart, all of which occur within
    ``1 / gcd(p, q)``. If that step is longer than the readout, as with equal rates, all flashes
    that both cameras see shift the rows equally: any line delay fits, with residual 0.
    """
    reported = set()
    for i, j in itertools.combinations(range(len(cameras)), 2):
        one, other = cameras[i], cameras[j]
        step_s, cycle_s = _phase_steps_s(one.rate_hz, other.rate_hz)
        least_s = min(c.readout_s or c.exposure_s for c in (one, other))
        if step_s <= least_s and cycle_s <= train.duration_s:
            reported |= {i, j}
    return tuple(k for k, c in enumerate(cameras) if not c.is_global and k not in reported)


def _phase_steps_s(one_hz: Fraction, other_hz: Fraction) -> tuple[float, float]:
    """Return the step between the relative phases of two rates, and their repetition time."""
    denominators = one_hz.denominator, other_hz.denominator
    numerators = one_hz.numerator, other_hz.numerator
    lcm = Fraction(math.lcm(*numerators), math.gcd(*denominators))
    gcd = Fraction(math.gcd(*numerators), math.lcm(*denominators))
    return float(1 / lcm), float(1 / gcd)


def line_delay_std(camera: PlannedCamera, *, n_shared: float) -> float:
    """Return the expected relative error of an observable line delay.

    Rows of two cameras with drifting phases differ like two independent uniform variables, with a
    standard deviation of readout / sqrt(6).
    """
    spread_s = camera.readout_s / math.sqrt(6.0)
    return math.hypot(EDGE_STD_S * math.sqrt(2.0 / max(n_shared, 1.0)), FLOOR_STD_S) / spread_s
