"""The cost of an audit relative to bare decoding of the same videos: by layer, and scaling.

CPU time of one process, one thread: PyAV with `thread_type="NONE"`, OpenCV and BLAS limited to one
thread. Everything that is compared alternates, video by video, so that a varying CPU frequency
affects all equally; figures are sums over the videos of medians over the runs.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
from base_clips import OUT, BaseClip, base_clip
from speed_growth import growth, memory, scaling
from speed_layers import LAYERS, OTHERS, alternate, cameras_of, whole_audit
from speed_videos import CODECS, SIZES, made_videos
from tables import print_table, write_json

Section = Callable[[BaseClip, argparse.Namespace], dict[str, Any]]
# Targets: multiples of bare decoding, MiB per worker, multiples of one worker.
ROW_SUMS, WITHOUT_MOTION, WHOLE, WORKER_MIB, TWO_WORKERS = 1.08, 1.20, 1.35, 250.0, 1.6


def main() -> int:
    """Run the requested sections and always return 0: it does not gate anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, like layers,memory")
    parser.add_argument("--quick", action="store_true", help="fewer runs, videos and clips")
    parser.add_argument("--size", default="854x480", help="of the clip of six cameras")
    parser.add_argument("--runs", type=int, help="of everything; default 7, quick 3")
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=OUT / "speed.json")
    options = parser.parse_args()
    chosen = [name for name in options.only.split(",") if name]
    if unknown := set(chosen) - set(SECTIONS):
        parser.error(f"unknown sections {sorted(unknown)}; known are {', '.join(SECTIONS)}")
    options.runs = options.runs or (3 if options.quick else 7)
    cv2.setNumThreads(1)
    width, height = (int(part) for part in options.size.split("x"))
    base = base_clip(0, size_px=(width, height), seed=options.seed)
    results = {name: SECTIONS[name](base, options) for name in chosen}
    load = os.getloadavg()[0]
    print(f"\nload of the machine at the end: {load:.1f} on {os.cpu_count()} cores")
    write_json(options.out, {"runs": options.runs, "load": load, **results})
    return 0


def _layers(base: BaseClip, options: argparse.Namespace) -> dict[str, Any]:
    cameras = cameras_of(base.folder)
    spent_s = alternate(cameras, {**LAYERS, **OTHERS}, options.runs)
    bare_s = spent_s["bare decode"]
    audit = whole_audit(base, cameras, options.runs)
    rows = [(name, spent_s[name], spent_s[name] / bare_s) for name in LAYERS]
    rows.append(("whole audit", audit["audit_s"], audit["ratio"]))
    rows += [(f"  ({name})", spent_s[name], spent_s[name] / bare_s) for name in OTHERS]
    print_table(
        f"CPU seconds of one clip ({options.size}, 20 s, six cameras, 12 Hz), each with all above",
        ("what", "seconds", "times bare"),
        rows,
    )
    print_table(
        "   of the audit by stage",
        ("", *audit["stages_s"], "other"),
        [("seconds", *audit["stages_s"].values(), audit["other_s"])],
    )
    if shutil.which("ffmpeg") is None:
        print("  'ffmpeg -threads 1 -f null' was not measured: no ffmpeg on this machine")
    _judge("row sums", spent_s["+ row sums"] / bare_s, ROW_SUMS)
    without = spent_s["+ reduced images"] / bare_s
    _judge("all features without sharp motion", without, WITHOUT_MOTION)
    _judge("whole audit", audit["ratio"], WHOLE)
    return {"layers_s": spent_s, "audit": audit}


def _codecs(_: BaseClip, options: argparse.Namespace) -> dict[str, Any]:
    sizes = dict(list(SIZES.items())[:1]) if options.quick else SIZES
    rows = []
    for name, camera in made_videos(CODECS, sizes, OUT / "speed_videos"):
        spent_s = alternate([camera], LAYERS, options.runs)
        bare_s = spent_s["bare decode"]
        ms = 1e3 * bare_s / camera.time_ns.size
        rows.append((name, ms, *(spent_s[layer] / bare_s for layer in LAYERS if spent_s[layer])))
    print_table(
        "bare decoding in ms a frame, and times that with each layer added",
        ("video", "ms", *(layer.removeprefix("+ ") for layer in LAYERS)),
        rows,
    )
    return {"rows": rows}


def _growth(base: BaseClip, options: argparse.Namespace) -> dict[str, Any]:
    found = growth(base, min(options.runs, 3))
    print_table(
        "CPU seconds of an audit as it grows; exponent 1 is linear",
        ("with", "how many", "seconds", "exponent"),
        [
            (name, ", ".join(map(str, row["counts"])), _listed(row["seconds"]), row["exponent"])
            for name, row in found.items()
        ],
    )
    return found


def _memory(base: BaseClip, _: argparse.Namespace) -> dict[str, Any]:
    found = memory(base)
    print_table(
        "peak resident memory of a process that audits the clip",
        ("what", "MiB"),
        list(found.items()),
    )
    _judge("MiB of a worker", found["whole audit"], WORKER_MIB)
    return found


def _scaling(base: BaseClip, options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        found = scaling(base, Path(folder), n_clips=4 if options.quick else 8)
    print_table(
        "syncaudit validate",
        ("workers", "wall seconds", "CPU seconds"),
        [(str(row["workers"]), row["wall_s"], row["cpu_s"]) for row in found["rows"]],
    )
    _judge("times one worker by two", found["speedup"], TWO_WORKERS, is_least=True)
    return found


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _judge(what: str, value: float, target: float, *, is_least: bool = False) -> None:
    is_reached = value >= target if is_least else value <= target
    sign = ">=" if is_least else "<="
    print(f"  {'reached ' if is_reached else 'MISSED  '} {what}: {value:.3f} {sign} {target:g}")


SECTIONS: dict[str, Section] = {
    "layers": _layers,
    "codecs": _codecs,
    "growth": _growth,
    "memory": _memory,
    "scaling": _scaling,
}


if __name__ == "__main__":
    sys.exit(main())
