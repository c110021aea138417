"""Which line delays and exposures the flashes cannot tell, and what to record instead.

With equal frame rates and a stable phase every flash shifts the rows of two cameras alike: scaling
both line delays changes all residuals by one constant, which the offset takes. "T = 0" then fits
with residual 0, so that residuals prove nothing; the normal matrix does. In units of the priors,
the directions of its posterior whose spread is still near one are those that no flash spoke of.
"""

from __future__ import annotations

import numpy as np

from syncaudit.estimators.events.hypotheses import MAX_LINE_SHARE, MIN_LINE_SHARE
from syncaudit_calibration.adjustment import Adjustment
from syncaudit_calibration.observations import Observations

__all__ = ["unobservable_cameras"]

# A direction is unobserved where the flashes leave this part of the prior spread,
MAX_LEFT = 0.2
# and a camera takes part in it with at least this component.
MIN_SHARE = 0.3

_WORDS = {
    "line_delay": (
        "line delay of {name} is not observable{others}: state it (line_delay_s, or "
        "exposure_s, which the height of the bands turns into it), or use another frame rate or "
        "more pulses a frame"
    ),
    "exposure": (
        "exposure of {name} is not observable{others}: state it (exposure_s), or use a longer "
        "recording in which bands show both edges"
    ),
}


def unobservable_cameras(observations: Observations, adjustment: Adjustment) -> dict[str, str]:
    """Return the cameras whose line delay or exposure is not observable, with words for it.

    Parameters
    ----------
    observations : Observations
        The equations.
    adjustment : Adjustment
        Their solution.

    Returns
    -------
    dict of str to str
        Reason per camera; empty where all is well.
    """
    columns = [
        k
        for k, unknown in enumerate(observations.unknowns)
        if unknown.kind in _WORDS and not unknown.is_stated and observations.design[:, k].any()
    ]
    if not columns:
        return {}
    prior = np.array([observations.unknowns[k].prior_std for k in columns])
    posterior = adjustment.covariance[np.ix_(columns, columns)] / np.outer(prior, prior)
    variances, directions = np.linalg.eigh(posterior)
    reasons: dict[str, str] = {}
    for k in columns:
        unknown = observations.unknowns[k]
        share = 1.0 + float(adjustment.x[k]) / unknown.assumed
        if unknown.kind == "line_delay" and not MIN_LINE_SHARE <= share <= MAX_LINE_SHARE:
            reasons[unknown.source] = _WORDS["line_delay"].format(name=unknown.source, others="")
    for variance, direction in zip(variances[::-1], directions.T[::-1], strict=True):
        if variance < MAX_LEFT**2:
            break
        taking_part = [
            observations.unknowns[columns[k]]
            for k in np.flatnonzero(np.abs(direction) >= MIN_SHARE)
        ]
        for unknown in taking_part:
            own = posterior[columns.index(observations.unknowns.index(unknown))]
            if float(own.max()) < MAX_LEFT**2:
                continue
            others = sorted({u.source for u in taking_part} - {unknown.source})
            beside = f" beside that of {' and '.join(others)}" if others else ""
            words = _WORDS[unknown.kind].format(name=unknown.source, others=beside)
            reasons.setdefault(unknown.source, words)
    return reasons
