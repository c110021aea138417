"""Calibration and audit by lights of many kinds, by a renderer other than the simulator's.

Each world is drawn at random (`flash_world.draw_world`). The tables list how many of the cameras
that show at least five flashes were measured by ``calibrate`` and by ``validate``, and their
errors; an audit that passes a clip with a camera beyond its tolerance is listed too.
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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from base_clips import OUT
from flash_world import ISSUE_WORLDS, SceneCamera, World, draw_world, render_world
from scipy.sparse.csgraph import connected_components
from syncaudit_calibration import calibrate
from tables import print_table, write_json
from worlds import DrawnClock, numbers

from syncaudit import Verdict, audit, load_manifest, load_policy
from syncaudit.errors import SyncAuditError
from syncaudit.model import Clip

Row = dict[str, Any]
Estimates = dict[str, tuple[float, float]]  # by source, with standard errors
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
    parser.add_argument(
        "--stated", default="drawn", choices=("drawn", "mixed"), help="which timing is stated"
    )
    parser.add_argument("--by", default="calibrate,audit", help="commands that measure")
    parser.add_argument("--out", type=Path, default=OUT / "any_flash.json")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    worlds = {str(seed): draw_world(seed) for seed in numbers(options.seeds)}
    for kind in options.kinds.split(","):
        make = ISSUE_WORLDS[kind]
        worlds |= {f"{kind}-{seed}": make(seed) for seed in numbers(options.issue)}
    if options.scan != "down":
        worlds = {
            f"{name}-{options.scan}": _turned(world, options.scan) for name, world in worlds.items()
        }
    if options.stamps == "mixed":
        worlds = {f"{name}-stamps": _stamped(world) for name, world in worlds.items()}
    if options.stated == "mixed":
        worlds = {f"{name}-stated": _stating(world) for name, world in worlds.items()}
    rows = []
    for name, world in worlds.items():
        begun = time.process_time()
        found = [row for by in options.by.split(",") for row in _measured(name, world, by)]
        seconds = time.process_time() - begun
        print(
            f"  {name:12} {world.light.kind:10} {_summary(found)}, {seconds:.0f} s CPU",
            file=sys.stderr,
            flush=True,
        )
        rows += found
    for by in options.by.split(","):
        _print(by, [row for row in rows if row["by"] == by])
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


def _stating(world: World) -> World:
    """Return a recording whose cameras state either line delay or exposure, both or nothing."""
    rng = np.random.default_rng([world.seed, 79])
    kinds = [(True, ""), (True, "line_delay_s"), (True, "exposure_s"), (False, "")]
    drawn = [kinds[k] for k in rng.integers(len(kinds), size=len(world.cameras))]
    cameras = [
        replace(camera, is_stated=is_stated, leaves_out=left)
        for camera, (is_stated, left) in zip(world.cameras, drawn, strict=True)
    ]
    return replace(world, cameras=tuple(cameras))


def _summary(rows: list[Row]) -> str:
    texts = []
    for by in dict.fromkeys(row["by"] for row in rows):
        needed = [row for row in rows if row["by"] == by and row["is_needed"]]
        measured = sum(row["error_s"] is not None for row in needed)
        worst = max((abs(_z(row)) for row in rows if row["by"] == by), default=0.0)
        texts.append(f"{by} {measured}/{len(needed)} sources, largest z {worst:.1f}")
    return "; ".join(texts)


def _z(row: Row) -> float:
    return 0.0 if row["error_s"] is None else float(row["error_s"] / row["std_s"])


def _measured(world_name: str, world: World, by: str) -> list[Row]:
    """Return a row per camera and log: what the command measured, and the truth."""
    folder = _rendered(world_name, world)
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    (clip,) = load_manifest(str(folder / "manifest.jsonl"))
    found = (_calibrated if by == "calibrate" else _audited)(clip)
    cameras = {camera.name: camera for camera in world.cameras}
    seen = {name: set(own) for name, own in truth["seen"].items()}
    if world.has_trigger:
        seen["trigger"] = set().union(*seen.values())
    true_s = {
        name: _true_offset_s(world, truth, name, found.reference, found.at_ns)
        for name in seen
        if found.reference is not None
    }
    tied = _tied(seen)
    limits_s = load_policy().clock_tolerances(clip)
    is_off = any(abs(true_s[name]) > limits_s[name] for name in cameras if name in true_s)
    rows = []
    for name, own in seen.items():
        error_s = std_s = None
        if name in found.offsets and name != found.reference:
            offset_s, std_s = found.offsets[name]
            error_s = offset_s - true_s[name]
        rows.append(
            {
                "by": by,
                "world": world_name,
                "light": world.light.kind,
                "source": name,
                "shutter": _shutter(cameras.get(name)),
                "scan": cameras[name].scan if name in cameras else "down",
                "scan_found": found.scans.get(name),
                "seen": len(own),
                "shared": _shared(seen, name),
                "is_tied": name in tied,
                "is_needed": len(own) >= MIN_SEEN and name != found.reference,
                "is_false_pass": found.is_passed and is_off,
                "error_s": error_s,
                "std_s": std_s,
                "drift_z": _drift_z(world, name, found),
                "why": found.why.get(name, found.why.get("", "")) if error_s is None else "",
            }
        )
    return rows


def _shutter(camera: SceneCamera | None) -> str:
    if camera is None:
        return "log"
    return "rolling" if camera.line_delay_s else "global"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a command measured: offsets and their standard errors, and why others have none."""

    reference: str | None = None
    at_ns: int = 0
    offsets: Estimates = field(default_factory=dict)
    drifts: Estimates = field(default_factory=dict)
    scans: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    is_passed: bool = False


