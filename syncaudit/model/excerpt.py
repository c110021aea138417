"""Excerpt of both signals of a measurement where they constrain its offset most, for display."""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from syncaudit.model.arrays import Floats
from syncaudit.model.field_names import fields_of

N_POINTS = 81
N_LEVELS = 127  # of either sign: the range of a signed byte


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalExcerpt:
    """A short piece of what a source and its target both measured.

    Parameters
    ----------
    start_ns : int
        First instant on the source's clock.
    apart_s : float
        What was added to it to find the same piece on the target's clock.
    step_s : float
        From one sample to the next, on either clock.
    tells_s : tuple of float
        Seconds after the first instant between which the signals constrain the offset most.
    peak : float
        Size of the largest sample.
    source, target : bytes
        Samples of both as signed bytes, in units of a 127th of the peak; those of the target in
        the axes and the unit of the source.
    """

    start_ns: int
    apart_s: float
    step_s: float
    tells_s: tuple[float, float]
    peak: float
    source: bytes
    target: bytes

    @classmethod
    def of(
        cls,
        times_s: Floats,
        source: Floats,
        target: Floats,
        *,
        epoch_ns: int,
        apart_s: float,
        tells_s: tuple[float, float],
    ) -> SignalExcerpt | None:
        """Return the excerpt of samples at some instants; None if there is nothing to show.

        Parameters
        ----------
        times_s : ndarray, shape (n,)
            Seconds since `epoch_ns` on the source's clock, ascending.
        source, target : ndarray, shape (n,)
            What both measured.
        epoch_ns : int
            On the source's clock.
        apart_s : float
            Target time minus source time at which the target was sampled.
        tells_s : tuple of float
            Instants between which the signals constrain the offset most.
        """
        peak = float(np.max(np.abs(np.concatenate([source, target])), initial=0.0))
        if times_s.size < 2 or not 0.0 < peak < math.inf:
            return None
        peak = float(f"{peak:.4g}")  # do not store digits that are never visible
        at_s = np.linspace(times_s[0], times_s[-1], N_POINTS)
        levels = [
            np.rint(N_LEVELS / peak * np.interp(at_s, times_s, x)).astype(np.int8).tobytes()
            for x in (source, target)
        ]
        first_s = float(times_s[0])
        return cls(
            start_ns=epoch_ns + round(first_s * 1e9),
            apart_s=round(apart_s, 9),
            step_s=round(float(at_s[1] - at_s[0]), 9),
            tells_s=(round(tells_s[0] - first_s, 6), round(tells_s[1] - first_s, 6)),
            peak=peak,
            source=levels[0],
            target=levels[1],
        )

    @property
    def times_s(self) -> Floats:
        """Seconds after the first instant of either clock, shape (n,)."""
        return self.step_s * np.arange(len(self.source), dtype=np.float64)

    @property
    def values(self) -> tuple[Floats, Floats]:
        """What the source and the target measured, shape (n,) each."""
        scale = self.peak / N_LEVELS
        source, target = (
            scale * np.frombuffer(x, dtype=np.int8).astype(np.float64)
            for x in (self.source, self.target)
        )
        return source, target

    def turned(self) -> SignalExcerpt:
        """Return the same piece from the target to the source."""
        return replace(
            self,
            start_ns=self.start_ns + round(self.apart_s * 1e9),
            apart_s=-self.apart_s,
            source=self.target,
            target=self.source,
        )

    def to_json(self) -> dict[str, object]:
        """Return what `from_json` reads."""
        return fields_of(self) | {
            "tells_s": list(self.tells_s),
            "source": b64encode(self.source).decode(),
            "target": b64encode(self.target).decode(),
        }

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> SignalExcerpt:
        """Return the excerpt of a verdict row.

        Raises
        ------
        KeyError, TypeError, ValueError
            If it is not an excerpt.
        """
        source, target = (b64decode(item[key], validate=True) for key in ("source", "target"))
        begin_s, end_s = (float(x) for x in item["tells_s"])
        found = cls(
            start_ns=int(item["start_ns"]),
            apart_s=float(item["apart_s"]),
            step_s=float(item["step_s"]),
            tells_s=(begin_s, end_s),
            peak=float(item["peak"]),
            source=source,
            target=target,
        )
        figures = (found.apart_s, found.step_s, found.peak, begin_s, end_s)
        if len(source) != len(target) or len(source) < 2 or not all(map(math.isfinite, figures)):
            raise ValueError("source and target differ in length, or a value is not finite")
        if found.step_s <= 0.0 or not begin_s < end_s:
            raise ValueError("the excerpt has zero length")
        return found
