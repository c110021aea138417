"""Subtract corrections that are known before a clip is judged: a calibration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from syncaudit.errors import UsageError
from syncaudit.model import Channel, ClockCorrection, SignalStream, Stream

__all__ = ["apply_calibration", "check_calibration"]


def check_calibration(calibration: Mapping[str, object]) -> None:
    """Refuse a calibration that breaks the contract (formats, section 4).

    Raises
    ------
    UsageError
        Naming what is missing or wrong.
    """
    sources = calibration.get("sources")
    if not isinstance(sources, Mapping):
        raise UsageError(
            "the calibration holds no 'sources' object",
            hint="Make it with 'syncaudit calibrate' or see docs/manifest.md.",
        )
    for name, source in sources.items():
        if not isinstance(source, Mapping) or not _is_number(source.get("offset_s")):
            raise UsageError(
                f"the calibration states no number 'offset_s' for source '{name}'",
                hint="Every source needs offset_s in seconds.",
            )
        if source.get("drift_ppm") is not None and not _is_number(source["drift_ppm"]):
            raise UsageError(
                f"the calibration's drift_ppm of source '{name}' is no number",
                hint="Give parts per million, or null where it is unknown.",
            )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def apply_calibration(stream: Stream, calibration: Mapping[str, object]) -> Stream:
    """Return `stream` with its stamps corrected by what the calibration knows of it.

    ``t_ref = t_src + offset_s + drift_ppm * 1e-6 * (t_src - at)``. Drift counts only where the
    calibration states `at_ns` and the stamp lies within a day of it: an oscillator's drift is
    no constant over longer times.
    """
    sources = calibration.get("sources")
    known = sources.get(stream.name) if isinstance(sources, Mapping) else None
    if not isinstance(known, Mapping) or stream.time_ns.size == 0:
        return stream
    drift_ppm, at_ns = known.get("drift_ppm"), calibration.get("at_ns")
    if not isinstance(drift_ppm, int | float) or not isinstance(at_ns, int):
        drift_ppm, at_ns = None, None
    correction = ClockCorrection(
        offset_s=float(known["offset_s"]), drift_ppm=drift_ppm, at_ns=at_ns
    ).near(int(stream.time_ns[0]))
    if isinstance(stream, SignalStream):
        channels: tuple[Channel, ...] = tuple(
            replace(channel, time_ns=correction.apply(channel.time_ns))
            for channel in stream.channels
        )
        return replace(stream, time_ns=correction.apply(stream.time_ns), channels=channels)
    return replace(stream, time_ns=correction.apply(stream.time_ns))
