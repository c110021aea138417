"""The lanes of a clip's timeline: events, frames, then its sources in manifest order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import (
    AudioStream,
    CameraStream,
    Channel,
    Clip,
    SignalStream,
    SourceKind,
    Stream,
    TranscriptStream,
)
from syncaudit.model.arrays import Floats
from syncaudit.model.units import seconds_after
from syncaudit_gui.viewmodel.pyramid import MinMaxPyramid
from syncaudit_gui.viewmodel.state_groups import ChannelGroup, group_channels

NO_AUDIO = "? no audio"
"""Shown instead of a unit: the tier's seconds count from the stated start of its audio."""

MAX_CHANNELS = 12
# Maximum number of rows for overlapping words; overlaps up to rounding errors are ignored.
MAX_ROWS = 4
SAME_S = 1e-6
# Longer sounds are drawn by extremes of a few samples: sample times alone would fill the memory.
MAX_SOUND_POINTS = 1 << 23

_DEG = 180.0 / math.pi
# Displayed unit and factor for units that are unintuitive or spelled in many ways.
_SHOWN = {
    "rad/s": ("°/s", _DEG),
    "rad": ("°", _DEG),
    "deg/s": ("°/s", 1.0),
    "deg": ("°", 1.0),
    "m/s^2": ("m/s²", 1.0),
    "m/s2": ("m/s²", 1.0),
}
_DEFAULT_UNITS = {"gyro": "rad/s", "accel": "m/s^2"}


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


def build_lanes(
    clip: Clip, streams: Mapping[str, Stream], why_missing: Mapping[str, str], epoch_ns: int
) -> tuple[Lane, ...]:
    """Return the lanes of a clip: events, frames, then its sources in manifest order.

    `why_missing` gives the reason for each source that could not be read.
    """
    lanes: list[Lane] = [EventsLane(source=None, title="events")]
    cameras = tuple(name for name, stream in streams.items() if isinstance(stream, CameraStream))
    if cameras:
        lanes.append(FramesLane(source=None, title="frames", cameras=cameras))
    if any(isinstance(stream, SignalStream) for stream in streams.values()) or cameras:
        lanes.append(TurningLane(source=None, title="turn rate", unit="°/s"))
    ranks = {SourceKind.AUDIO: 1, SourceKind.TRANSCRIPT: 2}
    for name in sorted(clip.sources, key=lambda name: ranks.get(clip.sources[name].kind, 0)):  # type: ignore[call-overload]  # a StrEnum equals its text
        if clip.sources[name].kind == "camera":
            continue  # has a pane, which shows what is wrong
        stream = streams.get(name)
        own = [] if stream is None else _lanes_of(clip, stream, streams, epoch_ns)
        if not own:
            own = [_missing(name, stream, why_missing.get(name))]
        lanes += own
    return tuple(lanes)


def _missing(name: str, stream: Stream | None, why: str | None) -> MissingLane:
    is_text = why is None and isinstance(stream, TranscriptStream) and bool(stream.text)
    words = "text without times: an audit aligns it" if is_text else why or "it is empty"
    return MissingLane(source=name, title=name, why=words, is_fault=not is_text)


def _lanes_of(
    clip: Clip, stream: Stream, streams: Mapping[str, Stream], epoch_ns: int
) -> list[Lane]:
    if isinstance(stream, SignalStream) and stream.kind is SourceKind.STATE:
        return [_grouped(stream.name, group, epoch_ns) for group in group_channels(stream)]
    if isinstance(stream, SignalStream):
        return [
            _curves(stream.name, channel, epoch_ns)
            for channel in stream.channels
            if channel.time_ns.size
        ]
    if isinstance(stream, AudioStream):
        return [_sound(stream, epoch_ns)] if stream.samples.size else []
    if isinstance(stream, TranscriptStream):
        # Without the sound, only its start is known, which its seconds count from.
        start_ns = getattr(clip.sources.get(stream.audio), "start_ns", None)
        zero_s = 0.0 if start_ns is None else (start_ns - epoch_ns) * 1e-9
        return _tiers(stream, streams.get(stream.audio), epoch_ns, zero_s)
    if stream.time_ns.size:
        return [_instants(stream, epoch_ns)]
    return []


