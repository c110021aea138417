"""Show an offset: a source over its counterpart, around the second that constrains it most."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import numpy as np

from syncaudit.model.arrays import Bools, Floats
from syncaudit.model.measurement import PairMeasurement
from syncaudit.model.pair_evidence import EventResiduals, SignalExcerpt

# Share of the view that an offset should take, and the shortest and longest view.
OFFSET_SHARE = 1.0 / 12.0
SPAN_S = (0.5, 1.0)
# If raw and corrected are farther apart they do not fit in one view: only corrected is drawn.
MAX_APART_S = 2.0
# Share of the informative second at either end in which nothing is marked.
INNER = 0.15
# A lower peak, as a share of the visible range, is less conspicuous than a flank.
LEAST_HEIGHT = 0.25
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
        What both measured, for display.
    source_s, target_s : ndarray, shape (n,)
        Timestamps in seconds since the requested epoch.
    values : tuple of ndarray, shape (n,) each, or None
        Samples of source and target; None for events.
    offset_s : float
        What to add to the source's timestamps here to get the target's.
    visible_s : tuple of float
        First and last time shown, by the target's timestamps.
    peak_s : float
        Most conspicuous instant, by the target's timestamps.
    """

    source: str
    target: str
    quantity: str
    source_s: Floats
    target_s: Floats
    values: tuple[Floats, Floats] | None
    offset_s: float
    visible_s: tuple[float, float]
    peak_s: float

    @property
    def is_seen_raw(self) -> bool:
        """Whether the raw timestamps are close enough to be shown next to the target's."""
        return abs(self.offset_s) <= MAX_APART_S

    def extremes(self) -> tuple[float, float]:
        """Return the least and the largest visible value of either, raw or corrected."""
        if self.values is None:
            return 0.0, 1.0
        start_s, stop_s = self.visible_s
        source, target = self.values
        seen = np.concatenate(
            [
                values[(times_s >= start_s) & (times_s <= stop_s)]
                for times_s, values in (
                    (self.source_s, source),
                    (self.source_s + self.offset_s, source),
                    (self.target_s, target),
                )
            ]
        )
        low, high = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)
        return (low, high) if high > low else (low - 0.5, low + 0.5)


def pair_to_show(
    pairs: Iterable[PairMeasurement], source: str, reference: str | None, rejected: Collection[str]
) -> PairMeasurement | None:
    """Return the measurement that best shows the offset of a source; None if none was kept.

    Parameters
    ----------
    pairs : iterable of PairMeasurement
        Of the clip.
    source : str
        Source; the measurement is turned to start from it.
    reference : str, optional
        Clock whose source is the first choice.
    rejected : collection of str
        Sources that are the last choice; of the others the most precise measurement is taken.
    """
    own = [
        pair if pair.source == source else pair.turned()
        for pair in pairs
        if source in (pair.source, pair.target) and pair.accepted and not pair.is_baseline_only
    ]
    shown = [p for p in own if p.excerpt is not None or isinstance(p.evidence, EventResiduals)]
    return min(
        shown,
        key=lambda p: (p.target != reference, p.target in rejected, p.offset_std_s or 0.0),
        default=None,
    )


