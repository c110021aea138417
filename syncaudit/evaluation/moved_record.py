"""What would have been measured of a clip, had one of its clocks been off by a constant.

No estimator looks at absolute time: stamps that are all early by 20 ms move the offsets of their
pairs by 20 ms and change nothing else. The measurements of a clip give those of such a variant.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from syncaudit.model import ClipRecord, PairMeasurement, nanoseconds

__all__ = ["moved_record"]


def moved_record(record: ClipRecord, moved: Collection[str], offset_s: float) -> ClipRecord:
    """Return a record as if the stamps of some sources were all too early.

    What was refused stays refused; what leaves the range of the search is refused.

    Parameters
    ----------
    record : ClipRecord
        What was measured.
    moved : collection of str
        Sources whose stamps move: all those of one clock.
    offset_s : float
        What must be added to the moved stamps to undo it.
    """
    early_ns = nanoseconds(offset_s)
    return replace(
        record,
        measurements=tuple(
            _moved(pair, moved, offset_s, record.max_offset_s) for pair in record.measurements
        ),
        stamps={
            name: replace(audit, steps=tuple((at - early_ns, size) for at, size in audit.steps))
            if name in moved
            else audit
            for name, audit in record.stamps.items()
        },
        extents={
            name: (first - early_ns, last - early_ns) if name in moved else (first, last)
            for name, (first, last) in record.extents.items()
        },
    )


def _moved(
    pair: PairMeasurement, moved: Collection[str], offset_s: float, max_offset_s: float
) -> PairMeasurement:
    if pair.source not in moved:
        if pair.target not in moved:
            return pair
        return _moved(pair.turned(), moved, offset_s, max_offset_s).turned()
    early_ns = nanoseconds(offset_s)
    pair = replace(
        pair,
        evidence=None,
        excerpt=None,
        at_ns=pair.at_ns - early_ns,
        step_at_ns=None if pair.step_at_ns is None else pair.step_at_ns - early_ns,
    )
    if pair.offset_s is None or pair.target in moved:
        return pair
    after_s = pair.offset_s + offset_s
    # Clocks of other epochs are brought together first, and searched around that.
    if pair.accepted and abs(pair.offset_s) <= max_offset_s < abs(after_s):
        why = f"the offset lies beyond the {max_offset_s:g} s that are searched"
        pair = replace(pair, accepted=False, why=why)
    return replace(pair, offset_s=after_s)
