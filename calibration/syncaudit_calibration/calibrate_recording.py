"""Calibrate a recording with flashes: read, find events, solve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from syncaudit.estimators.events import (
    EventEvidence,
    Scans,
    find_scans,
    without_ends,
    word_scans,
    word_undecided_scan,
)
from syncaudit.model import CameraStream, Clip, ClipEvidence, Finding, FlashEdges, Severity, Stream
from syncaudit.model.clip import Scan
from syncaudit.pipeline import find_events, find_flashes, find_flashes_by_scan, read_clip
from syncaudit.pipeline.stages import Stages
from syncaudit.policy import Limits, judge_images
from syncaudit_calibration.bundle import NEXT_TIME, calibrate_events, check_reference
from syncaudit_calibration.calibration import Calibration
from syncaudit_calibration.errors import CalibrationError

# Directions of reading that are tried where nothing matches what a camera shows if read downwards.
OTHER_SCANS: Sequence[Scan] = ("up", "right", "left")
OR_ROLLING = '; or its rows are read one after the other: "line_delay_s": 0 states a global shutter'
STATE_SCAN = "State how the images of one of these cameras are read, or record a trigger as well."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CalibratedRecording:
    """A calibration and its inputs."""

    clip: Clip  # the calibrated clip
    streams: Mapping[str, Stream]  # streams that could be read
    evidence: Mapping[str, EventEvidence]  # events by source
    calibration: Calibration  # the result
    findings: tuple[Finding, ...]  # defects found in the data
    seconds: Mapping[str, float]  # CPU time by stage


def calibrate(
    clip: Clip, *, reference: str | None = None, max_offset_s: float = 30.0
) -> Calibration:
    """Calibrate all clocks of a recording by its flashes.

    Parameters
    ----------
    clip : Clip
        From `syncaudit.load_manifest`.
    reference : str, optional
        Source whose timestamps are reference time; default: that of the manifest, or else the
        first camera by name, preferring those that date instants.
    max_offset_s : float
        Largest offset searched for, either sign.

    Returns
    -------
    Calibration
        Corrections, line delays, exposures, and refused sources.

    Raises
    ------
    CalibrationError
        If no two sources could be connected; the hint suggests what to record next.
    UsageError
        If the reference is not one of the sources.
    """
    return calibrate_recording(clip, reference=reference, max_offset_s=max_offset_s).calibration


def calibrate_recording(
    clip: Clip, *, reference: str | None = None, max_offset_s: float = 30.0
) -> CalibratedRecording:
    """Calibrate as `calibrate` does, and also return intermediate results."""
    check_reference(reference, clip.sources)
    stages = Stages()
    with stages.timed("read"):
        read = read_clip(clip)
    found = find_events(read.streams, stages)
    # One kind of event per source; in case of conflict, flashes of cameras take precedence.
    evidence = {**found.taps, **found.clicks, **found.triggers, **found.flashes}
    streams = dict(read.streams)
    scans = _settle_scans(streams, evidence, stages, max_offset_s)
    findings = (*read.findings, *found.findings, *_damage(found))
    undecided = {name: word_undecided_scan(name, scan) for name, scan in scans.undecided.items()}
    if reference in undecided:
        raise CalibrationError(undecided[reference], hint=STATE_SCAN, refused=undecided)
    if len(evidence) < 2 or reference not in {None, *evidence}:
        raise _too_little(clip, reference, evidence, findings, undecided)
    broken = {finding.source: finding.message for finding in findings if finding.source}
    unused = {
        name: f"no flash was found in {name}: light its view well above its noise, and hold it "
        "still" + (OR_ROLLING if stream.line_delay_s == 0.0 else "")
        for name, stream in streams.items()
        if isinstance(stream, CameraStream) and name not in evidence
    } | undecided
    with stages.timed("solve"):
        try:
            calibration = calibrate_events(
                list(evidence.values()),
                reference=_reference(clip, reference, evidence),
                max_offset_s=max_offset_s,
            )
        except CalibrationError as error:
            raise CalibrationError(
                "; ".join((error.message, *unused.values())),
                hint=error.hint or NEXT_TIME,
                refused={**unused, **error.refused, **broken},
            ) from error
    calibration = with_findings(calibration, unused, broken)
    words = word_scans(scans, calibration.sources)
    calibration = replace(calibration, warnings=(*calibration.warnings, *words))
    return CalibratedRecording(
        clip=clip,
        streams=streams,
        evidence=evidence,
        calibration=calibration,
        findings=findings,
        seconds=stages.seconds,
    )


def _settle_scans(
    streams: dict[str, Stream],
    evidence: dict[str, EventEvidence],
    stages: Stages,
    max_offset_s: float,
) -> Scans:
    """Look again at cameras that are not read downwards, and leave out those that may not be.

    `streams` and `evidence` are changed.
    """
    free = {
        name: stream
        for name, stream in streams.items()
        if isinstance(stream, CameraStream) and stream.scan is None and stream.line_delay_s != 0.0
    }
    if not free:
        return Scans()
    shown: dict[str, Scan] = {}
    for name in free:
        item = evidence.get(name)
        if isinstance(item, FlashEdges) and item.scan not in (None, "down"):
            shown[name] = item.scan
            streams[name] = replace(free[name], scan=item.scan)
    with stages.timed("solve"):
        recorded = {item.source: item for item in without_ends(list(evidence.values()))}
        scans = find_scans(recorded, max_offset_s=max_offset_s)
    lost = [name for name in free if name in scans.apart or name not in evidence]
    others = [
        edges for name in lost for edges in find_flashes_by_scan(free[name], OTHER_SCANS, stages)
    ]
    if others:
        with stages.timed("solve"):
            scans = find_scans(recorded, others, max_offset_s=max_offset_s)
    for name, scan in scans.found.items():
        streams[name] = stream = replace(free[name], scan=scan)
        evidence.pop(name, None)
        part, _ = find_flashes(stream, stages)
        evidence |= part.flashes
    for name in scans.undecided:
        evidence.pop(name, None)
    return replace(scans, found=shown | dict(scans.found))


def with_findings(
    calibration: Calibration, unused: Mapping[str, str], broken: Mapping[str, str]
) -> Calibration:
    """Add data defects to a calibration, as refusals or warnings.

    `calibration`: from events alone. `unused`: reasons for cameras without usable flashes.
    `broken`: findings by source; they become warnings where a source was calibrated nevertheless.
    """
    harmless = [words for name, words in broken.items() if name in calibration.sources]
    refused = {name: why for name, why in broken.items() if name not in calibration.sources}
    return replace(
        calibration,
        refused={**unused, **refused, **calibration.refused},
        warnings=(*calibration.warnings, *harmless),
    )


def _damage(found: ClipEvidence) -> list[Finding]:
    """Return the defects of the images that were examined."""
    limits = Limits(damaged_share=0.0)
    return [
        finding
        for name, audit in found.pictures.items()
        for finding in judge_images(name, name, audit, limits)
        if finding.severity is Severity.DEFECT
    ]


def _reference(
    clip: Clip, reference: str | None, evidence: Mapping[str, EventEvidence]
) -> str | None:
    """Return the requested reference, or that of the manifest if it has events."""
    if reference is not None or clip.reference not in evidence:
        return reference
    return clip.reference


def _too_little(
    clip: Clip,
    reference: str | None,
    evidence: Mapping[str, EventEvidence],
    findings: tuple[Finding, ...],
    undecided: Mapping[str, str],
) -> CalibrationError:
    blind = [name for name in clip.sources if name not in evidence and name not in undecided]
    if len(evidence) > 1:
        seen = f"the reference, {reference}, did not"
    else:
        seen = f"only {next(iter(evidence))} did" if evidence else "none did"
    broken = "; ".join(finding.message for finding in findings[:3])
    why = f"at least two sources must detect flashes, but {seen}" + (
        f" ({broken})" if broken else ""
    )
    return CalibrationError(
        "; ".join(undecided.values()) or why,
        hint=STATE_SCAN if undecided else f"{NEXT_TIME}. Without events: {', '.join(blind)}.",
        refused={
            **undecided,
            **dict.fromkeys(blind, "no flash, strobe, trigger, click or tap was found"),
            **{finding.source: finding.message for finding in findings if finding.source},
        },
    )
