"""A clip that is being made: what every recorder needs of it."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.writing import replace_text

from .clocks import ClockFault, stamp, to_ns
from .config import RigConfig
from .motion import FloatArray, Motion
from .truth import SourceTruth


def write_table(
    path: Path,
    stamps_ns: NDArray[np.int64],
    columns: Mapping[str, NDArray[np.float64]],
    *,
    decimals: int = 6,
) -> None:
    """Write ``timestamp_ns`` and columns of numbers, one row a sample."""
    header = ",".join(["timestamp_ns", *columns])
    texts = [[str(stamp) for stamp in stamps_ns.tolist()]]
    texts += [[f"{value:.{decimals}f}" for value in column.tolist()] for column in columns.values()]
    lines = [header, *(",".join(row) for row in zip(*texts, strict=True))]
    replace_text(path, "\n".join(lines) + "\n")


Written = tuple[dict[str, Any], SourceTruth]
"""The manifest's fields of a source, and its truth."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draft:
    """Hold what every writer needs of a clip that is being made."""

    config: RigConfig
    folder: Path
    seed: int
    motion: Motion
    pulses_s: FloatArray
    taps_s: FloatArray

    def rng(self, part: str) -> np.random.Generator:
        """Return the random stream of one part."""
        return part_rng(self.seed, part)

    def stamps_ns(
        self, times_s: FloatArray, fault: ClockFault, rate_hz: float, part: str
    ) -> NDArray[np.int64]:
        """Return the stamps that a part's clock gives to true times."""
        rng = self.rng(f"{part} stamps")
        at_s = self.config.duration_s / 2
        stamps = stamp(times_s, fault, at_s=at_s, rate_hz=rate_hz, rng=rng)
        return to_ns(stamps, self.config.start_ns)


def part_rng(seed: int, part: str) -> np.random.Generator:
    """Return the random stream of one part: it depends on nothing but the seed and the name."""
    return np.random.default_rng([seed, zlib.crc32(part.encode())])
