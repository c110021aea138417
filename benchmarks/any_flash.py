"""Calibration by lights of many kinds, on recordings from a renderer other than the simulator's.

Each world is drawn at random (`flash_world.draw_world`). The table lists how many of the cameras
that show at least five flashes were calibrated, and their errors.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import hashlib
import json
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from base_clips import OUT
from flash_world import ISSUE_WORLDS, World, draw_world, render_world
from scipy.sparse.csgraph import connected_components
from syncaudit_calibration import calibrate
from tables import print_table, write_json

from syncaudit.datasets import load_manifest
from syncaudit.errors import SyncAuditError

Row = dict[str, Any]
MIN_SEEN = 5
# Two cameras with fewer flashes in common do not determine each other's clocks.
MIN_SHARED = 5
ROLLING_GOAL_S = 50e-6


def main() -> int:
    """Run the benchmark and always return 0: it does not gate anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0-29", help="worlds drawn, like 0-29 or 3,7")
    parser.add_argument("--issue", default="0-1", help="seeds of each of the issue's recordings")
    parser.add_argument("--kinds", default=",".join(ISSUE_WORLDS), help="which of these")
    parser.add_argument(
        "--scan", default="down", choices=("down", "up", "mixed"), help="how images are stored"
    )
    parser.add_argument(
        "--stamps", default="middle", choices=("middle", "mixed"), help="what timestamps mark"
    )
    parser.add_argument("--out", type=Path, default=OUT / "any_flash.json")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    worlds = {str(seed): draw_world(seed) for seed in _numbers(options.seeds)}
    for kind in options.kinds.split(","):
        make = ISSUE_WORLDS[kind]
        worlds |= {f"{kind}-{seed}": make(seed) for seed in _numbers(options.issue)}
    if options.scan != "down":
        worlds = {
            f"{name}-{options.scan}": _turned(world, options.scan) for name, world in worlds.items()
        }
    if options.stamps == "mixed":
        worlds = {f"{name}-stamps": _stamped(world) for name, world in worlds.items()}
    rows = []
    for name, world in worlds.items():
        begun = time.process_time()
        found = _measured(name, world)
        seconds = time.process_time() - begun
        done = [row for row in found if row["is_needed"]]
        ok = [row for row in done if row["error_s"] is not None]
        print(
            f"  {name:12} {world.light.kind:10} {len(ok)}/{len(done)} cameras, {seconds:.0f} s CPU",
            file=sys.stderr,
            flush=True,
        )
        rows += found
    _print(rows)
    write_json(options.out, {"rows": rows})
    return 0


def _turned(world: World, scan: str) -> World:
    """Return a recording whose images were rotated after readout, all or each by its own angle."""
    rng = np.random.default_rng([world.seed, 77])
    scans = rng.choice(["down", "up", "right", "left"], len(world.cameras)).tolist()
    cameras = [
        replace(camera, scan=scan if scan != "mixed" else own)
        for camera, own in zip(world.cameras, scans, strict=True)
    ]
    return replace(world, cameras=tuple(cameras))


def _stamped(world: World) -> World:
    """Return a recording whose cameras stamp the start, the middle or the end of their frames."""
    rng = np.random.default_rng([world.seed, 78])
    marked = rng.choice(["start_of_frame", "mid_exposure_mid_row", "end_of_frame"], 8).tolist()
    cameras = [replace(c, stamp_at=own) for c, own in zip(world.cameras, marked, strict=False)]
    return replace(world, cameras=tuple(cameras))


def _numbers(text: str) -> list[int]:
    numbers: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def _measured(name: str, world: World) -> list[Row]:
    folder = _rendered(name, world)
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    (clip,) = load_manifest(str(folder / "manifest.jsonl"))
    why: dict[str, str] = {}
    sources: dict[str, Any] = {}
    reference, at_ns = None, 0
    try:
        document = calibrate(clip).to_json()
        sources, reference, at_ns = document["sources"], document["reference"], document["at_ns"]
        why = document.get("refused", {})
    except SyncAuditError as error:
        why = getattr(error, "refused", {}) or {"": str(error)}
    true = {camera.name: camera for camera in world.cameras}
    tied = _tied(world, truth["seen"])
    rows = []
    for camera in world.cameras:
        found = sources.get(camera.name)
        error_s = std_s = None
        if found is not None and found.get("offset_s") is not None and reference is not None:
            std_s = found["offset_std_s"]
            true_s = _true_offset_s(world, truth, camera.name, reference, at_ns)
            error_s = found["offset_s"] - true_s
            if camera.name == reference:
                error_s = std_s = None
        rows.append(
            {
                "world": name,
                "light": world.light.kind,
                "camera": camera.name,
                "is_global": true[camera.name].line_delay_s == 0.0,
                "scan": camera.scan,
                "scan_found": None if found is None else found.get("scan"),
                "seen": len(truth["seen"][camera.name]),
                "shared": _shared(world, truth["seen"], camera.name),
                "is_tied": camera.name in tied,
                "is_needed": len(truth["seen"][camera.name]) >= MIN_SEEN
                and camera.name != reference,
                "error_s": error_s,
                "std_s": std_s,
                "why": why.get(camera.name, why.get("", "")) if error_s is None else "",
            }
        )
    return rows


