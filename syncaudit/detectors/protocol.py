"""Define the detector: one way to find evidence in the samples of a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from syncaudit.model import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """One way to find evidence in the samples of a stream (frames have their own pass).

    Parameters
    ----------
    name : str
        Unique among all detectors.
    takes : type
        Type of the streams it accepts.
    fills : str
        Field of `syncaudit.model.ClipEvidence` that holds its results, by source.
    find : callable
        Takes a stream and returns evidence, or None if there is none. It never raises because of
        a stream's content.
    """

    name: str
    takes: type[Stream]
    fills: str
    find: Callable[[Any], object | None]
