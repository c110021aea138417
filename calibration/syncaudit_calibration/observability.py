"""Find line delays and exposures that the flashes do not determine, and suggest cures.

With equal frame rates and a stable phase, every flash shifts the rows of two cameras equally:
scaling both line delays changes all residuals by one constant, which the offset absorbs. "T = 0"
then fits with residual 0, so that residuals prove nothing; the normal matrix does. In units of the
priors, the directions in which the posterior spread is still near one are not constrained by any
flash.

Typical readouts and exposures (4 to 32 and 1 to 15 ms) bound the effect of such directions on an
offset. The error of the offset includes it, and a source is refused only if the error is larger
than that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from syncaudit.estimators.events.pair_fit import MAX_LINE_SHARE, MIN_LINE_SHARE
from syncaudit_calibration.adjustment import Adjustment
from syncaudit_calibration.unknowns import Unknown

# A direction is unobserved if the flashes leave at least this fraction of the prior spread,
MAX_LEFT = 0.2
# and a camera takes part in it with at least this component.
MIN_SHARE = 0.3
# Unstated readouts and exposures move the instant dated by a row by at most half of their sum.
MAX_OFFSET_STD_S = 0.025
# A line delay outside the usual range is refused if it is this many standard errors away from it:
# nearer to it, the flashes may only constrain it too little.
MAX_Z = 2.0

_WORDS = {
    "line_delay": (
        "line delay of {name} is not observable{others}",
        "state it (line_delay_s, or exposure_s, which gives it through the height of the "
        "bands), or use another frame rate or more pulses per frame",
    ),
    "exposure": (
        "exposure of {name} is not observable{others}",
        "state it (exposure_s), or use a longer recording with bands that show both edges",
    ),
}
_REFUSED = "{what}: {cure}"
_VAGUE = "{what}: offset errors allow for its whole usual range; for smaller errors, {cure}"


@dataclass(frozen=True, slots=True)
class Unobservable:
    """Cameras whose line delay or exposure the flashes do not determine, with messages."""

    refused: Mapping[str, str] = field(default_factory=dict)  # cameras whose offset is undetermined
    # Cameras for which typical values are assumed; the errors of their offsets allow for it.
    vague: Mapping[str, str] = field(default_factory=dict)


def unobservable_cameras(adjustment: Adjustment) -> Unobservable:
    """Return the cameras whose line delay or exposure is not observable, with messages."""
    observations = adjustment.observations
    columns = [
        k
        for k, unknown in enumerate(observations.unknowns)
        if unknown.kind in _WORDS and not unknown.is_stated and observations.design[:, k].any()
    ]
    if not columns:
        return Unobservable()
    prior = observations.prior_std[columns]
    posterior = adjustment.covariance[np.ix_(columns, columns)] / np.outer(prior, prior)
    variances, directions = np.linalg.eigh(posterior)
    refused: dict[str, str] = {}
    for k in columns:
        unknown = observations.unknowns[k]
        share = 1.0 + float(adjustment.x[k]) / unknown.assumed
        margin = MAX_Z * float(np.sqrt(adjustment.covariance[k, k])) / unknown.assumed
        if unknown.kind == "line_delay" and not (
            MIN_LINE_SHARE - margin <= share <= MAX_LINE_SHARE + margin
        ):
            refused[unknown.source] = _said(_REFUSED, unknown)
    unseen: dict[str, tuple[Unknown, Sequence[str]]] = {}
    for variance, direction in zip(variances[::-1], directions.T[::-1], strict=True):
        if variance < MAX_LEFT**2:
            break
        taking_part = [
            observations.unknowns[columns[k]]
            for k in np.flatnonzero(np.abs(direction) >= MIN_SHARE)
        ]
        for unknown in taking_part:
            name = unknown.source
            own = posterior[columns.index(observations.unknowns.index(unknown))]
            if float(own.max()) < MAX_LEFT**2:
                continue
            others = sorted({u.source for u in taking_part} - {name})
            unseen.setdefault(name, (unknown, others))
    scaled = posterior + np.finfo(np.float64).eps * np.eye(len(columns))
    for name in observations.sources if unseen else ():
        column = observations.column("offset", name)
        if column is None:
            continue
        # The part of the offset's variance that these unknowns cause.
        shared = adjustment.covariance[column, columns] / prior
        if float(shared @ np.linalg.solve(scaled, shared)) > MAX_OFFSET_STD_S**2:
            worst = next(iter(unseen.values()))
            refused.setdefault(name, _said(_REFUSED, *unseen.get(name, worst)))
    vague = {n: _said(_VAGUE, *own) for n, own in unseen.items() if n not in refused}
    return Unobservable(refused=refused, vague=vague)


def _said(form: str, unknown: Unknown, others: Sequence[str] = ()) -> str:
    what, cure = _WORDS[unknown.kind]
    beside = f" beside that of {' and '.join(others)}" if others else ""
    return form.format(what=what.format(name=unknown.source, others=beside), cure=cure)
