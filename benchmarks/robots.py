"""Measure robot episodes: cameras against joints, joints against commands.

Truth is by construction (`syncaudit.simulate.robot`): an arm that picks and places, seen from a
stand and from its wrist, written as a LeRobot data set and read back from it. Of ten episodes three
have a wrist camera four frames late, one a wrist camera one frame late, one a camera on a stand
four frames late, one joints 50 ms late, one a wrist camera that drops frames; three are clean.
Every camera is also compared with the joints of all other episodes of its case, to which it is
unrelated: none may be accepted; and with its own joints while its frames are stamped too early for
a while (`STALLS`), as by a recorder that stalls and catches up. ``python benchmarks/robots.py``
prints the tables and writes ``benchmarks/out/robots.json``; ``--seed`` draws other episodes,
``--n`` more, ``--case`` picks cases by words of their names.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import one_thread  # noqa: F401  # before numpy
from tables import print_table, write_json

from syncaudit.datasets import load_manifest
from syncaudit.datasets.importing import import_dataset
from syncaudit.estimators.state.measure import measure_camera_state
from syncaudit.model import Activity, ClipVerdict, ImageMotion, PairMeasurement, Quantity
from syncaudit.pipeline import examine
from syncaudit.policy import load_policy
from syncaudit.simulate.robot import (
    ContentFault,
    EpisodeConfig,
    SceneStyle,
    TaskStyle,
    record_episode,
    write_lerobot,
)

OUT = Path(__file__).resolve().parent / "out"
# Kinds of fault in turn: every ten episodes have the same mixture.
TURNS = (
    "wrist 4 late",
    "clean",
    "state 50 ms late",
    "wrist 4 late",
    "wrist 1 late",
    "clean",
    "top 4 late",
    "wrist 4 late",
    "wrist drops",
    "clean",
)

# Lengths of stalls, and how late frames are meanwhile, in seconds.
STALLS = ((1.0, 0.1), (1.0, 0.2), (2.0, 0.1), (2.0, 0.06))


@dataclass(frozen=True, kw_only=True)
class Case:
    """How episodes are recorded.

    Attributes
    ----------
    name : str
    config : EpisodeConfig
    has_state : bool
        Whether the joints are stored, or only the commands.
    """

    name: str
    config: EpisodeConfig = field(default_factory=EpisodeConfig)
    has_state: bool = True


def _scene(**style: Any) -> EpisodeConfig:
    return EpisodeConfig(scene=SceneStyle(**style))


CASES = (
    Case(name="30 Hz, 12 s"),
    Case(name="20 Hz, 15 s", config=EpisodeConfig(fps=20.0, duration_s=15.0)),
    Case(name="10 Hz, 20 s", config=EpisodeConfig(fps=10.0, duration_s=20.0)),
    Case(name="30 Hz, 25 s", config=EpisodeConfig(duration_s=25.0)),
    Case(name="224 x 224, crf 32", config=EpisodeConfig(size_px=(224, 224), crf=32)),
    Case(name="a person's hand", config=_scene(has_hand=True)),
    Case(name="plain table", config=_scene(contrast=0.2)),
    Case(name="light and flicker", config=EpisodeConfig(light_step=0.25, flicker=0.03)),
    Case(
        name="slow moves", config=EpisodeConfig(task=TaskStyle(move_s=(1.5, 3.0), tremor_deg=0.1))
    ),
    Case(name="commands only", has_state=False),
)


def fault_of(kind: str, config: EpisodeConfig) -> EpisodeConfig:
    """Return the recording of an episode with a fault."""
    period_s, middle = 1.0 / config.fps, config.n_frames // 2
    faults: dict[str, dict[str, ContentFault]] = {
        "clean": {},
        "wrist 4 late": {"wrist": ContentFault(late_s=4 * period_s)},
        "wrist 1 late": {"wrist": ContentFault(late_s=period_s)},
        "top 4 late": {"top": ContentFault(late_s=4 * period_s)},
        "state 50 ms late": {"state": ContentFault(late_s=0.05)},
        "wrist drops": {"wrist": ContentFault(dropped=(middle, middle + 1, middle + 2))},
    }
    return replace(config, faults=faults[kind])


@dataclass(kw_only=True)
class Tally:
    """Results of the episodes of one case."""

    errors_s: dict[str, list[float]] = field(default_factory=dict)
    z: dict[str, list[float]] = field(default_factory=dict)
    n_measured: dict[str, int] = field(default_factory=dict)
    n_wrong: int = 0
    found: dict[str, list[bool]] = field(default_factory=dict)
    n_clean: int = 0
    n_false: int = 0
    n_unverified: int = 0
    n_unrelated: int = 0
    n_believed: int = 0
    stalls: list[bool] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    n: int = 0


def _note(tally: Tally, pair: PairMeasurement, config: EpisodeConfig, label: str) -> None:
    """Compare a measurement with the truth."""
    fault, state = (config.faults.get(name, ContentFault()) for name in (pair.source, "state"))
    if pair.method != "arm_motion" or fault.dropped:
        return  # an arm's dynamics have no single true delay; steps are judged by the verdict
    view = "wrist" if pair.source == "wrist" else "stand"
    tally.n_measured[view] = tally.n_measured.get(view, 0) + 1
    if not pair.accepted or pair.offset_s is None or pair.offset_std_s is None:
        tally.notes.append(f"{label} {pair.source}: refused: {pair.why}")
        return
    error_s = pair.offset_s - (state.late_s - fault.late_s)
    z = error_s / pair.offset_std_s
    tally.errors_s.setdefault(view, []).append(error_s)
    tally.z.setdefault(view, []).append(z)
    if abs(error_s) > 0.5 / config.fps and abs(z) > 3.0:
        tally.n_wrong += 1
        tally.notes.append(f"{label} {pair.source}: WRONG by {1e3 * error_s:.1f} ms, z {z:.1f}")


def _judge(tally: Tally, verdict: ClipVerdict, kind: str, label: str) -> None:
    """Compare the verdict with the planted fault."""
    blamed = {reason.source for reason in verdict.reasons if str(reason.code) != "unobservable"}
    rejected = str(verdict.verdict) == "reject"
    if str(verdict.verdict) == "unverified":
        tally.n_unverified += 1
        tally.notes.append(f"{label} unverified: {verdict.reasons[0].message}")
    if kind == "clean":
        tally.n_clean += 1
        tally.n_false += rejected
        if rejected:
            tally.notes.append(f"{label} FALSE: {verdict.reasons[0].message}")
        return
    is_found = rejected and kind.split()[0] in blamed
    tally.found.setdefault(kind, []).append(is_found)
    if not is_found:
        said = "; ".join(reason.message for reason in verdict.reasons) or "passed"
        tally.notes.append(f"{label} {kind} MISSED: {said}")


def run_case(case: Case, n: int, seed: int) -> Tally:
    """Record, import, audit and compare `n` episodes."""
    policy, tally = load_policy(profile="vla"), Tally()
    seen: list[tuple[list[ImageMotion], Activity | None]] = []
    for k in range(n):
        kind = TURNS[k % len(TURNS)]
        if not case.has_state and kind == "state 50 ms late":
            kind = "clean"
        config = fault_of(kind, case.config)
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            version = ("v2.1", "v3.0")[k % 2]
            write_lerobot(
                root / "data",
                [record_episode(config, seed + k)],
                version=version,
                has_state=case.has_state,
            )
            import_dataset(str(root / "data"), root / "out" / "m.jsonl", format_name="lerobot")
            (clip,) = load_manifest(str(root / "out" / "m.jsonl"))
            began = time.process_time()
            found = examine(clip, policy)
            tally.seconds += time.process_time() - began
        verdict, motions = found.verdict, found.evidence.motion.values()
        states = [m[Quantity.STATE] for m in motions if Quantity.STATE in m]
        seen.append((list(found.evidence.image_motions.values()), *(states[:1] or [None])))
        tally.n += 1
        label = f"{case.name}, seed {seed + k}, {kind}:"
        for pair in verdict.pairs:
            _note(tally, pair, config, label)
        _judge(tally, verdict, kind, label)
    _cross(tally, seen, case.name)
    _stall(tally, seen, seed)
    return tally


def _cross(tally: Tally, seen: list[tuple[list[ImageMotion], Activity | None]], name: str) -> None:
    """Compare cameras with the joints of all other episodes."""
    for k, (cameras, _) in enumerate(seen):
        for other, (_, state) in enumerate(seen):
            if other == k or state is None:
                continue
            for camera in cameras:
                pair = measure_camera_state(camera, state)
                tally.n_unrelated += 1
                tally.n_believed += pair.accepted
                if pair.accepted:
                    label = f"{name}, {camera.source} of {k}, joints of {other}"
                    tally.notes.append(f"{label}: BELIEVED at {pair.offset_s} s")


def _stall(tally: Tally, seen: list[tuple[list[ImageMotion], Activity | None]], seed: int) -> None:
    """Stamp the frames of good cameras too early for a while, and list which are refused."""
    rng = np.random.default_rng(seed)
    for cameras, state in seen:
        for camera in cameras if state is not None else ():
            if not measure_camera_state(camera, state).accepted:
                continue
            first_s, span_s = camera.start_s[0], camera.stop_s[-1] - camera.start_s[0]
            for lasts_s, late_s in STALLS:
                begin_s = first_s + span_s * rng.uniform(0.2, 0.6)
                start_s, stop_s = (
                    at_s - late_s * ((at_s >= begin_s) & (at_s < begin_s + lasts_s))
                    for at_s in (camera.start_s, camera.stop_s)
                )
                is_kept = stop_s > start_s
                stalled = replace(
                    camera,
                    start_s=start_s[is_kept],
                    stop_s=stop_s[is_kept],
                    moves=camera.moves[is_kept],
                )
                tally.stalls.append(not measure_camera_state(stalled, state).accepted)


def _row(case: Case, view: str, tally: Tally) -> list[object]:
    errors_s, z = np.array(tally.errors_s.get(view, [])), np.array(tally.z.get(view, []))
    if not errors_s.size:
        return [f"{case.name}, {view}", tally.n_measured.get(view, 0), 0, None, None, None, None]
    return [
        f"{case.name}, {view}",
        tally.n_measured[view],
        int(errors_s.size),
        1e3 * float(np.mean(errors_s)),
        1e3 * float(np.sqrt(np.mean(errors_s**2))),
        1e3 * float(np.max(np.abs(errors_s))),
        f"{100 * np.mean(np.abs(z) < 1.96):.0f} %",
    ]


def main() -> None:
    """Run the cases and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=20, help="episodes a case")
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--case", default="", help="only cases whose name holds this")
    parser.add_argument("--notes", action="store_true", help="print every miss and refusal")
    asked = parser.parse_args()
    cases = [case for case in CASES if asked.case in case.name]
    tallies = []
    for number, case in enumerate(CASES):
        if case in cases:
            tally = run_case(case, asked.n, asked.seed + 1000 * number)
            tallies.append(tally)
            if asked.notes:
                print(*tally.notes, sep="\n", flush=True)
    print_table(
        "cameras against joints (ms)",
        ["episodes", "pairs", "accepted", "mean", "rmse", "largest", "within 1.96 sigma"],
        [
            _row(case, view, tally)
            for case, tally in zip(cases, tallies, strict=True)
            for view in ("wrist", "stand")
        ],
    )
    kinds = list(dict.fromkeys(kind for kind in TURNS if kind != "clean"))
    print_table(
        "episodes: faults found and named, clean ones rejected",
        ["episodes", *kinds, "false", "unverified", "wrong", "unrelated", "stalls", "CPU s"],
        [
            [
                case.name,
                *(_share(tally.found.get(kind, [])) for kind in kinds),
                f"{tally.n_false}/{tally.n_clean}",
                f"{tally.n_unverified}/{tally.n}",
                tally.n_wrong,
                f"{tally.n_believed}/{tally.n_unrelated}",
                _share(tally.stalls),
                tally.seconds / max(1, tally.n),
            ]
            for case, tally in zip(cases, tallies, strict=True)
        ],
    )
    write_json(
        OUT / "robots.json",
        {
            "n": asked.n,
            "seed": asked.seed,
            "cases": {case.name: vars(tally) for case, tally in zip(cases, tallies, strict=True)},
        },
    )


def _share(found: list[bool]) -> str:
    return f"{sum(found)}/{len(found)}" if found else "-"


if __name__ == "__main__":
    main()
