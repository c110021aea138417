"""Throughput of screening clips by their timestamps, from the manifest row to the verdict.

Clips of six 20 s cameras at 12 Hz, every one with files of its own, in the page cache. Cameras get
their timestamps from the container: at the rate of the encoder (the same pattern in every file, so
it is audited once), or at capture times (individual jitter and drift). Whole clips have a timestamp
table per camera, and IMU, bus and microphone are added one by one. One process, one thread, CPU
time. The best of the rounds is the cost of the code; the median shows how busy the machine was.
Last, a manifest of many such clips is run by one and two worker processes, wall time: from its file
to the last verdict, and to the last of all output files.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from base_clips import OUT, STAMP_JITTER_STD_S, BaseClip, base_clip, manifest_row
from tables import print_table, write_json

from syncaudit.batch import run_batch
from syncaudit.batch.task import AuditTask
from syncaudit.datasets import clip_to_row
from syncaudit.datasets.manifest import clip_from_row, load_manifest
from syncaudit.decode.container import list_frames
from syncaudit.pipeline import audit
from syncaudit.policy import load_policy
from syncaudit.simulate import (
    CanConfig,
    ClockFault,
    ImuConfig,
    MicrophoneConfig,
    simulate_clip,
)

TARGET_PER_S = 1000.0
START_NS = 1_767_225_600_000_000_000
TICK_HZ = 90_000
# More timestamp patterns than the cache holds, so that none is found there in the next round.
N_CLIPS = 24

Row = Mapping[str, Any]


def main() -> int:
    """Run the benchmark and always return 0: it does not gate anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--handed-over", type=int, default=10_000, help="clips; 0: none")
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=OUT / "screen.json")
    options = parser.parse_args()
    base = base_clip(0, size_px=(428, 240), seed=options.seed)
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        rates = _rates(base, Path(folder), options.rounds)
        runs = _runs(Path(folder), options.handed_over) if options.handed_over else {}
    print_table(
        "clips of 6 cameras a second on one core",
        ("what", "best", "median"),
        [(what, rate["best"], rate["median"]) for what, rate in rates.items()],
    )
    print_table(
        f"{options.handed_over} clips handed to workers, clips a second",
        ("workers", "to the last verdict", "to the last file"),
        [(workers, run["verdicts"], run["files"]) for workers, run in runs.items()],
    )
    for what in ("sample tables", "row to verdict", "row to verdict, times of capture"):
        is_reached = rates[what]["best"] >= TARGET_PER_S
        print(f"  {'reached ' if is_reached else 'MISSED  '} {what} >= {TARGET_PER_S:g} clips/s")
    write_json(
        options.out, {"target_per_s": TARGET_PER_S, "clips_per_s": rates, "runs_per_s": runs}
    )
    return 0


def _rates(base: BaseClip, folder: Path, n_rounds: int) -> dict[str, dict[str, float]]:
    """Return clips per second by the work done on them."""
    at_rate = _contained(base, folder / "rate", os.link)
    captured = _contained(base, folder / "captured", _with_times_of_capture)
    whole = _whole(base, folder / "whole")
    videos, others = (
        [[f"{place}/{spec['uri']}" for spec in row["sources"].values()] for row in rows]
        for place, rows in ((folder / "rate", at_rate), (folder / "captured", captured))
    )
    for path in (*videos[0], *others[0]):
        listed = list_frames(path)
        assert listed.pts is not None
        assert listed.pts.tolist() == _demux(path)
    task = AuditTask(audit=audit, policy=load_policy(), settings={"is_screen": True})

    def screen(place: str) -> Callable[[str], object]:
        base_uri = str(folder / place)
        return lambda line: audit(
            clip_from_row(json.loads(line), base_uri=base_uri), task.policy, is_screen=True
        )

    def write(place: str) -> Callable[[str], object]:
        base_uri = str(folder / place)
        return lambda line: task(clip_from_row(json.loads(line), base_uri=base_uri))

    kinds = [{"camera"}, {"camera", "imu"}, {"camera", "imu", "can"}, None]
    works: dict[str, tuple[Callable[[Any], object], Sequence[Any]]] = {
        "open and demux": (lambda v: [_demux(path) for path in v], videos),
        "sample tables": (lambda v: [list_frames(path) for path in v], videos),
        "row to verdict": (screen("rate"), _lines(at_rate)),
        "row to written verdict": (write("rate"), _lines(at_rate)),
        "row to verdict, times of capture": (screen("captured"), _lines(captured)),
        "with stamp tables": (screen("whole"), _lines(whole, kinds[0])),
        "... and IMU": (screen("whole"), _lines(whole, kinds[1])),
        "... and bus": (screen("whole"), _lines(whole, kinds[2])),
        "... and microphone": (screen("whole"), _lines(whole, kinds[3])),
    }
    # Interleaved, so that other load on the machine affects all of them equally.
    rounds = [
        {what: _spent_s(work, items) for what, (work, items) in works.items()}
        for _ in range(n_rounds)
    ]
    return {
        what: {
            "best": 1.0 / min(spent[what] for spent in rounds),
            "median": 1.0 / statistics.median(spent[what] for spent in rounds),
        }
        for what in works
    }


