"""Detect a gyroscope in degrees: motion that fits in time, and is 57 times too large."""

from __future__ import annotations

import math
import statistics

from syncaudit.formatting import word_count
from syncaudit.model import Finding, ImuSpec, PairMeasurement, ReasonCode
from syncaudit.policy.case import Case, Findings

# Minimum number of sources that agree, and how far a gain may be off: scales of sensors differ by a
# few percent, stated focal lengths by somewhat more.
MIN_AGREEING = 2
MAX_APART = 0.1
# Rotation of a camera, turn rate of a bus: the ratio of target to source is 1 in rad/s.
METHODS = ("rotation", "yaw_rate")


def check_units(case: Case) -> Findings:
    """Return a warning for every IMU whose gyroscope others show to be in degrees per second.

    Nothing is converted: the manifest has to state a unit. The pairs were refused for their gain,
    so that such an IMU confirms no other source.
    """
    findings = []
    for name, spec in case.clip.sources.items():
        if not isinstance(spec, ImuSpec) or "gyro" in spec.units:
            continue
        gains = {
            pair.source: gain
            for pair in case.measurements
            if pair.target == name and (gain := _gain(pair)) is not None
        }
        agreeing = [gain for gain in gains.values() if abs(math.degrees(gain) - 1.0) < MAX_APART]
        if len(agreeing) >= max(MIN_AGREEING, 0.5 * len(gains) + 0.5):
            findings.append(
                Finding.warning(
                    ReasonCode.UNOBSERVABLE,
                    name,
                    f"the gyroscope of {name} looks like degrees, not radians: "
                    f"{word_count(len(agreeing), 'source')} show a gain of "
                    f"{statistics.median(agreeing):.4f}, degrees make it {math.pi / 180.0:.4f}. "
                    'State it in the manifest: "units": {"gyro": "deg/s"}',
                )
            )
    return Findings(findings=findings)


def _gain(pair: PairMeasurement) -> float | None:
    gain = pair.diagnostics.get("gain")
    return None if pair.accepted or pair.method not in METHODS else gain
