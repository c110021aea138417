"""Pulse times of a lamp: evenly or unevenly spaced pulses, bursts, or a given list."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .motion import FloatArray

_MOST_PULSES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacedTrain:
    """Space single pulses by intervals drawn between ``1 - spread`` and ``1 + spread`` of the mean.

    A spread of 0 is exactly periodic; a mean of a few milliseconds is a high-frequency strobe.
    """

    mean_interval_s: float
    spread: float = 0.5  # at least 0 and below 1

    def __post_init__(self) -> None:
        if not self.mean_interval_s > 0:
            raise ValueError(f"mean_interval_s is {self.mean_interval_s}, expected a positive time")
        _check_spread(self.spread)

    def draw(self, duration_s: float, rng: np.random.Generator) -> FloatArray:
        """Return the starts of all pulses in a clip, true seconds, shape (n,)."""
        return _spaced(self.mean_interval_s, self.spread, duration_s, rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstTrain:
    """Fire short bursts that each span a frame period, so that all cameras see some pulses."""

    # pulses per burst: frame period over (readout + exposure), rounded up, ensures that every
    # camera sees at least one
    n_pulses: int
    span_s: float  # the frame period; the mean spacing of pulses is its `n_pulses`-th part
    # mean spacing of burst starts; each is drawn between 0.5 and 1.5 times this
    mean_interval_s: float
    spread: float = 0.3  # unevenness of the pulse spacing within a burst

    def __post_init__(self) -> None:
        if self.n_pulses < 1:
            raise ValueError(f"n_pulses is {self.n_pulses}, expected 1 or more")
        _check_spread(self.spread)
        if not 0 < self.span_s * (1 + self.spread) < self.mean_interval_s / 2:
            raise ValueError(
                f"span_s is {self.span_s}: a burst must end before the next one, which may start "
                f"after half of mean_interval_s ({self.mean_interval_s})"
            )

    def draw(self, duration_s: float, rng: np.random.Generator) -> FloatArray:
        """Return the starts of all pulses in a clip, true seconds, shape (n,)."""
        bursts = _spaced(self.mean_interval_s, 0.5, duration_s, rng)
        low, high = 1 - self.spread, 1 + self.spread
        gaps = self.span_s / self.n_pulses * rng.uniform(low, high, (bursts.size, self.n_pulses))
        gaps[:, 0] = 0.0
        starts = (bursts[:, None] + np.cumsum(gaps, axis=1)).ravel()
        return np.asarray(starts[starts < duration_s])


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTrain:
    """Fire at given times, as listed in a flash plan."""

    starts_s: tuple[float, ...]  # increasing seconds after the clip's start

    def __post_init__(self) -> None:
        if any(b <= a for a, b in zip(self.starts_s, self.starts_s[1:], strict=False)):
            raise ValueError("starts_s must increase")

    @classmethod
    def from_csv(cls, path: str | Path) -> "ListedTrain":
        """Read the column ``start_s`` of a table.

        ValueError if there is no such column.
        """
        with Path(path).open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            if "start_s" not in (reader.fieldnames or ()):
                raise ValueError(f"{path}: no column start_s, found {reader.fieldnames}")
            return cls(starts_s=tuple(float(row["start_s"]) for row in reader))

    def draw(self, duration_s: float, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002
        """Return the pulses that fall into a clip, shape (n,); `rng` is unused (same protocol)."""
        starts = np.array(self.starts_s, dtype=np.float64)
        return np.asarray(starts[(starts >= 0) & (starts < duration_s)])


PulseTrain = SpacedTrain | BurstTrain | ListedTrain


def _spaced(
    mean_s: float, spread: float, duration_s: float, rng: np.random.Generator
) -> FloatArray:
    n_most = int(duration_s / mean_s / (1 - spread)) + 2
    if n_most > _MOST_PULSES:
        raise ValueError(f"a mean interval of {mean_s} s gives more than {_MOST_PULSES} pulses")
    starts = np.cumsum(mean_s * rng.uniform(1 - spread, 1 + spread, n_most))
    return np.asarray(starts[starts < duration_s])


def _check_spread(spread: float) -> None:
    if not 0 <= spread < 1:
        raise ValueError(f"spread is {spread}, expected 0 to below 1")
