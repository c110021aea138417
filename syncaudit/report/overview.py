"""What all clips say together: totals, reasons, and the offsets of each source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from syncaudit.model import SourceKind, Verdict
from syncaudit.report.figures import Point, strip_plot
from syncaudit.report.phrases import word_correction

__all__ = ["REASONS", "Overview"]

# Stable codes (formats, section 3) in plain words.
REASONS = {
    "offset": "the stamps are early or late by more than the tolerance",
    "drift": "the clock runs fast or slow",
    "step": "the clock jumps inside the clip",
    "inconsistent": "measurements contradict each other",
    "jitter": "the stamps are uneven",
    "gap": "samples are missing for a while",
    "missing_frames": "frames are missing",
    "duplicate": "stamps or frames occur twice",
    "backwards": "stamps run backwards",
    "rate": "the rate is not what it should be",
    "unreadable": "a file cannot be read",
    "corrupt": "a file is damaged",
    "non_finite": "samples are NaN or infinite",
    "missing_file": "a file is missing",
    "empty": "a source holds no data",
    "bad_text": "a text file is not what it claims",
    "length_mismatch": "frames and stamps differ in number",
    "unobservable": "nothing in the clip shows the offset",
    "timeout": "the audit took too long",
    "manifest": "the manifest row is wrong",
}


class Overview:
    """Collects rows, one at a time.

    Parameters
    ----------
    tolerances_s : mapping of str to float
        Tolerated offset by source.
    """

    def __init__(self, tolerances_s: Mapping[str, float]) -> None:
        self._tolerances_s = tolerances_s
        self._verdicts: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._kinds: dict[str, str] = {}
        self._by_source: dict[str, Counter[str]] = {}
        self._points: dict[str, list[Point]] = {}

    def add(self, row: Mapping[str, Any]) -> None:
        """Take in one row of ``verdicts.jsonl``."""
        self._verdicts[row["verdict"]] += 1
        self._reasons.update({reason["code"] for reason in row["reasons"]})
        for name, source in row["sources"].items():
            self._kinds.setdefault(name, source["kind"])
            self._by_source.setdefault(name, Counter())[source["verdict"]] += 1
            if source["observable"] and source["offset_s"] is not None:
                is_reference = source["clock"] == row["reference"]
                point = Point(
                    label=row["clip_id"],
                    offset_s=source["offset_s"],
                    std_s=source["offset_std_s"] or 0.0,
                    verdict=source["verdict"],
                    is_reference=is_reference,
                )
                self._points.setdefault(name, []).append(point)

    def to_view(self) -> dict[str, Any]:
        """Return what the template shows."""
        n_clips = self._verdicts.total()
        return {
            "n_clips": n_clips,
            "verdicts": [
                {"name": str(v), "count": self._verdicts[v], "share": self._share(v, n_clips)}
                for v in Verdict
            ],
            "reasons": [
                {"code": code, "count": count, "words": REASONS.get(code, "")}
                for code, count in self._reasons.most_common()
            ],
            "most": max(self._reasons.values(), default=1),
            "sources": [self._source(name) for name in sorted(self._kinds, key=self._order)],
        }

    def _share(self, verdict: str, n_clips: int) -> float:
        return 100.0 * self._verdicts[verdict] / n_clips if n_clips else 0.0

    def _order(self, name: str) -> tuple[int, str]:
        kinds = list(SourceKind)
        kind = self._kinds[name]
        return (kinds.index(SourceKind(kind)) if kind in kinds else len(kinds)), name

    def _source(self, name: str) -> dict[str, Any]:
        points = self._points.get(name, [])
        judged = [point for point in points if not point.is_reference]
        tolerance_s = self._tolerances_s.get(name)
        worst = max(judged, key=lambda point: abs(point.offset_s), default=None)
        plot = strip_plot(judged, tolerance_s, label=f"offsets of {name}") if judged else None
        return {
            "name": name,
            "kind": self._kinds[name],
            "counts": {str(verdict): self._by_source[name][verdict] for verdict in Verdict},
            "tolerance": None if tolerance_s is None else f"±{tolerance_s * 1e3:g} ms",
            "worst": None if worst is None else word_correction(worst.offset_s, worst.std_s),
            "worst_clip": None if worst is None else worst.label,
            "n_reference": len(points) - len(judged),
            "plot": plot,
        }
