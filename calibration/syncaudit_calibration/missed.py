"""Reject matches under which a camera misses flashes that it must have seen.

A match that is off by one pulse of a burst, because two cameras never see the same pulse, pairs
most of their events and passes every significance test. But it puts flashes into the full view of a
camera that shows none there, scattered over the recording.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from syncaudit.estimators.events import Instants
from syncaudit.estimators.events.missed import count_missed, why_contradicted
from syncaudit_calibration.links import Links

__all__ = ["drop_contradicted"]

Bools = NDArray[np.bool_]


def drop_contradicted(events: Mapping[str, Instants], links: Links) -> None:
    """Remove matches under which a camera would miss too many flashes.

    A flash is certain where a third source shows it as well; others count if both sources of a
    match miss some of them.

    Parameters
    ----------
    events : mapping of str to Instants
        Events by source.
    links : Links
        Changed: contradicted matches become reasons.
    """
    confirmed: dict[str, dict[str, Bools]] = {name: {} for name in events}
    for (one, other), match in links.matches.items():
        for name, peer, index in ((one, other, match.i), (other, one, match.j)):
            mask = np.zeros(events[name].n, dtype=np.bool_)
            mask[index] = True
            confirmed[name][peer] = mask
    for pair, match in list(links.matches.items()):
        if match.fit is None:
            continue
        source, target = (events[name] for name in pair)
        of_source, of_target = (
            np.any([np.zeros(events[name].n, np.bool_), *_by_third(confirmed[name], pair)], axis=0)
            for name in pair
        )
        certain = count_missed(source, target, match.fit, of_source=of_source, of_target=of_target)
        why = next(
            (own.words(name) for name, own in zip(pair, certain, strict=True) if own.exceeds()),
            why_contradicted(source, target, match.fit),
        )
        if why is not None:
            links.matches.pop(pair)
            links.reasons[pair] = why
            links.contradicted |= set(pair)


def _by_third(masks: Mapping[str, Bools], pair: tuple[str, str]) -> list[Bools]:
    """Return which events sources other than the pair confirm."""
    return [mask for third, mask in masks.items() if third not in pair]
