"""What shows an offset best: a source and its counterpart in the second that tells most."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import EventResiduals, PairMeasurement, SignalExcerpt
from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.judgement import Judgement
from syncaudit_gui.viewmodel.timeline import TimeRange

__all__ = ["Comparison", "compare"]

Floats = NDArray[np.float64]

# Parts of a view that an offset shall take, and the shortest and longest view.
OFFSET_SHARE = 1.0 / 12.0
SPAN_S = (0.5, 1.0)
# Farther apart raw and corrected are not seen together: only corrected is drawn.
MAX_APART_S = 2.0
_SHOWN = {
    "rotation": "turn rate",
    "yaw_rate": "turn rate",
    "angular_rate": "turn rate",
    "lateral_accel": "sideways acceleration",
    "long_accel": "forward acceleration",
    "specific_force": "acceleration",
    "flash": "flashes",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison:
    """A source over its target, by their own timestamps.

    Parameters
    ----------
    source, target : str
        Names.
    quantity : str
        What both measured, in words.
    source_s, target_s : ndarray, shape (n,)
        Timestamps in seconds since the clip's epoch.
    source_values, target_values : ndarray, shape (n,) or None
        What was measured; None for events.
    offset_s : float
        What the clocks' solution adds to the source's timestamps here to have the target's.
    visible : TimeRange
        What is shown, by the target's timestamps.
    peak_s : float
        Corrected timestamp of what is most conspicuous.
    """

    source: str
    target: str
    quantity: str
    source_s: Floats
    target_s: Floats
    source_values: Floats | None
    target_values: Floats | None
    offset_s: float
    visible: TimeRange
    peak_s: float

    @property
    def is_seen_raw(self) -> bool:
        """Whether the raw timestamps lie near enough to be shown beside the target's."""
        return abs(self.offset_s) <= MAX_APART_S


def compare(model: ClipModel, source: str) -> Comparison | None:
    """Return the comparison that shows most of a source's offset; None where none was kept.

    Parameters
    ----------
    model : ClipModel
        The clip, with its judgement.
    source : str
        Source.
    """
    judged = model.judgement
    if judged is None:
        return None
    for pair in _candidates(judged, source):
        if pair.excerpt is not None:
            return _of_signals(model, pair, pair.excerpt)
        if isinstance(pair.evidence, EventResiduals):
            return _of_events(model, pair, pair.evidence)
    return None


def _candidates(judged: Judgement, source: str) -> Iterable[PairMeasurement]:
    """Return the accepted measurements of a source, from it: against the reference first."""

    def rank(pair: PairMeasurement) -> tuple[bool, bool]:
        other = judged.sources.get(pair.target)
        return (
            pair.target != judged.reference,
            other is not None and str(other.verdict) == "reject",
        )

    own = [pair for pair in judged.pairs_of(source) if pair.accepted and not pair.is_baseline_only]
    return sorted((p if p.source == source else p.turned() for p in own), key=rank)


def _of_signals(
    model: ClipModel, pair: PairMeasurement, excerpt: SignalExcerpt
) -> Comparison | None:
    source_values, target_values = excerpt.values
    source_s = (excerpt.start_ns - model.epoch_ns) * 1e-9 + excerpt.times_s
    target_s = source_s + excerpt.apart_s
    begin_s, end_s = excerpt.tells_s
    tells = (excerpt.times_s >= begin_s) & (excerpt.times_s <= end_s)
    if not tells.any():
        return None
    swing = np.where(tells, np.abs(target_values - np.median(target_values[tells])), -1.0)
    at_s = float(target_s[int(np.argmax(swing))])
    whole = TimeRange(start_s=float(target_s[0]) + begin_s, stop_s=float(target_s[0]) + end_s)
    return _comparison(model, pair, source_s, target_s, (source_values, target_values), at_s, whole)


def _of_events(
    model: ClipModel, pair: PairMeasurement, events: EventResiduals
) -> Comparison | None:
    source_s = (pair.at_ns - model.epoch_ns) * 1e-9 + events.times_s
    offsets_s = [pair.offset_at(pair.at_ns + round(1e9 * t)) or 0.0 for t in events.times_s]
    target_s = source_s + np.array(offsets_s) + events.residuals_s
    at_s = float(target_s[target_s.size // 2])
    whole = TimeRange(start_s=at_s - 0.5 * SPAN_S[1], stop_s=at_s + 0.5 * SPAN_S[1])
    return _comparison(model, pair, source_s, target_s, None, at_s, whole)


def _comparison(
    model: ClipModel,
    pair: PairMeasurement,
    source_s: Floats,
    target_s: Floats,
    values: tuple[Floats, Floats] | None,
    at_s: float,
    whole: TimeRange,
) -> Comparison:
    raw_s = float(source_s[int(np.argmin(np.abs(target_s - at_s)))])
    ours, theirs = model.corrected_map(pair.source), model.corrected_map(pair.target)
    offset_s = (ours.at(raw_s) - raw_s) - (theirs.at(at_s) - at_s)
    span_s = min(max(SPAN_S[0], abs(offset_s) / OFFSET_SHARE), SPAN_S[1])
    if abs(offset_s) <= MAX_APART_S:
        span_s = max(span_s, 1.5 * abs(offset_s))
    middle_s = at_s - (0.5 * offset_s if abs(offset_s) <= MAX_APART_S else 0.0)
    if whole.stop_s - whole.start_s > span_s:
        middle_s = min(max(middle_s, whole.start_s + 0.5 * span_s), whole.stop_s - 0.5 * span_s)
    return Comparison(
        source=pair.source,
        target=pair.target,
        quantity=_SHOWN.get(pair.method, "signal"),
        source_s=source_s,
        target_s=target_s,
        source_values=None if values is None else values[0],
        target_values=None if values is None else values[1],
        offset_s=offset_s,
        visible=TimeRange(start_s=middle_s - 0.5 * span_s, stop_s=middle_s + 0.5 * span_s),
        peak_s=at_s,
    )
