"""Variants of a clip from its evidence: timestamps are changed and all pairs measured again.

Drifts, steps, lost frames and jitter change more than the offsets of pairs. They need the
evidence, which verdict rows do not keep, so a clip is decoded once, and each of its variants only
costs the estimators.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.stamps.clock import regular_times_s
from syncaudit.detectors.stamps.streams import audit_stream
from syncaudit.evaluation.change import Change, Quantity
from syncaudit.model import (
    Activity,
    CameraStream,
    ClipRecord,
    Evidence,
    RotationIncrements,
    SignalStream,
    Stream,
    nanoseconds,
)
from syncaudit.model.arrays import Bools, Floats, Ints
from syncaudit.pipeline import Examination
from syncaudit.pipeline.pairing import as_uncertain_as_stamps, measure_pairs

_Part = TypeVar("_Part", bound=Evidence)
# Fields of evidence that hold times of its source.
_TIMES = (
    "times_s", "start_s", "stop_s", "frame_s", "watched_s", "lit_s", "dead_s",
    "regular_start_s", "regular_stop_s",
)  # fmt: skip
# Parts of `ClipEvidence` whose times come from the timestamps of one source.
_PARTS = ("rotations", "image_motions", "flashes", "triggers", "taps")


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewStamps:
    """Timestamps of one source before and after a change, with lost samples."""

    old_ns: Ints  # shape (n,): in file order
    new_ns: Ints
    is_kept: Bools  # shape (n,): samples that are not lost

    def nearest(self, times_ns: Ints) -> NDArray[np.intp]:
        """Return the sample whose timestamp is nearest to each time."""
        order = np.argsort(self.old_ns, kind="stable")
        ordered = self.old_ns[order]
        after = np.clip(np.searchsorted(ordered, times_ns), 1, ordered.size - 1)
        is_before = times_ns - ordered[after - 1] < ordered[after] - times_ns
        return np.asarray(order[after - is_before], dtype=np.intp)

    def is_whole(self, first: NDArray[np.intp], last: NDArray[np.intp]) -> Bools:
        """Return whether nothing was lost between two samples."""
        lost = np.concatenate(([0], np.cumsum(~self.is_kept)))
        return np.asarray(lost[last + 1] == lost[first], dtype=np.bool_)

    def change_s(self, nearest: NDArray[np.intp]) -> Floats:
        """Return by how much samples moved, in seconds."""
        return np.asarray((self.new_ns - self.old_ns)[nearest] * 1e-9, dtype=np.float64)


def can_replay(stream: Stream, change: Change) -> bool:
    """Return whether a source can have such an error; only cameras can lose frames."""
    if stream.time_ns.size < 3:
        return False
    if change.quantity is Quantity.LOST:
        return isinstance(stream, CameraStream) and stream.time_ns.size > 2 * abs(change.amount) + 2
    return isinstance(stream, CameraStream | SignalStream)


def first_stamp_ns(record: ClipRecord) -> int:
    """Return the time at which injected drifts begin: the start of the clip's window."""
    return record.at_ns - nanoseconds(0.5 * record.span_s)


def replayed_record(
    seen: Examination, moved: Collection[str], change: Change, rng: np.random.Generator
) -> ClipRecord:
    """Return the measurements of a clip after changing the timestamps of some sources.

    All frames of its cameras have been tracked (`is_thorough`), and the moved sources `can_replay`
    the change; `rng` draws jitter.
    """
    record = seen.verdict.record
    if record is None:
        raise ValueError(f"clip '{seen.clip.clip_id}' was never measured")
    stamps = {
        name: _changed(
            seen.streams[name].time_ns, change, first_stamp_ns(record), record.at_ns, rng
        )
        for name in moved
    }
    evidence = replace(seen.evidence)
    for part in _PARTS:
        found = getattr(seen.evidence, part)
        setattr(
            evidence,
            part,
            {k: _redated(v, stamps[k]) if k in stamps else v for k, v in found.items()},
        )
    evidence.motion = {
        name: {q: _redated(a, stamps[name]) for q, a in motion.items()}
        if name in stamps
        else motion
        for name, motion in seen.evidence.motion.items()
    }
    audits = {
        name: audit_stream(_restamped(seen.streams[name], new)) for name, new in stamps.items()
    }
    measured = measure_pairs(evidence, max_offset_s=record.max_offset_s)
    return replace(
        record,
        stamps={**record.stamps, **audits},
        measurements=tuple(as_uncertain_as_stamps(measured, seen.clip, evidence)),
    )


