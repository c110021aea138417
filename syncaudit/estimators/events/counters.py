"""Tell counters of flashes that are sent at every flash from those that are sent every so often.

A counter that rose between two messages says an interval. Where the message goes out *because* it
rose, its stamp dates the flash; taken for an interval in which the flash may lie anywhere, it
would place the clock half an interval late.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.stats import binom

from syncaudit.estimators.events.instants import EventEvidence, instants_of
from syncaudit.estimators.events.matching import match_events
from syncaudit.estimators.events.pair_fit import EventMatch, gates_s
from syncaudit.model import EventTrain, FlashIntervals, Quantity

__all__ = ["MESSAGE_STD_S", "match_messages", "messages_of", "sent_at_flashes"]

# From a flash to the message that counts it: interrupt, queue and arbitration of a bus.
MESSAGE_STD_S = 2e-4
# Share of the shorter train that must match where messages are read as flashes: of messages that
# are sent every so often, chance matches a few.
MIN_WHOLE = 0.6
# Chance that messages which are sent every so often follow so many flashes alike.
MAX_CHANCE = 1e-3


def messages_of(evidence: EventEvidence) -> EventTrain | None:
    """Return the messages with which a strobe counter rose by one; None for anything else."""
    if not isinstance(evidence, FlashIntervals) or evidence.quantity is not Quantity.STROBE:
        return None
    single = evidence.count == 1
    if not single.any():
        return None
    return EventTrain(
        source=evidence.source,
        quantity=evidence.quantity,
        epoch_ns=evidence.epoch_ns,
        times_s=evidence.stop_s[single],
        std_s=np.maximum(evidence.std_s[single], MESSAGE_STD_S),
    )


def match_messages(
    source: EventEvidence, target: EventEvidence, *, max_offset_s: float
) -> EventMatch | None:
    """Match a counter's messages with the flashes that another source dates.

    Parameters
    ----------
    source, target : FlashEdges, FlashIntervals or EventTrain
        One of both a strobe counter, the other none.
    max_offset_s : float
        Largest offset searched for, either sign.

    Returns
    -------
    EventMatch or None
        None where there is no counter, or most of its messages follow no flash.
    """
    if isinstance(source, FlashIntervals) == isinstance(target, FlashIntervals):
        return None
    one, other = messages_of(source), messages_of(target)
    if one is None and other is None:
        return None
    match = match_events(
        instants_of(one or source), instants_of(other or target), max_offset_s=max_offset_s
    )
    is_whole = match.n >= MIN_WHOLE * min(match.source.n, match.target.n)
    is_sent = match.why is None and _chance_alike(source, target, match) <= MAX_CHANCE
    return match if is_whole and is_sent else None


def _chance_alike(source: EventEvidence, target: EventEvidence, match: EventMatch) -> float:
    """Return how likely messages that are sent every so often keep one distance from the flashes.

    The first to match sets it; each other flash lies anywhere between two messages.
    """
    counter = source if isinstance(source, FlashIntervals) else target
    if not isinstance(counter, FlashIntervals):
        return 1.0
    between_s = float(np.median(counter.stop_s - counter.start_s))
    gate_s = 2.0 * float(np.mean(gates_s(match.source, match.target, match.i, match.j)))
    share = min(1.0, gate_s / max(between_s, gate_s))
    n_others = min(match.source.n, match.target.n) - 1
    return float(min(1.0, binom.sf(match.n - 2, n_others, share) / share))


def sent_at_flashes(
    evidence: EventEvidence, others: Iterable[EventEvidence], *, max_offset_s: float
) -> EventTrain | None:
    """Return the messages of a counter as events, if they follow the flashes that others date.

    Parameters
    ----------
    evidence : FlashEdges, FlashIntervals or EventTrain
        Only strobe counters are looked at.
    others : iterable of FlashEdges, FlashIntervals or EventTrain
        Evidence of other sources.
    max_offset_s : float
        Largest offset searched for, either sign.
    """
    messages = messages_of(evidence)
    if messages is None:
        return None
    if any(match_messages(evidence, other, max_offset_s=max_offset_s) for other in others):
        return messages
    return None