def compare_pair(
    pair: PairMeasurement, epoch_ns: int, offset_at: Callable[[float], float] | None = None
) -> Comparison | None:
    """Return the comparison to show for a measurement; None if no data of it were kept.

    Parameters
    ----------
    pair : PairMeasurement
        Accepted.
    epoch_ns : int
        Zero of the times.
    offset_at : callable, optional
        Returns the offset at a source time in seconds; default is that of the measurement.
    """

    def measured_at(time_s: float) -> float:
        return pair.offset_at(epoch_ns + round(1e9 * time_s)) or 0.0

    if pair.excerpt is not None:
        return _of_signals(pair, pair.excerpt, epoch_ns, offset_at or measured_at)
    if isinstance(pair.evidence, EventResiduals):
        source_s = (pair.at_ns - epoch_ns) * 1e-9 + pair.evidence.times_s
        offsets_s = np.array([measured_at(time_s) for time_s in source_s.tolist()])
        target_s = source_s + offsets_s + pair.evidence.residuals_s
        middle_s = float(target_s[target_s.size // 2])
        whole_s = (middle_s - 0.5 * SPAN_S[1], middle_s + 0.5 * SPAN_S[1])
        return _seen(pair, source_s, target_s, None, middle_s, whole_s, offset_at or measured_at)
    return None


def _of_signals(
    pair: PairMeasurement,
    excerpt: SignalExcerpt,
    epoch_ns: int,
    offset_at: Callable[[float], float],
) -> Comparison | None:
    source_s = (excerpt.start_ns - epoch_ns) * 1e-9 + excerpt.times_s
    target_s = source_s + excerpt.apart_s
    begin_s, end_s = excerpt.tells_s
    inside_s = INNER * (end_s - begin_s)
    is_inner = (excerpt.times_s >= begin_s + inside_s) & (excerpt.times_s <= end_s - inside_s)
    if not is_inner.any():
        return None
    beside = max(1, round(0.5 * SPAN_S[0] / excerpt.step_s))
    peak_s = float(target_s[_conspicuous(excerpt.values[1], is_inner, beside)])
    whole_s = (float(target_s[0]) + begin_s, float(target_s[0]) + end_s)
    return _seen(pair, source_s, target_s, excerpt.values, peak_s, whole_s, offset_at)


def _conspicuous(values: Floats, is_inner: Bools, beside: int) -> int:
    """Return the sample to mark: a peak or valley, or the steepest part of a flank.

    Parameters
    ----------
    values : ndarray, shape (n,)
        A signal.
    is_inner : ndarray of bool, shape (n,)
        Where it may lie.
    beside : int
        Samples visible to either side, over which a peak must fall off.
    """
    index = np.arange(values.size)
    before, after = (
        values - values[np.clip(index + by, 0, values.size - 1)] for by in (-beside, beside)
    )
    height = np.minimum(np.abs(before), np.abs(after)) * (before * after > 0.0)
    turns = np.zeros(values.size, dtype=np.bool_)
    turns[1:-1] = np.diff(values)[:-1] * np.diff(values)[1:] <= 0.0
    is_peak = turns & is_inner & (height >= LEAST_HEIGHT * np.ptp(values[is_inner]))
    if is_peak.any():
        swing = np.abs(values - np.median(values[is_inner]))
        return int(np.argmax(np.where(is_peak, swing, -1.0)))
    return int(np.argmax(np.where(is_inner, np.abs(np.gradient(values)), -1.0)))


def _seen(
    pair: PairMeasurement,
    source_s: Floats,
    target_s: Floats,
    values: tuple[Floats, Floats] | None,
    peak_s: float,
    whole_s: tuple[float, float],
    offset_at: Callable[[float], float],
) -> Comparison:
    offset_s = offset_at(float(source_s[int(np.argmin(np.abs(target_s - peak_s)))]))
    span_s = min(max(SPAN_S[0], abs(offset_s) / OFFSET_SHARE), SPAN_S[1])
    middle_s = peak_s
    if abs(offset_s) <= MAX_APART_S:
        span_s = max(span_s, 1.5 * abs(offset_s))
        middle_s -= 0.5 * offset_s
    start_s, stop_s = whole_s
    if stop_s - start_s > span_s:
        middle_s = min(max(middle_s, start_s + 0.5 * span_s), stop_s - 0.5 * span_s)
    return Comparison(
        source=pair.source,
        target=pair.target,
        quantity=_SHOWN.get(pair.method, "signal"),
        source_s=source_s,
        target_s=target_s,
        values=values,
        offset_s=offset_s,
        visible_s=(middle_s - 0.5 * span_s, middle_s + 0.5 * span_s),
        peak_s=peak_s,
    )
