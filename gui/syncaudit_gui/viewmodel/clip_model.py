"""One clip as shown in the window: streams on one time axis, and the state of its clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from syncaudit.model import CameraStream, Clip, EventResiduals, Stream
from syncaudit.model.units import seconds_after
from syncaudit.pipeline import ReadClip
from syncaudit.pipeline.reading import MARGIN_S, crop, wanted_frames, window_of
from syncaudit_gui.viewmodel.events import Event, EventKind, Events, motion_events
from syncaudit_gui.viewmodel.frames import FrameTable, Spell, find_spells
from syncaudit_gui.viewmodel.judgement import Judgement
from syncaudit_gui.viewmodel.lanes import FramesLane, Lane, build_lanes
from syncaudit_gui.viewmodel.pyramid import MinMaxPyramid
from syncaudit_gui.viewmodel.timeline import DrawnClock, Timeline, TimeRange
from syncaudit_gui.viewmodel.turning import sensor_turning

# Margin on either side of a clip, so that shifted data stay visible.
MARGIN = 0.02


@dataclass(slots=True, kw_only=True)
class ClipModel:
    """Everything that the window draws of a clip."""

    clip: Clip  # its row of the manifest
    epoch_ns: int  # zero of the timeline
    timeline: Timeline  # cursor, and the range on screen
    streams: Mapping[str, Stream]  # the readable streams
    # Problems of a source, in sentences; also for unreadable sources.
    problems: Mapping[str, tuple[str, ...]]
    lanes: tuple[Lane, ...]  # from top to bottom
    events: Events
    turning: dict[str, MinMaxPyramid]  # turn rate by source
    judgement: Judgement | None = None  # None until there is an audit or a verdict
    nudges_s: dict[str, float] = field(default_factory=dict)  # offsets added by hand, by source
    is_corrected: bool = False  # whether everything is drawn with corrected clocks
    # Frame faults by camera, as far as they are shown.
    spells: dict[str, tuple[Spell, ...]] = field(default_factory=dict)
    _frames: dict[str, FrameTable] = field(default_factory=dict)
    _shown: Judgement | None = None

    @property
    def cameras(self) -> tuple[str, ...]:
        """Cameras in the manifest, readable or not."""
        return tuple(name for name, spec in self.clip.sources.items() if spec.kind == "camera")

    def corrected_map(self, source: str) -> DrawnClock:
        """Return the clock of a source with estimate and nudge."""
        nudge_s = self.nudges_s.get(source, 0.0)
        judged = self.judgement
        if judged is None or source not in judged.sources:
            return DrawnClock(nudge_s=nudge_s)
        found = judged.sources[source].map_since(self.epoch_ns, judged.at_ns)
        return DrawnClock(clock=found, nudge_s=nudge_s)

    def map_of(self, source: str | None) -> DrawnClock:
        """Return the clock that a source is currently drawn with."""
        if source is None or not self.is_corrected:
            return DrawnClock()
        return self.corrected_map(source)

    def frames_of(self, camera: str) -> FrameTable | None:
        """Return a camera's frames on the clock it is drawn with; None without timestamps."""
        if camera not in self._frames:
            stream = self.streams.get(camera)
            if not isinstance(stream, CameraStream) or not stream.time_ns.size:
                return None
            stamps_s = seconds_after(stream.time_ns, self.epoch_ns)
            self._frames[camera] = FrameTable(self.map_of(camera).apply(stamps_s))
        return self._frames[camera]

    def first_frame_s(self) -> float:
        """Return the time from which every camera has a frame."""
        tables = [table for name in self.cameras if (table := self.frames_of(name)) is not None]
        firsts_s = [float(table.times_s[0]) for table in tables]
        inside = [first_s for first_s in firsts_s if first_s in self.timeline.limits]
        return max(inside, default=max(0.0, self.timeline.limits.start_s))

    def clocks_changed(self) -> None:
        """Update frames and events to the current clocks."""
        self._frames.clear()
        self.events.place({name: self.map_of(name) for name in self.clip.sources})

    def show_findings(self, *, is_shown: bool) -> bool:
        """Show the frame and clock faults found, or hide them during blind labelling.

        Return whether the lanes have changed.
        """
        judged = self.judgement if is_shown else None
        if judged is self._shown:
            return False
        self._shown = judged
        audits = {} if judged is None else judged.frame_audits
        self.spells = find_spells(audits, self.streams, self.epoch_ns)
        found = [
            Event(kind=EventKind.FAULT, source=spell.camera, stamp_s=spell.start_s)
            for spells in self.spells.values()
            for spell in spells
        ]
        for name, estimate in ({} if judged is None else judged.sources).items():
            if estimate.step_at_ns is not None:
                stamp_s = (estimate.step_at_ns - self.epoch_ns) * 1e-9
                found.append(Event(kind=EventKind.STEP, source=name, stamp_s=stamp_s))
        if judged is not None and not self.events.of(EventKind.FLASH).size:
            found += _flashes(judged, self.epoch_ns)
        self.events = self.events.without(EventKind.FAULT, EventKind.STEP).joined(found)
        before = self.lanes
        faulty = frozenset(self.spells)
        self.lanes = tuple(
            replace(lane, faulty=faulty) if isinstance(lane, FramesLane) else lane
            for lane in before
        )
        self.clocks_changed()
        return any(a != b for a, b in zip(before, self.lanes, strict=True))

    def spells_at(self, camera: str, frame: int) -> tuple[Spell, ...]:
        """Return the faults in a frame."""
        return tuple(x for x in self.spells.get(camera, ()) if x.first <= frame <= x.last)

    @property
    def selectable(self) -> tuple[str, ...]:
        """Sources in panel order."""
        return tuple(self.clip.sources)


