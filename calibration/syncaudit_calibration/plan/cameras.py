"""The cameras that a flash plan is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from syncaudit.errors import UsageError
from syncaudit.formatting import word_duration

__all__ = ["PlannedCamera", "planned_cameras"]

MAX_CAMERAS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCamera:
    """Describe when a camera exposes.

    Parameters
    ----------
    rate_hz : Fraction
        Frames per second.
    readout_s : float
        From the exposure of the first row to that of the last; 0: global shutter.
    exposure_s : float
        Of each row.
    """

    rate_hz: Fraction
    readout_s: float
    exposure_s: float

    def __post_init__(self) -> None:
        # A row cannot be exposed, nor a frame be read, for longer than a frame lasts.
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
        """Return the part of a frame period in which a pulse may start and be seen."""
        return min(self.readout_s + self.exposure_s + width_s, self.period_s)

    def share_seen(self, width_s: float) -> float:
        """Return the probability that one pulse is seen.

        ``P = (readout + E + w) / T_frame``: row r exposes ``[s + r T, s + r T + E]``, so that a
        pulse ``[tau, tau + w]`` meets a frame that starts between ``tau - readout - E`` and
        ``tau + w``; the phase of the frames is taken as uniform.
        """
        return self.visible_s(width_s) / self.period_s

    def share_with_both_edges(self, width_s: float) -> float:
        """Return the probability that both edges of its band lie in one picture.

        Only such bands tell the exposure; those with one edge need it.
        """
        return max(self.readout_s - self.exposure_s - width_s, 0.0) / self.period_s


def planned_cameras(
    rates_hz: Sequence[Fraction],
    readouts_s: Sequence[float],
    exposures_s: Sequence[float],
    n_cameras: int | None = None,
) -> tuple[PlannedCamera, ...]:
    """Return the cameras: one value holds for all, several are dealt out in turn.

    Parameters
    ----------
    rates_hz : sequence of Fraction
    readouts_s, exposures_s : sequence of float
    n_cameras : int, optional
        Default: as many as the longest list, at least two.

    Raises
    ------
    UsageError
        If the lists do not fit one another, or there are fewer cameras than values.
    """
    lengths = {len(rates_hz), len(readouts_s), len(exposures_s)} - {1}
    if len(lengths) > 1:
        raise UsageError(
            f"{len(rates_hz)} rates, {len(readouts_s)} readouts and {len(exposures_s)} exposures "
            "do not fit one another",
            hint="Give one value for all cameras, or as many values everywhere.",
        )
    n_kinds = max(lengths, default=1)
    n = max(2, n_kinds) if n_cameras is None else n_cameras
    if not max(2, n_kinds) <= n <= MAX_CAMERAS:
        raise UsageError(
            f"{n} cameras of {n_kinds} kinds cannot be planned for",
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
