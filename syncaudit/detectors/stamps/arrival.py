"""Compare capture timestamps with the times at which the samples reached the recorder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncaudit.detectors.stamps.clock import has_floor
from syncaudit.detectors.stamps.steps import find_level_steps
from syncaudit.dsp.robust import robust_line, student_widening
from syncaudit.model import ArrivalAudit, Arrivals
from syncaudit.model.arrays import Floats

# With fewer samples there is no floor to see; over fewer seconds, drift cannot be told apart from
# delays.
MIN_SAMPLES = 24
MIN_DRIFT_S = 5.0
# Smaller sudden changes of the delay are normal for networks.
MIN_STEP_S = 5e-3
# Delays further than this from the typical one belong to stamps that are completely wrong.
FAR_S = 60.0
# A sample cannot be received before it was captured, except within the resolution of the clocks.
NEGATIVE_S = 1e-4
# No recorder stamps more precisely than this.
RESOLUTION_S = 1e-6
# Samples on either side of a step whose floors must differ too.
REACH = 64
# Steps are searched for in the means of at most this many runs of samples.
MOST_POINTS = 20_000


def audit_arrivals(arrivals: Arrivals) -> ArrivalAudit | None:
    """Compare the capture stamps of a source with the recorder's clock.

    Receive stamp minus capture stamp is a transport delay, which has a floor, plus the
    difference of the two clocks. The floor is tracked by the minima of 6 to 24 runs of samples (by
    their medians if delays are symmetric, see `has_floor`), and a straight line through those gives
    floor and drift: the idea of Moon, Skelly, Towsley ("Estimation and removal of clock skew
    from network delay measurements", INFOCOM 1999, doi:10.1109/INFCOM.1999.749287), with an
    error from the scatter of the runs (Student's t). Sudden steps of the delay are found first
    and removed.

    Arrivals are in file order. None with fewer than 24 samples.

    Notes
    -----
    A floor is not an offset: it includes the minimum transport delay, which stamps cannot separate
    from a difference of the clocks. A queue that grows steadily looks like drift.
    """
    delay_s = (arrivals.receive_ns - arrivals.capture_ns).astype(np.float64) * 1e-9
    if delay_s.size < MIN_SAMPLES:
        return None
    is_near = np.abs(delay_s - np.median(delay_s)) < FAR_S
    delay_s, received_ns = delay_s[is_near], arrivals.receive_ns[is_near]
    if delay_s.size < MIN_SAMPLES:
        return None
    middle_ns = int(np.sort(received_ns)[received_ns.size // 2])
    at_s = (received_ns - middle_ns).astype(np.float64) * 1e-9
    low, high = np.quantile(at_s, [0.001, 0.999])
    steps = _steps(delay_s)
    level = delay_s.copy()
    for place, size in steps:
        level[place:] -= size
    floor = _floor(at_s, level)
    residual = level - floor.level_s - floor.slope * at_s
    is_drift_known = high - low >= MIN_DRIFT_S
    return ArrivalAudit(
        samples=int(delay_s.size),
        span_s=float(high - low),
        floor_s=floor.level_s,
        floor_std_s=floor.level_std_s,
        spread_s=float(np.quantile(residual, 0.95)),
        drift_ppm=floor.slope * 1e6 if is_drift_known else None,
        drift_std_ppm=floor.slope_std * 1e6 if is_drift_known else None,
        wander_s=floor.wander_s,
        negative=int(np.count_nonzero(delay_s < -NEGATIVE_S)),
        steps=tuple((int(received_ns[place]), size) for place, size in steps),
        transport_growth_s=_growth(arrivals),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Floor:
    level_s: float
    level_std_s: float
    slope: float
    slope_std: float
    wander_s: float


def _floor(at_s: Floats, delay_s: Floats) -> _Floor:
    """Fit a line to the lower edge (or the middle) of the delays, with its errors."""
    slope, level = robust_line(at_s, delay_s)
    is_one_sided = has_floor(delay_s - slope * at_s - level)
    n_runs = int(np.clip(delay_s.size // 12, 6, 24))
    runs = np.array_split(np.arange(delay_s.size), n_runs)
    detrended = delay_s - slope * at_s
    if is_one_sided:
        picks = [run[np.argmin(detrended[run])] for run in runs]
        x = at_s[picks]
        y = delay_s[picks]
    else:
        x = np.array([np.mean(at_s[run]) for run in runs])
        y = np.array([np.median(detrended[run]) for run in runs]) + slope * x
    centred = x - x.mean()
    spread = float(centred @ centred)
    if not spread > 0.0:
        return _Floor(
            level_s=float(np.median(y)), level_std_s=0.0, slope=0.0, slope_std=0.0, wander_s=0.0
        )
    slope = float(centred @ (y - y.mean())) / spread
    residual = y - y.mean() - slope * centred
    std = max(RESOLUTION_S, float(np.sqrt(residual @ residual / (n_runs - 2))))
    widen = student_widening(n_runs - 2)
    return _Floor(
        level_s=float(y.mean() - slope * x.mean()),
        # The minimum of a run lies above the floor by about the scatter of the minima.
        level_std_s=widen
        * std
        * float(np.sqrt(is_one_sided + 1.0 / n_runs + x.mean() ** 2 / spread)),
        slope=slope,
        slope_std=widen * std / float(np.sqrt(spread)),
        wander_s=float(np.ptp(residual)),
    )


def _steps(delay_s: Floats) -> list[tuple[int, float]]:
    """Return (first sample, size) of sudden, lasting changes of the delay."""
    size = -(-delay_s.size // MOST_POINTS)
    n = delay_s.size // size
    means = delay_s[: n * size].reshape(n, size).mean(axis=1)
    found = find_level_steps(np.arange(n), means, min_size_s=MIN_STEP_S)
    places = [((step.interval + 1) * size, step.size_s) for step in found]
    return [(place, jump) for place, jump in places if _is_of_floor(delay_s, place, jump)]


def _is_of_floor(delay_s: Floats, place: int, jump: float) -> bool:
    """Return whether the minimum delay steps too; bursts of long delays leave it unchanged."""
    before = float(np.min(delay_s[max(0, place - REACH) : place]))
    after = float(np.min(delay_s[place : place + REACH]))
    return 0.5 < (after - before) / jump < 2.0


def _growth(arrivals: Arrivals) -> float | None:
    """Return how much longer transport alone takes at the end than at the start."""
    if arrivals.publish_ns is None:
        return None
    transport_s = (arrivals.receive_ns - arrivals.publish_ns).astype(np.float64) * 1e-9
    quarter = transport_s.size // 4
    return float(np.median(transport_s[-quarter:]) - np.median(transport_s[:quarter]))
