"""Count the offsets that are accepted between unrelated recordings.

Every pair of unrelated recordings is passed to the estimator of its kinds, both moved to the same
time span: any accepted measurement is wrong. The recordings are the real ones of
``../shared/realdata`` (cut into non-overlapping windows), simulated drives, robots and voices, and
motions generated here, independently of the simulator (`null_evidence`). Pairs of one recording
with itself, with independent noise, show that the tests are not merely strict.

``python benchmarks/null.py`` prints a table and writes ``benchmarks/out/null.json``.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from base_clips import OUT
from null_evidence import Found, drives, drones, real, robots, voices
from scipy.stats import beta
from tables import print_table, write_json

from syncaudit.estimators import measure_speech
from syncaudit.estimators.events import measure_flashes
from syncaudit.estimators.inertial import measure_imu_imu
from syncaudit.estimators.knocks.measure import estimate_knocks
from syncaudit.estimators.rotation import (
    measure_camera_camera,
    measure_camera_gyro,
    measure_camera_yaw,
)
from syncaudit.estimators.sound.measure import estimate_microphones
from syncaudit.estimators.state.measure import measure_camera_state
from syncaudit.estimators.state.states import measure_states
from syncaudit.estimators.vehicle import measure_can_imu
from syncaudit.model import PairMeasurement, Quantity
from syncaudit.policy import load_policy

Row = dict[str, Any]
# Beyond this many pairs of a kind, pairs are drawn at random.
MAX_PAIRS = 4000


@dataclass(frozen=True, kw_only=True)
class Test:
    """One estimator and the kinds of evidence that it takes.

    Attributes
    ----------
    name : str
    source, target : str
        Kinds of evidence, keys of `Found.parts`.
    measure : callable
        Takes both and the search range.
    """

    name: str
    source: str
    target: str
    measure: Callable[[Any, Any, float], PairMeasurement | Sequence[PairMeasurement]]

    def is_seen_by(self, one: Found) -> bool:
        """Return whether a recording holds both, from separate sensors."""
        kinds = one.twins if self.source == self.target else one.parts
        return self.source in one.parts and self.target in kinds


TESTS = (
    Test(
        name="gyroscope, gyroscope",
        source="gyro",
        target="gyro",
        measure=lambda a, b, most_s: measure_imu_imu(a, b, max_offset_s=most_s),
    ),
    Test(
        name="accelerometer, accelerometer",
        source="force",
        target="force",
        measure=lambda a, b, most_s: measure_imu_imu(a, b, max_offset_s=most_s),
    ),
    Test(
        name="camera, gyroscope",
        source="rotation",
        target="gyro",
        measure=lambda a, b, most_s: measure_camera_gyro(a, b, max_offset_s=most_s),
    ),
    Test(
        name="camera, camera",
        source="rotation",
        target="rotation",
        measure=lambda a, b, most_s: measure_camera_camera(a, b, max_offset_s=most_s),
    ),
    Test(
        name="camera, bus",
        source="rotation",
        target="bus",
        measure=lambda a, b, most_s: measure_camera_yaw(
            a, b[Quantity.YAW_RATE], max_offset_s=most_s
        ),
    ),
    Test(
        name="bus, IMU",
        source="bus",
        target="imu",
        measure=lambda a, b, most_s: measure_can_imu(a, b, max_offset_s=most_s),
    ),
    Test(
        name="state, state",
        source="state",
        target="state",
        measure=lambda a, b, most_s: measure_states(a, b, max_offset_s=most_s),
    ),
    Test(
        name="camera, state",
        source="picture",
        target="state",
        measure=lambda a, b, most_s: measure_camera_state(a, b, max_offset_s=most_s),
    ),
    Test(
        name="microphone, microphone",
        source="sound",
        target="sound",
        measure=lambda a, b, most_s: estimate_microphones(a, b, max_offset_s=most_s),
    ),
    Test(
        name="microphone, accelerometer",
        source="loudness",
        target="force",
        measure=lambda a, b, most_s: estimate_knocks(a, b, max_offset_s=most_s),
    ),
    Test(
        name="phones, sound",
        source="phones",
        target="bands",
        measure=lambda a, b, most_s: measure_speech(a, b, max_offset_s=most_s),
    ),
    Test(
        name="words, sound",
        source="words",
        target="bands",
        measure=lambda a, b, most_s: measure_speech(a, b, max_offset_s=most_s),
    ),
    Test(
        name="flashes, flashes",
        source="events",
        target="events",
        measure=lambda a, b, most_s: measure_flashes(a, b, max_offset_s=most_s),
    ),
)


def main() -> int:
    """Run the benchmark and always return 0: it does not gate anything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=24, help="recordings of each simulated kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="parts of names of tests, with semicolons")
    parser.add_argument("--pairs", type=int, default=MAX_PAIRS, help="most pairs of a test")
    parser.add_argument("--out", type=Path, default=OUT / "null.json")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    tests = [
        test
        for test in TESTS
        if not options.only or any(part in test.name for part in options.only.split(";"))
    ]
    wanted = {kind for test in tests for kind in (test.source, test.target)}
    found = [
        recording
        for make in (drives, drones, robots, voices, real)
        for recording in make(options.n, options.seed, wanted)
    ]
    rows, wrong = tried(tests, found, most=options.pairs, seed=options.seed)
    write_json(options.out, {"rows": rows, "wrong": wrong, "seed": options.seed, "n": options.n})
    return 0


