"""One consistent set of clocks: the solution of the graph of measurements of a clip.

Offsets that the clips of a data set share are kept apart: they are one cause, not a hundred.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from syncaudit.model import arrays
from syncaudit.model.arrays import Bools, Floats, Ints
from syncaudit.model.measurement import ClockMap


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockEstimate:
    """Correction of one clock: add it to the clock's timestamps to get reference time.

    Parameters
    ----------
    clock : str
        Name of the clock.
    is_observable : bool
        Whether measurements tie it to the reference; else every figure is None.
    offset_s, offset_std_s : float, optional
        Correction at `at_ns` of the solution and its standard error.
    drift_ppm, drift_std_ppm : float, optional
        None if unobservable.
    step_s, step_std_s : float, optional
        Change of the correction at `step_at_ns`, if a step was found.
    step_at_ns : int, optional
        The clock's own timestamp of the step.
    step_at_std_s : float
        Standard error of that instant.
    is_step_past : bool
        Whether the step lies before the instant at which `offset_s` holds.
    is_side_sure : bool
        Whether that is beyond doubt: while nothing moves, nobody sees a clock step.
    n_measurements : int
        Measurements that support it.
    """

    clock: str
    is_observable: bool
    offset_s: float | None = None
    offset_std_s: float | None = None
    drift_ppm: float | None = None
    drift_std_ppm: float | None = None
    step_s: float | None = None
    step_std_s: float | None = None
    step_at_ns: int | None = None
    step_at_std_s: float = 0.0
    is_step_past: bool = False
    is_side_sure: bool = True
    n_measurements: int = 0

    @property
    def middle_std_s(self) -> float | None:
        """Standard error of `offset_s`, with that of not knowing on which side of the step it is.

        `offset_std_s` is the error of the correction on that side, wherever it holds.
        """
        if self.offset_std_s is None or self.is_side_sure:
            return self.offset_std_s
        return math.hypot(self.offset_std_s, self.step_s or 0.0)

    @classmethod
    def of_reference(cls, clock: str, n_measurements: int) -> ClockEstimate:
        """Return the estimate of the reference itself."""
        return cls(
            clock=clock,
            is_observable=True,
            offset_s=0.0,
            offset_std_s=0.0,
            drift_ppm=0.0,
            drift_std_ppm=0.0,
            n_measurements=n_measurements,
        )

    def clock_map(self, at_ns: int) -> ClockMap:
        """Return the map of the clock's timestamps; the identity if it is not observable.

        Parameters
        ----------
        at_ns : int
            Instant of the solution, at which the offset holds.
        """
        return ClockMap(
            offset_s=self.offset_s or 0.0,
            drift_ppm=self.drift_ppm,
            at_ns=at_ns,
            step_s=self.step_s or 0.0,
            step_at_ns=self.step_at_ns,
            is_step_past=self.is_step_past,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockJump:
    """A step that the measurements attribute to one clock, possibly the reference.

    A `ClockEstimate` is relative to the reference: if that one steps, all others mirror it.

    Parameters
    ----------
    step_s, step_std_s : float
        Change of what to add to the clock's own timestamps, and its standard error.
    at_ns : int
        Timestamp of the step.
    is_past : bool
        Whether it lies before the instant at which the offsets hold (`ClockEstimate.is_step_past`).
    is_own : bool
        Whether the clock's own timestamps show it too.
    """

    step_s: float
    step_std_s: float
    at_ns: int
    is_past: bool
    is_own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeResidual:
    """Fit of one accepted measurement to the solution.

    Parameters
    ----------
    index : int
        Index in the sequence of measurements given to the solver.
    residual_s : float
        Measured minus solved pair offset.
    z : float
        Residual over its standard error.
    is_contradicted : bool
        Whether redundant measurements contradict it: it may be wrong.
    is_outlier : bool
        Whether it alone is to blame for the contradiction: the others agree without it, and the
        solution left it out. Contradicted without being an outlier means that it cannot be
        determined which of several measurements is wrong.
    drift_residual_ppm : float, optional
        Measured minus solved drift; None if it has none or drift is unobservable.
    """

    index: int
    residual_s: float
    z: float
    is_contradicted: bool
    is_outlier: bool = False
    drift_residual_ppm: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopClosure:
    """Sum of measured offsets around a loop of clocks; exact measurements give zero.

    Parameters
    ----------
    clocks : tuple of str
        Clocks of the loop in order.
    closure_s, closure_std_s : float
        Misclosure and its standard error.
    measurements : tuple of int
        Indices of the measurements around the loop in the sequence given to the solver.
    """

    clocks: tuple[str, ...]
    closure_s: float
    closure_std_s: float
    measurements: tuple[int, ...] = ()

    @property
    def z(self) -> float:
        """Misclosure over its standard error."""
        return self.closure_s / self.closure_std_s


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSolution:
    """All clocks of a clip on one reference time.

    Parameters
    ----------
    reference : str, optional
        Clock whose correction is zero; None if nothing could be solved.
    is_reference_stated : bool
        Whether the manifest named it (else consensus chose it).
    at_ns : int
        Reference time at which the offsets hold.
    clocks : mapping of str to ClockEstimate
        Every clock of the clip, observable or not.
    edges : tuple of EdgeResidual
        One per used measurement.
    loops : tuple of LoopClosure
        Independent loops and their misclosures.
    components : tuple of tuple of str
        Connected components of the measurement graph, largest first.
    chi2_reduced : float, optional
        Weighted residual sum per degree of freedom; None without redundancy.
    suspects : tuple of str
        Clocks that consensus would correct (also when the manifest names one of them as the
        reference): the smallest set that explains the offsets.
    jumps : mapping of str to ClockJump
        Of the clocks that step, possibly including the reference.
    step_suspects : mapping of str to ClockJump
        Of the clocks that may have stepped instead of one of these: the measurements do not decide.
    """

    reference: str | None
    is_reference_stated: bool
    at_ns: int
    clocks: Mapping[str, ClockEstimate]
    edges: tuple[EdgeResidual, ...] = ()
    loops: tuple[LoopClosure, ...] = ()
    components: tuple[tuple[str, ...], ...] = ()
    chi2_reduced: float | None = None
    suspects: tuple[str, ...] = field(default=())
    jumps: Mapping[str, ClockJump] = field(default_factory=dict)
    step_suspects: Mapping[str, ClockJump] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseStep:
    """A step of a clock between two clips of a recording, for example after a reboot.

    Parameters
    ----------
    after_ns, before_ns : int
        Middle of the last clip before and of the first clip after it, in reference time.
    step_s, step_std_s : float
        Change of the correction, and its standard error.
    """

    after_ns: int
    before_ns: int
    step_s: float
    step_std_s: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClockCourse:
    """Correction of one clock at every clip of a recording.

    Parameters
    ----------
    clock : str
        Name of the clock.
    at_ns : ndarray of int64, shape (n,)
        Middle of each clip, in order.
    offset_s, offset_std_s : ndarray, shape (n,)
        Correction there, from all clips, and its standard error.
    is_measured : ndarray of bool, shape (n,)
        Clips that measured the clock themselves; in the others it is interpolated.
    drift_ppm, drift_std_ppm : float, optional
        Steady part of its change; None with fewer than two measured clips.
    wander_s : float
        Unsteady part: one-sigma change per root second, as for a random walk.
    steps : tuple of CourseStep
        In order of time.
    """

    clock: str
    at_ns: Ints
    offset_s: Floats
    offset_std_s: Floats
    is_measured: Bools
    drift_ppm: float | None
    drift_std_ppm: float | None
    wander_s: float
    steps: tuple[CourseStep, ...] = ()

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        arrays.freeze_stamps(self, "at_ns")
        arrays.freeze_columns(self, "offset_s", "offset_std_s", n=self.at_ns.size)
        if np.asarray(self.is_measured).shape != self.at_ns.shape:
            raise ValueError(f"is_measured must have shape ({self.at_ns.size},)")

    def is_bracketed(self, k: int) -> bool:
        """Return whether clip `k` measured it, or clips on both sides with no step between did."""
        if self.is_measured[k]:
            return True
        before, after = np.flatnonzero(self.is_measured[:k]), np.flatnonzero(self.is_measured[k:])
        if not before.size or not after.size:
            return False
        first_ns, last_ns = self.at_ns[before[-1]], self.at_ns[k + after[0]]
        return not any(step.before_ns > first_ns and step.after_ns < last_ns for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOffsets:
    """Offsets shared by the clips of a data set, used to choose which clocks to trust in each.

    Parameters
    ----------
    reference : str
        Clock that they are relative to, the same one for all clips.
    offset_s : mapping of str to float
        By clock.
    """

    reference: str
    offset_s: Mapping[str, float]

    def to_json(self) -> dict[str, object]:
        """Return the object that a verdict row keeps."""
        return {"reference": self.reference, "offset_s": dict(self.offset_s)}

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> CommonOffsets:
        """Return the offsets that `to_json` wrote."""
        return cls(reference=item["reference"], offset_s=item["offset_s"])


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOffset:
    """One clock in all clips of a data set.

    Parameters
    ----------
    clock : str
        Its name.
    sources : tuple of str
        Sources that it stamps.
    offset_s, offset_std_s : float
        Offset that its clips share, relative to the set's reference, with its standard error.
    between_s : float
        Standard deviation between recordings, beyond the errors of single measurements.
    between_chance : float
        How often measurements that share one offset scatter as much.
    limit_s : float
        Tolerated offset.
    is_outside : bool
        Whether the common offset is shown to lie outside of the limit.
    n_clips : int
        Clips that have the clock.
    n_measured : int
        Of these, clips in which it was measured.
    n_agreeing : int
        Of these, clips that share the common offset.
    differing : tuple of (str, float or None)
        Clips that do not, with the offset measured there against the reference; the first ones.
    """

    clock: str
    sources: tuple[str, ...]
    offset_s: float
    offset_std_s: float
    between_s: float
    between_chance: float
    limit_s: float
    is_outside: bool
    n_clips: int
    n_measured: int
    n_agreeing: int
    differing: tuple[tuple[str, float | None], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetClocks:
    """The clocks of a data set: one reference for all clips, and their common offsets.

    Parameters
    ----------
    dataset : str, optional
        Where its clips come from, if stated in the manifest.
    n_clips : int
        Clips that were measured.
    reference : str
        Clock that offsets are relative to.
    reference_sources : tuple of str
        Sources that it stamps.
    is_undecided : bool
        Whether it is undetermined which side is wrong, the reference or those outside limits.
    clocks : tuple of CommonOffset
        Every other clock that enough recordings agree on.
    common : CommonOffsets, optional
        Input to choosing the reference of each clip; None if no clock is commonly outside its
        limit.
    """

    dataset: str | None
    n_clips: int
    reference: str
    reference_sources: tuple[str, ...]
    is_undecided: bool
    clocks: tuple[CommonOffset, ...]
    common: CommonOffsets | None = None
