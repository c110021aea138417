"""Examine one clip: read, audit stamps, find evidence, measure, solve, judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from syncaudit.detectors import audit_stream
from syncaudit.model import (
    CameraStream,
    Clip,
    ClipRecord,
    ClipVerdict,
    ClockSolution,
    PairMeasurement,
    StampAudit,
    Stream,
)
from syncaudit.pipeline.conclude import conclude
from syncaudit.pipeline.evidence import ClipEvidence, find_evidence
from syncaudit.pipeline.known_corrections import apply_calibration, check_calibration
from syncaudit.pipeline.pairing import measure_pairs
from syncaudit.pipeline.reading import from_manifest, read_clip
from syncaudit.pipeline.stages import Stages
from syncaudit.pipeline.texts import align_texts
from syncaudit.pipeline.window import (
    MARGIN_S,
    crop,
    stamps_in_window,
    wanted_frames,
    window_of,
)
from syncaudit.policy import Policy, load_policy

__all__ = ["Examination", "audit", "examine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """Everything that was found out about one clip.

    Parameters
    ----------
    clip : Clip
        What was asked.
    verdict : ClipVerdict
        The answer.
    streams : mapping of str to Stream
        What could be read.
    stamps : mapping of str to StampAudit
        What the stamps alone say.
    evidence : ClipEvidence
        What happened in the streams.
    measurements : tuple of PairMeasurement
        Pairs, accepted and refused.
    solution : ClockSolution
        One consistent set of clocks.
    """

    clip: Clip
    verdict: ClipVerdict
    streams: Mapping[str, Stream]
    stamps: Mapping[str, StampAudit]
    evidence: ClipEvidence
    measurements: tuple[PairMeasurement, ...]
    solution: ClockSolution


def audit(
    clip: Clip, policy: Policy | None = None, *, calibration: Mapping[str, object] | None = None
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

    Returns
    -------
    ClipVerdict
        Bad data become reasons of the verdict; nothing that a clip holds raises.

    Raises
    ------
    UsageError
        If the calibration breaks its contract.
    """
    return examine(clip, policy, calibration=calibration).verdict


def examine(
    clip: Clip,
    policy: Policy | None = None,
    *,
    calibration: Mapping[str, object] | None = None,
    on_stage: Callable[[str], None] | None = None,
) -> Examination:
    """Audit one clip and keep everything that was found on the way.

    Parameters and errors as for `audit`; `on_stage` as for `Stages`.

    Returns
    -------
    Examination
        Streams, stamps, evidence, measurements, clocks and the verdict.
    """
    policy = load_policy() if policy is None else policy
    if calibration is not None:
        check_calibration(calibration)
    stages = Stages(on_stage=on_stage)
    with stages.spent_on("read"):
        read = read_clip(clip)
        streams = dict(read.streams)
    texts = align_texts(clip, streams, stages)
    with stages.spent_on("read"):
        if calibration is not None:
            streams = {
                name: apply_calibration(stream, calibration, clip)
                for name, stream in streams.items()
            }
        streams = {name: crop(stream, clip, margin_s=MARGIN_S) for name, stream in streams.items()}
    with stages.spent_on("stamps"):
        stamps = {
            name: audit_stream(stamps_in_window(stream, clip)) for name, stream in streams.items()
        }
        window = window_of(clip, streams)
    evidence = find_evidence(
        streams,
        stages,
        wanted={
            name: wanted
            for name, stream in streams.items()
            if isinstance(stream, CameraStream)
            and (wanted := wanted_frames(stream, clip)) is not None
        },
    )
    with stages.spent_on("estimate"):
        measurements = (
            *measure_pairs(evidence, max_offset_s=policy.max_offset_s),
            *texts.measurements,
        )
    record = ClipRecord(
        at_ns=window.at_ns,
        span_s=window.span_s,
        max_offset_s=policy.max_offset_s,
        stamps=stamps,
        findings=(
            *read.findings,
            *texts.findings,
            *(from_manifest(finding, clip.base_uri) for finding in evidence.findings),
        ),
        measurements=measurements,
        stages=stages.seconds,
    )
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
