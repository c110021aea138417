"""Reject matches under which a camera misses flashes that it must have seen.

If a camera did not see a flash, the flash fell between its exposures. Such intervals are as long as
the dead time of a frame, and band edges date flashes a thousand times better, so they add nothing
to the estimate of a clock. But a match that is off by one pulse of a burst, because two cameras
never see the same pulse, pairs most of their events and passes every significance test. It also
puts flashes into the full view of a camera that shows none there, scattered over the recording.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.estimators.events import EventEvidence, Instants, band_height_px
from syncaudit.model import EventTrain, FlashEdges, FlashIntervals
from syncaudit_calibration.links import Links

__all__ = ["Missed", "drop_contradicted", "find_missed", "reach_s", "views_of"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Margin, as a fraction of an image's rows or of an exposure, in which edges need not be detected.
BORDER = 0.2
# Bands of pulses closer than this may overlap and need not be detected.
ALONE_S = 0.015
# An event this near is taken as the expected flash, whatever it was matched with.
NEAR_S = 3e-3
# Maximum error of the time of a flash, in standard errors.
MAX_SIGMAS = 3.0
# A detector misses up to a third of the flashes (short exposures, several pulses per frame). An
# occlusion or a clock step causes only few runs of missed flashes. A match that is off by a pulse
# misses more, throughout the recording; or fewer, but in both cameras.
MAX_UNSEEN = 0.35
MAX_RUNS = 0.25
MAX_OF_BOTH = 0.4
MIN_RUNS = 3
# Fully lit frames are hardly ever missed, but their intervals fit more flashes.
WHOLE_PART = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Counts of seen and missed flashes in a camera's full view.

    Parameters
    ----------
    n_seen, n_unseen : int
        Number of flashes that the camera shows, and that it does not.
    n_runs : int
        Number of runs of missed flashes, in time order.
    is_whole : bool
        Whether the light fills the frames that show it (global shutter).
    """

    n_seen: int
    n_unseen: int
    n_runs: int
    is_whole: bool = False

    def exceeds(self, part: float = 1.0) -> bool:
        """Return whether more are missed than this fraction of a correct match's maximum."""
        if self.is_whole:
            part = part * WHOLE_PART
        return (
            self.n_runs >= MIN_RUNS
            and self.n_unseen > part * MAX_UNSEEN * (self.n_seen + self.n_unseen)
            and self.n_runs > part * MAX_RUNS * (self.n_seen + self.n_runs)
        )

    def words(self, name: str) -> str:
        """Describe the contradiction."""
        return (
            f"of {self.n_seen + self.n_unseen} flashes in full view of {name} it shows "
            f"{self.n_seen}: the match may be off by one pulse"
        )


def drop_contradicted(
    items: Mapping[str, EventEvidence], events: Mapping[str, Instants], links: Links
) -> None:
    """Remove matches under which a camera would miss too many flashes.

    Parameters
    ----------
    items : mapping of str to FlashEdges, FlashIntervals or EventTrain
        Evidence by source.
    events : mapping of str to Instants
        Their events.
    links : Links
        Changed: contradicted matches become reasons.
    """
    confirmed: dict[str, dict[str, Bools]] = {name: {} for name in events}
    for (one, other), match in links.matches.items():
        for name, peer, index in ((one, other, match.i), (other, one, match.j)):
            mask = np.zeros(events[name].n, dtype=np.bool_)
            mask[index] = True
            confirmed[name][peer] = mask
    for (one, other), match in list(links.matches.items()):
        fit = match.fit
        if fit is None:
            continue
        own = {
            one: events[one].at(fit.source),
            other: events[other].at(fit.target),
        }
        line_s = {
            one: events[one].line_delay_s + fit.source.line_delay_s,
            other: events[other].line_delay_s + fit.target.line_delay_s,
        }
        sure: list[tuple[str, Missed]] = []
        plain: list[Missed] = []
        for name, peer in ((one, other), (other, one)):
            masks = [mask for third, mask in confirmed[peer].items() if third != name]
            # Only sources that see lights go off show their ends, and their views are empty.
            goes_on = events[peer].senses >= 0
            is_confirmed = np.any([np.zeros(goes_on.size, np.bool_), *masks], axis=0)[goes_on]
            # From the peer's time to that of the camera being tested.
            flashes_s = fit.predict(own[peer]) if peer == one else fit.source_of(own[peer])
            flashes_s = flashes_s[goes_on]
            views_s = views_of(items[name], line_s[name])
            half_s, seen = reach_s(events[peer])[goes_on], (own[name], reach_s(events[name]))
            is_whole = isinstance(items[name], FlashIntervals)
            certain = flashes_s[is_confirmed], half_s[is_confirmed]
            sure.append((name, find_missed(views_s, certain, seen, is_whole=is_whole)))
            plain.append(find_missed(views_s, (flashes_s, half_s), seen, is_whole=is_whole))
        for (name, missed), back in zip(sure, reversed(plain), strict=True):
            if missed.exceeds() or (missed.exceeds(MAX_OF_BOTH) and back.exceeds(MAX_OF_BOTH)):
                links.matches.pop((one, other), None)
                links.reasons[one, other] = missed.words(name)
                links.contradicted |= {one, other}