def _shared(world: World, seen: dict[str, list[int]], name: str) -> int:
    """Return how many of a camera's flashes another source saw: only these tie clocks together."""
    if world.has_trigger:
        return len(seen[name])
    others = {k for other, numbers in seen.items() if other != name for k in numbers}
    return len(others & set(seen[name]))


def _tied(world: World, seen: dict[str, list[int]]) -> set[str]:
    """Return the largest group of two or more that pairs with enough flashes in common connect."""
    numbers = {name: set(own) for name, own in seen.items()}
    if world.has_trigger:
        numbers["trigger"] = set.union(*numbers.values())
    names = sorted(numbers)
    shares = np.array([[len(numbers[a] & numbers[b]) >= MIN_SHARED for a in names] for b in names])
    _, group = connected_components(shares, directed=False)
    size = np.bincount(group)
    if size.max() < 2:
        return set()
    largest = np.argmax(size)
    return {name for name, own in zip(names, group.tolist(), strict=True) if own == largest}


def _true_offset_s(world: World, truth: Row, name: str, reference: str, at_ns: int) -> float:
    """Return the correction from a source's clock to the reference's at a reference timestamp."""
    at_ref_s = 1e-9 * (at_ns - truth["epoch_ns"])

    def clock(source: str) -> tuple[float, float]:
        if source == "trigger":
            return world.trigger_offset_s, 0.0
        camera = next(c for c in world.cameras if c.name == source)
        return camera.offset_s, 1e-6 * camera.drift_ppm

    # A source's timestamp s at true time t: s = t - offset - rate * (t - middle). The calibration
    # states what to add to the source's timestamp at_ns to get the reference's.
    middle = truth["at_s"]
    offset, rate = clock(name)
    true_s = (at_ref_s + offset - rate * middle) / (1.0 - rate)
    offset, rate = clock(reference)
    return float(true_s - offset - rate * (true_s - middle)) - at_ref_s


def _rendered(name: str, world: World) -> Path:
    source = Path(__file__).with_name("flash_world.py").read_bytes()
    digest = hashlib.sha256(source + repr(world).encode()).hexdigest()[:12]
    folder = OUT / "flash_world" / f"{name}-{digest}"
    if not (folder / "truth.json").exists():
        for old in (OUT / "flash_world").glob(f"{name}-????????????"):
            shutil.rmtree(old)
        render_world(world, folder)
    return folder


def _print(rows: list[Row]) -> None:
    table = []
    lights = list(dict.fromkeys(row["light"] for row in rows))
    for light in [*lights, "all"]:
        for is_global in (False, True):
            some = [
                row
                for row in rows
                if light in (row["light"], "all") and row["is_global"] == is_global
            ]
            if not some:
                continue
            needed = [row for row in some if row["is_needed"]]
            tied = [row for row in needed if row["is_tied"]]
            done = [row for row in some if row["error_s"] is not None]
            error = np.array([row["error_s"] for row in done])
            z = error / np.array([row["std_s"] for row in done])
            wrong = int((np.abs(z) > 5).sum()) if done else 0
            table.append(
                (
                    light,
                    "global" if is_global else "rolling",
                    f"{sum(row['error_s'] is not None for row in needed)}/{len(needed)}",
                    f"{sum(row['error_s'] is not None for row in tied)}/{len(tied)}",
                    f"{1e6 * np.sqrt(np.mean(error**2)):.0f}" if done else None,
                    f"{1e6 * np.median(np.abs(error)):.0f}" if done else None,
                    f"{1e6 * np.median([row['std_s'] for row in done]):.0f}" if done else None,
                    f"{100 * np.mean(np.abs(z) < 1.96):.0f} %" if done else None,
                    wrong,
                )
            )
    print_table(
        "Cameras that show five flashes or more",
        ("light", "shutter", "calibrated", "of those tied", "rmse us", "median us", "claimed us",
         "|z|<1.96", "|z|>5"),
        table,
    )  # fmt: skip
    turned = [
        row["scan_found"] == row["scan"]
        for row in rows
        if row["scan"] != "down" and not row["is_global"] and row["error_s"] is not None
    ]
    if turned:
        print(f"  direction of reading found in {sum(turned)} of {len(turned)} rotated cameras")
    for row in rows:
        if row["is_needed"] and row["error_s"] is None:
            print(
                f"  {row['world']} {row['camera']} ({row['seen']} seen, {row['shared']} shared): "
                f"{row['why'][:200]}"
            )
        elif row["error_s"] is not None and abs(row["error_s"]) > 3 * row["std_s"]:
            print(
                f"  {row['world']} {row['camera']}: off by {1e6 * row['error_s']:.0f} us, "
                f"{1e6 * row['std_s']:.0f} claimed"
            )


if __name__ == "__main__":
    sys.exit(main())
