"""Put two sounds on one time axis."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from syncaudit.dsp.sound import SampleClock, sample_clock
from syncaudit.model import AgreementCurve, AudioStream


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Reason why two sounds cannot be measured, and the figures behind it."""

    why: str
    figures: dict[str, float]
    agreement: AgreementCurve | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SoundPair:
    """Two sounds on one time axis: seconds after the source's epoch, the target's shifted."""

    a: AudioStream
    b: AudioStream
    clock_a: SampleClock
    clock_b: SampleClock
    epochs_s: float  # target's epoch minus source's
    start_s: float
    stop_s: float
    max_offset_s: float

    @property
    def middle_s(self) -> float:
        """Return the middle of the span that both can hold."""
        return 0.5 * (self.start_s + self.stop_s)

    @property
    def at_ns(self) -> int:
        """Return the source's timestamp of that middle."""
        return self.clock_a.epoch_ns + round(self.middle_s * 1e9)

    def part(self, start_s: float, stop_s: float) -> SoundPair:
        """Return the pair with a piece of the source's sound alone."""
        return replace(self, start_s=start_s, stop_s=stop_s)

    def halves(self) -> tuple[SoundPair, SoundPair]:
        """Return the two halves of the source's sound."""
        return self.part(self.start_s, self.middle_s), self.part(self.middle_s, self.stop_s)

    def widened(self, limit_s: float) -> SoundPair | None:
        """Return the pair with all offsets, up to a limit, at which a second overlaps.

        None if it has them.
        """
        lengths = (s.samples.size / s.rate_hz for s in (self.a, self.b))
        reach_s = min(limit_s, max(lengths) + abs(self.epochs_s) - 1.0)
        if reach_s <= self.max_offset_s:
            return None
        wide = SoundPair.of(self.a, self.b, reach_s)
        return None if isinstance(wide, str) else wide

    def at_offset(self, offset_s: float, more_s: float) -> SoundPair:
        """Return the part that both hold at an offset, and offsets up to `more_s` beyond it."""
        late_s = self.epochs_s - offset_s
        ends = (
            min(
                self.clock_a.at(self.a.samples.size), self.clock_b.at(self.b.samples.size) + late_s
            ),
            max(self.clock_a.at(0), self.clock_b.at(0) + late_s),
        )
        return replace(self, start_s=ends[1], stop_s=ends[0], max_offset_s=abs(offset_s) + more_s)

    @classmethod
    def of(cls, a: AudioStream, b: AudioStream, max_offset_s: float) -> SoundPair | str:
        """Put two sounds on one axis, or return why that is impossible."""
        for stream in (a, b):
            if stream.rate_hz <= 0.0 or stream.samples.size == 0:
                return f"{stream.name} holds no audio"
            x = stream.samples[:: max(1, stream.samples.size // 1_000_000)]
            if not np.any(np.isfinite(x) & (x != x[0])):
                return f"{stream.name} is silent"
        clock_a, clock_b = sample_clock(a), sample_clock(b)
        epochs_s = (clock_b.epoch_ns - clock_a.epoch_ns) * 1e-9
        # Samples of the source that the target can hold at some allowed offset.
        start = max(clock_a.at(0), clock_b.at(0) + epochs_s - max_offset_s)
        stop = min(clock_a.at(a.samples.size), clock_b.at(b.samples.size) + epochs_s + max_offset_s)
        overlap = min(clock_a.at(a.samples.size), clock_b.at(b.samples.size) + epochs_s) - max(
            clock_a.at(0), clock_b.at(0) + epochs_s
        )
        if stop - start < 1.0 or overlap < -max_offset_s:
            return (
                f"the timestamps of {a.name} and {b.name} do not overlap within {max_offset_s:g} "
                f"s ({overlap:.3g} s in common)"
            )
        return cls(
            a=a,
            b=b,
            clock_a=clock_a,
            clock_b=clock_b,
            epochs_s=epochs_s,
            start_s=max(clock_a.at(0), min(start, stop)),
            stop_s=stop,
            max_offset_s=max_offset_s,
        )


def ratio_of_rates(stream: AudioStream, rate_hz: float) -> Fraction:
    """Return the ratio by which to resample a sound to `rate_hz`."""
    return Fraction(rate_hz / stream.rate_hz).limit_denominator(1000)
