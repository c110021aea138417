"""Feature statistics as LeRobot stores them: per episode, and for all episodes together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from syncaudit.model.arrays import Floats

Stats = Mapping[str, Mapping[str, Any]]
"""Feature to statistic to value: nested lists of the feature's shape, or the sample count."""

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}


def of_episode(values: Mapping[str, Floats], *, has_quantiles: bool) -> dict[str, dict[str, Any]]:
    """Return the statistics of numeric features, each of shape (n, ...), as nested lists."""
    found: dict[str, dict[str, Any]] = {}
    for name, samples in values.items():
        columns = samples.reshape(len(samples), -1)
        stats = {
            "min": columns.min(axis=0),
            "max": columns.max(axis=0),
            "mean": columns.mean(axis=0),
            "std": columns.std(axis=0),
        }
        if has_quantiles:
            stats |= {key: np.quantile(columns, at, axis=0) for key, at in QUANTILES.items()}
        shape = samples.shape[1:] or (1,)
        found[name] = {key: value.reshape(shape).tolist() for key, value in stats.items()}
        found[name]["count"] = [len(samples)]
    return found


def together(episodes: Sequence[Stats]) -> dict[str, dict[str, Any]]:
    """Combine the statistics of the episodes into those of all samples.

    The variance combines the variances within and between episodes; quantiles are averaged over
    the episodes, weighted by the number of samples, as LeRobot does.
    """
    found: dict[str, list[Mapping[str, Any]]] = {}
    for stats in episodes:
        for name, values in stats.items():
            if "count" in values:  # otherwise their weight is unknown
                found.setdefault(name, []).append(values)
    return {name: _pooled(parts) for name, parts in found.items()}


def _pooled(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    keys = [key for key in parts[0] if all(key in part for part in parts)]
    stacked = {key: np.array([part[key] for part in parts], dtype=np.float64) for key in keys}
    counts = stacked.pop("count").ravel()
    share = counts / counts.sum()

    def mean_of(values: Floats) -> Floats:
        return np.asarray(np.tensordot(share, values, axes=1))

    found = {key: mean_of(values) for key, values in stacked.items()}
    found["min"], found["max"] = stacked["min"].min(axis=0), stacked["max"].max(axis=0)
    between = (stacked["mean"] - found["mean"]) ** 2
    found["std"] = np.sqrt(mean_of(stacked["std"] ** 2 + between))
    return {
        **{key: value.tolist() for key, value in found.items()},
        "count": [int(counts.sum())],
    }