def _changed(
    old_ns: Ints, change: Change, first_ns: int, middle_ns: int, rng: np.random.Generator
) -> _NewStamps:
    new_ns, is_kept = old_ns.copy(), np.ones(old_ns.size, dtype=np.bool_)
    middle = int(np.clip(np.searchsorted(old_ns, middle_ns), 1, old_ns.size - 1))
    match change.quantity:
        case Quantity.JITTER:
            new_ns += np.rint(1e9 * rng.normal(0.0, change.amount, old_ns.size)).astype(np.int64)
        case Quantity.OFFSET:
            new_ns -= nanoseconds(change.amount)
        case Quantity.DRIFT:
            new_ns -= np.rint(1e-6 * change.amount * (old_ns - first_ns)).astype(np.int64)
        case Quantity.STEP:
            new_ns[middle:] -= nanoseconds(change.amount)
        case Quantity.LOST:
            n = round(change.amount)
            new_ns[middle + n :] = old_ns[middle : old_ns.size - n]
            is_kept[middle : middle + n] = False
    return _NewStamps(old_ns=old_ns, new_ns=new_ns, is_kept=is_kept)


def _restamped(stream: Stream, stamps: _NewStamps) -> Stream:
    time_ns = stamps.new_ns[stamps.is_kept]
    if isinstance(stream, CameraStream):
        return replace(stream, time_ns=time_ns, n_frames_container=None, pts_s=None)
    if not isinstance(stream, SignalStream):
        return replace(stream, time_ns=time_ns)
    moves_ns = stamps.new_ns - stamps.old_ns
    return replace(
        stream,
        time_ns=time_ns,
        channels=tuple(
            replace(c, time_ns=c.time_ns + moves_ns[stamps.nearest(c.time_ns)])
            for c in stream.channels
        ),
    )


def _redated(part: _Part, stamps: _NewStamps) -> _Part:
    """Return evidence with its times moved, without parts that depend on lost samples."""
    times = {name: value for name in _TIMES if (value := getattr(part, name, None)) is not None}
    near = {name: stamps.nearest(_ns(part, value)) for name, value in times.items()}
    moved: dict[str, Floats | None] = {
        name: times[name] + stamps.change_s(near[name]) for name in times
    }
    n = next(iter(times.values())).shape[0]
    is_kept = np.ones(n, dtype=np.bool_)
    for name, places in near.items():
        if times[name].shape == (n,):
            is_kept &= stamps.is_kept[places]
    if "start_s" in times:
        is_kept &= stamps.is_whole(near["start_s"], near["stop_s"])
    if isinstance(part, Activity):  # unordered samples are dropped from signals
        time_s = times["times_s"] + stamps.change_s(near["times_s"])
        is_kept &= np.diff(np.maximum.accumulate(time_s), prepend=-np.inf) > 0.0
    if isinstance(part, RotationIncrements):
        moved |= _regular(part, stamps)
    whole = {field.name: moved.get(field.name, getattr(part, field.name)) for field in fields(part)}
    changed: dict[str, Any] = {name: None for name, value in moved.items() if value is None}
    for name, value in whole.items():
        if isinstance(value, np.ndarray) and value.shape[:1] == (n,):
            changed[name] = value[is_kept]
    return replace(part, **changed)


def _regular(part: RotationIncrements, stamps: _NewStamps) -> dict[str, Floats | None]:
    """Return the regular clock behind jittering timestamps, as the detector would find it."""
    even_s = regular_times_s(np.float64(1e-9) * (stamps.new_ns - part.epoch_ns)[stamps.is_kept])
    if even_s is None:
        return {"regular_start_s": None, "regular_stop_s": None}
    moves_s = np.zeros(stamps.old_ns.size)
    moves_s[stamps.is_kept] = even_s - (stamps.old_ns - part.epoch_ns)[stamps.is_kept] * 1e-9
    return {
        f"regular_{end}": times_s + moves_s[stamps.nearest(_ns(part, times_s))]
        for end, times_s in (("start_s", part.start_s), ("stop_s", part.stop_s))
    }


def _ns(part: Evidence, times_s: Floats) -> Ints:
    return np.asarray(part.epoch_ns + np.rint(1e9 * times_s).astype(np.int64), dtype=np.int64)
