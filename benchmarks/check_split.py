"""Find copies of videos across splits, and leave distinct videos alone.

Distinct videos of `sample_data` and `../shared/realdata` (each file once, long ones in pieces of
20 s) are the training split. Each is copied with drawn damage: 0.3 to 3 s are cut off its start,
it is scaled by 0.3 to 0.8, coded again at crf 24 to 38 with another frame rate, brightness and
contrast, and a third of the copies lose 4 % of the image on every side. The copies are the other
split. Told are the agreement of every copy with its original, and that of all other pairs.
``python benchmarks/check_split.py`` prints a table and writes ``benchmarks/out/check_split.json``.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray
from tables import print_table, write_json

from syncaudit.model import CameraSpec, CameraStream, Clip
from syncaudit.readers import read_source
from syncaudit.splits import duplicates
from syncaudit.splits.duplicates import MIN_AGREEMENT, common_part, is_still
from syncaudit.splits.fingerprint import fingerprint_of

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "benchmarks" / "out" / "check_split.json"
PLACES = (ROOT / "sample_data", ROOT.parent / "shared" / "realdata")
PIECE_S = 20.0
# A box of pixels that is cut off is no copy of what is compared: told apart.
CROPPED = 0.04

Changes = NDArray[np.float32]


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
    """Yield time and RGB image of the frames of a part, the time from its start."""
    with av.open(str(path)) as container:
        container.streams.video[0].thread_type = "AUTO"
        for frame in container.decode(video=0):
            time_s = float(frame.time or 0.0) - start_s
            if time_s >= stop_s - start_s:
                return
            if time_s >= 0.0:
                yield time_s, frame.to_ndarray(format="rgb24")


def coded(frames: Iterator[tuple[float, NDArray[np.uint8]]], path: Path, crf: int) -> bool:
    """Write frames as H.264 at their times; return whether there was any."""
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
    """Yield frames cut, scaled, thinned out and with other brightness."""
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


def changes(path: Path) -> Changes:
    """Return the fingerprint of a whole file."""
    spec = CameraSpec(uri=str(path), start_ns=0)
    stream = read_source("cam", spec, "")
    assert isinstance(stream, CameraStream)
    clip = Clip(clip_id="c", recording_id="c", sources={"cam": spec})
    return fingerprint_of(stream, clip).changes


def agreement(one: Changes, other: Changes) -> float | None:
    """Return the best agreement whatever it is; None where nothing can be compared."""
    found = common_part(one, other)
    return None if found is None else found[0]


def main() -> None:
    """Make the copies, compare all pairs, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--copies", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    made: dict[str, Changes] = {}
    copies: list[tuple[str, float, Changes]] = []
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "copy.mp4"
        for title, path, start_s, stop_s in originals():
            whole = Path(name) / "whole.mp4"
            if np.isfinite(stop_s):
                coded(frames_of(path, start_s, stop_s), whole, 20)
            made[title] = changes(whole if np.isfinite(stop_s) else path)
            for k in range(args.copies):
                crop = CROPPED if k % 3 == 2 else 0.0
                frames = damaged(frames_of(path, start_s, stop_s), rng, crop)
                if coded(frames, file, int(rng.integers(24, 39))):
                    copies.append((title, crop, changes(file)))
            print(title, made[title].shape[0], flush=True)
    duplicates.MIN_AGREEMENT = -1.0  # to see the figures of all pairs
    began = time.process_time()
    pairs = [
        (title, other, crop, value)
        for title, one in made.items()
        for other, crop, copy in copies
        if not is_still(one) and not is_still(copy)
        if (value := agreement(one, copy)) is not None
    ]
    per_pair_ms = 1e3 * (time.process_time() - began) / max(1, len(made) * len(copies))
    rows = []
    for label, chosen in (
        ("copies", [v for a, b, crop, v in pairs if a == b and not crop]),
        ("copies, 4 % cut off every side", [v for a, b, crop, v in pairs if a == b and crop]),
        ("distinct videos", [v for a, b, _, v in pairs if a != b]),
    ):
        values = np.array(chosen)
        if values.size:
            found = int(np.sum(values >= MIN_AGREEMENT))
            figures = [float(np.min(values)), float(np.median(values)), float(np.max(values))]
            rows.append([label, values.size, found, *figures])
    header = ["pairs", "n", f"agree by {MIN_AGREEMENT}", "least", "median", "most"]
    print_table("Copies across splits", header, rows)
    n_made = len(made) * args.copies
    compared = sum(row[1] for row in rows[:-1])
    print(
        f"{n_made - compared} copies of {n_made} too still or too short to compare; "
        f"{per_pair_ms:.2f} ms a pair"
    )
    worst = sorted((p for p in pairs if p[0] != p[1]), key=lambda p: -p[3])[:5]
    worst += sorted((p for p in pairs if p[0] == p[1]), key=lambda p: p[3])[:10]
    for a, b, crop, value in worst:
        print(f"  {value:.2f} {a} | {b}{' cropped' if crop else ''}")
    write_json(OUT, {"rows": rows, "ms_per_pair": per_pair_ms, "not_compared": n_made - compared})


if __name__ == "__main__":
    main()