def tried(
    tests: Sequence[Test], found: Sequence[Found], *, most: int = MAX_PAIRS, seed: int = 0
) -> tuple[list[Row], list[Row]]:
    """Measure all pairs of unrelated recordings and print a table.

    Parameters
    ----------
    tests : sequence of Test
    found : sequence of Found
    most : int
        Maximum number of pairs per test; a random sample is taken of more.
    seed : int

    Returns
    -------
    rows : list of dict
        One per test.
    wrong : list of dict
        All accepted measurements.
    """
    max_offset_s = load_policy().max_offset_s
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    wrong: list[Row] = []
    for test in tests:
        row, accepted = _run(test, found, max_offset_s, most, rng)
        rows.append(row)
        wrong += accepted
        print(f"{test.name}: {row['n']} pairs, {row['accepted']} accepted", flush=True)
    print_table(
        f"Unrelated recordings, searched ± {max_offset_s:g} s",
        (
            "pair",
            "pairs",
            "accepted",
            "in 1,000",
            "at most (95 %)",
            "own pairs",
            "accepted %",
            "ms CPU",
        ),
        [
            (
                row["test"],
                row["n"],
                row["accepted"],
                row["per_thousand"],
                row["per_thousand_at_most"],
                row["own"],
                row["own_accepted_percent"],
                row["cpu_ms"],
            )
            for row in rows
        ],
    )
    for case in wrong[:60]:
        print(
            f"  {case['test']}: {case['source']} -> {case['target']}: {case['method']} "
            f"{1e3 * case['offset_s']:.1f} ± {1e3 * case['offset_std_s']:.1f} ms"
        )
    if len(wrong) > 60:
        print(f"  and {len(wrong) - 60} more, in the JSON")
    return rows, wrong


def _run(
    test: Test,
    found: Sequence[Found],
    max_offset_s: float,
    most: int,
    rng: np.random.Generator,
) -> tuple[Row, list[Row]]:
    """Measure the pairs of one test; return its row and all accepted measurements."""
    sources = [one for one in found if test.source in one.parts]
    targets = [one for one in found if test.target in one.parts]
    pairs = [(a, b) for a, b in itertools.product(sources, targets) if not a.is_related(b)]
    if len(pairs) > most:
        pairs = [pairs[k] for k in sorted(rng.choice(len(pairs), most, replace=False))]
    own = [(one, one) for one in sources if test.is_seen_by(one)]
    n_measured = n_accepted = 0
    wrong = []
    began_s = time.process_time()
    for a, b in pairs:
        results = list(_measured(test, a, b, max_offset_s))
        n_measured += bool(results)
        accepted = [pair for pair in results if pair.accepted and not pair.is_baseline_only]
        n_accepted += bool(accepted)
        wrong += [
            {
                "test": test.name,
                "source": a.name,
                "target": b.name,
                "method": pair.method,
                "offset_s": pair.offset_s,
                "offset_std_s": pair.offset_std_s,
                "diagnostics": dict(pair.diagnostics),
            }
            for pair in accepted
        ]
    cpu_s = time.process_time() - began_s
    kept = [any(p.accepted for p in _measured(test, a, b, max_offset_s)) for a, b in own]
    at_most = float(beta.ppf(0.95, n_accepted + 1, n_measured - n_accepted)) if n_measured else None
    return {
        "test": test.name,
        "n": n_measured,
        "accepted": n_accepted,
        "per_thousand": 1e3 * n_accepted / n_measured if n_measured else None,
        "per_thousand_at_most": None if at_most is None else 1e3 * at_most,
        "own": len(kept),
        "own_accepted_percent": 100.0 * float(np.mean(kept)) if kept else None,
        "cpu_ms": 1e3 * cpu_s / max(1, n_measured),
    }, wrong


def _measured(test: Test, a: Found, b: Found, max_offset_s: float) -> Iterator[PairMeasurement]:
    source = a.parts[test.source]
    # Evidence against itself proves nothing: use another sensor's view, or independent noise.
    is_itself = a is b and test.source == test.target
    target = b.twins[test.target] if is_itself else b.parts[test.target]
    measured = test.measure(source, target, max_offset_s)
    yield from [measured] if isinstance(measured, PairMeasurement) else measured


if __name__ == "__main__":
    sys.exit(main())
