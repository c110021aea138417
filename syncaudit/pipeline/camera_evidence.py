"""Run the detectors of pictures over one camera, which is decoded once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors import (
    FlashDetector,
    PictureMotionDetector,
    RotationDetector,
    choose_increments,
)
from syncaudit.estimators.events import why_bands_contradict
from syncaudit.model import (
    Activity,
    CameraStream,
    ClipEvidence,
    Finding,
    FlashEdges,
    ReasonCode,
    Severity,
)
from syncaudit.pipeline.decode_pass import Watcher, watch
from syncaudit.pipeline.pictures import PictureLook
from syncaudit.pipeline.stages import Stages

__all__ = ["find_flashes", "find_in_pictures", "find_rotation"]

# Fewer rotations say nothing about a clock.
MIN_INCREMENTS = 8


def find_in_pictures(
    stream: CameraStream,
    stages: Stages,
    *,
    gyro: Activity | None,
    is_robot: bool,
    wanted: Mapping[str, NDArray[np.bool_]],
    decoder: str,
) -> tuple[ClipEvidence, PictureLook | None]:
    """Return what happened in one camera, and how its pictures look.

    Parameters
    ----------
    stream : CameraStream
        The camera.
    stages : Stages
        Gets the time of ``decode`` and ``detect``.
    gyro : Activity, optional
        Angular rate that says where rotation tells most; None: it is tracked throughout.
    is_robot : bool
        Whether the motion of pictures is to be held against a robot's state.
    wanted : mapping of str to ndarray of bool, shape (n_frames,)
        Frames to look at, of cameras of which not all are.
    decoder : str
        Back end, a key of `syncaudit.decode.DECODERS`.

    Returns
    -------
    evidence : ClipEvidence
        Of this camera alone.
    look : PictureLook or None
        None where there are no pictures, or they cannot be read.
    """
    part = ClipEvidence()
    seen = wanted.get(stream.name)
    chosen = None if gyro is None else choose_increments(stream, gyro, wanted=seen)
    if chosen is not None:
        part.sampled.add(stream.name)
    rotation, flash = RotationDetector(stream, chosen), FlashDetector(stream)
    picture = PictureMotionDetector(stream) if is_robot else None
    detectors = (rotation, flash) if picture is None else (rotation, flash, picture)
    look = _watch(stream, detectors, part, stages, wanted=seen, decoder=decoder)
    if look is not None:
        with stages.timed("detect"):
            _keep_rotation(rotation, part)
            _keep_flashes(flash, part)
            _check_statements(stream, part)
            if picture is not None:
                _keep_picture(picture, part)
    return part, look


def find_rotation(
    stream: CameraStream,
    stages: Stages,
    *,
    wanted: Mapping[str, NDArray[np.bool_]],
    decoder: str,
) -> ClipEvidence:
    """Return the rotation of one camera between all of its frames, as `find_in_pictures`."""
    part = ClipEvidence()
    detector = RotationDetector(stream)
    watch(stream, (detector,), stages, wanted=wanted.get(stream.name), decoder=decoder)
    with stages.timed("detect"):
        _keep_rotation(detector, part)
    return part


def find_flashes(stream: CameraStream, stages: Stages) -> tuple[ClipEvidence, PictureLook | None]:
    """Return the light pulses that one camera saw, and how its pictures look."""
    part = ClipEvidence()
    flash = FlashDetector(stream)
    look = _watch(stream, (flash,), part, stages)
    if look is not None:
        with stages.timed("detect"):
            _keep_flashes(flash, part)
    return part, look


def _watch(
    stream: CameraStream,
    detectors: Sequence[Watcher],
    evidence: ClipEvidence,
    stages: Stages,
    *,
    wanted: NDArray[np.bool_] | None = None,
    decoder: str = "cpu",
) -> PictureLook | None:
    look, findings = watch(stream, detectors, stages, wanted=wanted, decoder=decoder)
    evidence.findings += findings
    if look is not None and look.frames.fallback is not None:
        evidence.fallbacks[stream.name] = look.frames.fallback
    return look


def _keep_rotation(detector: RotationDetector, evidence: ClipEvidence) -> None:
    rotation = detector.finish()
    if rotation is not None and _n_in_order(rotation.start_s) >= MIN_INCREMENTS:
        evidence.rotations[rotation.source] = rotation


def _keep_picture(detector: PictureMotionDetector, evidence: ClipEvidence) -> None:
    picture = detector.finish()
    if picture is not None and picture.start_s.size >= MIN_INCREMENTS:
        evidence.picture_motions[picture.source] = picture


def _check_statements(stream: CameraStream, evidence: ClipEvidence) -> None:
    """Doubt a camera of which is stated what its flashes contradict."""
    flashes = evidence.flashes.get(stream.name)
    if isinstance(flashes, FlashEdges) and (why := why_bands_contradict(flashes)) is not None:
        evidence.findings.append(
            Finding(
                code=ReasonCode.MANIFEST,
                source=stream.name,
                message=f"{stream.name}: {why}",
                severity=Severity.DOUBT if flashes.stamp_part else Severity.WARNING,
            )
        )


def _keep_flashes(detector: FlashDetector, evidence: ClipEvidence) -> None:
    flashes = detector.finish()
    if flashes is not None:
        evidence.flashes[flashes.source] = flashes


def _n_in_order(times_s: NDArray[np.float64]) -> int:
    """Count the times that are later than all before them."""
    return int(np.count_nonzero(np.diff(np.maximum.accumulate(times_s)) > 0.0)) + 1
