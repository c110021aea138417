"""What happened and when: dense activity, increments from frame to frame and event trains."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields

from syncaudit.model.evidence.activity import (
    Activity,
    BandEnergies,
    EventTrain,
    ImageMotion,
    Quantity,
    RotationIncrements,
    SpokenTier,
)
from syncaudit.model.evidence.flashes import FlashEdges, FlashIntervals
from syncaudit.model.findings import Finding, ImageAudit
from syncaudit.model.stream import AudioStream

Evidence = Activity | RotationIncrements | ImageMotion | EventTrain | FlashEdges | FlashIntervals


@dataclass(slots=True)
class ClipEvidence:
    """What happened in a clip, by source.

    Parameters
    ----------
    rotations : dict of str to RotationIncrements
        Of cameras in which anything could be tracked.
    image_motions : dict of str to ImageMotion
        Of cameras in clips with a robot's state.
    motion : dict of str to dict
        Activities of IMUs, buses and robots by quantity.
    motionless : dict of str to str
        Sources of robot state in which no motion was found, and why.
    flashes : dict of str to FlashEdges or FlashIntervals
        Light pulses: seen by cameras, counted by the strobe counter of a bus.
    triggers : dict of str to EventTrain
        Of event logs.
    taps : dict of str to EventTrain
        Sharp knocks in accelerometers.
    loudness, clicks : dict of str
        Of microphones.
    sounds : dict of str to AudioStream
        The microphones themselves, for waveform methods.
    spoken : dict of str to SpokenTier
        Of transcripts with times.
    bands : dict of str to BandEnergies
        Of microphones that a transcript belongs to.
    pictures : dict of str to ImageAudit
        Audit of the frames of each camera.
    findings : list of Finding
        Damage found while decoding.
    fallbacks : dict of str to str
        Why the CPU decoded a camera instead of the requested back end, by camera.
    sampled : set of str
        Cameras whose rotation was tracked only where it is most informative by a gyroscope.
    clocks : dict of str to str
        Clock that each source states; those that state none have their own.
    undated : set of str
        Sources that count from a start of their own.
    """

    rotations: dict[str, RotationIncrements] = field(default_factory=dict)
    image_motions: dict[str, ImageMotion] = field(default_factory=dict)
    motion: dict[str, dict[Quantity, Activity]] = field(default_factory=dict)
    motionless: dict[str, str] = field(default_factory=dict)
    flashes: dict[str, FlashEdges | FlashIntervals] = field(default_factory=dict)
    triggers: dict[str, EventTrain] = field(default_factory=dict)
    taps: dict[str, EventTrain] = field(default_factory=dict)
    loudness: dict[str, Activity] = field(default_factory=dict)
    clicks: dict[str, EventTrain] = field(default_factory=dict)
    sounds: dict[str, AudioStream] = field(default_factory=dict)
    spoken: dict[str, SpokenTier] = field(default_factory=dict)
    bands: dict[str, BandEnergies] = field(default_factory=dict)
    pictures: dict[str, ImageAudit] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    fallbacks: dict[str, str] = field(default_factory=dict)
    sampled: set[str] = field(default_factory=set)
    clocks: dict[str, str] = field(default_factory=dict)
    undated: set[str] = field(default_factory=set)

    def add(self, part: ClipEvidence) -> None:
        """Add what happened in some of the sources, replacing existing entries."""
        for one in fields(self):
            known, more = getattr(self, one.name), getattr(part, one.name)
            known.extend(more) if isinstance(known, list) else known.update(more)

    def share_a_clock(self, source: str, other: str) -> bool:
        """Return whether two sources state the same clock."""
        return source in self.clocks and self.clocks[source] == self.clocks.get(other)

    def reach_s(self, source: str, other: str, max_offset_s: float) -> float:
        """Return how far to search: without bounds if one counts from a start of its own."""
        is_dated = self.undated.isdisjoint((source, other))
        return max_offset_s if is_dated or self.share_a_clock(source, other) else math.inf
