"""Run every detector over the streams of a clip; frames are decoded once."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache, partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors import (
    all_detectors,
    audit_tier,
    detect_motion,
    find_band_energies,
    find_spoken_tier,
    find_state,
    why_no_state,
)
from syncaudit.model import (
    Activity,
    AudioStream,
    CameraStream,
    ClipEvidence,
    Quantity,
    SignalStream,
    SourceKind,
    Stream,
    TranscriptStream,
)
from syncaudit.pipeline.camera_evidence import (
    ImageAuditPass,
    audit_images,
    detect_in_frames,
    find_flashes,
    find_rotation,
)
from syncaudit.pipeline.stages import Stages

# Cheap gyroscopes have sample-to-sample noise of a few degrees per second; means have little.
_BLOCK_S = 0.5


def find_evidence(
    streams: Mapping[str, Stream],
    stages: Stages,
    *,
    wanted: Mapping[str, NDArray[np.bool_]] | None = None,
    decoder: str = "cpu",
    is_thorough: bool = False,
) -> ClipEvidence:
    """Find the evidence in every stream.

    With a gyroscope on board, the rotation of cameras is tracked only where it constrains their
    delay most (`syncaudit.detectors.choose_increments`); `track_all_frames` tracks the rest, and
    `is_thorough` every frame of every camera. `wanted`, of shape (n_frames,), are the frames to
    look at, for cameras of which not all are. `decoder` is a key of `syncaudit.decode.DECODERS`.
    Damaged frames become findings; whatever could be decoded is used.
    """
    evidence = ClipEvidence()
    looks: list[ImageAuditPass] = []
    with stages.timed("detect"):
        for name, stream in streams.items():
            if isinstance(stream, SignalStream):
                evidence.motion[name] = _motion_of(stream)
                if stream.is_start_assumed:
                    evidence.undated.add(name)
                if stream.kind is SourceKind.STATE and not evidence.motion[name]:
                    evidence.motionless[name] = why_no_state(stream)
    look = partial(
        detect_in_frames,
        gyro=None if is_thorough else _gyroscope(evidence),
        is_robot=_is_robot(streams),
        wanted=wanted or {},
        decoder=decoder,
    )
    cameras = [stream for stream in streams.values() if isinstance(stream, CameraStream)]
    seen = iter(look_at_each(look, cameras, stages, decoder=decoder))
    for stream in streams.values():
        if isinstance(stream, CameraStream):
            part, images = next(seen)
            evidence.add(part)
            if images is not None:
                looks.append(images)
            continue
        with stages.timed("detect"):
            _detect(stream, evidence, leaving_out=("taps",))
            if isinstance(stream, AudioStream) and stream.samples.size:
                evidence.sounds[stream.name] = stream
            elif isinstance(stream, TranscriptStream):
                _keep_spoken(stream, streams.get(stream.audio), evidence)
    with stages.timed("detect"):
        evidence.pictures = audit_images(looks, evidence)
    return evidence


def track_all_frames(
    evidence: ClipEvidence,
    streams: Mapping[str, Stream],
    names: Iterable[str],
    stages: Stages,
    *,
    wanted: Mapping[str, NDArray[np.bool_]] | None = None,
    decoder: str = "cpu",
) -> None:
    """Decode cameras again and track the rotation between all of their frames.

    `evidence` receives the rotations, replacing those that it has; the rest as for `find_evidence`.
    """
    names = tuple(names)
    evidence.sampled.difference_update(names)
    cameras = [stream for name in names if isinstance(stream := streams[name], CameraStream)]
    track = partial(find_rotation, wanted=wanted or {}, decoder=decoder)
    for part in look_at_each(track, cameras, stages, decoder=decoder):
        evidence.add(part)


def find_events(streams: Mapping[str, Stream], stages: Stages) -> ClipEvidence:
    """Find only flashes, strobes, triggers, clicks and taps, which a calibration relies on.

    Parameters and result as for `find_evidence`.
    """
    evidence = ClipEvidence()
    for stream in streams.values():
        if isinstance(stream, CameraStream):
            part, look = find_flashes(stream, stages)
            evidence.add(part)
            if look is not None:
                with stages.timed("detect"):
                    evidence.pictures |= audit_images([look], evidence)
            continue
        with stages.timed("detect"):
            _detect(stream, evidence, leaving_out=("loudness",))
    return evidence


def _motion_of(stream: SignalStream) -> dict[Quantity, Activity]:
    motion: dict[Quantity, Activity] = {}
    for activity in detect_motion(stream):
        motion.setdefault(activity.quantity, activity)
    state = find_state(stream)
    if state is not None:
        motion[state.quantity] = state
    return motion


def _gyroscope(evidence: ClipEvidence) -> Activity | None:
    """Return the angular rate of the first source that has one and a known start."""
    rates = (
        motion.get(Quantity.ANGULAR_RATE)
        for name, motion in evidence.motion.items()
        if name not in evidence.undated
    )
    return next((rate for rate in rates if rate is not None), None)


def _is_robot(streams: Mapping[str, Stream]) -> bool:
    """Return whether to compare frames with a robot's state, a cost no clip of a car must bear."""
    kinds = {stream.kind for stream in streams.values()}
    return SourceKind.STATE in kinds and SourceKind.CAN not in kinds


