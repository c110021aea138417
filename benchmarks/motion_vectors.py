"""The value of a video's motion vectors as a measurement of the camera's rotation.

An H.264 decoder can export the vectors that the encoder chose (FFmpeg's flag ``export_mvs``). A
rotation is fitted robustly to those of each frame and compared with the tracked one: how well both
agree, how well either aligns the camera with its gyroscope, and the cost relative to bare decoding.
Uses the simulated clips of `gop_clips.py` and the recordings of ../shared/realdata.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from av import VideoFrame
from av.sidedata.sidedata import Type
from base_clips import OUT
from gop_clips import gop_clip
from numpy.typing import NDArray
from recordings import REALDATA, gimbal_clip, phone_clip
from tables import print_table, write_json

from syncaudit.datasets import load_manifest
from syncaudit.decode import iter_luma
from syncaudit.detectors import RotationDetector
from syncaudit.estimators.rotation import measure_camera_gyro
from syncaudit.model import (
    Activity,
    CameraStream,
    Clip,
    FrameFiles,
    PairMeasurement,
    Quantity,
    RotationIncrements,
)
from syncaudit.pipeline import examine

Floats = NDArray[np.float64]
# The weights of the robust fit converge in this many steps; with fewer vectors, no measurement.
N_STEPS, MIN_VECTORS = 5, 20
# Vectors are quantised to quarter pixels: error from rounding, and from block matching.
LEAST_STD_PX = 0.25


def main() -> int:
    """Print the table and always return 0: it does not gate anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clips", type=int, default=6, help="simulated ones, of 3 cameras")
    parser.add_argument("--seed", type=int, default=31000)
    parser.add_argument("--out", type=Path, default=OUT / "motion_vectors.json")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory() as folder:
        rows = [(name, *_measured(*case)) for name, *case in _cases(Path(folder), options)]
    header = ("video", "vectors", "read", "fitted", "tracked", "r", "by vectors", "by points")
    print_table("motion vectors beside tracked points", header, rows)
    write_json(options.out, {"header": header, "rows": rows})
    return 0


def _cases(
    folder: Path, options: argparse.Namespace
) -> Iterator[tuple[str, Path, CameraStream, RotationIncrements, Activity]]:
    """Yield name, video, and the tracked rotation of a camera in all of its frames."""
    for index in range(options.clips):
        base = gop_clip(index, seed=options.seed)
        (clip,) = load_manifest(str(base.folder / "manifest.jsonl"))
        for camera, tracked, rate in _tracked(clip):
            name = f"{base.config.style} {index} {camera.name}"
            yield name, Path(camera.files.paths[0]), camera, tracked, rate
            if camera.name == "cam_front" and index < 2:
                coded = _coded(camera, folder / f"{index}.mp4", "libx265")
                yield f"{name}, HEVC", coded, camera, tracked, rate
    if REALDATA.exists():
        for name, clip in (
            ("phone_gyro", phone_clip(folder / "phone")),
            ("drone_gimbal", gimbal_clip(folder / "drone")),
        ):
            for camera, tracked, rate in _tracked(clip):
                path = Path(camera.files.paths[0])
                if camera.files.is_images:
                    path = _coded(camera, folder / f"{name}.mp4", "libx264")
                yield name, path, camera, tracked, rate


def _tracked(clip: Clip) -> Iterator[tuple[CameraStream, RotationIncrements, Activity]]:
    seen = examine(clip, is_thorough=True)
    (rate,) = (
        motion[Quantity.ANGULAR_RATE]
        for motion in seen.evidence.motion.values()
        if Quantity.ANGULAR_RATE in motion
    )
    for name, tracked in seen.evidence.rotations.items():
        camera = seen.streams[name]
        assert isinstance(camera, CameraStream)
        yield camera, tracked, rate


def _measured(
    path: Path, camera: CameraStream, tracked: RotationIncrements, rate: Activity
) -> tuple[Any, ...]:
    """Return the figures of one video: a row of the table."""
    bare_s, vectors_s, fit_s, track_s = (
        _seconds(work)
        for work in (
            lambda: deque(_decoded(path, has_vectors=False), maxlen=0),
            lambda: deque(_decoded(path, has_vectors=True), maxlen=0),
            lambda: _rotations(path),
            lambda: _track(path, camera),
        )
    )
    turns = _rotations(path)
    if not turns:
        told = _told(measure_camera_gyro(tracked, rate))
        return "none", None, None, track_s / bare_s, None, None, told
    times_s = (camera.time_ns - tracked.epoch_ns) * 1e-9
    frames = np.searchsorted(times_s, tracked.stop_s - 1e-6)
    chosen = np.flatnonzero(np.isin(frames, list(turns)))
    angles, stds = (
        np.array(part) for part in zip(*(turns[k] for k in frames[chosen]), strict=True)
    )
    own = tracked.angles_rad[chosen]
    axis = int(np.argmax(own.std(axis=0)))
    by_vectors = replace(
        tracked,
        **{name: getattr(tracked, name)[chosen] for name in ("start_s", "stop_s")},
        angles_rad=angles,
        std_rad=stds,
        row_moments_px=np.zeros((chosen.size, 3, 3)),
        row_moves_px=np.zeros((chosen.size, 3, 3)),
        regular_start_s=None,
        regular_stop_s=None,
    )
    found, best = (measure_camera_gyro(one, rate) for one in (by_vectors, tracked))
    return (
        f"{len(turns)} of {camera.time_ns.size}",
        vectors_s / bare_s,
        fit_s / bare_s,
        track_s / bare_s,
        abs(float(np.corrcoef(angles[:, axis], own[:, axis])[0, 1])),
        _told(found),
        _told(best),
    )


