"""Statistics of one source over all clips: its timestamps, its content, and its verdicts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from syncaudit.model import ClipVerdict, SourceVerdict, StampAudit, Verdict
from syncaudit.report.distribution import Distribution
from syncaudit.report.reasons import word_unmeasured

_COUNTED = ("samples", "gaps", "missing", "duplicates", "doubled", "backwards")


@dataclass(slots=True, kw_only=True)
class SourceTally:
    """Figures of one source, one clip at a time; memory does not grow with the clips.

    Offsets are from clips in which another clock was the reference, since the offset of the
    reference is zero by definition.
    """

    name: str
    kind: str
    tolerance_s: float | None
    verdicts: Counter[str] = field(default_factory=Counter)
    # Timestamps alone.
    audited: int = 0
    clean: int = 0
    made_up: int = 0
    stepped: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    rates_hz: Distribution = field(default_factory=Distribution)
    jitters_s: Distribution = field(default_factory=Distribution)
    buffering_s: Distribution = field(default_factory=Distribution)
    # Content.
    as_reference: int = 0
    unmeasured: Counter[str] = field(default_factory=Counter)
    offsets_s: dict[str, Distribution] = field(default_factory=dict)
    stds_s: Distribution = field(default_factory=Distribution)
    drifts_ppm: Distribution = field(default_factory=Distribution)
    drift_stds_ppm: Distribution = field(default_factory=Distribution)
    steps_s: Distribution = field(default_factory=Distribution)  # of its clock
    worst_s: float = 0.0
    worst_std_s: float | None = None
    worst_clip: str | None = None

    def add(self, clip: ClipVerdict, source: SourceVerdict) -> None:
        """Add the verdict on the source in one clip."""
        self.verdicts[source.verdict] += 1
        if source.timing is not None:
            self._add_stamps(source.timing)
        if source.clock == clip.reference:
            self.as_reference += 1
        elif source.is_observable and source.offset_s is not None:
            self._add_content(clip.clip_id, source, source.offset_s)
        else:
            self.unmeasured[_word_tallied(source)] += 1

    def _add_stamps(self, timing: StampAudit) -> None:
        self.audited += 1
        for name in _COUNTED:
            self.counts[name] += getattr(timing, name)
        self.made_up += timing.is_synthetic
        self.stepped += bool(timing.steps)
        odd = timing.is_synthetic or timing.steps or timing.is_irregular
        odd = odd or any(getattr(timing, name) for name in _COUNTED[1:])
        self.clean += not odd
        self.rates_hz.add(timing.rate_hz)
        self.jitters_s.add(timing.jitter_s)
        if timing.jitter_s is not None:
            # Without a separate latency fit, jitter is taken as symmetric: no buffering.
            self.buffering_s.add(timing.buffering_s or 0.0)

    def _add_content(self, clip_id: str, source: SourceVerdict, offset_s: float) -> None:
        self.offsets_s.setdefault(source.verdict, Distribution()).add(offset_s)
        self.stds_s.add(source.offset_std_s)
        self.drifts_ppm.add(source.drift_ppm)
        self.drift_stds_ppm.add(source.drift_std_ppm)
        if self.worst_clip is None or abs(offset_s) > abs(self.worst_s):
            self.worst_s, self.worst_std_s = offset_s, source.offset_std_s
            self.worst_clip = clip_id

    def all_offsets_s(self) -> Distribution:
        """Return the offsets over all verdicts."""
        everything = Distribution()
        for distribution in self.offsets_s.values():
            everything.merge(distribution)
        return everything


def _word_tallied(source: SourceVerdict) -> str:
    """Describe why a clip shows no offset of the source, without that clip's figures."""
    if source.recording is not None:
        return "known from its recording"
    is_refused = source.verdict is not Verdict.PASS and source.why_unmeasured
    return "measured, and refused" if is_refused else word_unmeasured(source)
