"""Accuracy of measurements: measured minus injected, and whether claimed errors cover it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from syncaudit.dsp.rates import Rate
from syncaudit.evaluation.change import Quantity
from syncaudit.evaluation.injected import Injected
from syncaudit.evaluation.judged import Judged, JudgedSource

# Two-sided 95 % of a normal error: how claimed errors are checked (formats, section 1).
_Z = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """One measurement compared with what was injected."""

    clip_id: str  # the original clip
    error: float  # measured minus injected; includes the clip's own error before the change
    std: float | None  # claimed standard error
    change: float | None  # `error` minus that of the control: the effect of the change alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Errors over many variants, in the unit of the quantity."""

    n: int  # variants in which the moved source was measured against another
    rmse: float | None  # root mean square and mean of measured minus injected
    bias: float | None
    coverage: Rate  # rate at which the error lies within 1.96 claimed standard errors
    n_changes: int  # variants whose control was measured too
    change_rmse: float | None  # RMSE and bias of the change against the control
    change_bias: float | None

    def to_json(self) -> dict[str, object]:
        """Return the figures."""
        return {**asdict(self), "coverage": self.coverage.to_json()}


def miss_of(injected: Injected, variant: Judged, control: Judged | None) -> Miss | None:
    """Return measured minus injected for a variant; None if nothing was measured.

    Only offsets and drifts have a measurement that holds for the whole clip. A moved clock that is
    itself the time reference cannot be measured: the others seem moved.
    """
    source = variant.sources.get(injected.source or "")
    is_drift = injected.change.quantity is Quantity.DRIFT
    if source is None or source.clock == variant.reference:
        return None
    if injected.change.quantity not in (Quantity.OFFSET, Quantity.DRIFT):
        return None
    measured, std = _measured(source, is_drift=is_drift)
    if measured is None:
        return None
    error = measured - (injected.change.amount if is_drift else injected.offset_at(variant.at_ns))
    before = (
        None if control is None else _against(control, source, variant.reference, is_drift=is_drift)
    )
    return Miss(
        clip_id=injected.original,
        error=error,
        std=std,
        change=None if before is None else error - before,
    )


def _measured(source: JudgedSource, *, is_drift: bool) -> tuple[float | None, float | None]:
    """Return the measured offset or drift of a source and its claimed error."""
    if is_drift:
        return source.drift_ppm, source.drift_std_ppm
    return source.offset_s, source.offset_std_s


def _against(
    control: Judged, source: JudgedSource, reference: str | None, *, is_drift: bool
) -> float | None:
    """Return the control's value for a clock against the reference of the variant."""

    def of(clock: str | None) -> float | None:
        if clock == control.reference:
            return 0.0
        mates = (s for s in control.sources.values() if s.clock == clock)
        values = (_measured(mate, is_drift=is_drift)[0] for mate in mates)
        return next((value for value in values if value is not None), None)

    own, other = of(source.clock), of(reference)
    return None if own is None or other is None else own - other


def accuracy_of(misses: Sequence[Miss]) -> Accuracy:
    """Return the accuracy over many variants."""
    errors = [miss.error for miss in misses]
    changes = [miss.change for miss in misses if miss.change is not None]
    claimed = [miss for miss in misses if miss.std is not None]
    coverage = Rate(
        n_hits=sum(abs(miss.error) <= _Z * (miss.std or 0.0) for miss in claimed),
        n=len(claimed),
        n_clips=len({miss.clip_id for miss in claimed}),
    )
    return Accuracy(
        n=len(errors),
        rmse=_rmse(errors),
        bias=_mean(errors),
        coverage=coverage,
        n_changes=len(changes),
        change_rmse=_rmse(changes),
        change_bias=_mean(changes),
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _rmse(values: Sequence[float]) -> float | None:
    return math.sqrt(math.fsum(v * v for v in values) / len(values)) if values else None
