"""Test the promises of tuned policies on recordings that they were not tuned on.

``python benchmarks/strictness.py`` tunes on half of the recordings of simulated fleets
(``fleet.py``: 300 clips of 150 recordings by 10 vehicles, by their measurements) and evaluates the
other half, ten splits of each of ten fleets. Fleets 1 to 100 were used to develop how `tune`
chooses; those from ``--first`` on are new. ``--run OUT`` splits a run of yours instead. Prints a
table and writes ``benchmarks/out/strictness.json``; ``--pages FOLDER`` keeps fleet 1, its report,
and the plots of all of it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from fleet import fleet, write_run
from tables import print_table, write_json

from syncaudit.cli.judged import outputs_of
from syncaudit.errors import UsageError
from syncaudit.evaluation.change import Change
from syncaudit.evaluation.judged import Judged
from syncaudit.evaluation.outcomes import Outcome, outcome_of
from syncaudit.evaluation.tuning import Goal, Tuning, tune
from syncaudit.evaluation.tuning_plots import plot_tuning
from syncaudit.evaluation.variants import Judging, good_clips, make_variants
from syncaudit.model import Verdict
from syncaudit.policy import Policy, load_policy

OUT = Path(__file__).parent / "out" / "strictness.json"
GOAL = Goal(max_false_reject=0.05, min_found=0.95, size_s=0.02)


class World:
    """Good clips of a run and their variants, judged by any limits.

    Parameters
    ----------
    out : Path
        Output folder.
    policy : Policy
        The policy whose limits are replaced.
    """

    def __init__(self, out: Path, policy: Policy, sizes_s: Collection[float] = (GOAL.size_s,)):
        self.policy = policy
        changes = [Change(amount=sign * size) for size in sizes_s for sign in (1.0, -1.0)]
        rng = np.random.default_rng(0)
        with outputs_of(str(out)) as (clips, known):
            good = good_clips(clips, known)
            self.judging = Judging(
                make_variants(good, changes, rng, n_variants=4 * len(sizes_s), policy=policy)
            )
        self.truth = self.judging.truth
        self.recordings = {row.original: row.recording or row.original for row in self.truth}
        self.names = sorted(set(self.recordings.values()))

    def judge(self, limits_s: Mapping[str, float], wanted: Collection[str]) -> Mapping[str, Judged]:
        """Judge some clips and variants with these limits per kind."""
        kinds = {k: replace(self.policy.kinds[k], offset_s=s) for k, s in limits_s.items()}
        policy = replace(self.policy, kinds={**self.policy.kinds, **kinds})
        return self.judging.by(policy, tuple(sorted(limits_s.items())), wanted)

    def tuned(self, names: Collection[str], seed: int) -> Tuning:
        """Tune on some recordings."""
        rows = [row for row in self.truth if self.recordings[row.original] in names]
        return tune(rows, self.recordings, self.judge, GOAL, seed=seed)

    def shares(self, limits_s: Mapping[str, float], names: Collection[str]) -> dict[str, float]:
        """Return the true rates on some recordings: detections by kind, and good clips kept."""
        rows = [row for row in self.truth if self.recordings[row.original] in names]
        judged = self.judge(limits_s, [row.clip_id for row in rows])
        controls = {row.original: judged[row.clip_id] for row in rows if row.is_control}
        found: dict[str, list[bool]] = {}
        for row in rows:
            if row.is_control or row.change.size != GOAL.size_s:
                continue
            outcome = outcome_of(row, judged[row.clip_id], controls[row.original])
            if outcome is not None:
                found.setdefault(str(row.kind), []).append(outcome is Outcome.FOUND)
        kept = [one.verdict is not Verdict.REJECT for one in controls.values()]
        return {kind: float(np.mean(hits)) for kind, hits in found.items()} | {
            "kept": float(np.mean(kept))
        }


def broken(promised: Tuning, seen: Mapping[str, float]) -> list[str]:
    """Return the promises that are not kept."""
    lows = {kind: one.found.low for kind, one in promised.limits.items()}
    lows["kept"] = promised.kept.low
    return [name for name, low in lows.items() if seen.get(name, 1.0) < low]


def half_splits(world: World, n: int) -> tuple[list[list[str]], list[Tuning]]:
    """Tune on random halves of the recordings, and return what failed on the other halves."""
    failures, tunings = [], []
    for seed in range(n):
        order = np.random.default_rng(seed).permutation(world.names).tolist()
        half = len(order) // 2
        tuning = world.tuned(order[:half], seed)
        limits = {kind: one.limit_s for kind, one in tuning.limits.items()}
        failures.append(broken(tuning, world.shares(limits, order[half:])))
        tunings.append(tuning)
    return failures, tunings


def pages(folder: Path, policy: Policy) -> None:
    """Keep a fleet, its report, and the plots of the tuning on all of it."""
    write_run(fleet(1), policy, folder / "fleet")
    sizes_s = [share * GOAL.size_s for share in (0.25, 0.5, 0.75, 1.0, 1.5, 2.5)]
    world = World(folder / "fleet", policy, sizes_s)
    tuning = world.tuned(world.names, 0)
    limits = {kind: one.limit_s for kind, one in tuning.limits.items()}
    names = [row.clip_id for row in world.truth]
    plot_tuning(tuning, GOAL, world.truth, world.judge(limits, names), folder)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--splits", type=int, default=10, help="of each fleet")
    parser.add_argument("--fleets", type=int, default=10)
    parser.add_argument("--first", type=int, default=101, help="seed of the first fleet")
    parser.add_argument("--run", type=Path, help="a run of yours")
    parser.add_argument("--pages", type=Path, help="keep a run, its report, and plots here")
    args = parser.parse_args()
    policy = load_policy()
    if args.pages is not None:
        pages(args.pages, policy)
    failures: list[list[str]] = []
    tunings: list[Tuning] = []
    began = time.process_time()
    for seed in range(args.first, args.first + (1 if args.run else args.fleets)):
        with TemporaryDirectory() as scratch:
            if args.run is None:
                write_run(fleet(seed), policy, Path(scratch))
            world = World(args.run or Path(scratch), policy)
        try:
            found, tuned = half_splits(world, args.splits)
        except UsageError as error:
            print(error)
            return
        print(f"fleet {seed}: {sum(map(bool, found))} of {len(found)} broken", flush=True)
        failures += found
        tunings += tuned
    row = [
        len(failures),
        sum(not names for names in failures),
        float(np.median([100 * t.limits["camera"].found.low for t in tunings])),
        float(np.median([100 * t.kept.low for t in tunings])),
        ", ".join(
            f"{kind} {np.median([1e3 * t.limits[kind].limit_s for t in tunings]):g}"
            for kind in sorted(tunings[0].limits)
        ),
    ]
    header = ["splits", "all kept", "camera found >= (%)", "good kept >= (%)", "limits (ms)"]
    print_table("Promises on recordings not seen", header, [row])
    for names in filter(None, failures):
        print("  broken:", ", ".join(names))
    cpu_s = time.process_time() - began
    print(f"{cpu_s:.0f} s of CPU")
    write_json(OUT, {"row": row, "broken": failures, "cpu_s": cpu_s})


if __name__ == "__main__":
    main()
