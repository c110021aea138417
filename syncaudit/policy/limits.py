"""Define what is good enough: the limits of one source and the policy of a clip."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from syncaudit.model import Clip, PairMeasurement, SourceKind, clock_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one source; None is not checked.

    Parameters
    ----------
    offset_s : float
        Largest offset at any instant of the clip.
    offset_warning_s : float, optional
        Offset beyond which a transcript gets a warning.
    words_offset_s, words_offset_warning_s : float, optional
        The same two for transcripts of words, whose times are less exact than those of phones.
    drift_ppm : float, optional
        Largest drift. Requiring it makes a source whose drift is unknown unverified.
    step_s : float, optional
        Largest step of the clock inside the clip.
    jitter_s, buffering_s : float, optional
        Largest symmetric jitter (one sigma) and mean one-sided delay of the timestamps.
    max_gap_s : float, optional
        Most time that one gap may lose: the excess of an interval over the usual one. One and a
        half sample periods are always allowed: single samples are covered by `missing_share`.
    max_gap_periods : float, optional
        Longest interval between neighbours in sample periods.
    missing_share, duplicate_share, backwards_share : float, optional
        Largest share of samples missing, with equal timestamps, and stamped before their
        predecessor. Fewer, but not none, are a warning.
    damaged_share : float, optional
        Of a camera: largest share of frames with each kind of damage (undecoded, concealed,
        grey, cut off, of another size). Fewer, but not none, are a warning.
    max_frozen_s, frozen_share : float, optional
        Of a camera: longest repetition of one image while time goes on, and largest share of
        frames that repeat the one before.
    max_blank_s : float, optional
        Of a camera: longest spell of images of one colour, if the camera also shows others.
    blank_share : float, optional
        Of a camera that shows hardly anything else: largest share of such images. None leaves it
        unverified, whatever the share.
    rate_hz : float, optional
        Rate that the source must have.
    rate_tolerance : float, optional
        Largest relative deviation from `rate_hz`.
    """

    offset_s: float = 0.02
    offset_warning_s: float | None = None
    words_offset_s: float | None = None
    words_offset_warning_s: float | None = None
    drift_ppm: float | None = None
    step_s: float | None = None
    jitter_s: float | None = None
    buffering_s: float | None = None
    max_gap_s: float | None = None
    max_gap_periods: float | None = None
    missing_share: float | None = None
    duplicate_share: float | None = None
    backwards_share: float | None = None
    damaged_share: float | None = None
    max_frozen_s: float | None = None
    frozen_share: float | None = None
    max_blank_s: float | None = None
    blank_share: float | None = None
    rate_hz: float | None = None
    rate_tolerance: float | None = None

    def for_words(self) -> Limits:
        """Return the limits of a transcript of words."""
        return replace(
            self,
            offset_s=self.words_offset_s or self.offset_s,
            offset_warning_s=self.words_offset_warning_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Offset that a method shows on a healthy vehicle (steering, wheel speed).

    Parameters
    ----------
    offset_s : float
        Expected pair offset, with the sign of the measurement.
    tolerance_s : float, optional
        Allowed departure; default the wider offset limit of the two sources.
    """

    offset_s: float
    tolerance_s: float | None = None


def pair_baseline(method: str, source: str, target: str) -> str:
    """Return the name of the baseline of one pair of sources: ``steering: can to imu``."""
    return f"{method}: {source} to {target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Everything that turns figures into verdicts.

    Parameters
    ----------
    name : str
        Profile or file it came from.
    kinds : mapping of str to Limits
        Limits per source kind.
    overrides : mapping of str to mapping
        Pattern of source names (shell wildcards) to the limits it changes, in order.
    required_kinds : frozenset of str
        Kinds whose sources hold a clip back while unverified.
    confidence : float
        Of the three-way test.
    max_offset_s : float
        Search range of the estimators.
    baseline_only : frozenset of str
        Methods that are never judged against zero.
    baselines : mapping of str to Baseline
        Offset that such a method shows on a healthy vehicle; that of a pair of sources
        (`pair_baseline`) takes precedence over that of its method.
    preference : tuple of str
        Kinds in order of trust, for ties of the consensus.
    """

    name: str
    kinds: Mapping[str, Limits]
    overrides: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    required_kinds: frozenset[str] = frozenset({"camera", "imu", "can", "transcript"})
    confidence: float = 0.95
    max_offset_s: float = 2.0
    baseline_only: frozenset[str] = frozenset()
    baselines: Mapping[str, Baseline] = field(default_factory=dict)
    preference: tuple[str, ...] = ()

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
        """Return the clip's clocks, the most trusted first."""
        rank = {kind: k for k, kind in enumerate(self.preference)}
        best: dict[str, int] = {}
        for name, spec in clip.sources.items():
            clock = clock_of(name, spec)
            own = rank.get(spec.kind, len(rank))
            best[clock] = min(own, best.get(clock, own))
        return tuple(sorted(best, key=lambda clock: (best[clock], clock)))
