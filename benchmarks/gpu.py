"""Frames a second on an NVIDIA GPU: decoded, decoded with features, and in audits of a whole clip.

All goes the product's own way, of which it says whether pictures stay on the GPU or are copied to
the host (without torch). Decoding is measured with several numbers of threads, each of which
reconfigures one decoder from file to file; audits use those of the product. Told are frames a
second, their share of what the engines could decode at best, the host's CPU time a frame, and how
many decoders were made once all were warm. A clip's row must be that of the CPU. Without a GPU it
says why and measures nothing. It has not been run on a GPU yet.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import importlib
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from base_clips import OUT, base_clip
from tables import print_table, write_json

from syncaudit.datasets import load_manifest
from syncaudit.decode import DECODERS, LumaFrames, iter_luma
from syncaudit.decode.container import list_frames
from syncaudit.decode.nvdec import NvdecDecoder
from syncaudit.model import CameraSpec, Clip, FrameFiles
from syncaudit.pipeline import audit
from syncaudit.pipeline.cameras import CAMERAS_AT_ONCE

# NVIDIA's figures for one engine of Hopper and H.264: 27,000 frames a second of 854 x 480 on the
# seven engines of an H200 (design, section 8), by pixels.
PIXELS_PER_S_AND_ENGINE = 27_000 * 854 * 480 / 7
TARGET_SHARE = 0.4
# Audits before the first that counts.
WARM_UP = 3


def main() -> int:
    """Run the benchmark and return 0: it never gates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="854x480")
    parser.add_argument("--threads", default="1,4,8,14")
    parser.add_argument("--rounds", type=int, default=10, help="Times every file is decoded.")
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=OUT / "gpu.json")
    options = parser.parse_args()
    why = DECODERS["nvdec"]().unavailable_reason()
    if why is not None:
        print(f"skipped: {why}")
        return 0
    nvc: Any = importlib.import_module("PyNvVideoCodec")

    width, height = (int(part) for part in options.size.split("x"))
    base = base_clip(0, size_px=(width, height), seed=options.seed)
    (clip,) = load_manifest(str(base.folder / "manifest.jsonl"))
    paths = [
        str(base.folder / spec.uri)
        for spec in clip.sources.values()
        if isinstance(spec, CameraSpec)
    ]
    n_engines = nvc.GetDecoderCaps()["num_decoder_engines"]
    bound = n_engines * PIXELS_PER_S_AND_ENGINE / (width * height)
    made = _count_decoders(nvc)
    works: dict[str, Callable[[LumaFrames], int]] = {
        "decode": lambda frames: sum(1 for _ in frames),
        "decode and features": _features,
    }
    results = [
        _measure(name, work, paths, n_threads, options.rounds, made)
        for name, work in works.items()
        for n_threads in map(int, options.threads.split(","))
    ]
    results.append(_audits(clip, paths, options.rounds, made))
    for result in results:
        result["share"] = result["fps"] / bound
    print_table(
        f"{options.size}, {n_engines} engines, at best {bound:.0f} frames/s",
        ("what", "threads", "frames/s", "of the bound", "CPU us/frame", "decoders made later"),
        [
            (r["what"], r["threads"], r["fps"], r["share"], r["cpu_us"], r["made_later"])
            for r in results
        ],
    )
    where = "stay on the GPU" if NvdecDecoder.keeps_on_device() else "are copied to the host"
    print(f"  pictures {where}")
    best = max(r["share"] for r in results)
    is_reached = best >= TARGET_SHARE
    print(f"  {'reached ' if is_reached else 'MISSED  '} share of the bound >= {TARGET_SHARE}")
    about = {"size": options.size, "bound_fps": bound, "pictures": where}
    write_json(options.out, {**about, "results": results})
    return 0


def _count_decoders(nvc: Any) -> list[int]:
    """Let every decoder that is made add to the list that is returned."""
    made: list[int] = []
    real = nvc.SimpleDecoder

    def counted(*arguments: Any, **options: Any) -> Any:
        made.append(threading.get_ident())
        return real(*arguments, **options)

    nvc.SimpleDecoder = counted
    return made


def _features(frames: LumaFrames) -> int:
    """Ask of every picture what detectors ask of most."""
    n_frames = 0
    for picture in frames:
        picture.block_sums(16)
        picture.block_sums(4, 4)
        picture.reduced(2)
        n_frames += 1
    return n_frames


def _measure(
    what: str,
    work: Callable[[LumaFrames], int],
    paths: list[str],
    n_threads: int,
    rounds: int,
    made: list[int],
) -> dict[str, Any]:
    ready = threading.Barrier(n_threads + 1)
    jobs = iter(paths * rounds * n_threads)
    lock = threading.Lock()

    def decode(path: str) -> int:
        frames = iter_luma(FrameFiles(paths=(path,)), decoder="nvdec")
        n_frames = work(frames)
        assert frames.fallback is None, frames.fallback
        return n_frames

    def run() -> int:
        decode(paths[0])  # makes this thread's decoder
        ready.wait()
        n_frames = 0
        while True:
            with lock:
                path = next(jobs, None)
            if path is None:
                return n_frames
            n_frames += decode(path)

    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(run) for _ in range(n_threads)]
        ready.wait()
        n_before, begun, cpu_begun = len(made), time.monotonic(), time.process_time()
        n_frames = sum(future.result() for future in futures)
        wall_s, cpu_s = time.monotonic() - begun, time.process_time() - cpu_begun
    return _figures(what, n_threads, n_frames, wall_s, cpu_s, len(made) - n_before)


def _audits(clip: Clip, paths: list[str], rounds: int, made: list[int]) -> dict[str, Any]:
    """Audit one clip again and again; its row has to be that of the CPU."""
    expected = _row(clip, "cpu")
    for _ in range(WARM_UP):
        assert _row(clip, "nvdec") == expected, "the row is not that of the CPU"
    n_before, begun, cpu_begun = len(made), time.monotonic(), time.process_time()
    for _ in range(rounds):
        audit(clip, decoder="nvdec")
    wall_s, cpu_s = time.monotonic() - begun, time.process_time() - cpu_begun
    n_frames = rounds * sum(list_frames(path).n_frames for path in paths)
    n_threads = min(CAMERAS_AT_ONCE, len(paths))
    return _figures("audit", n_threads, n_frames, wall_s, cpu_s, len(made) - n_before)


def _row(clip: Clip, decoder: str) -> dict[str, Any]:
    """Return a verdict without times; where the CPU took a camera over, it says so and differs."""
    row: dict[str, Any] = audit(clip, decoder=decoder).to_json()
    return {**row, "seconds": None, "stages": None}


def _figures(
    what: str, n_threads: int, n_frames: int, wall_s: float, cpu_s: float, made_later: int
) -> dict[str, Any]:
    return {
        "what": what,
        "threads": n_threads,
        "fps": n_frames / wall_s,
        "cpu_us": cpu_s / n_frames * 1e6,
        "made_later": made_later,
    }


if __name__ == "__main__":
    sys.exit(main())
