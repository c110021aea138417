"""Picture faults: what cameras, links and decoders put in the place of a picture."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SPOILS = ("black", "zero", "grey", "white", "covered", "grey_blocks", "half_grey", "half_repeated")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoiltPictures:
    """Describe a spell of pictures that show something else than the scene.

    Attributes
    ----------
    how : str
        One of `SPOILS`. ``black``: luma 16; ``zero``: luma 0, which is green where the chroma is
        zero as well; ``grey``: 128; ``white``: overexposed; ``covered``: a dark lens cap with the
        noise of the sensor; ``grey_blocks``: two thirds of the macroblocks are 128, as after a
        missing reference; ``half_grey``: the lower 45 % are 128, ``half_repeated``: they repeat
        one row.
    first, stop : int
        Half-open range of positions in the file.
    """

    how: str
    first: int
    stop: int

    def __post_init__(self) -> None:
        if self.how not in SPOILS:
            raise ValueError(f"how is {self.how!r}, expected one of {', '.join(SPOILS)}")
        if not 0 <= self.first < self.stop:
            raise ValueError(f"pictures {self.first} to {self.stop} are no range")

    def apply(self, luma: NDArray[np.uint8], position: int) -> NDArray[np.uint8]:
        """Return what the file shows at a position, shape (height, width)."""
        if not self.first <= position < self.stop:
            return luma
        rng = np.random.default_rng(position)
        level = {"black": 16, "zero": 0, "grey": 128}.get(self.how)
        if level is not None:
            return np.full_like(luma, level)
        if self.how == "white":
            return np.clip(luma.astype(np.int64) // 2 + 215, 0, 255).astype(np.uint8)
        if self.how == "covered":
            return np.clip(rng.normal(24.0, 4.0, luma.shape), 0, 255).astype(np.uint8)
        spoilt = luma.copy()
        cut = round(0.55 * luma.shape[0])
        if self.how == "half_grey":
            spoilt[cut:] = 128
        elif self.how == "half_repeated":
            spoilt[cut:] = luma[cut]
        else:
            blocks = rng.random((-(-luma.shape[0] // 16), -(-luma.shape[1] // 16))) < 2 / 3
            is_grey = np.kron(blocks, np.ones((16, 16), dtype=np.bool_))
            spoilt[is_grey[: luma.shape[0], : luma.shape[1]]] = 128
        return spoilt