def _calibrated(clip: Clip) -> _Found:
    try:
        document = calibrate(clip).to_json()
    except SyncAuditError as error:
        return _Found(why=getattr(error, "refused", {}) or {"": str(error)})
    return _Found(
        reference=document["reference"],
        at_ns=document["at_ns"],
        offsets=_estimates(document["sources"], "offset", "s"),
        drifts=_estimates(document["sources"], "drift", "ppm"),
        scans={n: own["scan"] for n, own in document["sources"].items() if "scan" in own},
        why=document.get("refused", {}),
    )


def _audited(clip: Clip) -> _Found:
    verdict = audit(clip)
    document: Row = verdict.to_json()
    return _Found(
        reference=document["reference"],
        at_ns=document["at_ns"] or 0,
        offsets=_estimates(document["sources"], "offset", "s"),
        drifts=_estimates(document["sources"], "drift", "ppm"),
        why={name: own["why_unmeasured"] or "" for name, own in document["sources"].items()},
        is_passed=verdict.verdict is Verdict.PASS,
    )


def _estimates(sources: dict[str, Row], name: str, unit: str) -> Estimates:
    return {
        source: (own[f"{name}_{unit}"], own[f"{name}_std_{unit}"])
        for source, own in sources.items()
        if own.get(f"{name}_{unit}") is not None
    }


def _drift_z(world: World, name: str, found: _Found) -> float | None:
    if name not in found.drifts or name == found.reference:
        return None
    true_ppm = {c.name: c.drift_ppm for c in world.cameras} | {"trigger": 0.0}
    drift_ppm, std_ppm = found.drifts[name]
    return (drift_ppm - true_ppm[name] + true_ppm[found.reference or ""]) / std_ppm


def _shared(seen: dict[str, set[int]], name: str) -> int:
    """Return how many of a source's flashes another source saw: only these tie clocks together."""
    others = (own for other, own in seen.items() if other != name)
    return len(seen[name] & set().union(*others))


def _tied(seen: dict[str, set[int]]) -> set[str]:
    """Return the largest group of two or more that pairs with enough flashes in common connect."""
    names = sorted(seen)
    shares = np.array([[len(seen[a] & seen[b]) >= MIN_SHARED for a in names] for b in names])
    _, group = connected_components(shares, directed=False)
    size = np.bincount(group)
    if size.max() < 2:
        return set()
    largest = np.argmax(size)
    return {name for name, own in zip(names, group.tolist(), strict=True) if own == largest}


def _true_offset_s(world: World, truth: Row, name: str, reference: str, at_ns: int) -> float:
    """Return the correction from a source's clock to the reference's at a reference timestamp."""

    def clock(source: str) -> DrawnClock:
        if source == "trigger":
            return DrawnClock(world.trigger_offset_s, 0.0, truth["at_s"])
        camera = next(c for c in world.cameras if c.name == source)
        return DrawnClock(camera.offset_s, camera.drift_ppm, truth["at_s"])

    return clock(name).offset_to_s(clock(reference), 1e-9 * (at_ns - truth["epoch_ns"]))


def _rendered(name: str, world: World) -> Path:
    source = Path(__file__).with_name("flash_world.py").read_bytes()
    digest = hashlib.sha256(source + repr(world).encode()).hexdigest()[:12]
    folder = OUT / "flash_world" / f"{name}-{digest}"
    if not (folder / "truth.json").exists():
        for old in (OUT / "flash_world").glob(f"{name}-????????????"):
            shutil.rmtree(old)
        render_world(world, folder)
    return folder


def _print(by: str, rows: list[Row]) -> None:
    table = []
    lights = list(dict.fromkeys(row["light"] for row in rows))
    for light in [*lights, "all"]:
        for shutter in ("rolling", "global", "log"):
            some = [
                row for row in rows if light in (row["light"], "all") and row["shutter"] == shutter
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
                    shutter,
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
        f"{by}: sources that show five flashes or more",
        ("light", "shutter", "measured", "of those tied", "rmse us", "median us", "claimed us",
         "|z|<1.96", "|z|>5"),
        table,
    )  # fmt: skip
    drift_z = np.array([row["drift_z"] for row in rows if row["drift_z"] is not None])
    if drift_z.size:
        inside = 100 * np.mean(np.abs(drift_z) < 1.96)
        print(f"  {drift_z.size} drifts, |z| < 1.96 in {inside:.0f} %", end="")
        print(f", largest {np.abs(drift_z).max():.1f}")
    turned = [
        row["scan_found"] == row["scan"]
        for row in rows
        if row["scan_found"]
        and row["scan"] != "down"
        and row["shutter"] == "rolling"
        and row["error_s"] is not None
    ]
    if turned:
        print(f"  direction of reading found in {sum(turned)} of {len(turned)} rotated cameras")
    for world in dict.fromkeys(row["world"] for row in rows if row["is_false_pass"]):
        print(f"  {world}: passed although a camera is beyond its tolerance")
    for row in rows:
        if row["is_needed"] and row["error_s"] is None:
            print(
                f"  {row['world']} {row['source']} ({row['seen']} seen, {row['shared']} shared): "
                f"{row['why'][:200]}"
            )
        elif row["error_s"] is not None and abs(row["error_s"]) > 3 * row["std_s"]:
            print(
                f"  {row['world']} {row['source']}: off by {1e6 * row['error_s']:.0f} us, "
                f"{1e6 * row['std_s']:.0f} claimed"
            )


if __name__ == "__main__":
    sys.exit(main())
