"""Compare a calibration with the truth: offsets, drifts, line delays, exposures, errors."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flash_recordings import FlashRecording

from syncaudit.errors import SyncAuditError
from syncaudit.model import Clip
from syncaudit.simulate import SourceTruth, Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceError:
    """Errors of one source: estimate minus truth, and the claimed errors."""

    source: str
    kind: str
    offset_s: float
    offset_std_s: float
    drift_ppm: float | None
    drift_std_ppm: float | None
    line_delay_s: float | None
    line_delay_std_s: float | None
    exposure_s: float | None
    true_exposure_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """Outcome of a recording's calibration.

    Attributes
    ----------
    errors : tuple of SourceError
        Errors of all sources except the reference.
    refused : str, optional
        Why there is no calibration, as worded by the program.
    seconds : float
    """

    errors: tuple[SourceError, ...] = ()
    refused: str | None = None
    seconds: float


def calibrate_recording(recording: FlashRecording) -> Calibrated:
    """Calibrate a recording and compare the result with its truth.

    Raises
    ------
    ImportError
        If calibration is not implemented.
    """
    begun = time.perf_counter()
    try:
        document = _document(recording.clip)
    except SyncAuditError as error:
        return Calibrated(refused=str(error), seconds=time.perf_counter() - begun)
    seconds = time.perf_counter() - begun
    return Calibrated(errors=_errors(document, recording.truth), seconds=seconds)


def _document(clip: Clip) -> Mapping[str, Any]:
    """Return the calibration of a clip as in formats.md section 4: the only call into the tool."""
    from syncaudit_calibration import calibrate

    result = calibrate(clip)
    if isinstance(result, Mapping):
        return result
    for name in ("document", "to_document", "to_json", "as_dict", "to_dict"):
        if hasattr(result, name):
            made = getattr(result, name)
            document: Mapping[str, Any] = made() if callable(made) else made
            return document
    raise TypeError(f"a calibration is a {type(result)}, expected a document")


def _errors(document: Mapping[str, Any], truth: Truth) -> tuple[SourceError, ...]:
    reference = truth.sources[document["reference"]]
    at_s = 1e-9 * (document["at_ns"] - truth.at_ns)
    errors = []
    for name, found in document["sources"].items():
        source = truth.sources[name]
        if name == document["reference"] or found.get("offset_s") is None:
            continue
        # To the reference's own clock: first to true time, then back through its correction.
        true_s = at_s + _offset_s(source) + 1e-6 * source.drift_ppm * at_s
        # Dropped frames cause a step; the offset holds on its own side of the step.
        true_s += sum(step.by_s for step in source.steps if step.at_ns <= document["at_ns"])
        rate = 1 + 1e-6 * reference.drift_ppm
        offset_s = (true_s - _offset_s(reference)) / rate - at_s
        drift_ppm = 1e6 * ((1 + 1e-6 * source.drift_ppm) / rate - 1)
        shutter = source.shutter
        line_s = shutter.line_delay_s if shutter else None
        exposure_s = shutter.exposure_s if shutter else None
        errors.append(
            SourceError(
                source=name,
                kind=source.kind,
                offset_s=found["offset_s"] - offset_s,
                offset_std_s=found["offset_std_s"],
                drift_ppm=_minus(found.get("drift_ppm"), drift_ppm),
                drift_std_ppm=found.get("drift_std_ppm"),
                line_delay_s=_minus(found.get("line_delay_s"), line_s),
                line_delay_std_s=found.get("line_delay_std_s"),
                exposure_s=_minus(found.get("exposure_s"), exposure_s),
                true_exposure_s=exposure_s,
            )
        )
    return tuple(errors)


def _offset_s(source: SourceTruth) -> float:
    """Return a source's correction; a delay of the sound acts like a late clock."""
    return source.offset_s - (source.sound_delay_s or 0.0)


def _minus(found: float | None, truth: float | None) -> float | None:
    return None if found is None or truth is None else found - truth
