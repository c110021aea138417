"""Coverage of pooled recording clocks: Monte Carlo of clip offsets, and a long drive as video.

Each recording draws one clock (drift within 50 ppm, a wander, perhaps steps), measures it in clips
with errors as claimed, and estimates its course. Reported are how often the pooled offset lies
within 1.96 claimed errors of the truth, how much pooling gains over the clip alone, the same for
the drift, and steps.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from base_clips import OUT
from long_drive import audit_drive, print_drive
from numpy.typing import NDArray
from tables import print_table, write_json

from syncaudit.graph.course import follow_clock
from syncaudit.model import ClockCourse
from syncaudit.simulate import EPOCH_NS

Floats = NDArray[np.float64]

CLIP_STD_S = 8e-4
CLIP_S = 20.0
# Random walk of the offset, s per square root of a second, and of the rate, per square root of a
# second: each weak one moves a clock by about 1.2 ms in an hour, each strong one by 12 ms.
WANDERS = {
    "none": (0.0, 0.0),
    "offset weak": (2e-5, 0.0),
    "offset strong": (2e-4, 0.0),
    "rate weak": (0.0, 1e-8),
    "rate strong": (0.0, 1e-7),
}
CASES = ("plain", "gaps", "5 % wrong", "sparse")
N_CLIPS = (3, 5, 10, 50, 500)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Parameters of one simulated recording."""

    n: int
    wander: str
    kind: str = "plain"
    step_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """One simulated clock, and the measurements of it in clips."""

    times_s: Floats
    truth_s: Floats
    drift_ppm: float
    seen_s: Floats
    std_s: Floats
    is_measured: NDArray[np.bool_]
    step_after: int | None

    def follow(self) -> ClockCourse:
        """Return the estimated course."""
        is_seen = self.is_measured.tolist()
        course = follow_clock(
            "cam",
            EPOCH_NS + np.rint(self.times_s * 1e9).astype(np.int64),
            [v if seen else None for v, seen in zip(self.seen_s.tolist(), is_seen, strict=True)],
            [v if seen else None for v, seen in zip(self.std_s.tolist(), is_seen, strict=True)],
        )
        assert course is not None
        return course


