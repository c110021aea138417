"""Which line delays and exposures the flashes cannot tell, and what to record instead.

With equal frame rates and a stable phase every flash shifts the rows of two cameras alike: scaling
both line delays changes all residuals by one constant, which the offset takes. "T = 0" then fits
with residual 0, so that residuals prove nothing; the normal matrix does. In units of the priors,
the directions of its posterior whose spread is still near one are those that no flash spoke of.

The line delay of one camera alone is another matter: few of its edges are dated by rows, and what a
read-out may be as a rule is part of the error of its offset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from syncaudit.estimators.events.hypotheses import MAX_LINE_SHARE, MIN_LINE_SHARE
from syncaudit_calibration.adjustment import Adjustment
from syncaudit_calibration.observations import Observations

__all__ = ["Unobservable", "unobservable_cameras"]

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
_VAGUE = (
    "line delay of {name} is not observable: taken to be what it is as a rule, which the error of "
    "its offset allows for. State it (line_delay_s) for a better one"
)


@dataclass(frozen=True, slots=True)
class Unobservable:
    """Cameras whose line delay or exposure no flash tells, with words for it.

    Parameters
    ----------
    refused : mapping of str to str
        Those whose offset may be anything.
    vague : mapping of str to str
        Those whose line delay is taken to be the usual one: the error of the offset allows for it.
    """

    refused: Mapping[str, str] = field(default_factory=dict)
    vague: Mapping[str, str] = field(default_factory=dict)


def unobservable_cameras(observations: Observations, adjustment: Adjustment) -> Unobservable:
    """Return the cameras whose line delay or exposure is not observable, with words for it.

    Parameters
    ----------
    observations : Observations
        The equations.
    adjustment : Adjustment
        Their solution.

    Returns
    -------
    Unobservable
        Empty where all is well.
    """
    columns = [
        k
        for k, unknown in enumerate(observations.unknowns)
        if unknown.kind in _WORDS and not unknown.is_stated and observations.design[:, k].any()
    ]
    if not columns:
        return Unobservable()
    prior = np.array([observations.unknowns[k].prior_std for k in columns])
    posterior = adjustment.covariance[np.ix_(columns, columns)] / np.outer(prior, prior)
    variances, directions = np.linalg.eigh(posterior)
    reasons: dict[str, str] = {}
    vague: dict[str, str] = {}
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
            if unknown.kind == "line_delay" and len(taking_part) == 1:
                vague[unknown.source] = _VAGUE.format(name=unknown.source)
                continue
            words = _WORDS[unknown.kind].format(name=unknown.source, others=beside)
            reasons.setdefault(unknown.source, words)
    vague = {name: words for name, words in vague.items() if name not in reasons}
    return Unobservable(refused=reasons, vague=vague)
