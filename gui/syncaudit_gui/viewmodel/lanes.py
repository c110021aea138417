"""The lanes of the timeline, from top to bottom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import AudioStream
from syncaudit.model.arrays import Floats
from syncaudit.model.units import seconds_after
from syncaudit_gui.viewmodel.pyramid import MinMaxPyramid

NO_AUDIO = "? no audio"
"""Shown instead of a unit: the tier's seconds count from the stated start of its audio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A strip of the timeline."""

    source: str | None  # source whose clock it is drawn with
    title: str  # text on its left
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveLane(Lane):
    """Curves of one channel of a source, or of similar channels, on one axis."""

    pyramid: MinMaxPyramid
    names: tuple[str, ...] = ()  # name of each curve, if there are several


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SoundLane(Lane):
    """A waveform, and the sound for a spectrogram."""

    pyramid: MinMaxPyramid
    audio: AudioStream


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TierLane(Lane):
    """Words or phones."""

    start_s: Floats  # shape (n,): in order of their start
    stop_s: Floats
    labels: tuple[str, ...]  # length n: the words
    # shape (n,): row of each interval from 0; overlapping intervals are in different rows.
    rows: NDArray[np.intp]

    @property
    def n_rows(self) -> int:
        """Rows of intervals, at least one."""
        return int(np.max(self.rows, initial=0)) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FramesLane(Lane):
    """Times at which each camera took frames."""

    cameras: tuple[str, ...]  # one row each
    faulty: frozenset[str] = frozenset()  # cameras with frame faults, whose rows have room for text


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
    is_fault: bool = True


def sample_times(audio: AudioStream, epoch_ns: int, index: Floats) -> Floats:
    """Return the times of samples of a sound in seconds since the epoch, shape as `index`.

    From its timestamp table if there is one; beyond its ends, or without one, by the nominal rate.
    """
    anchors_s = seconds_after(audio.time_ns, epoch_ns)
    samples = audio.anchor_samples.astype(np.float64)
    if anchors_s.size == 0:
        return index / audio.rate_hz
    order = np.argsort(samples, kind="stable")
    anchors_s, samples = anchors_s[order], samples[order]
    times_s = np.interp(index, samples, anchors_s)
    before, after = index < samples[0], index > samples[-1]
    times_s[before] = anchors_s[0] + (index[before] - samples[0]) / audio.rate_hz
    times_s[after] = anchors_s[-1] + (index[after] - samples[-1]) / audio.rate_hz
    return np.asarray(times_s)
