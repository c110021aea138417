"""Audit the timestamps of a source without its content, as its kind requires (design 3.5).

Capture timestamps are also compared with the times at which samples reached the recorder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.detectors.signals import STROBE_ROLE
from syncaudit.detectors.stamps.audit import audit_stamps, order_of, order_remarks, unit_remarks
from syncaudit.detectors.stamps.clock import fit_clock, has_floor, mean_waiting, robust_jitter
from syncaudit.detectors.stamps.grid import intervals, resolution_ns, rounding_s
from syncaudit.detectors.stamps.ledger import (
    MIN_SAMPLES,
    MIN_STEP_S,
    find_level_steps,
    find_lone_steps,
)
from syncaudit.dsp.robust import median, robust_line, student_widening
from syncaudit.model import (
    ArrivalAudit,
    Arrivals,
    AudioStream,
    CameraStream,
    EventStream,
    ReasonCode,
    SignalStream,
    SourceKind,
    StampAudit,
    StampRemark,
    Stream,
    TranscriptStream,
)
from syncaudit.model.arrays import Floats, Ints
from syncaudit.model.units import seconds_after

# No device of the kind is faster: such stamps must be in milliseconds or microseconds.
_FASTEST_HZ = {SourceKind.CAMERA: 5e3, SourceKind.IMU: 1e4, SourceKind.CAN: 1e4}

# With fewer samples there is no floor to see; over fewer seconds, drift cannot be told apart from
# delays.
MIN_ARRIVALS = 24
MIN_DRIFT_S = 5.0
# Smaller sudden changes of the delay are normal for networks.
MIN_ARRIVAL_STEP_S = 5e-3
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


def audit_streams(streams: Mapping[str, Stream]) -> dict[str, StampAudit]:
    """Audit every stream as `audit_stream` does; input and output by source name."""
    return {name: audit_stream(stream) for name, stream in streams.items()}


def audit_stream(stream: Stream) -> StampAudit:
    """Audit a stream as its kind requires.

    Cameras are compared with their container; the channels of a CAN bus or a robot state are
    audited individually and merged (worst figures, rate of the fastest); audio is judged by its
    anchors; events and transcripts have no rate, only order. If arrival times are known, all stamps
    are compared with them. `samples` counts all stamps of the stream.
    """
    audit = _audit_stamps(stream)
    if not isinstance(stream, AudioStream | EventStream | TranscriptStream):
        unit = unit_remarks(audit, _FASTEST_HZ.get(stream.kind, 1e6))
        audit = replace(audit, remarks=(*unit, *audit.remarks)) if unit else audit
    if stream.arrivals is None:
        return audit
    return replace(audit, arrival=audit_arrivals(stream.arrivals))


def _audit_stamps(stream: Stream) -> StampAudit:
    if isinstance(stream, AudioStream):
        return _audit_audio(stream)
    if isinstance(stream, EventStream | TranscriptStream):
        return _order_only(stream)
    if isinstance(stream, CameraStream):
        return audit_stamps(
            stream.time_ns, n_expected=stream.n_frames_container, pts_s=stream.pts_s
        )
    if isinstance(stream, SignalStream) and stream.kind is not SourceKind.IMU:
        distinct = _distinct(stream)
        if distinct:
            return _merge(stream, distinct)
        if stream.channels:
            return _order_only(stream)
    return audit_stamps(stream.time_ns)


def _distinct(stream: SignalStream) -> list[tuple[str, Ints]]:
    """Return the channels' stamps, each message once no matter how many signals it carries.

    A strobe counter is left out: buses send it at every flash.
    """
    out: list[tuple[str, Ints]] = []
    for channel in stream.channels:
        if channel.name != STROBE_ROLE and not any(
            np.array_equal(channel.time_ns, seen) for _, seen in out
        ):
            out.append((channel.name, channel.time_ns))
    return out


def _merge(stream: SignalStream, channels: Sequence[tuple[str, Ints]]) -> StampAudit:
    audits = [(name, audit_stamps(stamps)) for name, stamps in channels]
    if len(audits) == 1:
        return replace(audits[0][1], samples=int(stream.time_ns.size))
    each = [audit for _, audit in audits]
    fastest = max(each, key=lambda a: a.rate_hz or 0.0)
    worst = max(each, key=lambda a: a.jitter_s if a.jitter_s is not None else -1.0)
    longest = max(each, key=lambda a: (a.lost_s or 0.0, a.max_gap_s or 0.0))
    return StampAudit(
        samples=int(stream.time_ns.size),
        rate_hz=fastest.rate_hz,
        jitter_s=worst.jitter_s,
        clock_fit=worst.clock_fit,
        jitter_max_s=_most([a.jitter_max_s for a in each]),
        buffering_s=_most([a.buffering_s for a in each]),
        max_gap_s=longest.max_gap_s,
        lost_s=longest.lost_s,
        gaps=sum(a.gaps for a in each),
        duplicates=sum(a.duplicates for a in each),
        backwards=sum(a.backwards for a in each),
        missing=sum(a.missing for a in each),
        doubled=sum(a.doubled for a in each),
        steps=tuple(sorted(step for a in each for step in a.steps)),
        is_synthetic=all(a.is_synthetic for a in each),
        is_irregular=any(a.is_irregular for a in each),
        remarks=tuple(
            replace(remark, text=f"{name}: {remark.text}")
            for name, a in audits
            for remark in a.remarks
        ),
    )


def _most(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _order_only(stream: Stream) -> StampAudit:
    n = int(stream.time_ns.size)
    if n < 2:
        return StampAudit(samples=n)
    steps_s = intervals(stream.time_ns)
    audit = order_of(steps_s)
    return replace(audit, remarks=order_remarks(stream.time_ns, steps_s, audit))


def _audit_audio(stream: AudioStream) -> StampAudit:
    """Audit the timestamp table of a sound: the sample count is the index, so none is missing."""
    n = int(stream.samples.size)
    if stream.time_ns.size < 3 or stream.anchor_samples.size != stream.time_ns.size:
        return StampAudit(samples=n, rate_hz=stream.rate_hz if stream.rate_hz > 0.0 else None)
    # Rows are anchors, spaced as far apart as the recorder likes: no interval is a gap.
    base = replace(_order_only(stream), max_gap_s=None)
    stamps = stream.time_ns
    times = seconds_after(stamps, int(np.sort(stamps)[stamps.size // 2]))
    index = stream.anchor_samples
    order = np.argsort(index, kind="stable")
    index, times, stamps = index[order], times[order], stamps[order]
    tick_s = rounding_s(resolution_ns(stamps), intervals(stamps))
    remarks = list(base.remarks)
    if np.any(np.diff(index) <= 0):
        remarks.append(_rate_remark("the timestamp table lists a sample more than once"))
        return replace(base, samples=n, rate_hz=stream.rate_hz, remarks=tuple(remarks))
    floor = max(MIN_STEP_S, 1.5 * tick_s)
    steps = find_level_steps(index, times, min_size_s=floor)
    if times.size < MIN_SAMPLES:
        steps = find_lone_steps(index, times, min_size_s=floor)
    clean = times.copy()
    for step in steps:
        clean[step.interval + 1 :] -= step.size_s
        remarks.append(
            StampRemark(
                code=ReasonCode.STEP,
                text=f"the clock of the timestamps jumps by {step.size_s * 1e3:.4g} ms against the "
                f"sample count at sample {int(index[step.interval + 1])}",
                is_figure=True,
            )
        )
    fit = fit_clock(index, clean, resolution_s=tick_s)
    residual = fit.residual_s - median(fit.residual_s)
    if fit.period_s <= 0.0:
        remarks.append(_rate_remark("the timestamps do not advance with the sample count"))
        return replace(base, samples=n, rate_hz=None, remarks=tuple(remarks))
    return replace(
        base,
        samples=n,
        rate_hz=1.0 / fit.period_s,
        jitter_s=robust_jitter(residual, tick_s),
        jitter_max_s=float(np.max(np.abs(residual))),
        buffering_s=mean_waiting(fit.residual_s) if fit.method == "hull" else None,
        clock_fit=fit.method,
        steps=tuple((int(stamps[s.interval + 1]), s.size_s) for s in steps),
        remarks=tuple(remarks),
    )


def _rate_remark(text: str) -> StampRemark:
    return StampRemark(code=ReasonCode.RATE, text=text)


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
    if delay_s.size < MIN_ARRIVALS:
        return None
    is_near = np.abs(delay_s - np.median(delay_s)) < FAR_S
    delay_s, received_ns = delay_s[is_near], arrivals.receive_ns[is_near]
    if delay_s.size < MIN_ARRIVALS:
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
    found = find_level_steps(np.arange(n), means, min_size_s=MIN_ARRIVAL_STEP_S)
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
