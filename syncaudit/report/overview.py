"""Summarise all clips: totals, causes, sources, and where the time went."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from syncaudit.formatting import signed_ms, word_duration, word_share, word_span
from syncaudit.model import ClipVerdict, ReasonCode, SourceKind, Verdict
from syncaudit.report.budget import PARTS, PooledDrifts, budget_row
from syncaudit.report.causes import Causes, span_of
from syncaudit.report.clip_card import WITNESSES
from syncaudit.report.source_tally import SourceTally
from syncaudit.report.source_view import source_view

# A data set uses the same source names in all clips; if not, the page shows the first ones.
MAX_SOURCES = 60

_OF_ONE = {
    "pass": "The clip is shown to share one time.",
    "reject": "The clip is rejected.",
    "unverified": "The clip could not be verified: it holds too little evidence.",
}
# In the order in which an audit runs them.
_STAGES = {
    "read": "files read",
    "stamps": "stamps audited",
    "decode": "frames decoded",
    "detect": "events and motion detected",
    "estimate": "offsets estimated",
    "solve": "clocks solved",
}


class Overview:
    """Collects verdicts, one at a time."""

    def __init__(self, summary: Mapping[str, Any]) -> None:
        self._summary = summary
        self._tolerances_s = summary.get("tolerances_s") or {}
        self._verdicts: Counter[str] = Counter()
        self._spans_s: defaultdict[str, float] = defaultdict(float)
        self._causes = Causes()
        self._sources: dict[str, SourceTally] = {}
        self._unshown: set[str] = set()

    def add(self, clip: ClipVerdict) -> None:
        """Add the verdict on one clip."""
        self._verdicts[clip.verdict] += 1
        self._spans_s[clip.verdict] += span_of(clip)
        self._causes.add(clip)
        for name, source in clip.sources.items():
            if name not in self._sources:
                if len(self._sources) >= MAX_SOURCES:
                    self._unshown.add(name[:80])
                    continue
                self._sources[name] = SourceTally(
                    name=name, kind=source.kind, tolerance_s=self._tolerances_s.get(name)
                )
            self._sources[name].add(clip, source)
        for reason in clip.reasons:
            if reason.code is ReasonCode.STEP and reason.source in self._sources:
                self._sources[reason.source].steps_s.add(reason.value)

    def to_view(self) -> dict[str, Any]:
        """Return the view that the template shows."""
        n_clips = self._verdicts.total()
        tallies = sorted(self._sources.values(), key=_order)
        drifts = PooledDrifts(self._summary.get("recordings") or ())
        causes = self._causes.to_view()
        return {
            "n_clips": n_clips,
            "lead": self._lead(n_clips),
            "verdicts": [
                {
                    "name": str(verdict),
                    "count": self._verdicts[verdict],
                    "share": word_share(self._verdicts[verdict], n_clips),
                    "span": word_span(span) if (span := self._spans_s[verdict]) else None,
                }
                for verdict in Verdict
            ],
            "causes": [
                cause | {"beside": self._beside(cause)} | self._common(cause) for cause in causes
            ],
            "most": max((cause["clips"] for cause in causes), default=1),
            "sources": [source_view(tally) for tally in tallies],
            "n_unshown": len(self._unshown),
            "budget_parts": PARTS,
            "budget": [budget_row(tally, drifts) for tally in tallies],
            "stages": _stage_times(self._summary, n_clips),
        }

    def _common(self, cause: Mapping[str, Any]) -> dict[str, Any]:
        """Return the offset common to the whole data set, if that is the cause."""
        offsets = [
            (one["common"][clock], one["cure"])
            for one in self._summary.get("data_sets") or ()
            for clock in one["common"]
            if cause["code"] == "offset" and cause["source"] in one["clocks"][clock]["sources"]
        ]
        if not offsets:
            return {}
        return {"beside": f"{'. '.join(text for text, _ in offsets)}.", "cure": offsets[0][1]}

    def _beside(self, cause: Mapping[str, Any]) -> str | None:
        """Describe a source's timestamps and content where they differ by an offset."""
        source = self._sources.get(cause["source"])
        if source is None or cause["offset_s"] is None:
            return None
        witness = WITNESSES.get(source.kind, "content")
        says = "say" if witness.endswith("s") else "says"
        most = "" if cause["is_constant"] or cause["clips"] == 1 else "up to "
        shown = signed_ms(cause["offset_s"])
        return f"Stamps say {signed_ms(0.0)}, {witness} {says} {most}{shown}."

    def _lead(self, n_clips: int) -> str:
        """Return the one-sentence summary at the top of the page."""
        if not n_clips:
            return "No clip has been audited."
        passed, rejected, unknown = (
            self._verdicts[v] for v in (Verdict.PASS, Verdict.REJECT, Verdict.UNVERIFIED)
        )
        if n_clips == 1:
            return _OF_ONE["pass" if passed else "reject" if rejected else "unverified"]
        if passed == n_clips:
            return f"All {n_clips:,} clips are shown to share one time."
        if unknown == n_clips:
            return (
                f"None of the {n_clips:,} clips could be verified: they hold too little evidence."
            )
        are = "is" if passed == 1 else "are"
        parts = [f"{passed:,} of {n_clips:,} clips {are} shown to share one time"]
        if rejected:
            parts.append(f"{rejected:,} {'is' if rejected == 1 else 'are'} rejected")
        if unknown:
            parts.append(f"{unknown:,} could not be verified")
        return f"{'; '.join(parts)}."


def _order(tally: SourceTally) -> tuple[int, str]:
    kinds = [str(kind) for kind in SourceKind]
    return (kinds.index(tally.kind) if tally.kind in kinds else len(kinds)), tally.name


def _stage_times(summary: Mapping[str, Any], n_clips: int) -> dict[str, Any] | None:
    """Return the CPU time by stage; None if none was measured."""
    spent: Mapping[str, float] = summary.get("stages_s") or {}
    total_s = sum(spent.values())
    if not total_s or not n_clips:
        return None
    names = [*(name for name in _STAGES if name in spent), *(s for s in spent if s not in _STAGES)]
    wall_s = summary.get("wall_s")
    fresh = n_clips - (summary.get("clips") or {}).get("reused", 0)
    return {
        "rows": [
            {
                "name": name,
                "words": _STAGES.get(name, ""),
                "percent": 100.0 * spent[name] / total_s,
                "share": word_share(spent[name], total_s),
                "total": _spent(spent[name]),
                "each": _spent(spent[name] / n_clips),
            }
            for name in names
        ],
        "total": _spent(total_s),
        "each": _spent(total_s / n_clips),
        "wall": None if not wall_s else _spent(wall_s),
        "pace": None if not wall_s or fresh <= 0 else f"{3600.0 * fresh / wall_s:,.0f}",
        "workers": summary.get("workers"),
    }


def _spent(seconds: float) -> str:
    return word_span(seconds) if seconds >= 120.0 else word_duration(seconds)
