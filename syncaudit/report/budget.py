"""Error budget of each source: how much of its tolerance each kind of error uses up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from syncaudit.formatting import MS_PER_H_PER_PPM, word_ms, word_share, word_span
from syncaudit.report.distribution import Distribution
from syncaudit.report.source_tally import SourceTally

# Column heads with the values usual in a well-built rig.
PARTS = (
    ("constant", "Constant offset", "trigger skew: below 1 ms"),
    ("varying", "Varies by clip", "beyond its own error"),
    ("buffering", "Buffering", "driver: 1–10 ms"),
    ("jitter", "Jitter", "transport: 1–5 ms"),
)
_WORTH_S = 0.1e-3  # smaller extremes are not reported
_SURE = 1.96  # standard errors beyond which a drift is significant


class PooledDrifts:
    """Drifts and steps of clocks over whole recordings, by source.

    They are those in the rows of ``recordings.jsonl``.
    """

    def __init__(self, recordings: Iterable[Mapping[str, Any]]) -> None:
        self._drifts: dict[str, Distribution] = {}
        self._stds: dict[str, Distribution] = {}
        self.steps_s: dict[str, Distribution] = {}
        for recording in recordings:
            for name, clock in recording["clocks"].items():
                if name == recording["reference"]:
                    continue
                for source in clock["sources"]:
                    if clock["drift_ppm"] is not None:
                        sizes = self._drifts.setdefault(source, Distribution())
                        sizes.add(abs(clock["drift_ppm"]))
                        self._stds.setdefault(source, Distribution()).add(clock["drift_std_ppm"])
                    steps = self.steps_s.setdefault(source, Distribution())
                    for step in clock["steps"]:
                        steps.add(step["step_s"])

    def of(self, source: str) -> tuple[Distribution, Distribution] | None:
        """Return sizes of drifts and their standard errors in ppm, None if none was pooled."""
        if source not in self._drifts:
            return None
        return self._drifts[source], self._stds[source]


def budget_row(tally: SourceTally, pooled: PooledDrifts) -> dict[str, Any]:
    """Return the budget of one source, each part in words and as a share of the tolerance."""
    parts = _parts(tally)
    largest = max((size for size, _ in parts.values() if size is not None), default=0.0)
    samples = tally.counts["samples"]
    lost = tally.counts["missing"]
    doubled = tally.counts["duplicates"] + tally.counts["doubled"]
    return {
        "name": tally.name,
        "kind": tally.kind,
        "parts": {
            name: _part(size, worst, tally.tolerance_s, is_largest=size == largest != 0.0)
            for name, (size, worst) in parts.items()
        },
        "drift": _drift(tally, pooled),
        "lost": word_share(lost, samples + lost) if samples else None,
        "doubled": word_share(doubled, samples) if samples else None,
        "steps": _steps(tally, pooled),
    }


def _parts(tally: SourceTally) -> dict[str, tuple[float | None, float | None]]:
    """Return the typical and the largest size of each part, in seconds."""
    offsets = tally.all_offsets_s()
    median = offsets.median()
    several = len(offsets) > 1
    return {
        "constant": (None if median is None else abs(median), None),
        "varying": (
            _beyond_error(offsets.spread(), tally.stds_s.median()),
            abs(tally.worst_s - median) if several and median is not None else None,
        ),
        "buffering": (tally.buffering_s.median(), tally.buffering_s.extreme()),
        "jitter": (tally.jitters_s.median(), tally.jitters_s.extreme()),
    }


def _beyond_error(spread: float | None, std: float | None) -> float | None:
    """Return the part of a spread that measurement errors do not explain."""
    if spread is None:
        return None
    return math.sqrt(max(0.0, spread**2 - (std or 0.0) ** 2))


def _part(
    size: float | None, worst: float | None, tolerance_s: float | None, *, is_largest: bool
) -> dict[str, Any]:
    if size is None:
        return {"words": None, "is_largest": False, "is_beyond": False}
    most = max(size, worst or 0.0)
    scale = 100.0 / tolerance_s if tolerance_s else 0.0
    return {
        "words": "none" if size == 0.0 else word_ms(size),
        # An extreme hardly larger than the typical size is not worth a line.
        "worst": word_ms(most) if most > 1.5 * size and most > _WORTH_S else None,
        "percent": min(100.0, scale * size),
        "worst_percent": min(100.0, scale * most),
        "ratio": f"{size / tolerance_s:.1f} × the tolerance" if tolerance_s else None,
        "is_beyond": bool(tolerance_s) and most > (tolerance_s or 0.0),
        "is_largest": is_largest,
    }


def _drift(tally: SourceTally, pooled: PooledDrifts) -> dict[str, Any] | None:
    found = pooled.of(tally.name)
    drifts, stds = found or (tally.drifts_ppm.sizes(), tally.drift_stds_ppm)
    ppm, std = drifts.median(), stds.median()
    if ppm is None:
        return None
    ms_per_h = MS_PER_H_PER_PPM * ppm
    noun = "recording" if found else "clip"
    where = f"in {len(drifts):,} {noun}{'' if len(drifts) == 1 else 's'}"
    if not found and std is not None and ppm < _SURE * std:
        return {
            "words": f"below {_ms_per_h(_SURE * MS_PER_H_PER_PPM * std)}",
            "where": where,
            "lasts": None,
        }
    most = MS_PER_H_PER_PPM * (drifts.extreme() or 0.0)
    hours = None if not tally.tolerance_s or not ms_per_h else 1e3 * tally.tolerance_s / ms_per_h
    return {
        "words": _ms_per_h(ms_per_h),
        "where": where + (f", up to {_ms_per_h(most)}" if most > 1.5 * ms_per_h else ""),
        # No single recording lasts a thousand hours.
        "lasts": None if hours is None or hours > 1000.0 else word_span(3600.0 * hours),
    }


def _ms_per_h(value: float) -> str:
    digits = f"{value:,.0f}" if value >= 100.0 else f"{value:.2g}"
    return f"{digits} ms/h"


def _steps(tally: SourceTally, pooled: PooledDrifts) -> str | None:
    steps = Distribution()
    steps.merge(tally.steps_s)
    steps.merge(pooled.steps_s.get(tally.name, Distribution()))
    largest = steps.extreme()
    if largest is None:
        return None
    return f"{len(steps):,}, up to {word_ms(abs(largest))}"
