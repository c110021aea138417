"""Describe the cameras of a flash plan, from options or from a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from syncaudit.errors import UsageError
from syncaudit.formatting import word_duration
from syncaudit.model import CameraStream, Clip

MAX_CAMERAS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCamera:
    """Exposure timing of a camera."""

    rate_hz: Fraction  # frames per second
    readout_s: float  # from the exposure of the first row to that of the last; 0: global shutter
    exposure_s: float  # of each row

    def __post_init__(self) -> None:
        # Neither the exposure of a row nor the readout of a frame can exceed the frame period.
        for name, value, least in (
            ("exposure", self.exposure_s, 1e-6),
            ("readout", self.readout_s, 0.0),
        ):
            if not least <= value <= self.period_s:
                raise UsageError(
                    f"the {name} is {word_duration(value)}, expected {word_duration(least)} to "
                    f"one frame period ({word_duration(self.period_s)})",
                    hint="Numbers without a unit are seconds: write 25ms or 0.025.",
                )

    @property
    def period_s(self) -> float:
        """Return the time from one frame to the next."""
        return float(1 / self.rate_hz)

    @property
    def is_global(self) -> bool:
        """Return whether all rows are exposed at once."""
        return self.readout_s == 0.0

    def visible_s(self, width_s: float) -> float:
        """Return the part of a frame period in which a pulse can start and be seen."""
        return min(self.readout_s + self.exposure_s + width_s, self.period_s)

    def share_seen(self, width_s: float) -> float:
        """Return the probability that one pulse is seen.

        ``P = (readout + E + w) / T_frame``: row r exposes ``[s + r T, s + r T + E]``, so that a
        pulse ``[tau, tau + w]`` meets a frame that starts between ``tau - readout - E`` and
        ``tau + w``; the phase of the frames is assumed to be uniform.
        """
        return self.visible_s(width_s) / self.period_s

    def share_with_both_edges(self, width_s: float) -> float:
        """Return the probability that both edges of its band lie in one image.

        Only such bands determine the exposure; bands with one edge require it.
        """
        return max(self.readout_s - self.exposure_s - width_s, 0.0) / self.period_s


def planned_cameras(
    rates_hz: Sequence[Fraction],
    readouts_s: Sequence[float],
    exposures_s: Sequence[float],
    n_cameras: int | None = None,
) -> tuple[PlannedCamera, ...]:
    """Return the cameras: one value applies to all, several are assigned in turn.

    `n_cameras` is by default the length of the longest list, at least two.

    UsageError if the lengths of the lists do not match, or there are fewer cameras than values.
    """
    lengths = {len(rates_hz), len(readouts_s), len(exposures_s)} - {1}
    if len(lengths) > 1:
        raise UsageError(
            f"{len(rates_hz)} rates, {len(readouts_s)} readouts and {len(exposures_s)} exposures "
            "do not match in number",
            hint="Give one value for all cameras, or the same number of values everywhere.",
        )
    n_kinds = max(lengths, default=1)
    n = max(2, n_kinds) if n_cameras is None else n_cameras
    if not max(2, n_kinds) <= n <= MAX_CAMERAS:
        raise UsageError(
            f"{n} cameras of {n_kinds} kinds cannot be planned",
            hint=f"Give --cameras from {max(2, n_kinds)} to {MAX_CAMERAS}.",
        )
    return tuple(
        PlannedCamera(
            rate_hz=rates_hz[k % len(rates_hz)],
            readout_s=readouts_s[k % len(readouts_s)],
            exposure_s=exposures_s[k % len(exposures_s)],
        )
        for k in range(n)
    )


def recorded_cameras(
    clip: Clip,
    rates_hz: Sequence[Fraction] = (),
    readouts_s: Sequence[float] = (),
    exposures_s: Sequence[float] = (),
) -> tuple[PlannedCamera, ...]:
    """Return the cameras of a clip: rates from timestamps, the rest from its manifest.

    Given rates, readouts and exposures take precedence: none, one for all, or one for each camera.
    UsageError if there are fewer than two cameras, or something is neither stated nor given.
    """
    from syncaudit.pipeline.reading import read_clip

    cameras = {n: spec for n, spec in clip.sources.items() if spec.kind == "camera"}
    streams = {
        name: stream
        for name, stream in read_clip(replace(clip, sources=cameras)).streams.items()
        if isinstance(stream, CameraStream)
    }
    if len(streams) < 2:
        raise UsageError(
            f"{clip.clip_id} has {len(streams)} readable cameras, expected two or more",
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
        raise UsageError(f"the timestamps of {name} show no frame rate", hint="State it: --fps.")
    # Clock errors reach a few parts in ten thousand; frame rates have at most two decimals.
    return Fraction(round(100.0 / float(np.median(periods_s))), 100)


def _readout_s(name: str, stream: CameraStream) -> float:
    line_delay_s = _stated(name, "line_delay_s", stream.line_delay_s, "--readout")
    return line_delay_s * stream.readout_lines


def _stated(name: str, key: str, value: float | None, option: str) -> float:
    if value is None:
        raise UsageError(
            f"the manifest states no {key} of {name}",
            hint=f"Add it to the manifest, or give {option}.",
        )
    return value
