"""Print a calibration: the errors of each clock and their uncertainty."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from syncaudit.cli.console import printable
from syncaudit.formatting import (
    PLUS_MINUS,
    word_correction,
    word_count,
    word_drift,
    word_duration,
    word_measure,
)
from syncaudit.model import CameraSpec, Clip
from syncaudit_calibration.calibrate_recording import CalibratedRecording
from syncaudit_calibration.calibration import CalibratedSource
from syncaudit_calibration.errors import CalibrationError

NOTHING = "–"


def print_calibration(console: Console, found: CalibratedRecording) -> None:
    """Print a row per source, then warnings and sources that could not be calibrated."""
    calibration = found.calibration
    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        title=f"{printable(found.clip.clip_id)}: clocks against {calibration.reference}",
    )
    for head in ("source", "timestamps are", "drift", "row, exposure", "flashes, rms"):
        table.add_column(head, overflow="fold")
    for name, source in calibration.sources.items():
        is_camera = isinstance(found.clip.sources.get(name), CameraSpec)
        table.add_row(
            printable(name),
            *(("reference", "") if name == calibration.reference else _clock(source)),
            _shutter(source) if is_camera else NOTHING,
            f"{source.flashes_seen}, {word_duration(source.residual_rms_s)}",
        )
    console.print(table)
    console.print(Text(f"{PLUS_MINUS}.", style="dim"))
    n = len(calibration.flashes)
    shared = sum(len(flash.seen_by) > 1 for flash in calibration.flashes)
    console.print(
        f"{word_count(n, 'flash').replace('flashs', 'flashes')}, {shared} of them shared."
    )
    for warning in calibration.warnings:
        console.print(Text(f"note: {printable(warning)}", style="yellow"), soft_wrap=True)
    for name in found.clip.sources:
        if name not in calibration.sources:
            why = calibration.refused.get(name, "it detected no flash")
            text = f"not calibrated: {name}: {why}"
            console.print(Text(printable(text), style="red"), soft_wrap=True)


def print_refusal(console: Console, clip: Clip, error: CalibrationError) -> None:
    """Print why nothing could be calibrated, source by source."""
    console.print(Text(printable(str(error)), style="red"), soft_wrap=True)
    for name in clip.sources:
        if name in error.refused:
            console.print(Text(printable(f"  {name}: {error.refused[name]}")), soft_wrap=True)
    console.print("Nothing was written.")


def _clock(source: CalibratedSource) -> tuple[str, str]:
    drift = word_drift(source.drift_ppm, source.drift_std_ppm).replace(" (", "\n(")
    return word_correction(source.offset_s, source.offset_std_s), drift


def _shutter(source: CalibratedSource) -> str:
    exposure = _measured(source.exposure_s, source.exposure_std_s)
    if source.line_delay_s == 0.0:
        return f"global shutter\n{exposure}"
    return f"{_measured(source.line_delay_s, source.line_delay_std_s)}\n{exposure}"


def _measured(value: float | None, std: float | None) -> str:
    return NOTHING if value is None else word_measure(value, std)