def draw(case: Case, rng: np.random.Generator) -> Drive:
    """Draw a recording: clips are consecutive, or ten minutes apart if ``sparse``."""
    n = case.n
    every_s = 600.0 if case.kind == "sparse" else CLIP_S
    times_s = every_s * np.arange(n)
    if case.kind == "gaps":
        times_s = times_s + 1800.0 * (np.arange(n) >= n // 2)
    white, walk = WANDERS[case.wander]
    gaps_s = np.diff(times_s)
    a, b = rng.normal(size=(2, n - 1))
    rate = 1e-6 * rng.uniform(-50.0, 50.0) + np.concatenate(
        ([0.0], np.cumsum(walk * np.sqrt(gaps_s) * a))
    )
    bend = walk * gaps_s**1.5 * (0.5 * a + b / np.sqrt(12.0))
    moves = rate[:-1] * gaps_s + bend + white * np.sqrt(gaps_s) * rng.normal(size=n - 1)
    truth_s = rng.normal(0.0, 0.01) + np.concatenate(([0.0], np.cumsum(moves)))
    is_measured = np.ones(n, dtype=bool)
    if case.kind == "gaps" and n > 3:
        is_measured[rng.choice(np.arange(n), int(0.3 * n), replace=False)] = False
    known = np.flatnonzero(is_measured)
    first, last = known[0], known[-1]
    drift = (truth_s[last] - truth_s[first]) / (times_s[last] - times_s[first])
    step_after = None
    if case.step_s:
        margin = max(1, min(6, n // 3))
        step_after = int(rng.integers(margin - 1, n - margin))
        truth_s = truth_s + case.step_s * rng.choice([-1.0, 1.0]) * (np.arange(n) > step_after)
    std_s = CLIP_STD_S * np.exp(0.5 * rng.normal(size=n))
    seen_s = truth_s + std_s * rng.normal(size=n)
    if case.kind == "5 % wrong":
        # A gross error in every twentieth clip; with few clips, in one of the recordings.
        wrong = rng.choice(n, max(1, round(0.05 * n)), replace=False)
        seen_s[wrong] += rng.choice([-1.0, 1.0], wrong.size) * rng.uniform(0.02, 0.5, wrong.size)
    return Drive(
        times_s=times_s,
        truth_s=truth_s,
        drift_ppm=1e6 * float(drift),
        seen_s=seen_s,
        std_s=std_s,
        is_measured=is_measured,
        step_after=step_after,
    )


def score(case: Case, rng: np.random.Generator) -> dict[str, Any]:
    """Estimate the clock of one simulated recording and compare it with the truth."""
    drive = draw(case, rng)
    course = drive.follow()
    judged = np.array([course.is_bracketed(k) for k in range(case.n)])
    error_s = (course.offset_s - drive.truth_s)[judged]
    std_s = course.offset_std_s[judged]
    at_ns = course.at_ns.tolist()
    found = [at_ns.index(step.after_ns) for step in course.steps]
    row: dict[str, Any] = {
        "z": error_s / std_s,
        "share": std_s / drive.std_s[judged],
        "n_steps": len(found),
    }
    if course.drift_ppm is not None and course.drift_std_ppm is not None:
        row["drift_z"] = (course.drift_ppm - drive.drift_ppm) / course.drift_std_ppm
    if drive.step_after is not None:
        is_near = [abs(after - drive.step_after) <= 1 for after in found]
        row["is_found"] = any(is_near)
        row["n_false"] = len(found) - sum(is_near)
    return row


def run(case: Case, n_recordings: int, seed: int) -> dict[str, Any]:
    """Return the figures of one case over many recordings."""
    began = time.perf_counter()
    rng = np.random.default_rng([seed, case.n, *map(ord, f"{case.wander}{case.kind}")])
    rows = [score(case, rng) for _ in range(n_recordings)]
    z = np.concatenate([row["z"] for row in rows])
    drift_z = np.array([row["drift_z"] for row in rows if "drift_z" in row])
    result = {
        "n": case.n,
        "wander": case.wander,
        "kind": case.kind,
        "step_s": case.step_s,
        "recordings": n_recordings,
        "covered": float(np.mean(np.abs(z) < 1.96)),
        "rms_z": float(np.sqrt(np.mean(z**2))),
        "std_share": float(np.median(np.concatenate([row["share"] for row in rows]))),
        "drift_covered": float(np.mean(np.abs(drift_z) < 1.96)) if drift_z.size else None,
        "with_steps": float(np.mean([row["n_steps"] > 0 for row in rows])),
        "seconds": (time.perf_counter() - began) / n_recordings,
    }
    if case.step_s:
        result["found"] = float(np.mean([row["is_found"] for row in rows]))
        result["with_false"] = float(np.mean([row["n_false"] > 0 for row in rows]))
    return result


def speed(n: int, seed: int) -> dict[str, Any]:
    """Return the CPU time of one clock of a recording, without and with a step."""
    row: dict[str, Any] = {"n": n}
    for name, step_s in (("plain_s", 0.0), ("step_s", 0.03)):
        case = Case(n=n, wander="offset weak", kind="plain", step_s=step_s)
        drive = draw(case, np.random.default_rng(seed))
        began = time.process_time()
        drive.follow()
        row[name] = time.process_time() - began
    return row


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--budget", type=int, default=3000, help="clips drawn for each case")
    parser.add_argument("--drive", type=int, default=0, metavar="N", help="also N clips as video")
    parser.add_argument("--only-drive", action="store_true")
    given = parser.parse_args(arguments)
    result: dict[str, Any] = {"seed": given.seed, "budget": given.budget}
    if not given.only_drive:
        result |= _monte_carlo(given.seed, given.budget)
    if given.drive:
        result["drive"] = audit_drive(given.drive, given.seed)
        print_drive(result["drive"])
    write_json(OUT / "pooling.json", result)
    return 0


def _monte_carlo(seed: int, budget: int) -> dict[str, Any]:
    cases, steps = [], []
    for n in N_CLIPS:
        count = min(300, max(10, budget // n))
        cases += [
            run(Case(n=n, wander=wander, kind=kind), count, seed)
            for kind in CASES
            for wander in WANDERS
            # With few clips, one wrong clip cannot be distinguished from a wandering clock.
            if not (kind == "5 % wrong" and n < 5)
        ]
        if n >= 10:
            steps += [
                run(Case(n=n, wander=wander, step_s=size_s), count, seed)
                for size_s in (5.0 * CLIP_STD_S, 0.03)
                for wander in ("none", "offset weak", "rate strong")
            ]
    for n in N_CLIPS:
        _print_cases(f"{n} clips", [row for row in cases if row["n"] == n])
    _print_steps(steps)
    speeds = [speed(n, seed) for n in (100, 1000, 10_000)]
    print_table(
        "One clock, processor seconds",
        ("clips", "no step", "a step of 30 ms"),
        [(str(row["n"]), row["plain_s"], row["step_s"]) for row in speeds],
    )
    return {"cases": cases, "steps": steps, "speeds": speeds}


def _print_cases(title: str, rows: Sequence[dict[str, Any]]) -> None:
    header = ("case", "recordings", "covered", "rms z", "std/clip's", "drift covered", "with steps")
    print_table(
        title,
        header,
        [
            (
                f"{row['kind']}, {row['wander']}",
                row["recordings"],
                row["covered"],
                row["rms_z"],
                row["std_share"],
                row["drift_covered"],
                row["with_steps"],
            )
            for row in rows
        ],
    )


def _print_steps(rows: Sequence[dict[str, Any]]) -> None:
    print_table(
        "One step in each recording",
        ("clips, wander", "step ms", "recordings", "found", "with a false one", "covered"),
        [
            (
                f"{row['n']}, {row['wander']}",
                1e3 * row["step_s"],
                row["recordings"],
                row["found"],
                row["with_false"],
                row["covered"],
            )
            for row in rows
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
