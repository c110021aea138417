"""Learn what a fleet shows: baselines from the clips of a finished run.

What an arm, a vehicle or a controller adds to an offset is the same in every clip of a fleet, a
clock that is off is not. So the median of the clips is the baseline, and what lies further from it
than clips do is told by `judge_baselines`.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from syncaudit.dsp.robust import mad_std
from syncaudit.policy.limits import Policy, pair_baseline

__all__ = ["MIN_CLIPS", "Fleet", "FleetBaseline"]

# Fewer clips do not tell what is usual from what is wrong in some of them.
MIN_CLIPS = 8
# Tolerance in robust standard deviations: 1.4 % of 8 normal clips lie further, 0.01 % of 200.
N_SPREADS = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetBaseline:
    """What a method shows in the clips of a fleet.

    Parameters
    ----------
    name : str
        The method, or the pair of sources as `pair_baseline` names it.
    n_clips : int
        Clips in which it was measured and accepted.
    offset_s : float
        Median of the clips.
    spread_s : float
        Robust standard deviation of the clips (median absolute deviation, scaled).
    limit_s : float
        The wider offset limit of its sources.
    """

    name: str
    n_clips: int
    offset_s: float
    spread_s: float
    limit_s: float

    @property
    def tolerance_s(self) -> float | None:
        """Tolerance that clips as they are need; None where the limits of the sources are wider."""
        needed_s = N_SPREADS * self.spread_s
        return needed_s if needed_s > self.limit_s else None

    @property
    def is_known(self) -> bool:
        """Whether there are clips enough."""
        return self.n_clips >= MIN_CLIPS


class Fleet:
    """Gathers the measurements that are judged by baselines, row by row.

    Parameters
    ----------
    policy : Policy
        Tells which methods those are, and the limits of their sources.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._offsets_s: dict[tuple[str, str, str], array[float]] = {}
        self._limits_s: dict[tuple[str, str, str], float] = {}
        self._n_clips: Counter[str] = Counter()

    def add(self, row: Mapping[str, Any]) -> None:
        """Take one row of ``verdicts.jsonl``.

        Refused measurements and those with a step of the clock tell nothing usual. What the clip
        knows of the two clocks is taken off, as it is when clips are judged.

        Raises
        ------
        KeyError, TypeError, ValueError
            If the row is no verdict row of this version.
        """
        sources, methods = row["sources"], set()
        for pair in row["pairs"]:
            method, ends = str(pair["method"]), (str(pair["source"]), str(pair["target"]))
            is_asked = pair["is_baseline_only"] or method in self._policy.baseline_only
            if not (pair["accepted"] and is_asked) or pair.get("step_s") is not None:
                continue
            known = [sources.get(end, {}) for end in ends]
            offset_s = float(pair["offset_s"])
            if all(end.get("observable") for end in known):
                offset_s -= float(known[0]["offset_s"] or 0.0) - float(known[1]["offset_s"] or 0.0)
            if not math.isfinite(offset_s):
                continue
            key = (method, *ends)
            self._offsets_s.setdefault(key, array("d")).append(offset_s)
            limits_s = [
                self._policy.limits(end, item["kind"]).offset_s
                for end, item in zip(ends, known, strict=True)
                if item
            ]
            self._limits_s[key] = max([self._limits_s.get(key, 0.0), *limits_s])
            methods.add(method)
        self._n_clips.update(methods)

    def baselines(self) -> Iterator[FleetBaseline]:
        """Yield what each method shows, then, where there are several, each pair of sources."""
        for method in sorted(self._n_clips):
            own = {key: values for key, values in self._offsets_s.items() if key[0] == method}
            limit_s = max(self._limits_s[key] for key in own)
            yield _baseline(method, self._n_clips[method], np.concatenate([*own.values()]), limit_s)
            if len(own) > 1:
                for key, values in sorted(own.items()):
                    name = pair_baseline(*key)
                    yield _baseline(name, len(values), np.array(values), self._limits_s[key])


def _baseline(name: str, n_clips: int, offsets_s: Any, limit_s: float) -> FleetBaseline:
    middle_s = float(np.median(offsets_s))
    return FleetBaseline(
        name=name,
        n_clips=n_clips,
        offset_s=middle_s,
        spread_s=mad_std(offsets_s - middle_s),
        limit_s=limit_s,
    )
