"""Apply corrections that are known before a clip is judged: a calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from syncaudit.errors import UsageError
from syncaudit.model import Channel, Clip, ClockMap, SignalStream, Stream

# 30 years: from unix time to any recorder's own start. No clock drifts by 1 %.
_MOST_S = 1e9
_MOST_PPM = 1e4


def check_calibration(calibration: Mapping[str, object]) -> None:
    """Raise UsageError if a calibration breaks the contract (formats, section 4)."""
    sources = calibration.get("sources")
    if not isinstance(sources, Mapping):
        raise UsageError(
            "the calibration has no 'sources' object",
            hint="Create it with 'syncaudit calibrate' or see docs/manifest.md.",
        )
    for name, source in sources.items():
        if not isinstance(source, Mapping) or not _is_number(source.get("offset_s"), _MOST_S):
            raise UsageError(
                f"the calibration has no numeric 'offset_s' for source '{name}'",
                hint="Every source needs offset_s in seconds.",
            )
        drift_ppm = source.get("drift_ppm")
        if drift_ppm is not None and not _is_number(drift_ppm, _MOST_PPM):
            raise UsageError(
                f"the calibration's drift_ppm of source '{name}' is not a number",
                hint="Give parts per million, or null if unknown.",
            )
    for where, at_ns in [
        ("the calibration", calibration.get("at_ns")),
        *((f"source '{name}'", source.get("at_ns")) for name, source in sources.items()),
    ]:
        if at_ns is not None and (type(at_ns) is not int or not -(2**63) <= at_ns < 2**63):
            raise UsageError(
                f"at_ns of {where} is not a timestamp",
                hint="Give nanoseconds as an integer, or null if unknown.",
            )


def _is_number(value: object, most: float) -> bool:
    return type(value) in (int, float) and -most < value < most  # type: ignore[operator]  # a number


def apply_calibration(stream: Stream, calibration: Mapping[str, Any], clip: Clip) -> Stream:
    """Return `stream` with its timestamps corrected by the calibration (formats, section 4).

    ``t_ref = t_src + offset_s + drift_ppm * 1e-6 * (t_src - at)``. Drift counts only where the
    calibration states `at_ns` and the timestamp lies within a day of it: an oscillator's drift is
    not constant over longer times. `clip` determines who shares the stream's clock, and which
    offsets are intended: those stay in.
    """
    correction = _correction(stream.name, stream.clock, calibration, clip)
    if correction is None or stream.time_ns.size == 0:
        return stream
    correction = correction.near(int(stream.time_ns[0]))
    if stream.arrivals is not None:
        captured = correction.apply(stream.arrivals.capture_ns)
        stream = replace(stream, arrivals=replace(stream.arrivals, capture_ns=captured))
    if isinstance(stream, SignalStream):
        channels: tuple[Channel, ...] = tuple(
            replace(channel, time_ns=correction.apply(channel.time_ns))
            for channel in stream.channels
        )
        return replace(stream, time_ns=correction.apply(stream.time_ns), channels=channels)
    return replace(stream, time_ns=correction.apply(stream.time_ns))


def windows_before(
    near_ns: tuple[int, int], calibration: Mapping[str, Any] | None, clip: Clip
) -> dict[str, tuple[int, int]]:
    """Return, by source, the uncorrected timestamps that a calibration may move into a window.

    `near_ns` is that window, ``[low, high)``, of corrected timestamps.
    """
    found = dict.fromkeys(clip.sources, near_ns)
    if calibration is None:
        return found
    for name, clock in clip.clocks.items():
        correction = _correction(name, clock, calibration, clip)
        if correction is not None:
            found[name] = (correction.before(near_ns[0])[0], correction.before(near_ns[1])[1])
    return found


def _correction(
    name: str, clock: str, calibration: Mapping[str, Any], clip: Clip
) -> ClockMap | None:
    """Return the correction of a source, by its own entry or that of another one with its clock.

    None if the calibration covers neither.
    """
    sources = calibration["sources"]
    peers = (each for each, other in clip.clocks.items() if other == clock)
    known = next((sources[each] for each in (name, *peers) if each in sources), None)
    if known is None:
        return None
    drift_ppm, at_ns = known.get("drift_ppm"), known.get("at_ns", calibration.get("at_ns"))
    if drift_ppm is None or at_ns is None:
        drift_ppm, at_ns = None, None
    offset_s = float(known["offset_s"]) - intended_s(clip, name, calibration.get("reference"))
    return ClockMap(offset_s=offset_s, drift_ppm=drift_ppm, at_ns=at_ns)


def intended_s(clip: Clip, name: str, reference: object) -> float:
    """Return the intended offset of a source relative to a reference, where that is a source."""
    own_s = clip.intended_s.get(name, 0.0)
    return own_s - clip.intended_s.get(reference, 0.0) if isinstance(reference, str) else own_s