def _runs(folder: Path, n_clips: int) -> dict[str, dict[str, float]]:
    """Return clips per second by worker processes: clips at an encoder's rate, hard-linked."""
    rows, many = [], folder / "many"
    many.mkdir()
    for k in range(n_clips):
        source = folder / "rate" / f"{k % N_CLIPS:02d}"
        (many / f"{k:06d}").symlink_to(source)
        cameras = {
            video.stem: {
                "kind": "camera",
                "uri": f"{k:06d}/{video.name}",
                "start_ns": START_NS + 20 * 10**9 * k,
            }
            for video in sorted(source.glob("*.mp4"))
        }
        rows.append({"clip_id": f"{k:06d}", "sources": cameras})
    manifest = many / "manifest.jsonl"
    manifest.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    runs = {}
    for workers in (1, 2):
        begun = time.monotonic()
        clips = load_manifest(manifest)
        read_s = time.monotonic() - begun
        summary = run_batch(
            clips,
            load_policy(),
            out=folder / f"out-{workers}",
            workers=workers,
            to_row=clip_to_row,
            settings={"is_screen": True},
        )
        spent_s = time.monotonic() - begun
        runs[str(workers)] = {
            "verdicts": n_clips / (read_s + summary.wall_s),
            "files": n_clips / spent_s,
        }
    return runs


def _lines(rows: Sequence[Row], kinds: set[str] | None = None) -> list[str]:
    """Return rows as the lines of a manifest, with the sources of some kinds."""
    return [
        json.dumps(
            {
                **row,
                "sources": {
                    name: spec
                    for name, spec in row["sources"].items()
                    if kinds is None or spec["kind"] in kinds
                },
            }
        )
        for row in rows
    ]


def _contained(
    base: BaseClip, folder: Path, write: Callable[[Path, Path], object]
) -> list[dict[str, Any]]:
    """Write clips of cameras whose timestamps come from their container."""
    rows = []
    for k in range(N_CLIPS):
        place = folder / f"{k:02d}"
        place.mkdir(parents=True)
        sources = {}
        for video in sorted(base.folder.glob("*.mp4")):
            write(video, place / video.name)
            sources[video.stem] = {
                "kind": "camera",
                "uri": f"{place.name}/{video.name}",
                "start_ns": START_NS + 20 * 10**9 * k,
            }
        rows.append({"clip_id": f"{k:02d}", "sources": sources})
    return rows


def _with_times_of_capture(video: Path, copy: Path) -> None:
    """Copy a 12 Hz video, with 0.1 ms jitter and 20 ppm drift in its presentation times."""
    rng = np.random.default_rng([*str(copy.relative_to(copy.parents[2])).encode()])
    with (
        av.open(str(video)) as source,
        av.open(str(copy), "w", options={"video_track_timescale": str(TICK_HZ)}) as target,
    ):
        stream = source.streams.video[0]
        track = target.add_stream_from_template(stream)
        packets = [packet for packet in source.demux(stream) if packet.size]
        n = len(packets)
        times_s = np.arange(n) / 12.0 * (1.0 + rng.normal(0.0, 2e-5)) + rng.normal(0.0, 1e-4, n)
        ticks = np.rint((times_s - times_s[0]) * TICK_HZ).astype(int).tolist()
        # The base clips have no B-frames: decode order is presentation order.
        for packet, tick in zip(packets, ticks, strict=True):
            packet.pts = packet.dts = tick
            packet.time_base, packet.stream = Fraction(1, TICK_HZ), track
            target.mux(packet)


def _whole(base: BaseClip, folder: Path) -> list[dict[str, Any]]:
    """Write clips with a timestamp table per camera, IMU, bus and microphone."""
    rows = []
    for k in range(N_CLIPS):
        place = folder / f"{k:02d}"
        # Different jitter for each, so that no two clips have the same timestamps.
        clock = ClockFault(jitter_std_s=STAMP_JITTER_STD_S * (1.0 + 0.01 * k))
        config = replace(
            base.config,
            cameras={
                name: replace(camera, clock=clock) for name, camera in base.config.cameras.items()
            },
            imu=ImuConfig(clock=clock),
            can=CanConfig(clock=clock),
            microphone=MicrophoneConfig(),
        )
        simulate_clip(config, place, seed=base.seed, videos_from=base.folder)
        row = manifest_row(place)
        for spec in row["sources"].values():  # type: ignore[attr-defined]
            for key in {"uri", "timestamps", "dbc"} & spec.keys():
                spec[key] = f"{place.name}/{spec[key]}"
        rows.append({**row, "clip_id": f"{k:02d}"})
    return rows


def _demux(path: str) -> list[int | None]:
    with av.open(path, options={"skip_frame": "all"}) as container:
        packets = container.demux(container.streams.video[0])
        return sorted(packet.pts for packet in packets if packet.size)  # type: ignore[type-var]


def _spent_s(work: Callable[[Any], object], items: Sequence[Any]) -> float:
    """Return the CPU time per item, processing clip after clip as a run does."""
    spent_s = []
    for _ in range(2):  # the first pass warms up code and caches
        begun = time.process_time()
        for item in items:
            work(item)
        spent_s.append((time.process_time() - begun) / len(items))
    return min(spent_s)


if __name__ == "__main__":
    sys.exit(main())
