"""A clip in preparation: shared state of all recorders, and table output."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.writing import replace_text

from .clocks import NS_PER_S, ClockFault, stamp, to_ns
from .config import RigConfig
from .frame_faults import FrameFault
from .motion import FloatArray, Motion
from .truth import SourceTruth, Step

Written = tuple[dict[str, Any], SourceTruth]
"""Manifest fields of a source, and its truth."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draft:
    """Hold what every recorder needs to know about a clip in preparation."""

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
        """Return the timestamps that a part's clock assigns to true times."""
        rng = self.rng(f"{part} stamps")
        at_s = self.config.duration_s / 2
        stamps = stamp(times_s, fault, at_s=at_s, rate_hz=rate_hz, rng=rng)
        return to_ns(stamps, self.config.start_ns)

    def truth(
        self,
        kind: str,
        clock: ClockFault,
        n_samples: int,
        n_stamps: int | None = None,
        *,
        frames: FrameFault | None = None,
        slips: tuple[Step, ...] = (),
    ) -> SourceTruth:
        """Return the truth given the faults of a source (as many timestamps as samples)."""
        frames = frames or FrameFault()
        steps = [*slips]
        if clock.step_by_s:
            steps.append(Step(at_ns=self._ns(clock.step_at_s), by_s=clock.step_by_s))
        return SourceTruth(
            kind=kind,
            n_samples=n_samples,
            n_stamps=n_samples if n_stamps is None else n_stamps,
            offset_s=clock.typical_offset_s,
            floor_offset_s=clock.offset_s,
            drift_ppm=clock.drift_ppm,
            steps=tuple(sorted(steps, key=lambda step: step.at_ns)),
            jitter_std_s=clock.jitter_std_s,
            delay_mean_s=clock.delay_mean_s,
            is_synthetic=clock.is_synthetic,
            gaps_ns=tuple((self._ns(first), self._ns(last)) for first, last in clock.gaps_s),
            duplicate_stamps=clock.duplicate_stamps,
            backwards_stamps=clock.backwards_stamps,
            dropped=frames.dropped,
            doubled=frames.doubled,
            drop_mode=frames.drop_mode if frames.dropped else None,
            frozen=frames.frozen,
            spoilt=tuple((spell.how, spell.first, spell.stop) for spell in frames.spoilt),
        )

    def _ns(self, time_s: float) -> int:
        return self.config.start_ns + round(time_s * NS_PER_S)


def part_rng(seed: int, part: str) -> np.random.Generator:
    """Return the random stream of one part, which depends only on the seed and the name."""
    return np.random.default_rng([seed, zlib.crc32(part.encode())])


def write_table(
    path: Path,
    stamps_ns: NDArray[np.int64],
    columns: Mapping[str, FloatArray],
    *,
    decimals: int = 6,
) -> None:
    """Write ``timestamp_ns`` and columns of numbers, one row per sample."""
    header = ",".join(["timestamp_ns", *columns])
    texts = [[str(stamp) for stamp in stamps_ns.tolist()]]
    texts += [[f"{value:.{decimals}f}" for value in column.tolist()] for column in columns.values()]
    lines = [header, *(",".join(row) for row in zip(*texts, strict=True))]
    replace_text(path, "\n".join(lines) + "\n")
