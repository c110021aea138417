"""Examine one clip: read, audit timestamps, find evidence, measure, solve, judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from syncaudit.at_work import at_work_on
from syncaudit.detectors import audit_streams
from syncaudit.formatting import word_correction
from syncaudit.model import (
    CameraStream,
    Clip,
    ClipEvidence,
    ClipRecord,
    ClipVerdict,
    ClockSolution,
    Finding,
    PairMeasurement,
    ReasonCode,
    RotationIncrements,
    Severity,
    StampAudit,
    Stream,
    TranscriptStream,
)
from syncaudit.pipeline.alignment import AlignedTexts, align_texts
from syncaudit.pipeline.conclude import conclude
from syncaudit.pipeline.contradictions import (
    cameras_read_upwards,
    contradicted_statements,
    find_misplaced_files,
)
from syncaudit.pipeline.evidence import conditions_of, find_evidence, track_all_frames
from syncaudit.pipeline.known_corrections import (
    apply_calibration,
    check_calibration,
    windows_before,
)
from syncaudit.pipeline.own_jumps import with_own_jumps
from syncaudit.pipeline.pairing import as_uncertain_as_stamps, cameras_to_track, measure_pairs
from syncaudit.pipeline.reading import (
    MARGIN_S,
    crop,
    extents,
    from_manifest,
    read_clip,
    stamps_in_window,
    stated,
    wanted_frames,
    window_of,
    without_base,
)
from syncaudit.pipeline.stages import Stages
from syncaudit.policy import Policy, load_policy
from syncaudit.readers.uris import name_originals

# Keeps a clip from passing, now and when it is judged again by another policy.
SCREENED = Finding.warning(
    ReasonCode.UNOBSERVABLE,
    None,
    "only the timestamps were examined (--screen): whether they are right is unknown. Audit the "
    "clip without --screen.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """Everything found in one clip."""

    clip: Clip
    verdict: ClipVerdict
    streams: Mapping[str, Stream]  # what could be read
    stamps: Mapping[str, StampAudit]  # what the timestamps alone show
    evidence: ClipEvidence  # what happened in the streams
    measurements: tuple[PairMeasurement, ...]  # accepted and refused
    solution: ClockSolution  # one consistent set of clocks


def audit(
    clip: Clip,
    policy: Policy | None = None,
    *,
    calibration: Mapping[str, object] | None = None,
    is_screen: bool = False,
    decoder: str = "cpu",
    is_thorough: bool = False,
) -> ClipVerdict:
    """Audit one clip.

    Parameters
    ----------
    clip : Clip
        From `syncaudit.load_manifest`.
    policy : Policy, optional
        From `syncaudit.load_policy`; default is the profile ``driving``.
    calibration : mapping, optional
        Known corrections (formats, section 4), subtracted before judging.
    is_screen : bool
        Look at the timestamps alone: no frame is decoded and nothing is measured, so that a clip
        is rejected for its timestamps, or `unverified`, and never passes.
    decoder : str
        Back end that decodes frames, a key of `syncaudit.decode.DECODERS`.
    is_thorough : bool
        Track the rotation of every camera through all of its frames: slower, with smaller errors.

    Returns
    -------
    ClipVerdict
        Bad data become reasons of the verdict; nothing in a clip's data raises.

    Raises
    ------
    UsageError
        If the calibration breaks its contract.
    MachineError
        If the machine, its storage or the network fails: the clip then has no verdict.
    """
    return examine(
        clip,
        policy,
        calibration=calibration,
        is_screen=is_screen,
        decoder=decoder,
        is_thorough=is_thorough,
    ).verdict


def examine(
    clip: Clip,
    policy: Policy | None = None,
    *,
    calibration: Mapping[str, object] | None = None,
    is_screen: bool = False,
    decoder: str = "cpu",
    is_thorough: bool = False,
    on_stage: Callable[[str], None] | None = None,
) -> Examination:
    """Audit one clip and keep everything that was found on the way.

    Parameters and errors as for `audit`; `on_stage` as for `Stages`.
    """
    policy = load_policy() if policy is None else policy
    if calibration is not None:
        check_calibration(calibration)
    stages = Stages(on_stage=on_stage)
    with stages.timed("read"):
        near_ns = stated(clip, MARGIN_S)
        read = read_clip(
            clip,
            near_ns=None if near_ns is None else windows_before(near_ns, calibration, clip),
        )
        streams = dict(read.streams)
    texts = AlignedTexts() if is_screen else align_texts(clip, streams, stages)
    with stages.timed("read"):
        if calibration is not None:
            streams = {
                name: apply_calibration(stream, calibration, clip)
                for name, stream in streams.items()
            }
        streams = {name: crop(stream, clip, margin_s=MARGIN_S) for name, stream in streams.items()}
    with stages.timed("stamps"):
        stamps = audit_streams(
            {name: stamps_in_window(stream, clip) for name, stream in streams.items()}
        )
        window = window_of(clip, streams)
        doubtful = find_misplaced_files(clip, streams, window)
        covered = extents(clip, streams, window)
    wanted = _wanted(clip, streams)
    if is_screen:
        evidence = ClipEvidence(findings=[SCREENED])
    else:
        evidence = find_evidence(
            streams, stages, wanted=wanted, decoder=decoder, is_thorough=is_thorough
        )
    evidence.clocks.update(
        {name: spec.clock for name, spec in clip.sources.items() if spec.clock is not None}
    )
    record = ClipRecord(
        at_ns=window.at_ns,
        span_s=window.span_s,
        max_offset_s=policy.max_offset_s,
        stamps=stamps,
        pictures={
            name: replace(
                audit,
                first_error=audit.first_error
                and without_base(name_originals(audit.first_error), clip.base_uri),
            )
            for name, audit in evidence.pictures.items()
        },
        findings=(
            *read.findings,
            *texts.findings,
            *(from_manifest(finding, clip.base_uri) for finding in doubtful),
            *(from_manifest(finding, clip.base_uri) for finding in evidence.findings),
        ),
        stages=stages.seconds,
        fallbacks=evidence.fallbacks,
        extents=covered,
        conditions=conditions_of(evidence),
    )
    while True:
        with stages.timed("estimate"), at_work_on("comparing sources"):
            measured = measure_pairs(evidence, max_offset_s=policy.max_offset_s)
        undecided = cameras_to_track(evidence, measured, clip.intended_s)
        if not undecided:
            break
        track_all_frames(evidence, streams, undecided, stages, wanted=wanted, decoder=decoder)
    dated = _of_dated(as_uncertain_as_stamps(measured, clip, evidence), streams)
    measurements = (*with_own_jumps(dated, streams), *texts.measurements)
    found = (
        *record.findings,
        *contradicted_statements(evidence, measurements),
        *cameras_read_upwards(measurements),
        *_own_starts(evidence, measurements),
    )
    record = replace(record, measurements=measurements, findings=found)
    solution, verdict = conclude(clip, record, policy)
    return Examination(
        clip=clip,
        verdict=verdict,
        streams={**streams, **texts.streams},
        stamps=stamps,
        evidence=evidence,
        measurements=verdict.pairs,
        solution=solution,
    )


def _of_dated(
    measured: Iterable[PairMeasurement], streams: Mapping[str, Stream]
) -> Iterator[PairMeasurement]:
    """Yield measurements; those relying on an assumed start are only for baselines.

    A transcript's times are relative to its audio, whenever that began. For samples that are only
    numbered no lag in seconds is known, so they are not compared with anything.
    """
    assumed = {name for name, stream in streams.items() if stream.is_start_assumed}
    numbered = {name for name, stream in streams.items() if stream.stamp_kind == "index"}
    for pair in measured:
        ends = {pair.source, pair.target}
        is_text = isinstance(streams.get(pair.source), TranscriptStream)
        if not is_text and assumed & ends:
            pair = replace(pair, is_baseline_only=True)
        if pair.accepted and numbered & ends:
            pair = pair.withdrawn(
                f"{min(numbered & ends)} is only numbered: frame numbers are not timestamps"
            )
        yield pair


def _own_starts(evidence: ClipEvidence, measured: Iterable[PairMeasurement]) -> Iterator[Finding]:
    """Yield a doubt for every source whose start is not stated.

    The most precise measurement of it, or of another source on the same clock, determines by how
    much to move it.
    """
    pairs = [each for pair in measured if pair.accepted for each in (pair, pair.turned())]
    for name in sorted(evidence.undated):
        own = [
            pair
            for pair in pairs
            if (pair.source == name or evidence.share_a_clock(pair.source, name))
            and pair.target not in evidence.undated
        ]
        best = min(own, key=lambda pair: pair.offset_std_s or 0.0, default=None)
        if best is None or best.offset_s is None:
            where, cure = "nothing in the clip states when that is", "State it in the manifest."
        else:
            words = f"its timestamps are {word_correction(best.offset_s, best.offset_std_s)}"
            where = f"{words} against {best.target} ({best.method.replace('_', ' ')})"
            cure = "Correct them by that and remove 'is_start_assumed'."
        yield Finding(
            code=ReasonCode.MANIFEST,
            source=name,
            message=f"{name} counts from its own start: {where}. {cure}",
            value=None if best is None else best.offset_s,
            severity=Severity.DOUBT,
        )


def rotations_throughout(examination: Examination) -> dict[str, RotationIncrements]:
    """Return the rotation of every camera of a clip between all frames, for display.

    An audit tracks only the most informative frames of a camera. The others are decoded again for
    this; the audit's figures do not change.
    """
    found, streams = examination.evidence, examination.streams
    seen = ClipEvidence(rotations=dict(found.rotations), sampled=set(found.sampled))
    wanted = _wanted(examination.clip, streams)
    track_all_frames(seen, streams, sorted(found.sampled), Stages(), wanted=wanted)
    return seen.rotations


def _wanted(clip: Clip, streams: Mapping[str, Stream]) -> dict[str, NDArray[np.bool_]]:
    """Return the frames that the clip's window needs, for cameras of which not all are needed."""
    return {
        name: frames
        for name, stream in streams.items()
        if isinstance(stream, CameraStream) and (frames := wanted_frames(stream, clip)) is not None
    }
