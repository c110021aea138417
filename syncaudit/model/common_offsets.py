"""Offsets that the clips of a data set share: a constant offset is one cause, not a hundred."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
