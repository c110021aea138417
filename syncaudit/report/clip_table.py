"""The table of all clips, by columns, compact enough for a page of a hundred thousand clips."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

from syncaudit.model import ClipVerdict, PairMeasurement, ReasonCode, Verdict
from syncaudit.report.axes import shorten
from syncaudit.report.causes import causes_of, span_of

# Clips listed by verdict: with names of 40 letters they take about 7 MB of the page.
MAX_LISTED = {Verdict.REJECT: 60_000, Verdict.UNVERIFIED: 20_000, Verdict.PASS: 40_000}
# Longer names are cut in the table; the verdicts hold them in full.
_MAX_NAME = 160
# Limit on the number of distinct recordings, causes and sources; further names are left out.
_MAX_NAMES = 50_000


class _Names:
    """Numbers names in the order in which they appear."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        """Return the number of a name, -1 beyond the limit."""
        if name not in self.numbers and len(self.numbers) >= _MAX_NAMES:
            return -1
        return self.numbers.setdefault(name, len(self.numbers))


class ClipTable:
    """Collects one short row per clip; the page sorts, filters and pages through them."""

    def __init__(self, tolerances_s: Mapping[str, float]) -> None:
        self._tolerances_s = tolerances_s
        self._listed: dict[str, int] = {str(verdict): 0 for verdict in Verdict}
        self._left_out: dict[str, int] = {str(verdict): 0 for verdict in Verdict}
        self._ids: list[str] = []
        self._verdicts: list[str] = []
        self._recordings, self._codes, self._sources = _Names(), _Names(), _Names()
        self._recording_of = array("l")
        self._why: list[tuple[int, ...]] = []
        self._worst_of, self._worst_us = array("l"), array("q")
        self._cards: dict[int, str] = {}

    def add(self, clip: ClipVerdict, card: str | None) -> None:
        """Add the verdict on one clip.

        `card` names the page element that shows the clip in full.
        """
        verdict = clip.verdict
        if self._listed[verdict] >= MAX_LISTED[verdict]:
            self._left_out[verdict] += 1
            return
        self._listed[verdict] += 1
        if card is not None:
            self._cards[len(self._ids)] = card
        self._ids.append(shorten(clip.clip_id, _MAX_NAME))
        self._verdicts.append(verdict[0])
        recording = clip.recording_id
        is_own = recording == clip.clip_id
        self._recording_of.append(
            -1 if is_own else self._recordings.number(shorten(recording, _MAX_NAME))
        )
        why: list[int] = []
        for code, source in causes_of(clip):
            name = -1 if not source else self._sources.number(shorten(source, _MAX_NAME))
            why += (self._codes.number(code), name)
        self._why.append(tuple(why))
        farthest, offset_s = self._worst(clip)
        self._worst_of.append(-1 if farthest is None else self._sources.number(farthest))
        self._worst_us.append(round(1e6 * offset_s))

    def _worst(self, clip: ClipVerdict) -> tuple[str | None, float]:
        """Return the source with the largest offset relative to its tolerance, and its offset."""
        found: tuple[float, str | None, float] = (-1.0, None, 0.0)
        for name, source in clip.sources.items():
            if source.clock == clip.reference or not source.is_observable:
                continue
            offset_s = farthest_offset(clip, name)
            if offset_s is not None and abs(offset_s) < 1e9:
                size = abs(offset_s) / (self._tolerances_s.get(name) or 1.0)
                found = max(found, (size, shorten(name, _MAX_NAME), offset_s), key=lambda f: f[0])
        return found[1], found[2]

    def to_view(self) -> dict[str, Any]:
        """Return columns as plain lists, and the number of omitted clips by verdict."""
        columns = {
            "ids": self._ids,
            "verdicts": "".join(self._verdicts),
            "recordings": list(self._recordings.numbers),
            "recording_of": self._recording_of.tolist(),
            "codes": list(self._codes.numbers),
            "sources": list(self._sources.numbers),
            "why": self._why,
            "worst_of": self._worst_of.tolist(),
            "worst_us": self._worst_us.tolist(),
            "cards": self._cards,
        }
        left_out = {verdict: n for verdict, n in self._left_out.items() if n}
        return {"columns": columns, "left_out": left_out}


def farthest_offset(clip: ClipVerdict, name: str) -> float | None:
    """Return the largest offset of a source anywhere in a clip, including drift and steps."""
    source = clip.sources[name]
    middle_s = source.offset_s
    if middle_s is None:
        return None
    offsets_s = [middle_s]
    half_s = 0.5 * span_of(clip)
    drift_ppm = source.drift_ppm
    if drift_ppm is not None:
        offsets_s += [middle_s + 1e-6 * drift_ppm * at_s for at_s in (-half_s, half_s)]
    if any(r.code is ReasonCode.STEP and r.source == name for r in clip.reasons):
        offsets_s += [
            middle_s + _beyond_step(pair, clip.at_ns or 0) * (1.0 if pair.source == name else -1.0)
            for pair in clip.pairs
            if name in (pair.source, pair.target) and pair.accepted and pair.step_s
        ]
    return float(max(offsets_s, key=abs))


def _beyond_step(pair: PairMeasurement, at_ns: int) -> float:
    """Return the change of the offset across a pair's step, seen from `at_ns`."""
    step_s, step_at_ns = pair.step_s or 0.0, pair.step_at_ns or 0
    return -step_s if at_ns >= step_at_ns else step_s
