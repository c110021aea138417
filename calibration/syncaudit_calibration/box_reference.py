"""Solve a bundle whose reference has only intervals, by way of a sharper source."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from syncaudit_calibration.adjustment import Adjustment, adjust
from syncaudit_calibration.observations import Observations


def adjust_with_any_reference(observations: Observations) -> Adjustment:
    """Return the solution for the observations' reference.

    The posterior of intervals needs flashes dated by points, relative to the reference; if the
    reference itself has only intervals, nothing is dated. Another source then defines the time,
    and the result is transformed back: ``t_ref = (t - x_r) / (1 + d_r)``.
    """
    free = {u.source for u in observations.unknowns if u.kind == "offset"}
    (reference,) = (name for name in observations.sources if name not in free)
    is_point = observations.half_s == 0.0
    n_points = {
        name: int(np.count_nonzero(is_point & (observations.source == k)))
        for k, name in enumerate(observations.sources)
    }
    pivot = max(n_points, key=lambda name: (n_points[name], name))
    if n_points[reference] or not n_points[pivot]:
        return adjust(observations)
    columns = {kind: observations.column(kind, pivot) for kind in ("offset", "drift")}
    own = observations.source == observations.sources.index(reference)
    design, unknowns = observations.design.copy(), list(observations.unknowns)
    for kind, column in columns.items():
        if column is None:
            return adjust(observations)
        unknowns[column] = replace(unknowns[column], source=reference)
        design[:, column] = own * (1.0 if kind == "offset" else observations.u_s)
    turned = replace(observations, design=design, unknowns=tuple(unknowns))
    return replace(_turned_back(adjust(turned), reference), observations=observations)


def _turned_back(found: Adjustment, reference: str) -> Adjustment:
    observations = found.observations
    offset = observations.column("offset", reference)
    drift = observations.column("drift", reference)
    if offset is None or drift is None:
        return found
    x_r, d_r = float(found.x[offset]), float(found.x[drift])
    x, turn = found.x.copy(), np.eye(found.x.size)
    for k, unknown in enumerate(observations.unknowns):
        # These columns were the pivot's, whose own correction is zero.
        before = 0.0 if k in (offset, drift) else float(found.x[k])
        if unknown.kind == "offset":
            x[k] = (before - x_r) / (1.0 + d_r)
            turn[k, offset] = -1.0
            turn[k, drift] = -x[k]
        elif unknown.kind == "drift":
            x[k] = (1.0 + before) / (1.0 + d_r) - 1.0
            turn[k, drift] = -1.0
    flash_s = (found.flash_s - x_r) / (1.0 + d_r)
    clock = found.covariance[np.ix_([offset, drift], [offset, drift])]
    lever = np.stack([np.ones(flash_s.size), flash_s], axis=1)
    common = np.einsum("ij,jk,ik->i", lever, clock, lever)
    return replace(
        found,
        x=x,
        covariance=turn @ found.covariance @ turn.T,
        flash_s=flash_s,
        flash_std_s=np.sqrt(found.flash_std_s**2 + common),
    )
