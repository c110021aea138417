"""The lanes of the timeline, from top to bottom."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import AudioStream
from syncaudit.model.arrays import Floats
from syncaudit_gui.viewmodel.pyramid import MinMaxPyramid

__all__ = [
    "NO_AUDIO",
    "CurveLane",
    "EventsLane",
    "FramesLane",
    "Lane",
    "MissingLane",
    "SoundLane",
    "TierLane",
    "TurningLane",
]


NO_AUDIO = "? no audio"
"""Shown instead of a unit: the tier's seconds count from the stated start of its audio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A strip of the timeline.

    Parameters
    ----------
    source : str, optional
        Source whose clock it is drawn with.
    title, unit : str
        Text on its left.
    """

    source: str | None
    title: str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveLane(Lane):
    """Curves of one channel of a source, or of similar channels, on one axis.

    Parameters
    ----------
    pyramid : MinMaxPyramid
        The curves.
    names : tuple of str
        Name of each curve, if there are several.
    """

    pyramid: MinMaxPyramid
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SoundLane(Lane):
    """A waveform, and the sound for a spectrogram."""

    pyramid: MinMaxPyramid
    audio: AudioStream


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TierLane(Lane):
    """Words or phones.

    Parameters
    ----------
    start_s, stop_s : ndarray, shape (n,)
        In order of their start.
    labels : tuple of str, length n
        The words.
    rows : ndarray of int, shape (n,)
        Row of each interval from 0; overlapping intervals are in different rows.
    """

    start_s: Floats
    stop_s: Floats
    labels: tuple[str, ...]
    rows: NDArray[np.intp]

    @property
    def n_rows(self) -> int:
        """Rows of intervals, at least one."""
        return int(np.max(self.rows, initial=0)) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FramesLane(Lane):
    """Times at which each camera took frames.

    Parameters
    ----------
    cameras : tuple of str
        One row each.
    faulty : frozenset of str
        Cameras with frame faults, whose rows have room for text.
    """

    cameras: tuple[str, ...]
    faulty: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurningLane(Lane):
    """Turn rates of the selected source and of those that cameras are measured against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsLane(Lane):
    """Symbols of events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingLane(Lane):
    """A source in the manifest that has nothing to show, and why."""

    why: str
    notes: tuple[str, ...] = field(default=())
