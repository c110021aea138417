"""Run the frame detectors over one camera, which is decoded once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from syncaudit.at_work import at_work_on
from syncaudit.decode import Frame, LumaFrames, iter_luma
from syncaudit.detectors import (
    FlashDetector,
    ImageAuditor,
    ImageMotionDetector,
    RotationDetector,
    choose_increments,
)
from syncaudit.errors import SyncAuditError
from syncaudit.model import (
    Activity,
    CameraStream,
    ClipEvidence,
    Finding,
    FlashEdges,
    FlashIntervals,
    ReasonCode,
    Severity,
)
from syncaudit.model.camera import Scan
from syncaudit.model.time import spans_too_long
from syncaudit.pipeline.image_audit import ImageAuditPass
from syncaudit.pipeline.reading import refuse_machine_fault, unreadable
from syncaudit.pipeline.stages import Stages
from syncaudit.pipeline.window import part_of

# Fewer rotations do not constrain a clock.
MIN_INCREMENTS = 8


class _Watcher(Protocol):
    """A detector that looks at every frame of a camera."""

    def update(self, frame: Frame) -> None:
        """Process one frame."""


def detect_in_frames(
    stream: CameraStream,
    stages: Stages,
    *,
    gyro: Activity | None,
    is_robot: bool,
    wanted: Mapping[str, NDArray[np.bool_]],
    decoder: str,
) -> tuple[ClipEvidence, ImageAuditPass | None]:
    """Return what happened in one camera, and the audit of its frames.

    The audit is None if there are no frames, or they cannot be read. The rotation is tracked where
    the angular rate `gyro` shows that it is most informative, without it throughout. `is_robot`:
    the motion in the frames is to be compared with a robot's state. `wanted`, shape (n_frames,),
    are the frames to look at, for cameras of which not all are. `decoder` is a key of
    `syncaudit.decode.DECODERS`.
    """
    part = ClipEvidence()
    seen = wanted.get(stream.name)
    chosen = None if gyro is None else choose_increments(stream, gyro, wanted=seen)
    if chosen is not None:
        part.sampled.add(stream.name)
    rotation, flash = RotationDetector(stream, chosen), FlashDetector(stream)
    frame = ImageMotionDetector(stream) if is_robot else None
    detectors = (rotation, flash) if frame is None else (rotation, flash, frame)
    look = _watch(stream, detectors, part, stages, wanted=seen, decoder=decoder)
    if look is not None:
        with stages.timed("detect"):
            _keep_rotation(rotation, part)
            _keep_flashes(stream, flash.finish(), part)
            motion = None if frame is None else frame.finish()
            if motion is not None and motion.start_s.size >= MIN_INCREMENTS:
                part.image_motions[motion.source] = motion
    return part, look


def find_rotation(
    stream: CameraStream,
    stages: Stages,
    *,
    wanted: Mapping[str, NDArray[np.bool_]],
    decoder: str,
) -> ClipEvidence:
    """Return the rotation of one camera between all of its frames, as `detect_in_frames`."""
    part = ClipEvidence()
    detector = RotationDetector(stream)
    frames = wanted.get(stream.name)  # what is wrong with them was reported the first time
    _watch(stream, (detector,), ClipEvidence(), stages, wanted=frames, decoder=decoder)
    with stages.timed("detect"):
        _keep_rotation(detector, part)
    return part


def find_flashes(
    stream: CameraStream, stages: Stages
) -> tuple[ClipEvidence, ImageAuditPass | None]:
    """Return the light pulses that one camera saw, and the audit of its frames.

    Where the direction of reading is not stated and the flashes show it, it is that of `scan`.
    """
    part = ClipEvidence()
    flash = FlashDetector(stream)
    look = _watch(stream, (flash,), part, stages)
    if look is not None:
        with stages.timed("detect"):
            found, columns = flash.finish(), flash.lit_columns()
        if (
            isinstance(found, FlashEdges)
            and stream.scan is None
            and found.scan not in (None, "down")
        ):
            return find_flashes(replace(stream, scan=found.scan), stages)
        if columns is not None:
            flash = FlashDetector(stream, columns)
            _watch(stream, (flash,), ClipEvidence(), stages)
            with stages.timed("detect"):
                found = max(found, flash.finish(), key=_n_dated_rows)
        _keep_flashes(stream, found, part)
    return part, look


def find_flashes_by_scan(
    stream: CameraStream, scans: Sequence[Scan], stages: Stages
) -> list[FlashEdges]:
    """Return the flashes dated by rows if images are read in other directions, for those with any.

    The frames are decoded once for all of `scans`; light on a part of the width is not looked for.
    """
    flashes = [FlashDetector(replace(stream, scan=scan)) for scan in scans]
    _watch(stream, flashes, ClipEvidence(), stages)
    with stages.timed("detect"):
        found = [flash.finish() for flash in flashes]
    return [edges for edges in found if isinstance(edges, FlashEdges)]


def _n_dated_rows(found: FlashEdges | FlashIntervals | None) -> int:
    """Return how many rows date lights; frames that passing objects brighten have none."""
    return int(np.count_nonzero(found.by_rows)) if isinstance(found, FlashEdges) else 0


def _keep_rotation(detector: RotationDetector, evidence: ClipEvidence) -> None:
    rotation = detector.finish()
    if rotation is not None and _n_in_order(rotation.start_s) >= MIN_INCREMENTS:
        evidence.rotations[rotation.source] = rotation


def _keep_flashes(
    stream: CameraStream, found: FlashEdges | FlashIntervals | None, evidence: ClipEvidence
) -> None:
    """Keep flashes, unless lights that stay on cross the image in another direction than stated."""
    if found is None:
        return
    stated = stream.scan or "down"
    if not isinstance(found, FlashEdges) or found.scan in (None, stated):
        evidence.flashes[stream.name] = found
        return
    evidence.findings.append(
        Finding(
            code=ReasonCode.MANIFEST,
            source=stream.name,
            message=(
                f"{stream.name}: lights that go on or off cross its images against the direction "
                f"in which rows were taken to be read (scan: {stated}). State "
                f'"scan": "{found.scan}" in the manifest.'
            ),
            severity=Severity.DOUBT,
        )
    )


def _n_in_order(times_s: NDArray[np.float64]) -> int:
    """Count the times that are later than all before them."""
    return int(np.count_nonzero(np.diff(np.maximum.accumulate(times_s)) > 0.0)) + 1


def _watch(
    stream: CameraStream,
    detectors: Sequence[_Watcher],
    evidence: ClipEvidence,
    stages: Stages,
    *,
    wanted: NDArray[np.bool_] | None = None,
    decoder: str = "cpu",
) -> ImageAuditPass | None:
    """Decode a camera once, pass every frame to its detectors and audit it.

    What is wrong with the file, and why the CPU decoded it, is added to the evidence.
    """
    if stream.time_ns.size == 0 or not stream.files.paths:
        return None  # nothing to look at: no frames, or timestamps alone
    if spans_too_long(stream.time_ns):
        return None  # reported by the timestamp audit; such timestamps cannot place a frame
    auditor = ImageAuditor(stream)
    watchers = (*detectors, auditor)
    try:
        with stages.timed("decode"):
            files = stream.files if wanted is None else part_of(stream, wanted)
            frames = iter_luma(files, decoder=decoder)
        seen = frames if wanted is None else _wanted(frames, wanted)
        with at_work_on(f"decoding source {stream.name!r}"):
            for frame in stages.split("decode", seen, "detect"):
                for watcher in watchers:
                    watcher.update(frame)
    except SyncAuditError as error:
        refuse_machine_fault(error, error.path, source=stream.name)
        evidence.findings.append(unreadable(stream.name, error))
        return None
    if wanted is None:
        evidence.findings += _count_mismatch(stream, frames.tally.n_decoded)
    if frames.tally.fallback is not None:
        evidence.fallbacks[stream.name] = frames.tally.fallback
    return ImageAuditPass(auditor, frames.tally, wanted)


def _wanted(frames: LumaFrames, wanted: NDArray[np.bool_]) -> Iterator[Frame]:
    last = int(np.flatnonzero(wanted)[-1])
    for frame in frames:
        if frame.index > last:
            frames.close()
            return
        if wanted[frame.index]:
            yield frame


def _count_mismatch(stream: CameraStream, n_decoded: int) -> list[Finding]:
    if stream.files.is_images:
        return []  # each has its own timestamp: the frame audit finds files that are not images
    n_stamps = stream.time_ns.size
    is_said = any(finding.code is ReasonCode.LENGTH_MISMATCH for finding in stream.findings)
    if n_decoded == n_stamps or is_said:
        return []
    return [
        Finding(
            code=ReasonCode.LENGTH_MISMATCH,
            source=stream.name,
            message=(
                f"{stream.uri}: {n_decoded} frames decoded but {n_stamps} timestamps. Which "
                "timestamp belongs to which frame is unknown: export both again."
            ),
            value=float(n_decoded),
            limit=float(n_stamps),
        )
    ]
