"""Run every detector over the streams of a clip; pictures are decoded once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors import (
    FlashDetector,
    PictureMotionDetector,
    RotationDetector,
    audit_tier,
    choose_increments,
    detect_motion,
    find_band_energies,
    find_clicks,
    find_loudness,
    find_spoken_tier,
    find_state,
    find_strobe,
    find_taps,
    find_triggers,
)
from syncaudit.model import (
    Activity,
    AudioStream,
    CameraStream,
    EventStream,
    Quantity,
    SignalStream,
    SourceKind,
    Stream,
    TranscriptStream,
)
from syncaudit.pipeline.clip_evidence import ClipEvidence
from syncaudit.pipeline.pictures import PictureLook, audit_pictures
from syncaudit.pipeline.stages import Stages
from syncaudit.pipeline.watching import Watcher, watch

__all__ = ["find_events", "find_evidence", "track_throughout"]

# Fewer rotations say nothing about a clock.
MIN_INCREMENTS = 8


def find_evidence(
    streams: Mapping[str, Stream],
    stages: Stages,
    *,
    wanted: Mapping[str, NDArray[np.bool_]] | None = None,
    decoder: str = "cpu",
    is_thorough: bool = False,
) -> ClipEvidence:
    """Find the evidence in every stream.

    Where a gyroscope is on board, the rotation of cameras is tracked only where that says most of
    their delay (`syncaudit.detectors.choose_increments`); `track_throughout` tracks the rest.

    Parameters
    ----------
    streams : mapping of str to Stream
        By source name.
    stages : Stages
        Gets the time of ``decode`` and ``detect``.
    wanted : mapping of str to ndarray of bool, shape (n_frames,), optional
        Frames to look at, of cameras of which not all are.
    decoder : str
        Back end, a key of `syncaudit.decode.DECODERS`.
    is_thorough : bool
        Track every frame of every camera.

    Returns
    -------
    ClipEvidence
        Damaged pictures become findings; what could be decoded is used.
    """
    evidence = ClipEvidence()
    looks: list[PictureLook] = []
    is_robot = _is_robot(streams)
    with stages.spent_on("detect"):
        for name, stream in streams.items():
            if isinstance(stream, SignalStream):
                evidence.motion[name] = _motion_of(stream)
    gyro = None if is_thorough else _gyroscope(evidence)
    for name, stream in streams.items():
        if isinstance(stream, CameraStream):
            seen = (wanted or {}).get(name)
            chosen = None if gyro is None else choose_increments(stream, gyro, wanted=seen)
            if chosen is not None:
                evidence.sampled.add(name)
            rotation, flash = RotationDetector(stream, chosen), FlashDetector(stream)
            picture = PictureMotionDetector(stream) if is_robot else None
            detectors = (rotation, flash) if picture is None else (rotation, flash, picture)
            look = _watch(stream, detectors, evidence, stages, wanted=seen, decoder=decoder)
            if look is None:
                continue
            looks.append(look)
            with stages.spent_on("detect"):
                _keep_rotation(rotation, evidence)
                _keep_flashes(flash, evidence)
                if picture is not None:
                    _keep_picture(picture, evidence)
            continue
        with stages.spent_on("detect"):
            if isinstance(stream, SignalStream):
                _keep_strobe(stream, evidence)
            elif isinstance(stream, AudioStream) and stream.samples.size:
                _listen(stream, evidence)
            elif isinstance(stream, EventStream):
                _keep_triggers(stream, evidence)
            elif isinstance(stream, TranscriptStream):
                _keep_spoken(stream, streams.get(stream.audio), evidence)
    with stages.spent_on("detect"):
        evidence.pictures = audit_pictures(looks, streams, evidence.motion, evidence.rotations)
    return evidence


def track_throughout(
    evidence: ClipEvidence,
    streams: Mapping[str, Stream],
    names: Iterable[str],
    stages: Stages,
    *,
    wanted: Mapping[str, NDArray[np.bool_]] | None = None,
    decoder: str = "cpu",
) -> None:
    """Decode cameras again and track the rotation between all of their frames.

    Parameters
    ----------
    evidence : ClipEvidence
        Gets the rotations in place of those that it has.
    names : iterable of str
        Cameras of `streams`.
    streams, stages, wanted, decoder
        As for `find_evidence`.
    """
    for name in names:
        evidence.sampled.discard(name)
        stream = streams[name]
        if isinstance(stream, CameraStream):
            detector = RotationDetector(stream)
            watch(stream, (detector,), stages, wanted=(wanted or {}).get(name), decoder=decoder)
            with stages.spent_on("detect"):
                _keep_rotation(detector, evidence)


def find_events(streams: Mapping[str, Stream], stages: Stages) -> ClipEvidence:
    """Find flashes, strobes, triggers, clicks and taps alone: what a calibration goes by.

    Parameters and result as for `find_evidence`.
    """
    evidence = ClipEvidence()
    for name, stream in streams.items():
        if isinstance(stream, CameraStream):
            flash = FlashDetector(stream)
            look = _watch(stream, (flash,), evidence, stages)
            if look is not None:
                with stages.spent_on("detect"):
                    _keep_flashes(flash, evidence)
                    evidence.pictures |= audit_pictures([look], streams, {}, {})
            continue
        with stages.spent_on("detect"):
            if isinstance(stream, SignalStream):
                _keep_strobe(stream, evidence)
                taps = find_taps(stream)
                if taps is not None:
                    evidence.taps[name] = taps
            elif isinstance(stream, AudioStream) and stream.samples.size:
                clicks = find_clicks(stream)
                if clicks is not None:
                    evidence.clicks[name] = clicks
            elif isinstance(stream, EventStream):
                _keep_triggers(stream, evidence)
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
    """Return the angular rate of the first source that has one."""
    rates = (motion.get(Quantity.ANGULAR_RATE) for motion in evidence.motion.values())
    return next((rate for rate in rates if rate is not None), None)


def _keep_rotation(detector: RotationDetector, evidence: ClipEvidence) -> None:
    rotation = detector.finish()
    if rotation is not None and _n_in_order(rotation.start_s) >= MIN_INCREMENTS:
        evidence.rotations[rotation.source] = rotation


def _is_robot(streams: Mapping[str, Stream]) -> bool:
    """Tell whether pictures are to be held against a robot's state: no clip of a car has to pay."""
    kinds = {stream.kind for stream in streams.values()}
    return SourceKind.STATE in kinds and SourceKind.CAN not in kinds


