"""Test batch processing: 10,000 clips, kills, poison clips, shards, Ray and faulty bags.

    python benchmarks/batch.py [--quick | --full] [--only scale,ray,kills,reruns,shards,fuzz,bags]

Clips are written into a temporary folder. Nothing gates: deviations from the expected results are
printed as MISSED.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bag_faults import bag_faults
from base_clips import OUT
from batch_fuzz import fuzz
from batch_reruns import reruns
from batch_runs import kills, run_on_ray, scale, shards
from tables import print_table, write_json

_WORKERS = 2
# Number of items per part: by default, and with --full.
_SIZES: Mapping[str, tuple[int, int]] = {
    "clips": (2000, 10_000),
    "ray": (40, 200),
    "kills": (20, 100),
    "reruns": (100, 1000),
    "shards": (160, 400),
    "files": (150, 400),
    "rows": (60, 60),
    "imports": (50, 100),
    "bags": (2, 10),
}
# Each tenth of the run must reach this share of the median speed; memory may grow by this much.
_LEAST_SPEED, _MOST_GROWTH_MIB = 0.5, 32.0


def main() -> int:
    """Run the benchmark and always return 0: it does not gate anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a tenth of everything")
    size.add_argument("--full", action="store_true", help="ten thousand clips and all that")
    parser.add_argument("--only", default=",".join(_PARTS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT / "batch.json")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for name in options.only.split(","):
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            results[name] = _PARTS[name](Path(folder), options)
        print(f"  ({name}: {time.monotonic() - began:.0f} s)")
    write_json(
        options.out,
        {"quick": options.quick, "full": options.full, "workers": _WORKERS, "results": results},
    )
    return 0


def _told(is_reached: bool, what: str) -> None:
    print(f"  {'reached ' if is_reached else 'MISSED  '} {what}")


def _size(name: str, options: argparse.Namespace) -> int:
    default, full = _SIZES[name]
    return full if options.full else max(1, default // 10) if options.quick else default


def _scale(folder: Path, options: argparse.Namespace) -> Mapping[str, Any]:
    found = scale(folder, n_clips=_size("clips", options), workers=_WORKERS)
    tenths = found["tenths"]
    print_table(
        f"{found['clips']} clips of an IMU and a bus, {_WORKERS} workers, by tenths of the run",
        ("tenth", "clips/s", "this process MiB", "largest worker MiB"),
        [
            (str(k), round(t["clips_per_s"], 1), round(t["own_mib"]), round(t["worker_mib"]))
            for k, t in enumerate(tenths, start=1)
        ],
    )
    print(
        f"  {found['clips_per_s']:.1f} clips/s; outputs {found['outputs_s']:.1f} s and "
        f"{found['outputs_own_mib']:.0f} MiB; again, all kept: {found['again_s']:.1f} s"
    )
    speeds = sorted(t["clips_per_s"] for t in tenths[1:])
    _told(speeds[0] > _LEAST_SPEED * speeds[len(speeds) // 2], "the speed stays")
    for key in ("own_mib", "worker_mib"):
        growth = tenths[-1][key] - tenths[1][key]
        _told(growth < _MOST_GROWTH_MIB, f"{key} grows by {growth:.1f} from the second tenth on")
    _told(found["again_reused"] == found["clips"], "nothing is audited twice")
    return found


def _ray(folder: Path, options: argparse.Namespace) -> Mapping[str, Any]:
    found = run_on_ray(folder, n_clips=_size("ray", options), workers=_WORKERS)
    print_table(
        "Video clips: local workers and a Ray cluster on this machine",
        ("", "clips", "local s", "Ray s", "rows that differ"),
        [("", found["clips"], found["local_s"], found["ray_s"], found["wrong_clips"])],
    )
    _told(found["wrong_clips"] == 0, "every row is the same")
    return found


def _kills(folder: Path, options: argparse.Namespace) -> Mapping[str, Any]:
    found = kills(folder, n_clips=150, n_kills=_size("kills", options), seed=options.seed)
    print_table(
        f"SIGKILL at random moments, runs of {found['clips']} clips",
        ("", "kills", "while writing outputs", "runs completed", "wrong verdicts", "wrong files"),
        [
            (
                "",
                found["kills"],
                found["while_writing"],
                found["series"],
                found["wrong_clips"],
                len(found["wrong_files"]),
            )
        ],
    )
    is_whole = not (found["torn"] or found["wrong_clips"] or found["wrong_files"])
    _told(is_whole, "every run ends with the verdicts of one that was left alone")
    _told(not found["left_over"], "no drafts are left")
    _told(not found["believed"], "no loader takes what a killed run left")
    return found


def _reruns(folder: Path, options: argparse.Namespace) -> Mapping[str, Any]:
    found = reruns(folder, n_clips=60, n_kills=_size("reruns", options), seed=options.seed)
    print_table(
        f"Killed re-runs over {found['clips']} clips that change",
        ("", "kills", "runs completed", "believed", "stale", "lost", "wrong"),
        [("", *(found[k] for k in ("kills", "finished", "believed", "stale", "lost", "wrong")))],
    )
    _told(not (found["believed"] or found["stale"]), "no stale verdict is believed")
    _told(not (found["lost"] or found["wrong"]), "no verdict is lost")
    return found


def _shards(folder: Path, options: argparse.Namespace) -> Mapping[str, Any]:
    found = shards(folder, n_clips=_size("shards", options), workers=_WORKERS)
    is_same = not (found["wrong_clips"] or found["wrong_files"])
    print(f"\n{found['clips']} clips in {found['shards']} shards, merged")
    _told(is_same, "the files are those of one run")
    return found


def _fuzz(folder: Path, options: argparse.Namespace) -> Mapping[str, Any]:
    found = fuzz(
        folder,
        n_clips=_size("files", options),
        n_rows=_size("rows", options),
        n_imports=_size("imports", options),
        workers=_WORKERS,
        seed=options.seed,
    )
    clips = found["clips"]
    print_table(
        f"{clips['inputs']} damaged files: reason codes (or the verdict without one)",
        ("file", "clips with the code"),
        [(f"{file}  {_counts(codes)}", "") for file, codes in sorted(clips["codes"].items())],
    )
    for part in ("rows", "imports", "rules"):
        print(f"\n{found[part]['inputs']} {part}: {_counts(found[part]['codes'])}")
    _told(clips["verdicts"] == clips["inputs"], "every clip has its verdict")
    faults = [
        fault for part in ("clips", "rows", "imports", "rules") for fault in found[part]["faults"]
    ]
    _told(not faults, "no crash, no traceback, no hang")
    for fault in faults:
        print(f"    {fault}")
    return found


def _counts(codes: Mapping[str, int]) -> str:
    return ", ".join(f"{code} {n}" for code, n in sorted(codes.items(), key=lambda c: -c[1]))


def _bags(folder: Path, options: argparse.Namespace) -> Mapping[str, Any]:
    seeds = range(options.seed, options.seed + _size("bags", options))
    rows = bag_faults(folder, seeds=seeds)
    print_table(
        "Bags of six cameras and an IMU; the fault is in one camera",
        ("fault", "bags", "found", "told of others", "code", "lowest", "highest"),
        [tuple(row.values()) for row in rows],
    )
    for row in rows:
        _told(row["found"] == row["bags"] and not row["of_others"], row["fault"])
    return {"faults": rows}


_PARTS: Mapping[str, Callable[[Path, argparse.Namespace], Mapping[str, Any]]] = {
    "scale": _scale,
    "ray": _ray,
    "kills": _kills,
    "reruns": _reruns,
    "shards": _shards,
    "fuzz": _fuzz,
    "bags": _bags,
}

if __name__ == "__main__":
    sys.exit(main())
