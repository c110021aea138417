"""What a detector is: one way to find evidence in the samples of a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from syncaudit.model import Stream

__all__ = ["Detector"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """One way to find evidence in the samples of a stream; images have their own pass.

    Parameters
    ----------
    name : str
        What it goes by, unique among all detectors.
    takes : type
        Of the streams that it looks at.
    fills : str
        Field of `syncaudit.model.ClipEvidence` that holds what it finds, by source.
    find : callable
        Takes a stream and returns evidence, or None where there is none. It raises nothing for
        what a stream holds.
    """

    name: str
    takes: type[Stream]
    fills: str
    find: Callable[[Any], object | None]
