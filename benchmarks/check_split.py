"""Find copies of videos across splits, and leave distinct videos alone.

The training split consists of the distinct videos of `sample_data` and `../shared/realdata` (each
file once, long ones in pieces of 20 s) and of simulated parked cameras (three places; nothing but
noise, a wandering gain, or a lamp that flashes; three recordings of each). The other split holds
copies of them with random damage: 0.3 to 3 s are cut off the start, the video is scaled by 0.3 to
0.8 and re-encoded at crf 24 to 38 with a different frame rate, brightness and contrast, and a third
of the copies lose 4 % of the image on every side.
``python benchmarks/check_split.py`` prints a table and writes ``benchmarks/out/check_split.json``.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray
from tables import print_table, write_json

from syncaudit.model import CameraSpec, CameraStream, Clip
from syncaudit.readers import read_source
from syncaudit.simulate.camera_recorder import StillRenderer
from syncaudit.simulate.draft import part_rng
from syncaudit.simulate.driving import simulate_motion
from syncaudit.simulate.encode import encode_frames
from syncaudit.simulate.furnish import build_world
from syncaudit.simulate.light import draw_pulses
from syncaudit.simulate.sample_clips import sample_clips
from syncaudit.simulate.sensor import Sensor
from syncaudit.splits.duplicates import Duplicate, Video, compared
from syncaudit.splits.fingerprint import Fingerprint, fingerprint_of

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "benchmarks" / "out" / "check_split.json"
PLACES = (ROOT / "sample_data", ROOT.parent / "shared" / "realdata")
PIECE_S = 20.0
# Share cut off each side; a cropped frame is not a copy to the comparison: reported separately.
CROPPED = 0.04


def originals() -> Iterator[tuple[str, Path, float, float]]:
    """Yield (name, file, start, stop) of distinct videos; stop is infinite for whole ones."""
    seen = set()
    for place in PLACES:
        for path in sorted(place.rglob("*.mp4")):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if digest in seen:
                continue
            seen.add(digest)
            try:
                with av.open(str(path)) as container:
                    length_s = float((container.duration or 0) / av.time_base)
            except av.FFmpegError:
                continue
            name = f"{path.parent.name}/{path.stem}"
            if length_s < 1.5 * PIECE_S:
                yield name, path, 0.0, np.inf
                continue
            for start_s in np.arange(0.0, length_s - PIECE_S, PIECE_S):
                yield f"{name}@{start_s:.0f}", path, float(start_s), float(start_s + PIECE_S)


def frames_of(
    path: Path, start_s: float, stop_s: float
) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    """Yield time (from the start of the part) and RGB image of each frame of a part."""
    with av.open(str(path)) as container:
        container.streams.video[0].thread_type = "AUTO"
        for frame in container.decode(video=0):
            time_s = float(frame.time or 0.0) - start_s
            if time_s >= stop_s - start_s:
                return
            if time_s >= 0.0:
                yield time_s, frame.to_ndarray(format="rgb24")


def coded(frames: Iterator[tuple[float, NDArray[np.uint8]]], path: Path, crf: int) -> bool:
    """Write frames as H.264 at their times; return whether there were any."""
    with av.open(str(path), "w") as container:
        stream = None
        for time_s, image in frames:
            height, width = (side // 2 * 2 for side in image.shape[:2])
            if stream is None:
                stream = container.add_stream("libx264", rate=30)
                stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
                stream.options = {"crf": str(crf), "preset": "veryfast"}
                stream.codec_context.time_base = Fraction(1, 90000)
            even = np.ascontiguousarray(image[:height, :width])
            frame = av.VideoFrame.from_ndarray(even, format="rgb24")
            frame.pts, frame.time_base = round(time_s * 90000), Fraction(1, 90000)
            container.mux(stream.encode(frame))
        if stream is not None:
            container.mux(stream.encode(None))
        return stream is not None


def damaged(
    frames: Iterator[tuple[float, NDArray[np.uint8]]], rng: np.random.Generator, crop: float
) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    """Yield frames cropped, scaled, thinned out and with changed brightness."""
    cut_s, scale = rng.uniform(0.3, 3.0), rng.uniform(0.3, 0.8)
    gain, bias = rng.uniform(0.7, 1.2), rng.uniform(-20.0, 20.0)
    period_s, next_s = 1.0 / rng.choice([8.0, 10.0, 15.0, 60.0]), 0.0
    for time_s, image in frames:
        if time_s < cut_s or time_s - cut_s < next_s - 1e-9:
            continue
        next_s += period_s
        height, width = image.shape[:2]
        y, x = round(height * crop), round(width * crop)
        image = image[y : height - y, x : width - x]
        size = (max(32, round(width * scale)), max(32, round(height * scale)))
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        yield time_s - cut_s, np.clip(gain * image + bias, 0, 255).astype(np.uint8)


def parked(folder: Path) -> Iterator[tuple[str, Path, float, float]]:
    """Yield, as `originals` does, several recordings of stationary cameras at each place."""
    clips = sample_clips()
    rig, lamp = clips["parked"].config, clips["flashes"].config.flash
    assert lamp is not None
    for place in range(3):
        motion = simulate_motion(rig.style, rig.duration_s, part_rng(place, "motion"))
        world = build_world(motion, part_rng(place, "world"), n_movers=0)
        for kind, wobble in (("noise", 0.0), ("gain", 0.015), ("lamp", 0.015)):
            camera = replace(rig.cameras["cam_front"], gain_wobble=wobble)
            times_s = np.arange(0.0, rig.duration_s, 1.0 / camera.fps)
            image = StillRenderer(world, camera).render(0.0)
            for k in range(3):
                sensor = Sensor(camera, times_s.size, part_rng(k, f"{place} {kind}"))
                pulses_s = draw_pulses(lamp, rig.duration_s, part_rng(k, f"{place} pulses"))
                flashes = (
                    lamp.levels(pulses_s, camera.row_times_s(time_s), camera.exposure_s)
                    if kind == "lamp"
                    else None
                    for time_s in times_s
                )
                frames = (sensor.expose(image, n, flash) for n, flash in enumerate(flashes))
                path = folder / f"{place}_{kind}_{k}.mp4"
                encode_frames(frames, path, camera)
                yield f"place {place}, {kind}, recording {k}", path, 0.0, np.inf


def seen(path: Path) -> Fingerprint:
    """Return the fingerprint of a whole file."""
    spec = CameraSpec(uri=str(path), start_ns=0)
    stream = read_source("cam", spec, "")
    assert isinstance(stream, CameraStream)
    return fingerprint_of(stream, Clip(clip_id="c", recording_id="c", sources={"cam": spec}))


def videos_of(
    n_copies: int, rng: np.random.Generator
) -> tuple[list[Video], dict[int, Fingerprint]]:
    """Return originals and copies as two splits; a copy is a source of the original's clip."""
    videos: list[Video] = []
    prints: dict[int, Fingerprint] = {}

    def add(split: str, title: str, what: str, path: Path) -> None:
        prints[len(videos)] = seen(path)
        clip = Clip(clip_id=title, recording_id=title, sources={})
        videos.append(Video(split=split, clip=clip, source=what))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole, file = folder / "whole.mp4", folder / "copy.mp4"
        for title, path, start_s, stop_s in chain(originals(), parked(folder)):
            if np.isfinite(stop_s):
                coded(frames_of(path, start_s, stop_s), whole, 20)
            add("train", title, "original", whole if np.isfinite(stop_s) else path)
            for k in range(n_copies):
                crop = CROPPED if k % 3 == 2 else 0.0
                frames = damaged(frames_of(path, start_s, stop_s), rng, crop)
                if coded(frames, file, int(rng.integers(24, 39))):
                    add("val", title, "cropped copy" if crop else "copy", file)
            print(title, flush=True)
    return videos, prints


