"""Define what is good enough: the limits of one source and the policy of a clip."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from syncaudit.model import Clip, PairMeasurement, SourceKind, clock_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one source; None is not checked."""

    offset_s: float = 0.02  # largest offset at any instant of the clip
    offset_warning_s: float | None = None  # offset beyond which a transcript gets a warning
    # the same two for transcripts of words, whose times are less exact than those of phones
    words_offset_s: float | None = None
    words_offset_warning_s: float | None = None
    # largest drift; requiring it makes a source whose drift is unknown unverified
    drift_ppm: float | None = None
    step_s: float | None = None  # largest step of the clock inside the clip
    jitter_s: float | None = None  # largest symmetric jitter of the timestamps (one sigma)
    buffering_s: float | None = None  # largest mean one-sided delay of the timestamps
    # most time that one gap may lose: the excess of an interval over the usual one; one and a
    # half sample periods are always allowed: single samples are covered by `missing_share`
    max_gap_s: float | None = None
    max_gap_periods: float | None = None  # longest interval between neighbours in sample periods
    # largest share of samples missing, with equal timestamps, and stamped before their
    # predecessor; fewer, but not none, are a warning
    missing_share: float | None = None
    duplicate_share: float | None = None
    backwards_share: float | None = None
    # of a camera: largest share of frames with each kind of damage (undecoded, concealed, grey,
    # cut off, of another size); fewer, but not none, are a warning
    damaged_share: float | None = None
    # of a camera: longest repetition of one image while time goes on
    max_frozen_s: float | None = None
    # of a camera: largest share of frames that repeat the one before
    frozen_share: float | None = None
    # of a camera: longest spell of images of one colour, if it also shows others
    max_blank_s: float | None = None
    # of a camera that shows hardly anything else: largest share of such images; None leaves it
    # unverified, whatever the share
    blank_share: float | None = None
    rate_hz: float | None = None  # rate that the source must have
    rate_tolerance: float | None = None  # largest relative deviation from `rate_hz`

    def for_words(self) -> Limits:
        """Return the limits of a transcript of words."""
        return replace(
            self,
            offset_s=self.words_offset_s or self.offset_s,
            offset_warning_s=self.words_offset_warning_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Offset that a method shows on a healthy vehicle (steering, wheel speed)."""

    offset_s: float  # expected pair offset, with the sign of the measurement
    # allowed departure; default the wider offset limit of the two sources
    tolerance_s: float | None = None


def pair_baseline(method: str, source: str, target: str) -> str:
    """Return the name of the baseline of one pair of sources: ``steering: can to imu``."""
    return f"{method}: {source} to {target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Everything that turns figures into verdicts."""

    name: str  # profile or file it came from
    kinds: Mapping[str, Limits]  # limits per source kind
    # pattern of source names (shell wildcards) to the limits it changes, in order
    overrides: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    # kinds whose sources hold a clip back while unverified
    required_kinds: frozenset[str] = frozenset({"camera", "imu", "can", "transcript"})
    confidence: float = 0.95  # of the three-way test
    max_offset_s: float = 2.0  # search range of the estimators
    baseline_only: frozenset[str] = frozenset()  # methods that are never judged against zero
    # offset that such a method shows on a healthy vehicle; that of a pair of sources
    # (`pair_baseline`) takes precedence over that of its method
    baselines: Mapping[str, Baseline] = field(default_factory=dict)
    preference: tuple[str, ...] = ()  # kinds in order of trust, for ties of the consensus

    def limits(self, source: str, kind: SourceKind | str) -> Limits:
        """Return the limits of one source: its kind's, changed by every pattern that fits.

        Patterns apply in file order; an exact name comes last and wins.
        """
        limits = self.kinds.get(str(kind)) or Limits()
        if not self.overrides:
            return limits
        fitting = [p for p in self.overrides if p != source and fnmatch.fnmatchcase(source, p)]
        if source in self.overrides:
            fitting.append(source)
        for pattern in fitting:
            limits = replace(limits, **self.overrides[pattern])  # type: ignore[arg-type]  # names were validated
        return limits

    def is_required(self, kind: SourceKind | str) -> bool:
        """Return whether an unverified source of this kind holds the clip back."""
        return str(kind) in self.required_kinds

    def is_baseline_only(self, measurement: PairMeasurement) -> bool:
        """Return whether a measurement must not be judged against zero."""
        return measurement.is_baseline_only or measurement.method in self.baseline_only

    def baseline_of(self, measurement: PairMeasurement) -> Baseline | None:
        """Return the baseline of a measurement: that of its pair, or else of its method."""
        method = measurement.method
        pair = pair_baseline(method, measurement.source, measurement.target)
        return self.baselines.get(pair) or self.baselines.get(method)

    def clock_tolerances(self, clip: Clip) -> dict[str, float]:
        """Return the offset limit of every clock: the tightest of its sources."""
        tolerances: dict[str, float] = {}
        for name, spec in clip.sources.items():
            clock = clock_of(name, spec)
            limit = self.limits(name, spec.kind).offset_s
            tolerances[clock] = min(limit, tolerances.get(clock, limit))
        return tolerances

    def clock_preference(self, clip: Clip) -> tuple[str, ...]:
        """Return the clip's clocks, the most trusted first; of one kind, the stated reference."""
        rank = {kind: k for k, kind in enumerate(self.preference)}
        best: dict[str, tuple[int, bool]] = {}
        for name, spec in clip.sources.items():
            clock = clock_of(name, spec)
            is_stated = clip.reference in (clock, name)
            own = rank.get(spec.kind, len(rank)), not is_stated
            best[clock] = min(own, best.get(clock, own))
        return tuple(sorted(best, key=lambda clock: (best[clock], clock)))
