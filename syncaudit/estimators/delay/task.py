"""Describe a delay measurement, and record one that is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from syncaudit.estimators.delay.fit import DelayFit
from syncaudit.estimators.delay.refusals import MAX_DRIFT_PPM
from syncaudit.model import PairMeasurement, nanoseconds

# Offsets with a larger standard error are useless against any tolerance.
MAX_OFFSET_STD_S = 0.05


class _Timed(Protocol):
    @property
    def source(self) -> str: ...
    @property
    def epoch_ns(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayTask:
    """Description of a delay measurement."""

    # Names for the record.
    source: str
    target: str
    method: str
    # Zeros of the two time axes on their own clocks.
    source_epoch_ns: int
    target_epoch_ns: int
    # Search range where the timestamps overlap; clocks of unrelated epochs are searched over every
    # overlap, as are all clocks if it is infinite.
    max_offset_s: float = 5.0
    step_s: float = 0.005  # step of the coarse search
    expected_gain: tuple[float, ...] = (1.0,)  # correct gains (units); empty where unknown
    expected_unit: str = ""  # description of the expected gains, for the refusal
    gain_range: tuple[float, float] = (0.5, 2.0)  # accepted ratio to the expected gain
    systematic_std_s: float = 0.0  # known systematic uncertainty, added in quadrature
    # Half the width of a lobe: a nearer peak is a ripple of the same lobe. It must still be less
    # likely.
    lobe_s: float = 0.0
    # Whether both sides are fixed to one rigid body: then the delay does not depend on the motion.
    is_rigid: bool = False
    # Returns why a fit shows that the two sides are not fixed to one body, or None.
    why_not_fixed: Callable[[DelayFit], str | None] | None = None
    # Whether one clock timestamps both: then there is no drift or step between them.
    is_one_clock: bool = False
    is_baseline_only: bool = False  # see `PairMeasurement`
    max_drift_ppm: float = MAX_DRIFT_PPM  # largest rate error of clocks of this kind

    @classmethod
    def between(
        cls, source: _Timed, target: _Timed, method: str, max_offset_s: float, **options: Any
    ) -> DelayTask:
        """Return the task of measuring the evidence of one source against that of another."""
        return cls(
            source=source.source,
            target=target.source,
            method=method,
            source_epoch_ns=source.epoch_ns,
            target_epoch_ns=target.epoch_ns,
            max_offset_s=max_offset_s,
            **options,
        )

    @property
    def epochs_s(self) -> float:
        """Difference of the epochs: added to a delay of the time axes, it gives the offset."""
        return (self.target_epoch_ns - self.source_epoch_ns) * 1e-9


def refuse(task: DelayTask, at_s: float, why: str, **figures: float) -> PairMeasurement:
    """Return a refused measurement with its reason."""
    return PairMeasurement.refused(
        task.source,
        task.target,
        task.method,
        task.source_epoch_ns + nanoseconds(at_s),
        why,
        figures,
        is_baseline_only=task.is_baseline_only,
    )


def refuse_vague(measured: PairMeasurement) -> PairMeasurement:
    """Refuse a measurement whose total error is too large to be useful."""
    std_s = measured.offset_std_s
    if not measured.accepted or std_s is None or std_s <= MAX_OFFSET_STD_S:
        return measured
    why = (
        f"standard error {1e3 * std_s:.0f} ms is too large to be useful; allowed "
        f"{1e3 * MAX_OFFSET_STD_S:.0f} ms"
    )
    figures = {**measured.diagnostics, "offset_s": measured.offset_s or 0.0, "offset_std_s": std_s}
    return measured.withdrawn(why, figures)
