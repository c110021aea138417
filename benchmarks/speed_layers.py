"""Decoding with more and more processing on top, timed alternately within one process."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import av
import cv2
from base_clips import BaseClip

from syncaudit.datasets import load_manifest
from syncaudit.decode import Frame, iter_luma
from syncaudit.detectors import FlashDetector, ImageAuditor, RotationDetector
from syncaudit.model import CameraStream
from syncaudit.pipeline import audit
from syncaudit.pipeline.reading import read_clip

Work = Callable[[CameraStream], object]
REDUCED_BY = 2


def cameras_of(folder: Path) -> list[CameraStream]:
    """Return the cameras of a clip."""
    (clip,) = load_manifest(str(folder / "manifest.jsonl"))
    streams = read_clip(clip).streams.values()
    return [stream for stream in streams if isinstance(stream, CameraStream)]


def alternate(
    cameras: Sequence[CameraStream], works: Mapping[str, Work], runs: int
) -> dict[str, float]:
    """Return the CPU seconds of each task over all cameras, median of alternating runs.

    Tasks take turns on each video, in an order that rotates by one with each run.
    """
    names = list(works)
    spent_s: dict[str, list[list[float]]] = {name: [[] for _ in cameras] for name in names}
    for run in range(-1, runs):
        order = names[run % len(names) :] + names[: run % len(names)]
        for k, camera in enumerate(cameras):
            for name in order:
                begun_s = _cpu_s()
                works[name](camera)
                if run >= 0:  # the first one warms caches
                    spent_s[name][k].append(_cpu_s() - begun_s)
    return {
        name: sum(statistics.median(times) for times in videos) for name, videos in spent_s.items()
    }


def whole_audit(base: BaseClip, cameras: Sequence[CameraStream], runs: int) -> dict[str, Any]:
    """Return the CPU seconds of audits that alternate with bare decoding."""
    (clip,) = load_manifest(str(base.folder / "manifest.jsonl"))
    audit(clip)
    bare_s, audit_s, stages = [], [], []
    for _ in range(runs):
        begun_s = time.process_time()
        for camera in cameras:
            _bare(camera)
        bare_s.append(time.process_time() - begun_s)
        begun_s = time.process_time()
        verdict = audit(clip)
        audit_s.append(time.process_time() - begun_s)
        stages.append(verdict.stages)
    median_s = {name: statistics.median(run.get(name, 0.0) for run in stages) for name in stages[0]}
    spent_s = statistics.median(audit_s)
    ratios = [a / b for a, b in zip(audit_s, bare_s, strict=True)]
    return {
        "audit_s": spent_s,
        "bare_s": statistics.median(bare_s),
        "ratio": spent_s / statistics.median(bare_s),
        "ratio_range": [min(ratios), max(ratios)],
        "stages_s": median_s,
        "other_s": spent_s - sum(median_s.values()),
        "verdict": str(verdict.verdict),
    }


def _cpu_s() -> float:
    """Return the CPU seconds of this process and of the children it waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _bare(camera: CameraStream) -> None:
    with av.open(camera.files.paths[0]) as container:
        stream = container.streams.video[0]
        stream.thread_type = "NONE"
        stream.codec_context.thread_count = 1
        for _ in container.decode(stream):
            pass


def _ours(
    camera: CameraStream,
    make: Callable[[CameraStream], Iterable[Any]],
    features: Callable[[Frame], object] | None,
) -> None:
    watchers = list(make(camera))
    for frame in iter_luma(camera.files):
        for watcher in watchers:
            watcher.update(frame)
        if features is not None:
            features(frame)
    for watcher in watchers:
        watcher.finish()


def _layer(*kinds: Any, features: Callable[[Frame], object] | None = None) -> Work:
    return lambda camera: _ours(camera, lambda stream: [kind(stream) for kind in kinds], features)


def _row_sums(frame: Frame) -> None:
    frame.block_sums(1)


def _reduced(frame: Frame) -> None:
    frame.block_sums(1)
    frame.reduced(REDUCED_BY)


def _by_ffmpeg(camera: CameraStream) -> None:
    command = ["ffmpeg", "-v", "error", "-threads", "1", "-i", camera.files.paths[0]]
    subprocess.run([*command, "-an", "-f", "null", "-"], check=True)  # noqa: S603  # our own


def _by_opencv(camera: CameraStream) -> None:
    """Decode with OpenCV to grey, and compute what detectors need for most frames."""
    os.environ["OPENCV_FFMPEG_CAPTURE_OPTIONS"] = "threads;1"
    capture = cv2.VideoCapture(camera.files.paths[0], cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
    while True:
        is_read, colour = capture.read()
        if not is_read:
            break
        frame = Frame(0, cv2.cvtColor(colour, cv2.COLOR_BGR2GRAY))
        _reduced(frame)
        frame.block_sums(4, max(1, frame.shape[0] // 120))
        frame.rows(4, 8 * max(1, frame.shape[0] // 240))
    capture.release()


LAYERS: dict[str, Work] = {
    "bare decode": _bare,
    "our decode loop": _layer(),
    "+ row sums": _layer(features=_row_sums),
    "+ flash screening": _layer(FlashDetector, features=_row_sums),
    "+ image audit": _layer(FlashDetector, ImageAuditor, features=_row_sums),
    "+ reduced images": _layer(FlashDetector, ImageAuditor, features=_reduced),
    "+ motion": _layer(FlashDetector, ImageAuditor, RotationDetector, features=_reduced),
}
OTHERS: dict[str, Work] = {"OpenCV's VideoCapture and the same sums": _by_opencv}
if shutil.which("ffmpeg"):
    OTHERS["ffmpeg -threads 1 -f null"] = _by_ffmpeg
