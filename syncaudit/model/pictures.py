"""What is wrong with the pictures of one camera, as far as they show it themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

__all__ = ["PictureAudit", "PictureFault", "PictureSpell"]


class PictureFault(StrEnum):
    """Ways in which pictures train nothing."""

    FROZEN = "frozen"  # the same picture again although time goes on
    BLANK = "blank"  # one colour: black, grey, green, white
    COVERED = "covered"  # noise, and nothing behind it
    WHITE = "white"  # nearly all pixels clipped
    GREY = "grey"  # large parts in the grey that decoders put where they have nothing
    HALF = "half"  # the lower rows repeat one row
    DAMAGED = "damaged"  # the decoder had to conceal damage, or what it refers to was damaged
    UNDECODED = "undecoded"  # no picture came out
    SIZE = "size"  # another size than the first picture


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureSpell:
    """A run of pictures with one fault.

    Parameters
    ----------
    fault : PictureFault
        What is wrong.
    first, last : int
        Positions in the file of the first and last of them.
    frames : int
        How many of the pictures between show it.
    start_s, stop_s : float
        Their stamps, counted from the first picture looked at.
    duration_s : float
        Frames times the usual period: does not depend on doubtful stamps.
    level : float, optional
        Luma, of blank and covered pictures.
    """

    fault: PictureFault
    first: int
    last: int
    frames: int
    start_s: float
    stop_s: float
    duration_s: float
    level: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureAudit:
    """Faults of the pictures of one camera.

    Parameters
    ----------
    frames : int
        Pictures decoded.
    counts : mapping of str to int
        Pictures with each fault, where there are any.
    spells : tuple of PictureSpell
        In order of time; of each fault at most 20, the longest.
    errors : int
        Packets and picture files that could not be decoded.
    first_error : str, optional
        What was wrong with the first of them.
    new_share : float, optional
        Share of frames that show a new picture, where the camera is slower than the file and its
        pictures are repeated to fill it up; those repeats are no fault of single frames.
    light : float, optional
        Median over the pictures of their mean luma, 0 to 255.
    """

    frames: int
    counts: Mapping[str, int] = field(default_factory=dict)
    spells: tuple[PictureSpell, ...] = ()
    errors: int = 0
    first_error: str | None = None
    new_share: float | None = None
    light: float | None = None

    def of(self, fault: PictureFault) -> tuple[PictureSpell, ...]:
        """Return the spells of one fault."""
        return tuple(spell for spell in self.spells if spell.fault is fault)

    def to_json(self) -> dict[str, object]:
        """Return what `from_json` takes."""
        return {
            "frames": self.frames,
            "counts": dict(self.counts),
            "spells": [asdict(spell) | {"fault": str(spell.fault)} for spell in self.spells],
            "errors": self.errors,
            "first_error": self.first_error,
            "new_share": self.new_share,
            "light": self.light,
        }

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> PictureAudit:
        """Return the audit that `to_json` wrote."""
        spells = tuple(
            PictureSpell(**{**spell, "fault": PictureFault(spell["fault"])})
            for spell in item["spells"]
        )
        return cls(**{**item, "spells": spells})
