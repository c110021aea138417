"""Calibrate a recording with flashes: read, find events, solve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from syncaudit.estimators import EventEvidence
from syncaudit.model import CameraStream, Clip, Finding, Severity, Stream
from syncaudit.pipeline import ClipEvidence, find_events, read_clip
from syncaudit.pipeline.stages import Stages
from syncaudit.policy import Limits, judge_pictures
from syncaudit_calibration.bundle import NEXT_TIME, calibrate_events
from syncaudit_calibration.calibration import Calibration
from syncaudit_calibration.errors import CalibrationError

__all__ = ["CalibratedRecording", "calibrate", "calibrate_recording"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CalibratedRecording:
    """A calibration and its inputs.

    Parameters
    ----------
    clip : Clip
        The calibrated clip.
    streams : mapping of str to Stream
        Streams that could be read.
    evidence : mapping of str to EventEvidence
        Events by source.
    calibration : Calibration
        The result.
    findings : tuple of Finding
        Defects found in the data.
    seconds : mapping of str to float
        CPU time by stage.
    """

    clip: Clip
    streams: Mapping[str, Stream]
    evidence: Mapping[str, EventEvidence]
    calibration: Calibration
    findings: tuple[Finding, ...]
    seconds: Mapping[str, float]


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
    stages = Stages()
    with stages.timed("read"):
        read = read_clip(clip)
    found = find_events(read.streams, stages)
    # One kind of event per source; in case of conflict, flashes of cameras take precedence.
    evidence = {**found.taps, **found.clicks, **found.triggers, **found.flashes}
    findings = (*read.findings, *found.findings, *_damage(found))
    if len(evidence) < 2:
        raise _too_little(clip, evidence, findings)
    broken = {finding.source: finding.message for finding in findings if finding.source}
    unlit = {
        name: f"no flash was found in {name}: light its view well above its noise, and hold it "
        "still"
        for name, stream in read.streams.items()
        if isinstance(stream, CameraStream) and name not in evidence
    }
    with stages.timed("solve"):
        try:
            calibration = calibrate_events(
                list(evidence.values()),
                reference=_reference(clip, reference, evidence),
                max_offset_s=max_offset_s,
            )
        except CalibrationError as error:
            raise CalibrationError(
                "; ".join((error.message, *unlit.values())),
                hint=error.hint or NEXT_TIME,
                refused={**unlit, **error.refused, **broken},
            ) from error
    calibration = with_findings(calibration, unlit, broken)
    return CalibratedRecording(
        clip=clip,
        streams=read.streams,
        evidence=evidence,
        calibration=calibration,
        findings=findings,
        seconds=stages.seconds,
    )


def with_findings(
    calibration: Calibration, unlit: Mapping[str, str], broken: Mapping[str, str]
) -> Calibration:
    """Add data defects to a calibration, as refusals or warnings.

    `calibration`: from events alone. `unlit`: reasons for cameras without flashes. `broken`:
    findings by source; for a source that was calibrated nevertheless, they become warnings.
    """
    harmless = [words for name, words in broken.items() if name in calibration.sources]
    refused = {name: why for name, why in broken.items() if name not in calibration.sources}
    return replace(
        calibration,
        refused={**unlit, **refused, **calibration.refused},
        warnings=(*calibration.warnings, *harmless),
    )


def _damage(found: ClipEvidence) -> list[Finding]:
    """Return the defects of the images that were examined."""
    limits = Limits(damaged_share=0.0)
    return [
        finding
        for name, audit in found.pictures.items()
        for finding in judge_pictures(name, name, audit, limits)
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
    clip: Clip, evidence: Mapping[str, EventEvidence], findings: tuple[Finding, ...]
) -> CalibrationError:
    blind = [name for name in clip.sources if name not in evidence]
    seen = f"only {next(iter(evidence))} did" if evidence else "none did"
    broken = "; ".join(finding.message for finding in findings[:3])
    return CalibrationError(
        f"at least two sources must detect flashes, but {seen}"
        + (f" ({broken})" if broken else ""),
        hint=f"{NEXT_TIME}. Without events: {', '.join(blind)}.",
        refused={
            **dict.fromkeys(blind, "no flash, strobe, trigger, click or tap was found"),
            **{finding.source: finding.message for finding in findings if finding.source},
        },
    )
