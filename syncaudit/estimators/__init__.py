"""Measure the delays between sources: one estimator per kind of evidence.

Outside packages add theirs through the entry-point group ``syncaudit.estimators``: the object is
an `Estimator`. One that cannot be imported stops every audit with a message: otherwise clips would
pass or fail without its measurements.
"""

from __future__ import annotations

from functools import cache

from syncaudit.estimators.pairs import (
    BUSES,
    IMUS,
    KNOCKS,
    LIGHT,
    MAX_HUBS,
    MICROPHONES,
    ROBOT,
    ROTATION,
    SPEECH,
    rank_by_motion,
)
from syncaudit.estimators.protocol import Estimator
from syncaudit.estimators.speech.measure import measure_speech
from syncaudit.plugins import ESTIMATORS, with_added

__all__ = ["MAX_HUBS", "Estimator", "all_estimators", "measure_speech", "rank_by_motion"]

# The order matters: cameras that a robot's state explains are not compared with one another.
_BUILT_IN = (IMUS, BUSES, ROBOT, ROTATION, MICROPHONES, KNOCKS, LIGHT, SPEECH)


@cache
def all_estimators() -> tuple[Estimator, ...]:
    """Return every estimator in the order in which they measure, built-in ones first.

    Raises
    ------
    UsageError
        If one of another package cannot be imported, or is not an `Estimator`.
    """
    return with_added(_BUILT_IN, ESTIMATORS)
