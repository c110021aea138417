"""Learn baselines for a fleet from the clips of a finished run.

What an arm, a vehicle or a controller adds to an offset is the same in every clip of a fleet; a
clock error is not. So the median of the clips is the baseline, and `judge_baselines` reports what
lies farther from it than clips do.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from syncaudit.dsp.robust import mad_std
from syncaudit.model import ClipVerdict
from syncaudit.policy.limits import Policy, pair_baseline

# Fewer clips do not separate what is usual from what is wrong in some of them.
MIN_CLIPS = 8
# Tolerance in robust standard deviations: 1.4 % of 8 normal clips lie farther, 0.01 % of 200.
N_SPREADS = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetBaseline:
    """Offsets measured by a method in the clips of a fleet."""

    name: str  # the method, or the pair of sources as `pair_baseline` names it
    n_clips: int  # clips in which it was measured and accepted
    offset_s: float  # median of the clips
    spread_s: float  # robust standard deviation of the clips (median absolute deviation, scaled)
    limit_s: float  # the wider offset limit of its sources

    @property
    def tolerance_s(self) -> float | None:
        """Tolerance that clips as they are need; None if the limits of the sources are wider."""
        needed_s = N_SPREADS * self.spread_s
        return needed_s if needed_s > self.limit_s else None

    @property
    def is_known(self) -> bool:
        """Whether there are enough clips."""
        return self.n_clips >= MIN_CLIPS


class Fleet:
    """The measurements that are judged by baselines, added clip by clip.

    The policy determines which methods those are, and the limits of their sources.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._offsets_s: dict[tuple[str, str, str], array[float]] = {}
        self._limits_s: dict[tuple[str, str, str], float] = {}
        self._n_clips: Counter[str] = Counter()

    def add(self, clip: ClipVerdict) -> None:
        """Add the verdict on one clip.

        Refused measurements and those with a clock step are not typical. The clip's own offset
        between the two clocks is subtracted, as it is when clips are judged.
        """
        methods = set()
        for pair in clip.pairs:
            is_asked = pair.accepted and self._policy.is_baseline_only(pair)
            if pair.offset_s is None or not is_asked or pair.step_s is not None:
                continue
            ends = {
                name: clip.sources[name]
                for name in (pair.source, pair.target)
                if name in clip.sources
            }
            offset_s = pair.offset_s
            if len(ends) == 2 and all(end.is_observable for end in ends.values()):
                offset_s -= (ends[pair.source].offset_s or 0.0) - (
                    ends[pair.target].offset_s or 0.0
                )
            key = (pair.method, pair.source, pair.target)
            self._offsets_s.setdefault(key, array("d")).append(offset_s)
            limits_s = [self._policy.limits(name, end.kind).offset_s for name, end in ends.items()]
            self._limits_s[key] = max([self._limits_s.get(key, 0.0), *limits_s])
            methods.add(pair.method)
        self._n_clips.update(methods)

    def baselines(self) -> Iterator[FleetBaseline]:
        """Yield the baseline of each method, then of each pair of sources if there are several."""
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