def relation(clips: tuple[str, str], sources: tuple[str, str]) -> str:
    """Return the relation between an original and a copy."""
    if clips[0] == clips[1]:
        return max(sources, key=("original", "copy", "cropped copy").index)
    places = [clip.partition(", ")[0] for clip in clips]
    is_one_place = places[0] == places[1] and places[0].startswith("place")
    return "distinct, of one place" if is_one_place else "distinct"


def main() -> None:
    """Make the copies, compare all pairs, print and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--copies", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    videos, prints = videos_of(args.copies, np.random.default_rng(args.seed))
    n_pairs = Counter(
        relation((one.clip.clip_id, other.clip.clip_id), (one.source, other.source))
        for one, other in combinations(videos, 2)
        if one.split != other.split
    )
    began = time.process_time()
    pairs = list(compared(videos, prints))
    per_pair_ms = 1e3 * (time.process_time() - began) / n_pairs.total()
    outcomes = Counter(
        (
            relation(pair.clips, pair.sources),
            "found" if isinstance(pair, Duplicate) else pair.why,
        )
        for pair in pairs
    )
    rows = [
        [label, n, *(outcomes[label, how] for how in ("found", "nothing moves", "too short"))]
        for label, n in n_pairs.items()
    ]
    header = [
        "pairs",
        "n",
        "the same video",
        "undecided: nothing moves",
        "undecided: too short",
        "different",
    ]
    print_table("Copies across splits", header, [[*row, row[1] - sum(row[2:])] for row in rows])
    print(f"{per_pair_ms:.2f} ms a pair")
    found = [pair for pair in pairs if isinstance(pair, Duplicate)]
    for pair in sorted(found, key=lambda pair: pair.agreement)[:10]:
        print(f"  {pair.agreement:.2f} {pair.clips[0]}, {max(pair.sources)}")
    write_json(OUT, {"rows": rows, "ms_per_pair": per_pair_ms})


if __name__ == "__main__":
    main()
