"""What the page says about one clip: stamps beside content, measurements, findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from syncaudit.formatting import word_correction, word_count, word_drift, word_duration, word_rate
from syncaudit.model import ClipVerdict, PairMeasurement, SourceVerdict, StampAudit, Verdict
from syncaudit.report.figures import Point, forest_plot
from syncaudit.report.reasons import word_unmeasured

__all__ = ["WITNESSES", "clip_card", "content_words", "stamp_words"]

WITNESSES = {
    "camera": "pixels",
    "imu": "motion",
    "can": "signals",
    "audio": "sound",
    "transcript": "speech",
    "events": "events",
    "state": "motion",
}
"""What tells the truth about a source of each kind."""

# Below this share of a sample interval people call stamps regular.
_REGULAR_SHARE = 0.05
_MAX_EVIDENCE = 10


def clip_card(clip: ClipVerdict, tolerances_s: Mapping[str, float]) -> dict[str, Any]:
    """Return the view of one clip.

    Parameters
    ----------
    clip : ClipVerdict
        The verdict on it.
    tolerances_s : mapping of str to float
        Tolerated offset by source.
    """
    points = [
        Point(
            label=name,
            offset_s=source.offset_s,
            std_s=source.offset_std_s or 0.0,
            verdict=source.verdict,
            tolerance_s=tolerances_s.get(name),
            is_reference=source.clock == clip.reference,
        )
        for name, source in clip.sources.items()
        if source.is_observable and source.offset_s is not None
    ]
    label = f"offsets of clip {clip.clip_id}"
    return {
        "clip_id": clip.clip_id,
        "recording_id": clip.recording_id,
        "verdict": clip.verdict,
        "reference": clip.reference,
        "seconds": clip.seconds,
        "codes": sorted({reason.code for reason in clip.reasons}),
        "headline": clip.reasons[0].message if clip.reasons else "",
        "reasons": clip.reasons,
        "warnings": clip.warnings,
        "sources": [
            {
                "name": name,
                "kind": source.kind,
                "verdict": source.verdict,
                "stamps": stamp_words(source.timing),
                "witness": WITNESSES.get(source.kind, "content"),
                "content": content_words(source, clip.reference),
            }
            for name, source in clip.sources.items()
        ],
        "accepted": [_pair(pair) for pair in clip.pairs if pair.accepted],
        "refused": [_pair(pair) for pair in clip.pairs if not pair.accepted],
        "plot": forest_plot(points, label=label) if points else None,
        "evidence": _evidence(clip),
    }


def _evidence(clip: ClipVerdict) -> Markup | None:
    """Return the measurements behind the verdict as intervals, those of rejected sources first."""
    rejected = {name for name, source in clip.sources.items() if source.verdict is Verdict.REJECT}
    pairs = [
        pair
        for pair in clip.pairs
        if pair.accepted and pair.offset_s is not None and not pair.is_baseline_only
    ]
    pairs.sort(key=lambda pair: not rejected & {pair.source, pair.target})
    points = [
        Point(
            label=f"{pair.source} → {pair.target}",
            offset_s=pair.offset_s or 0.0,
            std_s=pair.offset_std_s or 0.0,
            verdict="reject" if rejected & {pair.source, pair.target} else "measured",
        )
        for pair in pairs[:_MAX_EVIDENCE]
    ]
    label = f"measurements of clip {clip.clip_id}"
    return forest_plot(points, label=label) if points else None


def stamp_words(timing: StampAudit | None) -> str:
    """Return what the stamps alone claim: ``regular at 12 Hz`` or what is odd about them."""
    if timing is None:
        return "not examined"
    if not timing.samples:
        return "no samples"
    rate = timing.rate_hz
    pace = f"{timing.samples} samples" + ("" if rate is None else f" at {word_rate(rate)}")
    odd = [
        word_count(count, noun)
        for count, noun in (
            (timing.gaps, "gap"),
            (timing.missing, "missing sample"),
            (timing.duplicates, "duplicate"),
            (timing.doubled, "doubled sample"),
            (timing.backwards, "stamp out of order"),
        )
        if count
    ]
    if timing.steps:
        odd.append(word_count(len(timing.steps), "clock step"))
    jitter = timing.jitter_s
    if jitter is not None and rate and jitter * rate > _REGULAR_SHARE:
        odd.append(f"jitter {word_duration(jitter)}")
    if timing.is_irregular:
        odd.append("no regular clock")
    if timing.is_synthetic:
        odd.append("made up from index and rate")
    return f"{pace}, {', '.join(odd) if odd else 'regular'}"


def content_words(source: SourceVerdict, reference: str | None) -> str:
    """Return what the content shows about the source's clock."""
    if source.clock == reference:
        return "reference clock"
    if not source.is_observable or source.offset_s is None:
        return word_unmeasured(source)
    words = word_correction(source.offset_s, source.offset_std_s)
    if source.drift_ppm is not None:
        words += f", drift {word_drift(source.drift_ppm, source.drift_std_ppm)}"
    return words


def _pair(pair: PairMeasurement) -> dict[str, Any]:
    offset_s = pair.offset_s
    return {
        "name": f"{pair.source} → {pair.target}",
        "method": pair.method,
        "offset": None if offset_s is None else word_correction(offset_s, pair.offset_std_s),
        "why": pair.why,
        "is_baseline_only": pair.is_baseline_only,
        "diagnostics": [
            (name, f"{value:.4g}") for name, value in pair.diagnostics.items() if value is not None
        ],
    }
