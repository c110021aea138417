"""Clocks of cameras, an IMU and a bus by their motion, by a renderer other than the simulator's.

Recordings are drawn at random (`motion_world`). Some gyroscopes belong to another body, and some
images are stabilised: both must be refused. The table lists by kind of motion how many clocks an
audit measured, and their errors.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from base_clips import OUT
from motion_world import (
    EPOCH_NS,
    Camera,
    MotionWorld,
    Row,
    draw_vehicle,
    draw_world,
    render_world,
)
from tables import print_table, write_json
from worlds import DrawnClock, numbers

from syncaudit import audit, load_manifest


def main() -> int:
    """Run the benchmark and always return 0: it does not gate anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0-59", help="recordings drawn, like 0-59 or 3,7")
    parser.add_argument("--bus", action="store_true", help="vehicles with a bus, half without IMU")
    parser.add_argument(
        "--uneven-ms", type=float, default=0.0, help="frames captured this far from when due (rms)"
    )
    parser.add_argument("--out", type=Path, default=OUT / "any_motion.json")
    options = parser.parse_args()
    rows: list[Row] = []
    for seed in numbers(options.seeds):
        world = draw_vehicle(seed) if options.bus else draw_world(seed)
        folder = OUT / "motion_world" / f"{'bus-' if options.bus else ''}{seed}"
        if options.uneven_ms:
            world = _captured_unevenly(world, 1e-3 * options.uneven_ms)
            folder = folder.with_name(f"{folder.name}-uneven-{options.uneven_ms:g}")
        if not (folder / "manifest.jsonl").is_file():
            render_world(world, folder)
        for row in _measured(world, folder):
            rows.append(row)
            print(" ", _worded(row), file=sys.stderr, flush=True)
    _print(rows)
    write_json(options.out, {"rows": rows})
    return 0


def _measured(world: MotionWorld, folder: Path) -> list[Row]:
    """Return a row per camera: what the audit measured, and the truth."""
    (clip,) = load_manifest(folder / "manifest.jsonl")
    verdict: Row = audit(clip).to_json()
    rows = []
    of_cameras = "other body" if world.is_stranger else world.kind
    clocks: list[tuple[str, Camera | None]] = [(camera.name, camera) for camera in world.cameras]
    if world.bus is not None and world.has_imu:
        clocks.append(("imu", None))
    for name, camera in clocks:
        own = verdict["sources"][name]
        pairs = [pair for pair in verdict["pairs"] if name in (pair["source"], pair["target"])]
        error_s = None
        if own["offset_s"] is not None:
            error_s = own["offset_s"] - _true_offset_s(world, camera, verdict["at_ns"])
        rows.append(
            {
                "seed": world.seed,
                "camera": name,
                "group": _group(camera, of_cameras),
                "overlays": camera.overlays if camera else (),
                "error_s": error_s,
                "std_s": own["offset_std_s"],
                "verdict": own["verdict"],
                "why": next((pair["why"] for pair in pairs), None),
            }
        )
    return rows


def _captured_unevenly(world: MotionWorld, uneven_s: float) -> MotionWorld:
    """Let frames be captured early and late, while their timestamps state when they were due."""
    return replace(world, cameras=tuple(replace(each, uneven_s=uneven_s) for each in world.cameras))


def _group(camera: Camera | None, of_cameras: str) -> str:
    if camera is None:
        return "IMU against bus"
    if camera.uneven_s:
        return "uneven"
    return "stabilised" if camera.stabilised_s else of_cameras


def _true_offset_s(world: MotionWorld, camera: Camera | None, at_ns: int) -> float:
    """Return the correction of a camera's clock, or the IMU's, at a time of the reference's."""
    middle_s = 0.5 * world.duration_s
    imu = DrawnClock(world.imu_offset_s, world.imu_drift_ppm, middle_s)
    bus, reference, own = world.bus, imu, imu
    if bus is not None:
        reference = DrawnClock(bus.offset_s, bus.drift_ppm, middle_s)
    if camera is not None:
        own = DrawnClock(camera.offset_s, camera.drift_ppm, middle_s)
    return own.offset_to_s(reference, (at_ns - EPOCH_NS) * 1e-9)


def _worded(row: Row) -> str:
    name = f"{row['seed']} {row['camera']}, {row['group']}, {'+'.join(row['overlays'])}: "
    if row["error_s"] is None:
        return f"{name}{row['why']}"
    return f"{name}{1e3 * row['error_s']:.2f} ± {1e3 * row['std_s']:.2f} ms, {row['verdict']}"


def _print(rows: list[Row]) -> None:
    table = []
    for group in dict.fromkeys(sorted(row["group"] for row in rows)):
        own = [row for row in rows if row["group"] == group]
        done = [row for row in own if row["error_s"] is not None]
        figures = ["-"] * 4
        if done:
            error, std = (np.array([row[name] for row in done]) for name in ("error_s", "std_s"))
            z = np.abs(error / std)
            figures = [
                f"{1e3 * np.sqrt(np.mean(error**2)):.2f}",
                f"{1e3 * np.sqrt(np.mean(std**2)):.2f}",
                f"{100 * np.mean(z < 1.96):.0f} %",
                f"{z.max():.1f}",
            ]
        table.append((group, f"{len(done)}/{len(own)}", *figures))
    print_table(
        "clocks by the motion of their body",
        ("motion", "measured", "rmse ms", "claimed ms", "|z|<1.96", "largest"),
        table,
    )


if __name__ == "__main__":
    sys.exit(main())