def _keep_picture(detector: PictureMotionDetector, evidence: ClipEvidence) -> None:
    picture = detector.finish()
    if picture is not None and picture.start_s.size >= MIN_INCREMENTS:
        evidence.picture_motions[picture.source] = picture


def _keep_flashes(detector: FlashDetector, evidence: ClipEvidence) -> None:
    flashes = detector.finish()
    if flashes is not None:
        evidence.flashes[flashes.source] = flashes


def _keep_strobe(stream: SignalStream, evidence: ClipEvidence) -> None:
    strobe = find_strobe(stream)
    if strobe is not None:
        evidence.flashes[stream.name] = strobe


def _keep_triggers(stream: EventStream, evidence: ClipEvidence) -> None:
    triggers = find_triggers(stream)
    if triggers is not None:
        evidence.triggers[stream.name] = triggers


def _listen(stream: AudioStream, evidence: ClipEvidence) -> None:
    evidence.sounds[stream.name] = stream
    loudness = find_loudness(stream)
    if loudness is not None:
        evidence.loudness[stream.name] = loudness
    clicks = find_clicks(stream)
    if clicks is not None:
        evidence.clicks[stream.name] = clicks


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


def _n_in_order(times_s: NDArray[np.float64]) -> int:
    """Count the times that are later than all before them."""
    return int(np.count_nonzero(np.diff(np.maximum.accumulate(times_s)) > 0.0)) + 1
