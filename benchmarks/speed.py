"""CPU time of the whole audit over CPU time of only decoding the same six streams.

One process, one thread: PyAV with `thread_type="NONE"`, OpenCV and BLAS held to one thread.
Decoding and auditing alternate, so that a machine whose clock wanders harms both alike; the
ratio is that of the medians.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import av
import cv2
from base_clips import OUT, base_clip
from tables import print_table, write_json

from syncaudit.datasets import load_manifest
from syncaudit.model import CameraSpec, Clip
from syncaudit.pipeline import audit

TARGET = 3.0
STAGES = ("read", "stamps", "decode", "detect", "estimate", "solve")


def main() -> int:
    """Run the benchmark and return 0: it never gates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="854x480,428x240")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=OUT / "speed.json")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    results = [
        _measure(size, options.runs, options.seed) for size in options.sizes.split(",") if size
    ]
    print_table(
        f"CPU seconds of one clip (20 s, six cameras, 12 Hz), median of {options.runs} runs",
        ("size", "decode alone", "audit", "ratio", "lowest", "highest", "audit x real time"),
        [
            (r["size"], r["decode_s"], r["audit_s"], r["ratio"], *r["ratio_range"], r["speed"])
            for r in results
        ],
    )
    print_table(
        "   of the audit by stage",
        ("size", *STAGES, "other"),
        [
            (r["size"], *(r["stages_s"].get(name, 0.0) for name in STAGES), r["other_s"])
            for r in results
        ],
    )
    for r in results:
        is_reached = r["ratio"] <= TARGET
        print(f"  {'reached ' if is_reached else 'MISSED  '} {r['size']}: ratio <= {TARGET}")
    write_json(options.out, {"target": TARGET, "runs": options.runs, "results": results})
    return 0


def _measure(size: str, runs: int, seed: int) -> dict[str, Any]:
    width, height = (int(part) for part in size.split("x"))
    base = base_clip(0, size_px=(width, height), seed=seed)
    (clip,) = load_manifest(str(base.folder / "manifest.jsonl"))
    videos = _videos(clip, base.folder)
    n_frames = _decode(videos)  # warms the caches, as does one audit
    audit(clip)
    decode_s, audit_s, stages = [], [], []
    for _ in range(runs):
        begun = time.process_time()
        assert _decode(videos) == n_frames
        decode_s.append(time.process_time() - begun)
        begun = time.process_time()
        verdict = audit(clip)
        audit_s.append(time.process_time() - begun)
        stages.append(verdict.stages)
    ratios = [a / d for a, d in zip(audit_s, decode_s, strict=True)]
    median_s = {name: statistics.median(run.get(name, 0.0) for run in stages) for name in stages[0]}
    audit_median_s = statistics.median(audit_s)
    return {
        "size": size,
        "n_frames": n_frames,
        "video_bytes": sum(video.stat().st_size for video in videos),
        "decode_s": statistics.median(decode_s),
        "audit_s": audit_median_s,
        "ratio": audit_median_s / statistics.median(decode_s),
        "ratio_range": [min(ratios), max(ratios)],
        "stages_s": median_s,
        "other_s": audit_median_s - sum(median_s.values()),
        "speed": base.config.duration_s / audit_median_s,
        "verdict": str(verdict.verdict),
    }


def _videos(clip: Clip, folder: Path) -> list[Path]:
    return [
        folder / str(spec.uri) for spec in clip.sources.values() if isinstance(spec, CameraSpec)
    ]


def _decode(videos: list[Path]) -> int:
    """Decode every frame and look at none of them."""
    n_frames = 0
    for video in videos:
        with av.open(str(video)) as container:
            stream = container.streams.video[0]
            stream.thread_type = "NONE"
            stream.codec_context.thread_count = 1
            for _ in container.decode(stream):
                n_frames += 1
    return n_frames


if __name__ == "__main__":
    sys.exit(main())
