"""Frames a second on an NVIDIA GPU: decoded, decoded with features on the device, audited.

Every thread reconfigures one decoder from file to file, as workers do. Told are frames a second,
their share of what the engines could decode at best, the host's CPU time a frame, and how many
decoders were made after the first file of each thread. Without a GPU it says why and measures
nothing. It has not been run on a GPU yet.
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
from syncaudit.decode import DECODERS, iter_luma
from syncaudit.decode.features import block_sums, reduced
from syncaudit.decode.header import read_header
from syncaudit.model import CameraSpec, FrameFiles

# NVIDIA's figures for one engine of Hopper and H.264: 27,000 frames a second of 854 x 480 on the
# seven engines of an H200 (design, section 8), by pixels.
PIXELS_PER_S_AND_ENGINE = 27_000 * 854 * 480 / 7
TARGET_SHARE = 0.4
BATCH = 16


def main() -> int:
    """Run the benchmark and return 0: it never gates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="854x480")
    parser.add_argument("--threads", default="1,4,14")
    parser.add_argument("--rounds", type=int, default=10, help="Times every file is decoded.")
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=OUT / "gpu.json")
    options = parser.parse_args()
    why = DECODERS["nvdec"]().hindrance()
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
    works: dict[str, Callable[[str], int]] = {"decode to host memory": _to_host}
    device = _device_works(nvc)
    works |= device
    results = [
        _measure(name, work, paths, n_threads, options.rounds, made, bound)
        for name, work in works.items()
        for n_threads in map(int, options.threads.split(","))
    ]
    print_table(
        f"{options.size}, {n_engines} engines, at best {bound:.0f} frames/s",
        ("what", "threads", "frames/s", "of the bound", "CPU us/frame", "decoders made later"),
        [
            (r["what"], r["threads"], r["fps"], r["share"], r["cpu_us"], r["made_later"])
            for r in results
        ],
    )
    if not device:
        print("  features on the device: skipped, torch sees no GPU")
    best = max(r["share"] for r in results)
    is_reached = best >= TARGET_SHARE
    print(f"  {'reached ' if is_reached else 'MISSED  '} share of the bound >= {TARGET_SHARE}")
    write_json(options.out, {"size": options.size, "bound_fps": bound, "results": results})
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


def _to_host(path: str) -> int:
    """Decode as an audit does."""
    frames = iter_luma(FrameFiles(paths=(path,)), decoder="nvdec")
    n_frames = sum(1 for _ in frames)
    assert frames.fallback is None, frames.fallback
    return n_frames


def _device_works(nvc: Any) -> dict[str, Callable[[str], int]]:
    """Return ways to decode that leave the pictures on the GPU, where torch can take them."""
    try:
        import torch
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}
    own = threading.local()

    def decode(path: str, look: Callable[[Any], object]) -> int:
        if getattr(own, "decoder", None) is None:
            own.decoder = nvc.SimpleDecoder(path, use_device_memory=True)
        else:
            own.decoder.reconfigure_decoder(path)
        height = read_header(FrameFiles(paths=(path,))).height_px
        n_frames = 0
        while batch := own.decoder.get_batch_frames(BATCH):
            for frame in batch:
                look(torch.from_dlpack(frame)[:height])
            n_frames += len(batch)
            if n_frames >= len(own.decoder):
                break
        torch.cuda.synchronize()
        return n_frames

    def features(luma: Any) -> None:
        block_sums(luma, 16)
        block_sums(luma, 4, 4)
        reduced(luma, 2)

    return {
        "decode on the device": lambda path: decode(path, lambda luma: luma),
        "decode and features": lambda path: decode(path, features),
    }


def _measure(
    what: str,
    work: Callable[[str], int],
    paths: list[str],
    n_threads: int,
    rounds: int,
    made: list[int],
    bound: float,
) -> dict[str, Any]:
    ready = threading.Barrier(n_threads + 1)
    jobs = iter(paths * rounds * n_threads)
    lock = threading.Lock()

    def run() -> int:
        work(paths[0])  # makes this thread's decoder
        ready.wait()
        n_frames = 0
        while True:
            with lock:
                path = next(jobs, None)
            if path is None:
                return n_frames
            n_frames += work(path)

    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(run) for _ in range(n_threads)]
        ready.wait()
        n_before, begun, cpu_begun = len(made), time.monotonic(), time.process_time()
        n_frames = sum(future.result() for future in futures)
        wall_s, cpu_s = time.monotonic() - begun, time.process_time() - cpu_begun
    return {
        "what": what,
        "threads": n_threads,
        "fps": n_frames / wall_s,
        "share": n_frames / wall_s / bound,
        "cpu_us": cpu_s / n_frames * 1e6,
        "made_later": len(made) - n_before,
    }


if __name__ == "__main__":
    sys.exit(main())
