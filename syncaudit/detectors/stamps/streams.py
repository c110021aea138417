"""Audit the timestamps of a source without its content, as its kind requires (design 3.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from syncaudit.detectors.stamps.arrival import audit_arrivals
from syncaudit.detectors.stamps.audit import audit_stamps, order_of
from syncaudit.detectors.stamps.clock import fit_clock, mean_waiting, robust_jitter
from syncaudit.detectors.stamps.counter import resolution_ns, rounding_s
from syncaudit.detectors.stamps.grid import intervals
from syncaudit.detectors.stamps.ledger import MIN_STEP_S
from syncaudit.detectors.stamps.steps import MIN_SAMPLES, find_level_steps, find_lone_steps
from syncaudit.detectors.stamps.words import order_remarks, unit_remarks
from syncaudit.detectors.strobe import STROBE_ROLE
from syncaudit.dsp.robust import median
from syncaudit.model import (
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
from syncaudit.model.arrays import Ints
from syncaudit.model.time import seconds_after

# No device of the kind is faster: such stamps must be in milliseconds or microseconds.
_FASTEST_HZ = {SourceKind.CAMERA: 5e3, SourceKind.IMU: 1e4, SourceKind.CAN: 1e4}


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
