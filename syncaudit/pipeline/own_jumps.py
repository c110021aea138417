"""Mark the measured steps that the timestamps of one side show themselves.

Content shows a step between two clocks, not which of them stepped. One that was set while it ran
leaves a jump of the same size in its own timestamps, at the same time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from syncaudit.detectors import shows_jump
from syncaudit.model import CameraStream, PairMeasurement, SignalStream, Stream, nanoseconds
from syncaudit.model.arrays import Ints

# Instants of steps are found to about this.
_NEAR_S = 2.0


def with_own_jumps(
    measured: Iterable[PairMeasurement], streams: Mapping[str, Stream]
) -> Iterator[PairMeasurement]:
    """Yield measurements; those with a step get a figure for each side whose timestamps jump."""
    for pair in measured:
        if not pair.accepted or pair.step_s is None or pair.step_at_ns is None:
            yield pair
            continue
        reach_s = _NEAR_S + math.sqrt(3.0) * pair.diagnostics.get("step_at_std_s", 0.0)
        # What has to be added to the source grows by the step if its timestamps jump back by it.
        sides = (
            ("source", pair.source, -pair.step_s, pair.step_at_ns),
            (
                "target",
                pair.target,
                pair.step_s,
                pair.step_at_ns + nanoseconds(pair.offset_s or 0.0),
            ),
        )
        marks = {
            f"{side}_jumps": 1.0
            for side, name, size_s, near_ns in sides
            if any(
                shows_jump(
                    stamps,
                    size_s=size_s,
                    std_s=pair.step_std_s or 0.0,
                    near_ns=near_ns,
                    reach_s=reach_s,
                )
                for stamps in _signals(streams.get(name))
            )
        }
        yield replace(pair, diagnostics={**pair.diagnostics, **marks}) if marks else pair


def _signals(stream: Stream | None) -> list[Ints]:
    """Return the timestamps of every signal of a source."""
    if isinstance(stream, SignalStream):
        return [channel.time_ns for channel in stream.channels]
    return [stream.time_ns] if isinstance(stream, CameraStream) else []