def _detect(stream: Stream, evidence: ClipEvidence, *, leaving_out: Collection[str]) -> None:
    """Run the sample detectors over one stream, except those that fill the fields left out."""
    if isinstance(stream, AudioStream) and not stream.samples.size:
        return
    for detector in all_detectors():
        if isinstance(stream, detector.takes) and detector.fills not in leaving_out:
            found = detector.find(stream)
            if found is not None:
                getattr(evidence, detector.fills)[stream.name] = found


def _keep_spoken(stream: TranscriptStream, audio: Stream | None, evidence: ClipEvidence) -> None:
    audio = audio if isinstance(audio, AudioStream) else None
    evidence.findings += audit_tier(stream, audio)
    spoken = find_spoken_tier(stream)
    if spoken is None:
        return
    evidence.spoken[stream.name] = spoken
    if audio is not None and audio.name not in evidence.bands:
        bands = find_band_energies(audio)
        if bands is not None:
            evidence.bands[audio.name] = bands


def conditions_of(evidence: ClipEvidence) -> dict[str, float]:
    """Return the conditions of a clip (`ClipRecord.conditions`), as far as its sources show them.

    Turning is measured by a gyroscope about any axis, without its mean, so that a bias does not
    count as turning. The strongest source of each counts.
    """
    found: dict[str, list[float]] = {"speed": [], "turning": [], "light": []}
    for motion in evidence.motion.values():
        for quantity in (Quantity.SPEED, Quantity.WHEEL_SPEED):
            if quantity in motion:
                found["speed"].append(float(np.mean(np.abs(motion[quantity].values))))
        for quantity in (Quantity.ANGULAR_RATE, Quantity.YAW_RATE):
            if quantity in motion:
                found["turning"].append(_variation(motion[quantity]))
    found["light"] += [a.light for a in evidence.pictures.values() if a.light is not None]
    return {name: round(max(values), 4) for name, values in found.items() if values}


def _variation(activity: Activity) -> float:
    """Return the root mean square over all axes of a signal's slow part, without its mean."""
    if not activity.times_s.size:
        return 0.0
    block = ((activity.times_s - activity.times_s[0]) / _BLOCK_S).astype(np.int64)
    _, first, counts = np.unique(block, return_index=True, return_counts=True)
    means = np.add.reduceat(activity.values, first, axis=0) / counts[:, None]
    return math.sqrt(float(np.sum(np.var(means, axis=0))))


# Python processes the frames of one camera at a time, with many handovers per frame: on an H100 two
# or four threads decode 4,050 frames/s of 854 x 480, eight 2,330, eight processes of two 15,070
# (`benchmarks/gpu.py`). Further parallelism is therefore left to processes (`--workers`).
CAMERAS_AT_ONCE = 4
_WAKE_S = 0.5

_Found = TypeVar("_Found")


class _StoppedError(Exception):
    """Another camera failed, or the run ends."""


def look_at_each(
    look: Callable[[CameraStream, Stages], _Found],
    cameras: Sequence[CameraStream],
    stages: Stages,
    *,
    decoder: str,
) -> list[_Found]:
    """Return what a function finds in every camera, in their order, whichever was ready first.

    The CPU decoder runs in the caller's thread, as there is one process per core. Other back ends
    get threads that live as long as the process, because each reuses its decoder from clip to
    clip: `look` must not change shared state. `stages` receives the CPU time of all of them.
    Raises the first error in that order, or an interrupt, after all other threads have stopped.
    """
    if decoder == "cpu":
        return [look(camera, stages) for camera in cameras]
    is_stopped = threading.Event()

    def tell(stage: str) -> None:
        if is_stopped.is_set():
            raise _StoppedError
        if stages.on_stage is not None:
            stages.on_stage(stage)

    begun_s = time.process_time()
    spent = [Stages(on_stage=tell, clock=time.thread_time) for _ in cameras]
    # Exist before any thread begins, so that an interrupt at any instant finds all.
    futures: list[Future[_Found]] = [Future() for _ in cameras]
    try:
        for future, camera, own in zip(futures, cameras, spent, strict=True):
            # Limits on files set by the caller (`within_roots`) apply in the thread as well.
            _threads().submit(copy_context().run, _run, future, partial(look, camera, own))
        found = [_result(future) for future in futures]
    except BaseException:
        is_stopped.set()
        wait([future for future in futures if not future.cancel()])
        raise
    stages.share_out(time.process_time() - begun_s, spent)
    return found


def _run(future: Future[_Found], look: Callable[[], _Found]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(look())
        except BaseException as error:  # noqa: BLE001  # raised where the result is awaited
            future.set_exception(error)


def _result(future: Future[_Found]) -> _Found:
    # A signal that arrives just before a thread begins to wait does not wake it.
    while wait((future,), timeout=_WAKE_S).not_done:
        pass
    return future.result()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(CAMERAS_AT_ONCE, thread_name_prefix="camera")


# A forked process has none of the threads.
os.register_at_fork(after_in_child=_threads.cache_clear)
