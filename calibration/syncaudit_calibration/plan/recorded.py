"""The cameras of a recording that exists, for a plan of the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from syncaudit.errors import UsageError
from syncaudit.model import CameraStream, Clip
from syncaudit.pipeline.reading import read_clip
from syncaudit_calibration.plan.cameras import PlannedCamera

__all__ = ["recorded_cameras"]


def recorded_cameras(
    clip: Clip,
    rates_hz: Sequence[Fraction] = (),
    readouts_s: Sequence[float] = (),
    exposures_s: Sequence[float] = (),
) -> tuple[PlannedCamera, ...]:
    """Return the cameras of a clip: rates by their stamps, the rest as its manifest states.

    Parameters
    ----------
    clip : Clip
    rates_hz, readouts_s, exposures_s : sequence
        What holds in place of that: none, one for all, or one for each camera.

    Raises
    ------
    UsageError
        If there are fewer than two cameras, or something is neither stated nor given.
    """
    cameras = {n: spec for n, spec in clip.sources.items() if spec.kind == "camera"}
    streams = {
        name: stream
        for name, stream in read_clip(replace(clip, sources=cameras)).streams.items()
        if isinstance(stream, CameraStream)
    }
    if len(streams) < 2:
        raise UsageError(
            f"{clip.clip_id} has {len(streams)} cameras that can be read, expected two or more",
            hint="Describe them: --fps, --readout, --exposure and --cameras.",
        )
    for option, values in (
        ("--fps", rates_hz),
        ("--readout", readouts_s),
        ("--exposure", exposures_s),
    ):
        if len(values) not in (0, 1, len(streams)):
            raise UsageError(
                f"{option} has {len(values)} values for the {len(streams)} cameras of "
                f"{clip.clip_id}, expected one, or one for each of {', '.join(streams)}"
            )
    return tuple(
        PlannedCamera(
            rate_hz=rates_hz[k % len(rates_hz)] if rates_hz else _rate_hz(name, stream),
            readout_s=readouts_s[k % len(readouts_s)] if readouts_s else _readout_s(name, stream),
            exposure_s=exposures_s[k % len(exposures_s)]
            if exposures_s
            else _stated(name, "exposure_s", stream.exposure_s, "--exposure"),
        )
        for k, (name, stream) in enumerate(streams.items())
    )


def _rate_hz(name: str, stream: CameraStream) -> Fraction:
    periods_s = 1e-9 * np.diff(stream.time_ns)
    if not periods_s.size or not np.median(periods_s) > 0.0:
        raise UsageError(f"the stamps of {name} tell no frame rate", hint="State it: --fps.")
    # Clocks are off by some parts in ten thousand; rates have two digits at most.
    return Fraction(round(100.0 / float(np.median(periods_s))), 100)


def _readout_s(name: str, stream: CameraStream) -> float:
    line_delay_s = _stated(name, "line_delay_s", stream.line_delay_s, "--readout")
    return line_delay_s * max(stream.height_px - 1, 0)


def _stated(name: str, key: str, value: float | None, option: str) -> float:
    if value is None:
        raise UsageError(
            f"the manifest states no {key} of {name}", hint=f"Add it there, or give {option}."
        )
    return value