def find_missed(
    views_s: Floats,
    flashes: tuple[Floats, Floats],
    seen: tuple[Floats, Floats],
    *,
    is_whole: bool = False,
) -> Missed:
    """Count the seen and missed flashes in view, all in the camera's own time.

    Parameters
    ----------
    views_s : ndarray, shape (m, 2)
        From `views_of`.
    flashes : tuple of ndarray, shape (n,)
        Times of certain flashes, and their maximum errors.
    seen : tuple of ndarray, shape (k,)
        Times of the camera's events, and their maximum errors.
    is_whole : bool
        Whether the light fills the frames (global shutter).
    """
    if not views_s.size or not flashes[0].size:
        return Missed(n_seen=0, n_unseen=0, n_runs=0, is_whole=is_whole)
    order = np.argsort(flashes[0], kind="stable")
    gaps_s = np.concatenate([[np.inf], np.diff(flashes[0][order]), [np.inf]])
    order = order[np.minimum(gaps_s[:-1], gaps_s[1:]) > ALONE_S]
    flashes_s, half_s = flashes[0][order, None], flashes[1][order, None]
    in_view = np.any(
        (flashes_s - half_s > views_s[:, 0]) & (flashes_s + half_s < views_s[:, 1]), axis=1
    )
    near = np.abs(flashes_s - seen[0]) < NEAR_S + half_s + seen[1]
    unseen = ~np.any(near[in_view], axis=1)
    first = unseen & ~np.concatenate([[False], unseen[:-1]])[: unseen.size]
    return Missed(
        n_seen=int((~unseen).sum()),
        n_unseen=int(unseen.sum()),
        n_runs=int(first.sum()),
        is_whole=is_whole,
    )


def reach_s(events: Instants) -> Floats:
    """Return the maximum errors of the times of events, including timestamp jitter."""
    return events.half_s + MAX_SIGMAS * events.std_s


def views_of(item: EventEvidence, line_delay_s: float) -> Floats:
    """Return the intervals of own time in which a flash must be visible, shape (m, 2).

    Empty for sources other than cameras, if the exposure is neither stated nor visible, and for
    lights that stay on: they make edges only in rows that are exposed while they switch.

    Parameters
    ----------
    item : FlashEdges, FlashIntervals or EventTrain
        Evidence.
    line_delay_s : float
        Current estimate.
    """
    nothing = np.empty((0, 2))
    sense = None if isinstance(item, EventTrain) else item.sense
    if sense is not None and np.any(sense < 0):
        return nothing
    if isinstance(item, FlashIntervals):
        between = np.stack([item.dead_s[:-1, 1], item.dead_s[1:, 0]], axis=1)
        length_s = np.diff(between, axis=1)[:, 0]
        # If frames are missing, more than one exposure lies between two dead times.
        views: Floats = between[length_s < 1.5 * np.median(length_s)] if length_s.size else nothing
        # Other sources date a flash only to a fraction of an exposure.
        inner: Floats = views + BORDER * np.diff(views, axis=1) * np.array([1.0, -1.0])
        return inner
    height = band_height_px(item) if isinstance(item, FlashEdges) else None
    if not isinstance(item, FlashEdges) or (height is None and item.exposure_s is None):
        return nothing
    # Bands are as high as the longer of light and exposure is long.
    if height is not None:
        band_s = height[0] * line_delay_s
    else:
        band_s = max(item.exposure_s or 0.0, 2.0 * (item.half_light_s or 0.0))
    exposure_s = band_s if item.exposure_s is None else item.exposure_s
    readout_s = item.height_px * line_delay_s
    middle_s = item.stamp_part * (exposure_s + readout_s) - item.from_stamp_s
    frame_s = np.unique(item.watched_s) + middle_s
    # One of the two edges lies in the image, far enough from its border.
    first_s, last_s = np.array(item.view_px) * line_delay_s
    border_s = BORDER * (last_s - first_s)
    inner_s = np.array([first_s + border_s, last_s - border_s])
    edges_s = [frame_s + sign * 0.5 * band_s for sign in (1.0, -1.0)]
    return np.concatenate([edge[:, None] + inner_s for edge in edges_s])
