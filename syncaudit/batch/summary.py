"""Summarise a run in numbers: ``summary.json`` and the progress of a run."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from syncaudit.batch.verdict_lines import verdict_at
from syncaudit.model import ClipVerdict, Verdict
from syncaudit.readers.runs import FoundVerdicts
from syncaudit.report import Causes, WorstClips

# Recordings listed in the summary, the worst first; all are in ``recordings.jsonl``.
MAX_RECORDINGS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """State of a run after one more clip."""

    total: int  # clips of the manifest
    done: int  # clips that have a verdict
    reused: int  # of these, kept from an earlier run
    counts: Mapping[str, int]  # clips by verdict
    clip_id: str | None = None  # just finished; None at the start
    verdict: str | None = None


class VerdictCounter:
    """Counts verdicts as they arrive, on top of the `kept` ones, and notifies the caller."""

    def __init__(
        self,
        total: int,
        on_progress: Callable[[Progress], None] | None,
        *,
        kept: Sequence[str] = (),
    ) -> None:
        self._counts = Counter(kept)
        self._reused = len(kept)
        self._total = total
        self._on_progress = on_progress

    def tell(self, clip_id: str | None = None, verdict: str | None = None) -> None:
        """Count one more clip, or none at the start, and notify the caller."""
        if verdict is not None:
            self._counts[verdict] += 1
        if self._on_progress is None:
            return
        self._on_progress(
            Progress(
                total=self._total,
                done=self._counts.total(),
                reused=self._reused,
                counts={str(v): self._counts[v] for v in Verdict},
                clip_id=clip_id,
                verdict=verdict,
            )
        )


@dataclass(slots=True, kw_only=True)
class SourceTally:
    """Statistics over all clips for the sources of one name."""

    kind: str
    verdicts: Counter[str] = field(default_factory=Counter)
    offsets_s: list[float] = field(default_factory=list)
    stds_s: list[float] = field(default_factory=list)
    drifts_ppm: list[float] = field(default_factory=list)

    def to_json(self) -> dict[str, object]:
        """Return counts and the spread of the offsets over the clips."""
        worst = max(self.offsets_s, key=abs, default=None)
        median = statistics.median(self.offsets_s) if self.offsets_s else None
        spread = None
        if median is not None and len(self.offsets_s) > 1:
            # 1.4826 turns a median absolute deviation into the sigma of a normal distribution.
            spread = 1.4826 * statistics.median(abs(x - median) for x in self.offsets_s)
        return {
            "kind": self.kind,
            **{str(verdict): self.verdicts[verdict] for verdict in Verdict},
            "observable": len(self.offsets_s),
            "offset_median_s": median,
            "offset_spread_s": spread,
            "offset_worst_s": worst,
            "offset_std_median_s": statistics.median(self.stds_s) if self.stds_s else None,
            "drift_median_ppm": statistics.median(self.drifts_ppm) if self.drifts_ppm else None,
        }


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts over verdicts, one at a time, in the order of their file.

    `passed_with` counts the clips that passed with a warning by its code, and `first_with` keeps
    the first of each: its clip and its sentence. `causes` and `worst` are shown in a terminal.
    """

    found: FoundVerdicts = field(default_factory=FoundVerdicts)
    reasons: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    passed_with: Counter[str] = field(default_factory=Counter)
    first_with: dict[str, tuple[str, str]] = field(default_factory=dict)
    sources: dict[str, SourceTally] = field(default_factory=dict)
    stages_s: dict[str, float] = field(default_factory=dict)
    fallbacks: Counter[str] = field(default_factory=Counter)
    cpu_s: float = 0.0
    causes: Causes = field(default_factory=Causes)
    worst: WorstClips = field(default_factory=WorstClips)

    def add(self, clip: ClipVerdict) -> None:
        """Count the verdict on one clip."""
        self.found.add(clip.clip_id, str(clip.verdict))
        self.causes.add(clip)
        self.worst.add(clip)
        # Each code once, in the order of the clip: sets would order ties by chance.
        self.reasons.update(dict.fromkeys(str(reason.code) for reason in clip.reasons).keys())
        warnings = dict.fromkeys(str(warning.code) for warning in clip.warnings).keys()
        self.warnings.update(warnings)
        if clip.verdict is Verdict.PASS:
            self.passed_with.update(warnings)
            for warning in clip.warnings:
                self.first_with.setdefault(str(warning.code), (clip.clip_id, warning.message))
        self.cpu_s += clip.seconds
        if clip.record is not None:
            self.fallbacks.update(clip.record.fallbacks.values())
        for stage, seconds in clip.stages.items():
            self.stages_s[stage] = self.stages_s.get(stage, 0.0) + (seconds or 0.0)
        for name, source in clip.sources.items():
            tally = self.sources.setdefault(name, SourceTally(kind=source.kind))
            tally.verdicts[source.verdict] += 1
            if source.is_observable and source.offset_s is not None:
                tally.offsets_s.append(source.offset_s)
                if source.offset_std_s is not None:
                    tally.stds_s.append(source.offset_std_s)
                if source.drift_ppm is not None:
                    tally.drifts_ppm.append(source.drift_ppm)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSummary:
    """Result of a run."""

    total: int  # clips of the manifest
    reused: int  # verdicts kept from an earlier run
    tally: Tally
    wall_s: float  # of this run
    workers: int  # processes; 0 for none
    # ``interrupted``, ``terminated`` or ``partial`` (judged from a part of a run)
    stopped: str | None
    out: Path  # folder with the outputs
    about: Mapping[str, object]  # versions, policy, calibration, time of the run
    tolerances_s: Mapping[str, float]  # tolerated offset by source, where the policy states one
    recordings: Sequence[Mapping[str, Any]] = ()  # rows of ``recordings.jsonl``
    data_sets: Sequence[Mapping[str, Any]] = ()  # common offsets of the clips of each

    @property
    def counts(self) -> dict[str, int]:
        """Clips by verdict, all three present."""
        return {str(verdict): self.tally.found.counts[verdict] for verdict in Verdict}

    @property
    def done(self) -> int:
        """Clips that have a verdict."""
        return sum(self.counts.values())

    def verdicts(self) -> Iterator[ClipVerdict]:
        """Yield the verdicts of ``verdicts.jsonl``, in manifest order."""
        with (self.out / "verdicts.jsonl").open(encoding="utf-8") as file:
            yield from map(verdict_at, file)

    def to_json(self) -> dict[str, object]:
        """Return the content of ``summary.json``."""
        return {
            "version": 1,
            "complete": self.stopped is None and self.done == self.total,
            "stopped": self.stopped,
            "clips": {"total": self.total, "done": self.done, "reused": self.reused, **self.counts},
            "verdicts_digest": self.tally.found.digest,
            "reasons": dict(sorted(self.tally.reasons.items())),
            "warnings": dict(sorted(self.tally.warnings.items())),
            "sources": {
                name: tally.to_json() for name, tally in sorted(self.tally.sources.items())
            },
            "tolerances_s": dict(sorted(self.tolerances_s.items())),
            "recordings": list(islice(sorted(self.recordings, key=_urgency), MAX_RECORDINGS)),
            "data_sets": list(self.data_sets),
            "fallbacks": dict(sorted(self.tally.fallbacks.items())),
            "stages_s": {stage: round(s, 4) for stage, s in sorted(self.tally.stages_s.items())},
            "cpu_s": round(self.tally.cpu_s, 3),
            "wall_s": round(self.wall_s, 3),
            "workers": self.workers,
            **self.about,
        }


def _urgency(recording: Mapping[str, Any]) -> tuple[float, str]:
    """Return a sort key: the rejected share, then the clock with the largest drift."""
    moved = [
        abs(clock["offset_last_s"] - clock["offset_first_s"])
        for clock in recording["clocks"].values()
    ]
    rejected = recording["reject"] / recording["clips"]
    return (-rejected - max(moved, default=0.0), recording["recording_id"])


def read_summary(folder: Path) -> dict[str, Any]:
    """Return the content of a run's ``summary.json``; {} if there is none."""
    try:
        found = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def stated_roots(summary: object) -> tuple[str, ...]:
    """Return the folders that the clips' files had to lie in, as stated in a run's summary."""
    roots = summary.get("roots") if isinstance(summary, dict) else None
    return (
        tuple(place for place in roots if isinstance(place, str)) if isinstance(roots, list) else ()
    )
