"""What the timeline shows, from top to bottom."""

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
"""In place of a unit: the seconds of a tier count from where its audio is said to begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A strip of the timeline.

    Parameters
    ----------
    source : str, optional
        Whose clock it is drawn by.
    title, unit : str
        Words at its left.
    """

    source: str | None
    title: str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveLane(Lane):
    """Curves of one channel of a source, or of like channels, over one axis.

    Parameters
    ----------
    pyramid : MinMaxPyramid
        The curves.
    names : tuple of str
        Of each curve, where there are several.
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
        Words.
    rows : ndarray of int, shape (n,)
        Where intervals overlap they lie in rows of their own, from 0.
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
    """When each camera took frames.

    Parameters
    ----------
    cameras : tuple of str
        A row each.
    faulty : frozenset of str
        Those with faults of frames: their rows have room for words.
    """

    cameras: tuple[str, ...]
    faulty: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurningLane(Lane):
    """Turn rates of the selected source and of those that cameras are measured against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsLane(Lane):
    """Signs of what happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingLane(Lane):
    """A source of the manifest that has nothing to show, and why."""

    why: str
    notes: tuple[str, ...] = field(default=())
