"""Tell counters that are sent at every flash from those that are sent every so often.

A counter of flashes that rose between two messages says an interval. Where the message goes out
*because* it rose, its stamp is the flash: the ends of the intervals then follow the flashes that
others date by a constant, while the intervals are wide. Taken for intervals in which the flash may
lie anywhere, they would place the clock half an interval late.
"""

from __future__ import annotations

import numpy as np

from syncaudit.dsp.robust import mad_std
from syncaudit.estimators.events import EventEvidence
from syncaudit.model import EventTrain, FlashIntervals, Quantity
from syncaudit_calibration.adjustment import Adjustment
from syncaudit_calibration.observations import Observations

__all__ = ["LATENCY_STD_S", "sent_on_change"]

# From the flash to the message: interrupt, queue and arbitration of a bus at 500 kbit/s.
LATENCY_STD_S = 2e-4
MIN_DATED = 8
# Ends of intervals that flashes fall into anywhere scatter by 0.29 of their widths.
MAX_SHARE = 0.05
N_ITERATIONS = 4
MAX_Z = 4.0


def sent_on_change(
    item: EventEvidence, observations: Observations, adjustment: Adjustment
) -> EventTrain | None:
    """Return the messages of a counter as events, if each was sent because of its flash.

    Parameters
    ----------
    item : FlashEdges or FlashIntervals or EventTrain
        Evidence of one source; only strobe counters are looked at.
    observations, adjustment
        Of a first solution with intervals.

    Returns
    -------
    EventTrain or None
        None where the flashes lie anywhere in the intervals, or too few are dated by others.
    """
    if not isinstance(item, FlashIntervals) or item.quantity is not Quantity.STROBE:
        return None
    own = observations.source == observations.sources.index(item.source)
    is_dated = np.zeros(observations.flash_s.size, dtype=np.bool_)
    is_dated[observations.flash[observations.half_s == 0.0]] = True
    own &= is_dated[observations.flash]
    if int(own.sum()) < MIN_DATED:
        return None
    after_s = observations.u_s[own]
    ends = after_s + observations.half_s[own] - adjustment.flash_s[observations.flash[own]]
    lever = after_s - after_s.mean()
    keep = np.ones(ends.size, dtype=np.bool_)
    scatter_s = np.inf
    for _ in range(N_ITERATIONS):
        slope, level = np.polyfit(lever[keep], ends[keep], 1)
        off = ends - level - slope * lever
        scatter_s = mad_std(off)
        keep = np.abs(off) <= MAX_Z * max(scatter_s, 1e-6)
        if int(keep.sum()) < MIN_DATED:
            return None
    width_s = 2.0 * float(np.median(observations.half_s[own]))
    if scatter_s > MAX_SHARE * width_s or int(keep.sum()) < 0.8 * keep.size:
        return None
    single = item.count == 1
    times = item.stop_s[single]
    return EventTrain(
        source=item.source,
        quantity=item.quantity,
        epoch_ns=item.epoch_ns,
        times_s=times,
        std_s=np.hypot(item.std_s[single], scatter_s),
        strengths=np.ones(times.size),
    )
