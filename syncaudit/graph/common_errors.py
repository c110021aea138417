"""What clips of a recording have wrong in common: no number of them averages that away.

A measurement's systematic part (row times of a camera, delays inside a control unit) is the same in
every clip. A clock that hangs on the reference through others inherits their parts. So the average
network of the recording is solved once by weighted least squares, and the systematic part of every
kind of measurement is carried through that solution.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from syncaudit.model import PairMeasurement

__all__ = ["common_errors"]


def common_errors(
    measurements: Iterable[tuple[PairMeasurement, Mapping[str, str]]], reference: str
) -> dict[str, float]:
    """Return the standard error that each clock has in common over clips, seconds.

    Parameters
    ----------
    measurements : iterable of (PairMeasurement, mapping of str to str)
        Of all clips, each with the clock of every source; refused ones have no say.
    reference : str
        Clock that reference time is read from.

    Returns
    -------
    dict
        By clock; without those that nothing ties to the reference.
    """
    weights: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    ties: dict[tuple[str, str, str], tuple[str, str]] = {}
    for pair, clock_of_source in measurements:
        ends = clock_of_source[pair.source], clock_of_source[pair.target]
        if not pair.accepted or pair.is_baseline_only or ends[0] == ends[1]:
            continue
        kind = pair.source, pair.target, pair.method
        ties[kind] = ends
        precision = 1.0 / max(pair.offset_std_s or 0.0, 1e-9) ** 2
        weights.setdefault(kind, []).append((precision, pair.systematic_std_s))
    tied = _tied(ties.values(), reference)
    clocks = sorted(tied - {reference})
    kinds = [kind for kind, ends in ties.items() if ends[0] in tied]
    if not clocks:
        return {}
    place = {clock: k for k, clock in enumerate(clocks)}
    rows = np.zeros((len(kinds), len(clocks)))
    weight, systematic_s = np.zeros((2, len(kinds)))
    for r, kind in enumerate(kinds):
        for clock, sign in zip(ties[kind], (1.0, -1.0), strict=True):
            if clock != reference:
                rows[r, place[clock]] = sign
        each = np.array(weights[kind])
        weight[r] = each[:, 0].sum()
        systematic_s[r] = each[:, 0] @ each[:, 1] / weight[r]
    weight /= weight.max()
    solve = np.linalg.pinv(rows * np.sqrt(weight)[:, None]) * np.sqrt(weight)
    std_s = np.sqrt(solve**2 @ systematic_s**2)
    return dict(zip(clocks, std_s.tolist(), strict=True))


def _tied(ties: Iterable[tuple[str, str]], reference: str) -> set[str]:
    """Return the clocks that measurements tie to the reference, itself among them."""
    pairs, tied = list(ties), {reference}
    while more := {clock for ends in pairs if tied & set(ends) for clock in ends} - tied:
        tied |= more
    return tied