def _told(pair: PairMeasurement) -> str:
    if not pair.accepted or pair.offset_s is None or pair.offset_std_s is None:
        return "refused"
    return f"{1e3 * pair.offset_s:.2f} ± {1e3 * pair.offset_std_s:.2f}"


def _seconds(work: Callable[[], object]) -> float:
    """Return the smallest CPU time of three runs."""
    spent_s = []
    for _ in range(3):
        begun_s = time.process_time()
        work()
        spent_s.append(time.process_time() - begun_s)
    return min(spent_s)


def _decoded(path: Path, *, has_vectors: bool) -> Iterator[tuple[VideoFrame, Any]]:
    """Yield the frames of a video with the vectors of each; None if it has none."""
    with av.open(str(path)) as file:
        stream = file.streams.video[0]
        stream.codec_context.thread_type, stream.codec_context.thread_count = "NONE", 1
        if has_vectors:
            stream.codec_context.options = {"flags2": "+export_mvs"}
        for frame in file.decode(stream):
            vectors = frame.side_data.get(Type.MOTION_VECTORS) if has_vectors else None
            yield frame, None if vectors is None else vectors.to_ndarray()


def _rotations(path: Path) -> dict[int, tuple[Floats, Floats]]:
    """Return the rotation of every frame with enough vectors, and its errors."""
    turns = {}
    for index, (frame, vectors) in enumerate(_decoded(path, has_vectors=True)):
        if vectors is not None:
            turn = _rotation_of(vectors, frame.width, frame.height)
            if turn is not None:
                turns[index] = turn
    return turns


def _track(path: Path, camera: CameraStream) -> None:
    detector = RotationDetector(camera)
    for image in iter_luma(FrameFiles(paths=(str(path),))):
        detector.update(image)
    detector.finish()


def _rotation_of(vectors: Any, width: int, height: int) -> tuple[Floats, Floats] | None:
    """Return the rotation shown by vectors to the previous frame, and its errors, in widths."""
    vectors = vectors[vectors["source"] < 0]
    if vectors.size < MIN_VECTORS:
        return None
    scale = np.maximum(vectors["motion_scale"], 1).astype(np.float64)
    move = np.stack([-vectors["motion_x"] / scale, -vectors["motion_y"] / scale], axis=1)
    x = (vectors["dst_x"] - 0.5 * width) / width
    y = (vectors["dst_y"] - 0.5 * height) / width
    ones = np.ones_like(x)
    # Columns: about the axes to the right, down and forward; focal length of one image width.
    rows = np.stack(
        [
            np.stack([x * y, -(ones + x**2), y], axis=1),
            np.stack([ones + y**2, -x * y, -x], axis=1),
        ],
        axis=1,
    )
    area = np.sqrt(vectors["w"].astype(np.float64) * vectors["h"])
    weight, angles = area, np.zeros(3)
    for _ in range(N_STEPS):
        normal = np.einsum("nij,n,nik->jk", rows, weight, rows)
        angles = np.linalg.solve(normal, np.einsum("nij,n,ni->j", rows, weight, move / width))
        left = np.hypot(*(move / width - rows @ angles).T)
        spread = max(1.5 * float(np.median(left)), LEAST_STD_PX / width)
        weight = area / (1.0 + (left / spread) ** 2) ** 2
    # Errors of neighbouring blocks are correlated: as if one block in ten were independent.
    normal = np.einsum("nij,n,nik->jk", rows, weight / area, rows)
    return angles, spread * np.sqrt(10.0 * np.diag(np.linalg.inv(normal)))


def _coded(camera: CameraStream, path: Path, encoder: str) -> Path:
    """Re-encode the frames of a camera."""
    options = {"preset": "veryfast", "crf": "26", "g": "24", "bf": "0", "threads": "1"}
    if encoder == "libx265":
        options = {"preset": "ultrafast", "x265-params": "keyint=24:bframes=0:log-level=none"}
    with av.open(str(path), "w") as file:
        stream = file.add_stream(encoder, rate=Fraction(30), options=options)
        stream.pix_fmt = "yuv420p"
        for k, image in enumerate(iter_luma(camera.files)):
            grey = av.VideoFrame.from_ndarray(np.ascontiguousarray(image.luma), format="gray")
            if k == 0:
                stream.height, stream.width = image.shape
            frame = grey.reformat(format="yuv420p")
            frame.pts, frame.time_base = k, Fraction(1, 30)
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return path


if __name__ == "__main__":
    sys.exit(main())
