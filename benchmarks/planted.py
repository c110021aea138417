"""Inject known errors into a recording's timestamps, audit it, and check results against truth.

Only timestamps are changed, and only after reading: frames, sound and signals are those of the
recording, and from there on the clip passes through the whole pipeline of the product.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import syncaudit.pipeline.examine  # noqa: F401  # the module, which its package hides
from syncaudit.model import (
    AudioStream,
    Clip,
    ClipVerdict,
    PairMeasurement,
    SignalStream,
    Stream,
    Tier,
    TranscriptStream,
    Verdict,
)
from syncaudit.pipeline import ReadClip, audit, read_clip
from syncaudit.policy import Policy

_EXAMINE = sys.modules["syncaudit.pipeline.examine"]
Row = dict[str, Any]
Floats = NDArray[np.float64]
# A result is wrong if it misses the truth by more than both.
MOST_S = 5e-3
MOST_STDS = 3.0


@dataclass(frozen=True, kw_only=True)
class Plant:
    """The error added to the timestamps of one source.

    Attributes
    ----------
    name : str
    shift_s : float
    drift_ppm : float
        About the middle of the source.
    step_s : float
        From the middle of the source to its end.
    """

    name: str
    shift_s: float = 0.0
    drift_ppm: float = 0.0
    step_s: float = 0.0

    def added(self, since_s: Floats | float) -> Floats:
        """Return what is added at times relative to the middle of the source."""
        since_s = np.asarray(since_s, dtype=np.float64)
        late = np.where(since_s >= 0.0, self.step_s, 0.0)
        return self.shift_s + 1e-6 * self.drift_ppm * since_s + late

    def most_s(self, span_s: float) -> float:
        """Return the largest magnitude added anywhere."""
        return float(np.max(np.abs(self.added(np.array([-0.5, 0.5]) * span_s))))


NOTHING = Plant(name="nothing")
PLANTS = (
    Plant(name="10 ms", shift_s=0.010),
    Plant(name="-30 ms", shift_s=-0.030),
    Plant(name="100 ms", shift_s=0.100),
    Plant(name="200 ppm", drift_ppm=200.0),
    Plant(name="step of -60 ms", step_s=-0.060),
)


@dataclass(frozen=True, kw_only=True)
class Known:
    """Known properties of a pair of sources.

    Attributes
    ----------
    source, target : str
        Sources of the clip.
    method : str, optional
        Set if several methods measure the pair.
    offset_s : float, optional
        Known offset; if None, the measurement must be rejected, or at least not pass.
    std_s : float
        Standard error of the known offset.
    """

    source: str
    target: str
    method: str | None = None
    offset_s: float | None = 0.0
    std_s: float = 1e-3

    def is_of(self, pair: PairMeasurement) -> bool:
        """Return whether a measurement is of this pair, in either order."""
        return {pair.source, pair.target} == {self.source, self.target} and self.method in (
            None,
            pair.method,
        )


def audits(
    clip: Clip, policy: Policy, sources: Iterable[str], plants: Iterable[Plant] = PLANTS
) -> Iterator[tuple[str | None, Plant, ReadClip, ClipVerdict]]:
    """Yield the audit of a clip unchanged, and with every plant on each of the sources in turn."""
    read = read_clip(clip)
    yield None, NOTHING, read, audit(clip, policy)
    for source in sources:
        for plant in plants:
            moved = {**read.streams, source: planted(read.streams[source], plant)}
            yield source, plant, read, audited(clip, policy, replace(read, streams=moved))


def audited(clip: Clip, policy: Policy, read: ReadClip) -> ClipVerdict:
    """Return the verdict on a clip with other streams than its files hold."""
    with patch.object(_EXAMINE, "read_clip", lambda _, **_near: read):
        return audit(clip, policy)


def planted(stream: Stream, plant: Plant) -> Stream:
    """Return a stream with the planted error added to its timestamps."""
    if isinstance(stream, TranscriptStream):
        return replace(stream, tiers=tuple(_tier(tier, plant) for tier in stream.tiers))
    middle_ns, _ = _place(stream)

    def moved(time_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        added = plant.added(1e-9 * (time_ns - middle_ns))
        return time_ns + np.rint(1e9 * added).astype(np.int64)

    if isinstance(stream, AudioStream):
        # One anchor every tenth of a second, as recorders write them, carries drift and step.
        every = np.arange(0, stream.samples.size, round(0.1 * stream.rate_hz), dtype=np.int64)
        since_ns = np.rint(1e9 * (every - stream.anchor_samples[0]) / stream.rate_hz)
        exact = stream.time_ns[0] + since_ns.astype(np.int64)
        if not plant.drift_ppm and not plant.step_s:
            every, exact = stream.anchor_samples, stream.time_ns
        return replace(stream, anchor_samples=every, time_ns=moved(exact))
    if isinstance(stream, SignalStream):
        channels = tuple(replace(each, time_ns=moved(each.time_ns)) for each in stream.channels)
        return replace(stream, time_ns=moved(stream.time_ns), channels=channels)
    return replace(stream, time_ns=moved(stream.time_ns))


def _tier(tier: Tier, plant: Plant) -> Tier:
    middle_s, _ = _middle_of(tier)
    return replace(
        tier,
        intervals=tuple(
            replace(
                each,
                start_s=each.start_s + float(plant.added(each.start_s - middle_s)),
                stop_s=each.stop_s + float(plant.added(each.stop_s - middle_s)),
            )
            for each in tier.intervals
        ),
    )


def _middle_of(tier: Tier) -> tuple[float, float]:
    """Return the middle and length of the labelled part of a tier."""
    said = [each for each in tier.intervals if each.label.strip()]
    first_s, last_s = said[0].start_s, said[-1].stop_s
    return 0.5 * (first_s + last_s), last_s - first_s


def _place(stream: Stream) -> tuple[int, float]:
    """Return the middle of a stream on its own clock, and its length."""
    first, last = int(stream.time_ns[0]), int(stream.time_ns[-1])
    if isinstance(stream, AudioStream):
        last = first + round(1e9 * stream.samples.size / stream.rate_hz)
    return first + (last - first) // 2, 1e-9 * (last - first)


def rows_of(
    recording: str,
    known: Iterable[Known],
    verdicts: Iterable[tuple[str | None, Plant, ReadClip, ClipVerdict]],
    tolerances_s: Mapping[str, float],
) -> Iterator[Row]:
    """Yield a row for every measurement of a known pair.

    Parameters
    ----------
    recording : str
        Its name.
    known : iterable of Known
        Known pairs; other pairs of the clip are skipped.
    verdicts : iterable
        As `audits` yields.
    tolerances_s : mapping of str to float
        Limit of every source's offset.
    """
    known = tuple(known)
    for moved, plant, read, verdict in verdicts:
        for each in known:
            if moved not in (None, each.source, each.target):
                continue
            pairs = [pair for pair in verdict.pairs if each.is_of(pair)]
            for pair in pairs or [None]:
                row = _row(each, pair, moved, plant, read, verdict, tolerances_s)
                yield {"recording": recording, **row}


def _row(
    known: Known,
    pair: PairMeasurement | None,
    moved: str | None,
    plant: Plant,
    read: ReadClip,
    verdict: ClipVerdict,
    tolerances_s: Mapping[str, float],
) -> Row:
    source, target = (pair.source, pair.target) if pair else (known.source, known.target)
    accepted = pair is not None and pair.accepted
    decides = pair is None or not pair.is_baseline_only
    truth = None
    if known.offset_s is not None:
        sign = 1.0 if source == known.source else -1.0
        truth = _Truth(sign * known.offset_s, source, target, moved, plant, read)
    error_s, allowed_s, claimed_ppm = None, None, None
    if pair is not None and pair.offset_s is not None and truth is not None:
        error_s, allowed_s = truth.missed(pair, known.std_s)
        claimed_ppm = pair.drift_ppm
    is_off = bool(
        accepted and (truth is None or (abs(error_s or 0.0) > max(MOST_S, allowed_s or 0.0)))
    )
    widest_s = max(tolerances_s[name] for name in (source, target))
    is_apart = truth is not None and truth.most_s > widest_s + MOST_STDS * known.std_s
    is_false_pass = verdict.verdict is Verdict.PASS and decides and (truth is None or is_apart)
    return {
        "pair": f"{source} -> {target}",
        "method": pair.method if pair else "-",
        "planted": plant.name if moved is None else f"{plant.name} on {moved}",
        "measured_ms": _ms(pair.offset_s if pair and truth else None, truth),
        "std_ms": _ms(pair.offset_std_s if pair else None),
        "drift_ppm": claimed_ppm,
        "drift_std_ppm": pair.drift_std_ppm if pair else None,
        "step_ms": _ms(pair.step_s if pair else None),
        "known_ms": None if truth is None or pair is None else _ms(truth.at(pair.at_ns), truth),
        "error_ms": _ms(error_s),
        "accepted": accepted,
        "decides": decides,
        "verdict": str(verdict.verdict),
        "is_off": is_off,
        "is_false_pass": is_false_pass,
        "why": None if pair is None or pair.accepted else pair.why,
        "reasons": [f"{reason.code}: {reason.message}" for reason in verdict.reasons],
        "warnings": [f"{reason.code}: {reason.message}" for reason in verdict.warnings],
        "z": None
        if error_s is None or not pair
        else error_s / float(np.hypot(pair.offset_std_s or 0.0, known.std_s)),
    }


class _Truth:
    """Offset of a pair over time, before and after the planted error."""

    def __init__(
        self,
        offset_s: float,
        source: str,
        target: str,
        moved: str | None,
        plant: Plant,
        read: ReadClip,
    ) -> None:
        self.offset_s, self._plant = offset_s, plant
        self._sign = 0.0 if moved is None else -1.0 if moved == source else 1.0
        stream = read.streams[moved or source]
        other = read.streams.get(source)
        self._apart_ns = round(1e9 * offset_s) if moved == target else 0
        if isinstance(stream, TranscriptStream):
            tier = next(t for t in stream.tiers if stream.tier in (None, t.name))
            middle_s, self.span_s = _middle_of(tier)
            sound = read.streams[stream.audio]
            self._middle_ns = int(sound.time_ns[0]) + round(1e9 * middle_s)
        else:
            self._middle_ns, self.span_s = _place(stream)
        if isinstance(other, TranscriptStream) and moved == target:
            self._sign = 0.0  # a transcript is tied to its sound, whatever that is timestamped
        self.most_s = abs(offset_s) if abs(offset_s) > 1.0 else self._most_s()

    def _most_s(self) -> float:
        """Return the largest magnitude of the offset anywhere."""
        ends = self._sign * self._plant.added(np.array([-0.5, 0.5]) * self.span_s)
        return float(np.max(np.abs(self.offset_s + ends)))

    def at(self, at_ns: int) -> float:
        """Return the offset at a timestamp of the source."""
        since_s = 1e-9 * (at_ns + self._apart_ns - self._middle_ns)
        return self.offset_s + self._sign * float(self._plant.added(since_s))

    def missed(self, pair: PairMeasurement, std_s: float) -> tuple[float, float]:
        """Return a measurement's largest error over the clip, and the error its claim allows."""
        worst = (0.0, np.inf)
        has_course = bool(pair.drift_std_ppm) or pair.step_s is not None
        places = (-0.25, 0.25) if has_course else (0.0,)
        for place in places:
            at_ns = pair.at_ns + round(1e9 * place * self.span_s)
            error_s = self._said(pair, at_ns) - self.at(at_ns)
            if pair.step_s is not None and _may_be_either_side(pair, at_ns):
                before = pair.step_at_ns is not None and at_ns < pair.step_at_ns
                error_s = min(error_s, error_s + (pair.step_s if before else -pair.step_s), key=abs)
            if self._plant.step_s and not has_course:
                # Either side of the step counts as right; a value in between is wrong.
                other_s = error_s - self._sign * self._plant.step_s * self._side(at_ns)
                error_s = min(error_s, other_s, key=abs)
            slope_s = 1e-6 * (pair.drift_std_ppm or 0.0) * place * self.span_s
            claimed_s = float(np.hypot(pair.offset_std_s or 0.0, slope_s))
            claimed_s = float(np.hypot(claimed_s, pair.step_std_s or 0.0))
            allowed_s = MOST_STDS * float(np.hypot(claimed_s, std_s))
            if abs(error_s) - allowed_s > abs(worst[0]) - worst[1]:
                worst = error_s, allowed_s
        return worst

    def _side(self, at_ns: int) -> float:
        return 1.0 if at_ns + self._apart_ns < self._middle_ns else -1.0

    def _said(self, pair: PairMeasurement, at_ns: int) -> float:
        drift_s = 1e-15 * (pair.drift_ppm or 0.0) * (at_ns - pair.at_ns)
        step_at_ns = pair.step_at_ns or 0
        step_s = (pair.step_s or 0.0) * ((at_ns >= step_at_ns) - (pair.at_ns >= step_at_ns))
        return (pair.offset_s or 0.0) + drift_s + step_s


def _may_be_either_side(pair: PairMeasurement, at_ns: int) -> bool:
    """Return whether the step may lie before or after an instant, within its own error."""
    apart_s = 1e-9 * (at_ns - (pair.step_at_ns or 0))
    return abs(apart_s) <= MOST_STDS * pair.diagnostics.get("step_at_std_s", 0.0)


def _ms(value_s: float | None, truth: _Truth | None = None) -> float | None:
    """Return milliseconds; for unrelated epochs, the excess over the known offset."""
    if value_s is None:
        return None
    less_s = truth.offset_s if truth is not None and abs(truth.offset_s) > 10.0 else 0.0
    return 1e3 * (value_s - less_s)
