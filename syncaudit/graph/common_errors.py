"""Estimate errors that all clips of a recording share: averaging over clips does not reduce them.

A measurement's systematic part (line delay of a camera, latencies inside a control unit) is the
same in every clip. A clock that is tied to the reference through others inherits their parts, so
they are propagated through the same weighted least squares that solves the clip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from syncaudit.model import PairMeasurement


def common_errors(
    measurements: Sequence[PairMeasurement], clock_of_source: Mapping[str, str], reference: str
) -> dict[str, float]:
    """Return the systematic part of the error of each clock of one clip, seconds.

    Clocks that nothing ties to the reference, a clock, are left out, and refused measurements are
    ignored. The systematic parts of these are taken as independent of one another.
    """
    ties = [
        (clock_of_source[pair.source], clock_of_source[pair.target], pair)
        for pair in measurements
        if pair.accepted and not pair.is_baseline_only and pair.offset_std_s is not None
    ]
    tied = {reference}
    while more := {end for *ends, _ in ties if tied & {*ends} for end in ends} - tied:
        tied |= more
    clocks = sorted(tied - {reference})
    if not clocks:
        return {}
    used = [tie for tie in ties if tie[0] in tied and tie[0] != tie[1]]
    place = {clock: k for k, clock in enumerate(clocks)}
    rows = np.zeros((len(used), len(clocks)))
    for row, (source, target, _) in zip(rows, used, strict=True):
        for clock, sign in ((source, 1.0), (target, -1.0)):
            if clock != reference:
                row[place[clock]] = sign
    std_s = np.array([max(pair.offset_std_s or 0.0, 1e-9) for *_, pair in used])
    systematic_s = np.array([pair.systematic_std_s for *_, pair in used])
    share = std_s.min() / std_s
    solve = np.linalg.pinv(rows * share[:, None]) * share
    return dict(zip(clocks, np.sqrt(solve**2 @ systematic_s**2).tolist(), strict=True))
