"""Compare nulls for frames against joints: shifts within an episode, and other episodes.

For every simulated episode the best delay is judged three times: against predictions from the
episode's own frames, shifted or reversed in time (as `estimators/state/null.py` does), against the
fit to the joints of six other episodes at every shift, and against both. True pairs should fall
below the limit, those of unrelated episodes should not. The other rejection tests are deliberately
not applied.
``python benchmarks/siblings.py`` prints the table; ``--n`` draws more episodes per case.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from robots import CASES
from tables import print_table

from syncaudit.datasets import load_manifest
from syncaudit.datasets.importing import import_dataset
from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.state import null
from syncaudit.estimators.state.driver import camera_increments, period_of, state_driver
from syncaudit.estimators.state.search import (
    RIDGES,
    change_at,
    log_likelihood,
    search_state,
    searched_rows,
)
from syncaudit.model import Activity, ImageMotion, Quantity
from syncaudit.pipeline import examine
from syncaudit.policy import load_policy
from syncaudit.simulate.robot import record_episode, write_lerobot

NULLS = ("own shifts", "siblings", "both")
N_SIBLINGS = 6
REACH_S = 2.0
Floats = null.Floats


@dataclass(frozen=True, kw_only=True)
class Episode:
    """Camera and joint motion of one episode."""

    cameras: list[ImageMotion]
    state: Activity


def recorded(name: str, n: int, seed: int) -> list[Episode]:
    """Return clean episodes of a case of `robots.py`."""
    config = next(case.config for case in CASES if case.name == name)
    episodes = []
    for k in range(n):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            write_lerobot(root / "data", [record_episode(config, seed + k)], version="v2.1")
            import_dataset(str(root / "data"), root / "m.jsonl", format_name="lerobot")
            (clip,) = load_manifest(str(root / "m.jsonl"))
            evidence = examine(clip, load_policy(profile="vla")).evidence
        states = [m[Quantity.STATE] for m in evidence.motion.values() if Quantity.STATE in m]
        episodes.append(Episode(cameras=[*evidence.image_motions.values()], state=states[0]))
    return episodes


def chances(
    camera: ImageMotion, state: Activity, others: list[Activity], longest_s: float
) -> list[bool] | None:
    """Return whether the best delay is below the limit, for each null; None without a delay."""
    seen = camera_increments(camera)
    seen = seen.rows(seen.mid_s - seen.mid_s[0] < longest_s)
    drivers, after_s = [], []
    for one in (state, *others):
        driver = state_driver(
            one,
            slower_s=max(period_of(camera), period_of(one)),
            n_rows=seen.values.shape[0],
            is_linear=False,
        )
        if driver is not None:
            drivers.append(driver)
            after_s.append((one.epoch_ns - camera.epoch_ns) * 1e-9)
    delays_s = np.arange(-REACH_S, REACH_S + 0.01, 0.02) - after_s[0]
    found = search_state(seen, drivers[0], delays_s)
    if found is None:
        return None
    best_s = float(delays_s[found.curve.best()])
    rows = searched_rows(seen)
    near_s = best_s + np.arange(-null.NEAR_S, null.NEAR_S + 0.01, null.NEAR_STEP_S)
    fading = np.exp(-np.diff(rows.mid_s) / null.MEMORY_S)
    moved = [(driver, by - after_s[0]) for driver, by in zip(drivers, after_s, strict=True)][1:]
    whole = _by_null(rows, drivers[0], moved, np.array([best_s]), None, 2.0 * REACH_S)
    fast = _by_null(rows, drivers[0], moved, near_s, fading, 2.0 * null.NEAR_S)
    return [
        null.why_by_chance(null.Chance(whole=slow, fast=quick)) is None
        for slow, quick in zip(whole, fast, strict=True)
    ]


def _by_null(
    rows: Increments,
    driver: RunningIntegral,
    others: list[tuple[RunningIntegral, float]],
    delays_s: Floats,
    keep: Floats | None,
    range_s: float,
) -> list[float]:
    n = rows.values.shape[0]
    values = null._faded(rows.values, keep)  # exactly the statistic used by the audit
    turned = null._faded(rows.values[::-1], None if keep is None else keep[::-1])
    changes, covered = change_at(rows, driver, delays_s)

    def height(change: Floats, is_in: object, what: Floats, shifts: object, ridge: float) -> Floats:
        moments = null._shifted(change, is_in, what, shifts, keep)  # type: ignore[arg-type]
        return log_likelihood(moments, n, ridge)

    value, ridge, k = max(
        (float(height(changes[k], covered[k], values, [0], ridge)[0]), ridge, k)
        for k in range(delays_s.size)
        for ridge in RIDGES
    )
    step_s = float(np.ptp(rows.mid_s)) / max(1, n - 1)
    stride = max(1, round(null.SHIFT_STEP_S / step_s))
    lobe = int(np.ceil(null.OWN_LOBE_S / step_s))
    own = [
        height(changes[k], covered[k], values, range(lobe, n - lobe, stride), ridge),
        height(changes[k], covered[k], turned, range(0, n, stride), ridge),
    ]
    foreign = []
    for other, by_s in others:
        change, is_in = change_at(rows, other, delays_s[k : k + 1] - by_s)
        foreign.append(height(change[0], is_in[0], values, range(0, n, stride), ridge))
    return [
        null.chance_of_peak(value, curves, range_s=range_s, step_s=stride * step_s)
        for curves in (own, foreign, own + foreign)
    ]


def run_case(name: str, n: int, seed: int, longest_s: float) -> list[list[object]]:
    """Return a table row for true pairs, and one for those of unrelated episodes."""
    episodes, rng = recorded(name, n, seed), np.random.default_rng(seed)
    rows: list[list[object]] = []
    for kind in ("true", "unrelated"):
        below = []
        for k, episode in enumerate(episodes):
            other = k if kind == "true" else int(rng.choice([j for j in range(n) if j != k]))
            rest = [j for j in range(n) if j not in (k, other)]
            siblings = [episodes[j].state for j in rng.permutation(rest)[:N_SIBLINGS]]
            for camera in episode.cameras:
                passed = chances(camera, episodes[other].state, siblings, longest_s)
                below += [] if passed is None else [passed]
        label = f"{name}, {longest_s:g} s, {kind}" if longest_s < np.inf else f"{name}, {kind}"
        rows.append([label, len(below), *(sum(one[j] for one in below) for j in range(len(NULLS)))])
    return rows


def main() -> None:
    """Run the cases and print how many pairs are below the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=16, help="episodes a case")
    parser.add_argument("--seed", type=int, default=71000)
    asked = parser.parse_args()
    rows = []
    for name, longest_s in (
        ("30 Hz, 12 s", np.inf),
        ("30 Hz, 12 s", 6.0),
        ("slow moves", np.inf),
        ("10 Hz, 20 s", np.inf),
    ):
        rows += run_case(name, asked.n, asked.seed, longest_s)
    print_table("pairs below the limit, by each null", ["episodes", "pairs", *NULLS], rows)


if __name__ == "__main__":
    main()
