"""Run the frame detectors over one camera, which is decoded once.

The audit of its frames is completed with the motion that other sources show.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t

from syncaudit.at_work import at_work_on
from syncaudit.decode import Frame, LumaFrames, iter_luma
from syncaudit.decode.frame import DecodeTally
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
    ImageAudit,
    ImageMotion,
    Quantity,
    ReasonCode,
    Severity,
)
from syncaudit.model.arrays import Floats
from syncaudit.model.clip import Scan
from syncaudit.model.units import spans_too_long
from syncaudit.pipeline.reading import part_of, refuse_machine_fault, unreadable
from syncaudit.pipeline.stages import Stages

# Fewer rotations do not constrain a clock.
MIN_INCREMENTS = 8

# Motion is summed over up to this span: clocks that are off by a few frames hardly matter.
SPAN_S = 0.5
# Joints that move by less than this share of the usual are at rest, which shows no relation.
REST_SHARE = 0.1
# Directions in which joints move only during the still are predicted with a very large error.
RIDGE = 1e-6
# Probability of taking a camera at rest for a frozen one, over all cells and parts of a still.
MAX_CHANCE = 1e-4
MIN_FREEDOM = 4

# Motion by this much shifts the image of every camera on board by pixels.
TURNED_RAD = 0.02
ROLLING_M_S = 1.0
# Clocks are not known yet: events this close to the ends of a still may lie outside it.
AWAY_S = 0.25


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


@dataclass(frozen=True, slots=True)
class ImageAuditPass:
    """A camera whose frames were all decoded."""

    auditor: ImageAuditor  # has seen every frame
    tally: DecodeTally
    wanted: NDArray[np.bool_] | None  # shape (n,): frames that were examined, unless all were


def audit_images(looks: Iterable[ImageAuditPass], evidence: ClipEvidence) -> dict[str, ImageAudit]:
    """Return what is wrong with the frames of each camera.

    A still that neither begins nor ends within motion of its own is frozen if something else
    moved meanwhile: another camera or a gyroscope turned by more than 0.02 rad, or the vehicle
    rolled. A robot's cameras are not fixed to one body: there the joints must have moved so that
    this image had to (`had_to_move`). A camera that shows one image throughout may stand in a
    laboratory: there only the speed of a vehicle counts. `evidence` is of all sources of the clip.
    """
    return {look.auditor.stream.name: _audited(look, evidence) for look in looks}


def _audited(look: ImageAuditPass, evidence: ClipEvidence) -> ImageAudit:
    stream = look.auditor.stream

    def has_moved(first: int, last: int, is_all: bool) -> bool:
        away_ns = round(AWAY_S * 1e9)
        start_ns, stop_ns = (int(stream.time_ns[at]) for at in (first, last))
        span_ns = (start_ns + away_ns, stop_ns - away_ns)
        moved = _movers(span_ns, evidence, stream.name, is_all=is_all)
        return span_ns[1] > span_ns[0] and any(moved)

    n_frames = stream.n_frames_container or stream.time_ns.size
    return look.auditor.finish(
        n_errors=look.tally.n_errors,
        first_error=look.tally.first_error,
        expected=np.arange(n_frames) if look.wanted is None else np.flatnonzero(look.wanted),
        has_moved=has_moved,
    )


def _movers(
    span_ns: tuple[int, int], evidence: ClipEvidence, camera: str, *, is_all: bool
) -> Iterator[bool]:
    """Yield, for every source but a camera, whether it moved within a span of timestamps."""
    motion = evidence.motion
    for activities in motion.values():
        speed = activities.get(Quantity.SPEED)
        if speed is not None:
            rolled = speed.values[_within(speed.epoch_ns, speed.times_s, span_ns)]
            yield rolled.size > 0 and float(np.median(np.abs(rolled))) >= ROLLING_M_S
    if is_all:
        return
    if (seen := evidence.image_motions.get(camera)) is not None:
        joints = [each[Quantity.STATE] for each in motion.values() if Quantity.STATE in each]
        yield had_to_move(seen, joints, span_ns)
        return
    for activities in motion.values():
        rate = activities.get(Quantity.ANGULAR_RATE)
        if rate is not None:
            inside = _within(rate.epoch_ns, rate.times_s, span_ns)
            yield _turned(rate.times_s[inside], rate.values[inside], np.median(rate.values, 0))
    for name, turns in evidence.rotations.items():
        inside = _within(turns.epoch_ns, turns.start_s, span_ns)
        if name != camera and inside.any():
            angle = np.cumsum(turns.angles_rad[inside], axis=0)
            noise = np.sqrt(np.sum(turns.std_rad[inside] ** 2, axis=0))
            yield bool(np.any(np.ptp(angle, axis=0) >= np.maximum(TURNED_RAD, 5.0 * noise)))


def _within(
    epoch_ns: int, times_s: NDArray[np.float64], span_ns: tuple[int, int]
) -> NDArray[np.bool_]:
    low, high = ((end - epoch_ns) * 1e-9 for end in span_ns)
    return (times_s >= low) & (times_s < high)


def _turned(
    times_s: NDArray[np.float64], rate: NDArray[np.float64], bias: NDArray[np.float64]
) -> bool:
    """Return whether a gyroscope turned, with its bias (median of the clip) subtracted."""
    if times_s.size < 2:
        return False
    angle = np.cumsum((rate[1:] - bias) * np.diff(times_s)[:, None], axis=0)
    return bool(np.any(np.ptp(angle, axis=0) >= TURNED_RAD))


def had_to_move(seen: ImageMotion, joints: Sequence[Activity], still_ns: tuple[int, int]) -> bool:
    """Return whether a robot's motion contradicts an image that stands still meanwhile.

    A wrist rests while the other arm works, and a gripper closes outside of a camera's view. So the
    displacement of every cell of the image over half a second is regressed on that of the joints
    in the rest of the clip, with errors in proportion to the motion. The image had to move if the
    displacement predicted for a part of the still exceeds its own error, that of the regression
    included, beyond chance.

    Parameters
    ----------
    seen : ImageMotion
        Of the camera.
    joints : sequence of Activity
        All states of the robot.
    still_ns : (int, int)
        When the image stands still, without what unknown clocks may shift out of it.
    """
    if not joints:
        return False
    still_s = (still_ns[1] - still_ns[0]) * 1e-9
    n_parts = math.ceil(still_s / SPAN_S)
    shifts = np.concatenate([np.zeros_like(seen.moves[:1]), np.cumsum(seen.moves, axis=0)])
    sides = [
        ((epoch_ns - still_ns[0]) * 1e-9 + times_s, values)
        for epoch_ns, times_s, values in (
            (seen.epoch_ns, np.append(seen.start_s[0], seen.stop_s), shifts),
            *((state.epoch_ns, state.times_s, state.values) for state in joints),
        )
    ]
    step_s = still_s / n_parts
    first = math.ceil(max(float(times_s[0]) for times_s, _ in sides) / step_s)
    last = math.floor(min(float(times_s[-1]) for times_s, _ in sides) / step_s)
    if first > 0 or last < n_parts:
        return False
    edges_s = np.asarray(step_s * np.arange(first, last + 1), dtype=np.float64)
    part = np.arange(first, last)
    shown, *moves = (np.diff(_at(edges_s, *side), axis=0) for side in sides)
    change = np.concatenate(moves, axis=1)
    change /= np.sqrt(np.mean(change**2, axis=0)) + 1e-30
    size = np.sqrt(np.mean(change**2, axis=1))
    asked = (part >= 0) & (part < n_parts) & (size > REST_SHARE)
    # The still begins and ends outside of what is asked.
    known = ((part < -1) | (part > n_parts)) & (size > REST_SHARE)
    freedom = int(known.sum()) - change.shape[1]
    if freedom < MIN_FREEDOM or not asked.any():
        return False
    driven, asked_for = change[known] / size[known, None], change[asked] / size[asked, None]
    shown = shown[known] / size[known, None]
    inverse = np.linalg.inv(driven.T @ driven + RIDGE * len(driven) * np.eye(driven.shape[1]))
    mixing = inverse @ (driven.T @ shown)
    noise = np.sum((shown - driven @ mixing) ** 2, axis=0) / freedom
    spread = 1.0 + np.sum((asked_for @ inverse) * asked_for, axis=1)
    excess = np.abs(asked_for @ mixing) / np.sqrt(np.outer(spread, noise) + 1e-30)
    return bool(excess.max() > student_t.isf(0.5 * MAX_CHANCE / excess.size, freedom))


def _at(wanted_s: Floats, times_s: Floats, values: Floats) -> Floats:
    return np.stack([np.interp(wanted_s, times_s, column) for column in values.T], axis=1)