def _flashes(judged: Judgement, epoch_ns: int) -> list[Event]:
    """Return the flashes of each source that a run stored with its measurements."""
    found = {
        pair.source: (pair.at_ns - epoch_ns) * 1e-9 + pair.evidence.times_s
        for pair in judged.pairs
        if pair.accepted and pair.method == "flash" and isinstance(pair.evidence, EventResiduals)
    }
    return [
        Event(kind=EventKind.FLASH, source=source, stamp_s=float(stamp_s))
        for source, stamps_s in found.items()
        for stamp_s in stamps_s
    ]


def build_clip(clip: Clip, read: ReadClip) -> ClipModel:
    """Build the model of a clip that was read, on one time axis."""
    streams = {name: crop(stream, clip, margin_s=MARGIN_S) for name, stream in read.streams.items()}
    problems: dict[str, list[str]] = {}
    for finding in read.findings:
        if finding.source is not None:
            problems.setdefault(finding.source, []).append(finding.message)
    window = window_of(clip, streams)
    epoch_ns = window.start_ns
    limits = _limits(clip, streams, epoch_ns, window.span_s)
    why_missing = {name: messages[0] for name, messages in problems.items()}
    return ClipModel(
        clip=clip,
        epoch_ns=epoch_ns,
        timeline=Timeline(limits=limits),
        streams=streams,
        problems={name: tuple(messages) for name, messages in problems.items()},
        lanes=build_lanes(clip, streams, why_missing, epoch_ns),
        events=Events(motion_events(streams, epoch_ns)),
        turning=sensor_turning(streams, epoch_ns),
    )


def _limits(clip: Clip, streams: Mapping[str, Stream], epoch_ns: int, window_s: float) -> TimeRange:
    """Return the window or, if the manifest states none, the range around it that has data."""
    start_s, stop_s = 0.0, window_s
    if clip.start_ns is None or clip.end_ns is None:
        for stream in streams.values():
            if not stream.time_ns.size:
                continue
            ends = seconds_after(np.array([stream.time_ns.min(), stream.time_ns.max()]), epoch_ns)
            # Timestamps of another epoch or with a wrong digit must not stretch the axis.
            if abs(float(ends[0])) < window_s + 60.0 and abs(float(ends[1])) < 2 * window_s + 60.0:
                start_s, stop_s = min(start_s, float(ends[0])), max(stop_s, float(ends[1]))
    margin_s = max(MARGIN * (stop_s - start_s), 0.05)
    return TimeRange(start_s=start_s - margin_s, stop_s=stop_s + margin_s)


def frames_wanted(stream: CameraStream, clip: Clip) -> int:
    """Return the number of frames of a camera that belong to a clip."""
    wanted = wanted_frames(stream, clip)
    return int(stream.time_ns.size if wanted is None else np.count_nonzero(wanted))
