"""Clocks of recordings over time: the offset of each clip and the pooled estimate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from markupsafe import Markup

from syncaudit.formatting import word_correction, word_count, word_drift, word_duration, word_span
from syncaudit.model import ClipVerdict, PairMeasurement, ReasonCode
from syncaudit.model.comparison import pair_to_show
from syncaudit.report.course_plot import CoursePoint, course_plot

# Recordings drawn; the table lists those in the summary, the worst thousand.
MAX_DRAWN = 6
MAX_LINES = 4000
MAX_LANES = 8
# Points kept per clock: about 4 pixels of a drawing each.
_MAX_POINTS = 200
# Marks with their standard error; a clock that steps is drawn on both sides of the step.
N_MARKS = 21
_MOVES = (ReasonCode.DRIFT, ReasonCode.STEP)


@dataclass(slots=True)
class _Series:
    """Offsets of one clock; above the limit only the farther of two neighbours is kept."""

    points: list[CoursePoint] = field(default_factory=list)
    stride: int = 1
    seen: int = 0

    def add(self, point: CoursePoint) -> None:
        if self.seen % self.stride == 0:
            self.points.append(point)
        elif abs(point.offset_s) > abs(self.points[-1].offset_s):
            self.points[-1] = point
        self.seen += 1
        if len(self.points) > _MAX_POINTS:
            pairs = zip(self.points[::2], self.points[1::2], strict=False)
            self.points = [max(pair, key=lambda p: abs(p.offset_s)) for pair in pairs]
            self.stride *= 2
            self.seen = len(self.points) * self.stride


class Courses:
    """Collects the offsets of the recordings that the page draws.

    Rows of ``recordings.jsonl`` are given with the most urgent first.
    """

    def __init__(
        self, recordings: Iterable[Mapping[str, Any]], tolerances_s: Mapping[str, float]
    ) -> None:
        self._recordings = list(recordings)
        self._tolerances_s = tolerances_s
        self._series: dict[str, dict[str, _Series]] = {
            recording["recording_id"]: {
                name: _Series() for name in islice(_clocks(recording), MAX_LANES)
            }
            for recording in self._recordings[:MAX_DRAWN]
        }

    def add(self, clip: ClipVerdict) -> None:
        """Add the verdict on one clip."""
        lanes = self._series.get(clip.recording_id)
        if lanes is None or clip.at_ns is None:
            return
        seen = set()
        for source in clip.sources.values():
            clock = source.clock
            if clock not in lanes or clock in seen or clock == clip.reference:
                continue
            seen.add(clock)
            pooled_s = None if source.recording is None else source.recording.offset_s
            offset_s = source.offset_s if source.is_observable else None
            shown_s = pooled_s if offset_s is None else offset_s
            if shown_s is None:
                continue
            lanes[clock].add(
                CoursePoint(
                    at_ns=clip.at_ns,
                    offset_s=shown_s,
                    std_s=0.0 if offset_s is None else source.offset_std_s or 0.0,
                    verdict=source.verdict,
                    is_measured=offset_s is not None,
                    pooled_s=pooled_s,
                )
            )

    def to_view(self) -> dict[str, Any]:
        """Return drawings and table rows."""
        lines = list(islice(self._lines(), MAX_LINES))
        return {
            "n": len(self._recordings),
            "drawn": [self._drawn(r) for r in self._recordings[:MAX_DRAWN]],
            "lines": lines,
        }

    def _drawn(self, recording: Mapping[str, Any]) -> dict[str, Any]:
        lanes = self._series[recording["recording_id"]]
        clocks = recording["clocks"]
        plot = course_plot(
            {
                name: sorted(series.points, key=lambda point: point.at_ns)
                for name, series in lanes.items()
                if series.points
            },
            words={name: _drift_words(clocks[name]) for name in lanes},
            steps={name: clocks[name]["steps"] for name in lanes},
            tolerances_s={name: self._tolerance_s(clocks[name]) for name in lanes},
            label=f"offsets over time of recording {recording['recording_id']}",
        )
        return {
            "recording_id": recording["recording_id"],
            "reference": recording["reference"],
            "clips": recording["clips"],
            "counts": {name: recording[name] for name in ("pass", "reject", "unverified")},
            "plot": plot,
            "n_more": max(0, sum(1 for _ in _clocks(recording)) - len(lanes)),
        }

    def _tolerance_s(self, clock: Mapping[str, Any]) -> float | None:
        known = (self._tolerances_s.get(source) for source in clock["sources"])
        return min((value for value in known if value is not None), default=None)

    def _lines(self) -> Iterable[list[Any]]:
        for recording in self._recordings:
            for name in _clocks(recording):
                clock = recording["clocks"][name]
                drift = clock["drift_ms_per_h"]
                moved = clock["offset_last_s"] - clock["offset_first_s"]
                yield [
                    recording["recording_id"],
                    name,
                    recording["clips"],
                    recording["reject"],
                    [word_correction(clock["offset_s"], clock["offset_std_s"]), clock["offset_s"]],
                    ["not known" if drift is None else _drift_words(clock), drift],
                    [word_duration(abs(moved)) + f" in {word_span(clock['span_s'])}", abs(moved)],
                    [
                        f"{clock['wander_ms_per_root_h']:.2g} ms/√h",
                        clock["wander_ms_per_root_h"],
                    ],
                    [_step_words(clock["steps"]), len(clock["steps"])],
                ]


def _clocks(recording: Mapping[str, Any]) -> Iterable[str]:
    return (name for name in recording["clocks"] if name != recording["reference"])


def _drift_words(clock: Mapping[str, Any]) -> str:
    if clock["drift_ppm"] is None:
        return "drift not known"
    return word_drift(clock["drift_ppm"], clock["drift_std_ppm"])


def _step_words(steps: list[Mapping[str, Any]]) -> str:
    if not steps:
        return "none"
    largest = max(steps, key=lambda step: abs(step["step_s"]))
    return f"{word_count(len(steps), 'step')}, up to {word_duration(abs(largest['step_s']))}"


def clip_course(clip: ClipVerdict, tolerances_s: Mapping[str, float]) -> Markup | None:
    """Return the offsets of rejected clocks that drift or step; None without any."""
    moved = dict.fromkeys(r.source for r in clip.reasons if r.code in _MOVES and r.source)
    pairs = {source: pair_to_show(clip.pairs, source, clip.reference, moved) for source in moved}
    shown = {source: pair for source, pair in pairs.items() if pair is not None}
    if clip.record is None or clip.at_ns is None:
        return None
    half_ns = round(5e8 * clip.record.span_s)
    return course_plot(
        {x: _points(pair, clip.at_ns - half_ns, clip.at_ns + half_ns) for x, pair in shown.items()},
        words={
            source: "" if pair.drift_ppm is None else word_drift(pair.drift_ppm, pair.drift_std_ppm)
            for source, pair in shown.items()
        },
        steps=dict.fromkeys(shown, ()),
        tolerances_s={source: tolerances_s.get(source) for source in shown},
        label=f"offsets over the time of clip {clip.clip_id}",
    )


def _points(pair: PairMeasurement, start_ns: int, stop_ns: int) -> list[CoursePoint]:
    times_ns = np.linspace(start_ns, stop_ns, N_MARKS).astype(np.int64).tolist()
    if pair.step_at_ns is not None:
        times_ns = sorted((*times_ns, pair.step_at_ns - 1, pair.step_at_ns))
    points = []
    for time_ns in times_ns:
        offset_s = pair.offset_at(time_ns) or 0.0
        points.append(
            CoursePoint(
                at_ns=time_ns,
                offset_s=offset_s,
                std_s=pair.offset_std_at(time_ns),
                verdict="reject",
                is_measured=True,
                pooled_s=offset_s,
            )
        )
    return points
