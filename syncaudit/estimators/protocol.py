"""Define the interface of an estimator of delays between sources of a clip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from syncaudit.model import ClipEvidence, PairMeasurement

Measure: TypeAlias = Callable[
    [ClipEvidence, Sequence[PairMeasurement], float], list[PairMeasurement]
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimator:
    """One way to measure delays.

    Parameters
    ----------
    name : str
        Name, unique among all estimators.
    methods : tuple of str
        Values of `PairMeasurement.method` that it returns.
    measure : callable
        Takes the evidence of a clip, the measurements of earlier estimators, and the search range
        in seconds, either sign. Returns a measurement of every pair of sources that it can compare:
        accepted, or refused with the reason; an empty list where it has nothing to compare. It
        never raises because of the content of the evidence.
    """

    name: str
    methods: tuple[str, ...]
    measure: Measure
