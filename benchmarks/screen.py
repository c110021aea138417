"""How fast clips are screened by their stamps: sample tables alone, and the whole screen.

Sample tables: six 20 s cameras at 12 Hz a clip, read by `list_frames` and, to compare, by opening
and demuxing them with PyAV. Screen: `audit(..., is_screen=True)` of a simulated clip with its
tables of IMU, bus and microphone. One process, one thread, CPU time, files in the page cache.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import av
from base_clips import OUT, base_clip
from tables import print_table, write_json

from syncaudit.datasets import load_manifest
from syncaudit.decode.container import list_frames
from syncaudit.model import CameraSpec
from syncaudit.pipeline import audit

TARGET_PER_S = 1000.0


def main() -> int:
    """Run the benchmark and return 0: it never gates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=OUT / "screen.json")
    options = parser.parse_args()
    base = base_clip(0, size_px=(428, 240), seed=options.seed)
    (clip,) = load_manifest(str(base.folder / "manifest.jsonl"))
    videos = [
        str(base.folder / spec.uri)
        for spec in clip.sources.values()
        if isinstance(spec, CameraSpec)
    ]
    assert all(list(list_frames(video).pts or ()) == _demux(video) for video in videos)
    rates = {
        "sample tables": _clips_per_s(lambda: [list_frames(v) for v in videos], 10 * options.runs),
        "open and demux": _clips_per_s(lambda: [_demux(v) for v in videos], options.runs),
        "whole screen": _clips_per_s(lambda: audit(clip, is_screen=True), options.runs),
    }
    print_table(
        f"clips of {len(videos)} cameras a second on one core",
        ("what", "clips/s"),
        list(rates.items()),
    )
    is_reached = rates["sample tables"] >= TARGET_PER_S
    print(f"  {'reached ' if is_reached else 'MISSED  '} sample tables >= {TARGET_PER_S:g} clips/s")
    write_json(options.out, {"target_per_s": TARGET_PER_S, "clips_per_s": rates})
    return 0


def _demux(path: str) -> list[int | None]:
    with av.open(path, options={"skip_frame": "all"}) as container:
        packets = container.demux(container.streams.video[0])
        return sorted(packet.pts for packet in packets if packet.size)  # type: ignore[type-var]


def _clips_per_s(work: Callable[[], object], n_runs: int) -> float:
    work()
    spent_s = []
    for _ in range(n_runs):
        begun = time.process_time()
        work()
        spent_s.append(time.process_time() - begun)
    return 1.0 / statistics.median(spent_s)


if __name__ == "__main__":
    sys.exit(main())
