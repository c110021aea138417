"""Changes injected into a clock, and their notation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from syncaudit.errors import UsageError
from syncaudit.formatting import word_count, word_direction, word_duration


class Quantity(StrEnum):
    """Injected quantity; the values are keys of ``truth.jsonl``."""

    OFFSET = "offset_s"
    DRIFT = "drift_ppm"
    STEP = "step_s"
    JITTER = "jitter_s"
    LOST = "lost_frames"

    @property
    def word(self) -> str:
        """Name shown to people."""
        return {Quantity.LOST: "frames lost"}.get(self, self.value.partition("_")[0])

    @property
    def is_signed(self) -> bool:
        """Whether the two signs are different errors."""
        return self in (Quantity.OFFSET, Quantity.DRIFT, Quantity.STEP)

    def worded(self, size: float) -> str:
        """Return a size with its unit."""
        if self is Quantity.DRIFT:
            return f"{size:.3g} ppm" if size < 1000.0 else f"{size:.0f} ppm"
        if self is Quantity.LOST:
            return word_count(round(size), "frame")
        return word_duration(round(size, 9))  # timestamps are whole nanoseconds


# Notation on the command line: name, largest size, and the factor to base units.
_WRITTEN = {
    "offset": (Quantity.OFFSET, 10_000.0, 1e-3),
    "drift": (Quantity.DRIFT, 1000.0, 1.0),
    "step": (Quantity.STEP, 10_000.0, 1e-3),
    "jitter": (Quantity.JITTER, 1000.0, 1e-3),
    "lost": (Quantity.LOST, 1000.0, 1.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of a clock, expressed as the correction that undoes it."""

    # A constant offset, a drift from the first timestamp, a step in the middle of the clip, jitter
    # of every timestamp, or frames lost in the middle, with the rest renumbered.
    quantity: Quantity = Quantity.OFFSET
    # In the unit of the quantity. If signed, positive means that the timestamps become too early
    # and the clock too slow.
    amount: float

    @property
    def size(self) -> float:
        """Absolute amount."""
        return abs(self.amount)

    @property
    def offset_s(self) -> float:
        """The offset; 0 for other quantities."""
        return self.amount if self.quantity is Quantity.OFFSET else 0.0

    @property
    def drift_ppm(self) -> float:
        """The drift; 0 for other quantities."""
        return self.amount if self.quantity is Quantity.DRIFT else 0.0

    @property
    def name(self) -> str:
        """The change as part of an id: ``20ms_early``, ``50ppm_slow``, ``2frames_lost``."""
        size = self.quantity.worded(self.size).replace(" ", "")
        match self.quantity:
            case Quantity.DRIFT:
                return f"{size}_{'slow' if self.amount > 0.0 else 'fast'}"
            case Quantity.LOST:
                return f"{size}_lost"
            case Quantity.JITTER:
                return f"{size}_jitter"
            case Quantity.STEP:
                return f"step_{size}_{word_direction(self.amount)}"
        return f"{size}_{word_direction(self.amount)}"


def parse_changes(words: Sequence[str]) -> list[Change]:
    """Parse changes written as ``offset=5,10``, ``drift=50`` ...

    Both signs are returned where these are different errors. Offsets, steps and jitter are in ms,
    drifts in ppm, losses in frames. UsageError if one cannot be parsed.
    """
    sizes: dict[tuple[Quantity, float], None] = {}
    for word in words:
        name, _, listed = word.partition("=")
        if name.strip() not in _WRITTEN:
            raise UsageError(
                f"'{word}' names no error to inject",
                hint=f"Expected {', '.join(f'{name}=SIZES' for name in _WRITTEN)}.",
            )
        quantity, most, scale = _WRITTEN[name.strip()]
        for part in filter(None, map(str.strip, listed.split(","))):
            size = _size(part)
            if not 0.0 < size <= most or (quantity is Quantity.LOST and size != round(size)):
                raise UsageError(
                    f"{name.strip()} holds '{part}', expected a number above 0, {most:g} at most",
                    hint="For example offset=5,10,20 (ms), drift=50 (ppm), lost=2 (frames).",
                )
            sizes[quantity, size * scale] = None
    return [
        Change(quantity=quantity, amount=sign * size)
        for quantity, size in sizes
        for sign in ((1.0, -1.0) if quantity.is_signed else (1.0,))
    ]


def _size(text: str) -> float:
    try:
        return abs(float(text))
    except ValueError:
        return 0.0