def _curves(source: str, channel: Channel, epoch_ns: int) -> CurveLane:
    values = channel.values[:, :MAX_CHANNELS]
    n = values.shape[1]
    names = ("x", "y", "z") if n == 3 else tuple(str(k + 1) for k in range(n)) if n > 1 else ()
    n_left_out = channel.values.shape[1] - n
    group = ChannelGroup(
        title=channel.name.replace("_", " ") + (f" (+{n_left_out})" if n_left_out else ""),
        names=names,
        unit=channel.unit.strip() or _DEFAULT_UNITS.get(channel.name, ""),
        time_ns=channel.time_ns,
        values=values,
    )
    return _grouped(source, group, epoch_ns)


def _grouped(source: str, group: ChannelGroup, epoch_ns: int) -> CurveLane:
    shown, factor = _SHOWN.get(group.unit.lower(), (group.unit, 1.0))
    return CurveLane(
        source=source,
        title=group.title,
        unit=shown,
        pyramid=MinMaxPyramid(seconds_after(group.time_ns, epoch_ns), group.values * factor),
        names=group.names,
    )


def _instants(stream: Stream, epoch_ns: int) -> TierLane:
    times_s = np.sort(seconds_after(stream.time_ns, epoch_ns))
    return TierLane(
        source=stream.name,
        title=stream.name,
        start_s=times_s,
        stop_s=times_s,
        labels=("",) * times_s.size,
        rows=np.zeros(times_s.size, dtype=np.intp),
    )


def _sound(stream: AudioStream, epoch_ns: int) -> SoundLane:
    samples = stream.samples
    size = -(-samples.size // (MAX_SOUND_POINTS // 2)) if samples.size > MAX_SOUND_POINTS else 1
    index = np.arange(samples.size, dtype=np.float64)
    if size > 1:
        starts = np.arange(0, samples.size, size)
        both = (np.fmin.reduceat(samples, starts), np.fmax.reduceat(samples, starts))
        samples = np.column_stack(both).ravel()
        index = np.repeat(starts + 0.5 * size, 2)
    return SoundLane(
        source=stream.name,
        title=stream.name,
        pyramid=MinMaxPyramid(sample_times(stream, epoch_ns, index), samples[:, None]),
        audio=stream,
    )


def _tiers(
    stream: TranscriptStream, audio: Stream | None, epoch_ns: int, zero_s: float
) -> list[Lane]:
    lanes: list[Lane] = []
    is_heard = isinstance(audio, AudioStream)
    for tier in stream.tiers:
        if not tier.intervals:
            continue
        ordered = sorted(tier.intervals, key=lambda x: x.start_s)
        ends = np.array([[x.start_s, x.stop_s] for x in ordered], dtype=np.float64)
        if isinstance(audio, AudioStream):
            ends = sample_times(audio, epoch_ns, ends * audio.rate_hz - float(audio.first_sample))
        else:
            ends = ends + zero_s
        lanes.append(
            TierLane(
                source=stream.name,
                # Tables name their only tier after its column.
                title=tier.name if tier.name and len(stream.tiers) > 1 else stream.name,
                unit="" if is_heard else NO_AUDIO,
                start_s=ends[:, 0],
                stop_s=ends[:, 1],
                labels=tuple(x.label for x in ordered),
                rows=_rows(ends),
            )
        )
    return lanes


def _rows(ends_s: Floats) -> NDArray[np.intp]:
    """Return the row in which each interval fits, shape (n,): the first that is free by then."""
    rows = np.zeros(len(ends_s), dtype=np.intp)
    free_s = [-math.inf]
    for k, (start_s, stop_s) in enumerate(ends_s.tolist()):
        row = next((r for r, end_s in enumerate(free_s) if start_s >= end_s - SAME_S), None)
        if row is None:
            row = len(free_s) if len(free_s) < MAX_ROWS else MAX_ROWS - 1
            free_s += [-math.inf] * (row + 1 - len(free_s))
        free_s[row] = max(free_s[row], stop_s)
        rows[k] = row
    return rows
