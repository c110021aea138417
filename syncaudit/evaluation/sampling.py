"""Draw clips for a person to label, balanced over the verdicts, in random order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from syncaudit.model import Verdict


def quotas(counts: Mapping[Verdict, int], number: int) -> dict[Verdict, int]:
    """Return how many clips of each verdict to draw: equal shares, filled up from the others.

    There are fewer than `number` if there are not enough clips.
    """
    left = number
    found: dict[Verdict, int] = {}
    present = sorted((verdict for verdict in counts if counts[verdict]), key=counts.__getitem__)
    for k, verdict in enumerate(present):
        found[verdict] = min(counts[verdict], left // (len(present) - k))
        left -= found[verdict]
    return found


def balanced_sample(verdicts: Mapping[str, Verdict], number: int, seed: int) -> Sequence[str]:
    """Return clip ids, balanced over the verdicts, in an order that reveals nothing.

    The draw depends on the clip id, so clips added later change little of what was drawn before.
    """
    by_verdict: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
    for clip_id, verdict in verdicts.items():
        by_verdict[verdict].append(clip_id)
    wanted = quotas({verdict: len(ids) for verdict, ids in by_verdict.items()}, number)
    lots = {clip_id: _lot(clip_id, seed) for clip_id in verdicts}
    drawn = [
        clip_id
        for verdict, n in wanted.items()
        for clip_id in sorted(by_verdict[verdict], key=lots.__getitem__)[:n]
    ]
    return sorted(drawn, key=lambda clip_id: _lot(clip_id, ~seed))


def weekly_sample(
    verdicts: Mapping[str, Verdict], weeks: Mapping[str, str | None], number: int, seed: int
) -> Sequence[str]:
    """Return a balanced sample of each week in turn; clips without a week come last.

    `number` is that per week.
    """
    by_week: dict[str, dict[str, Verdict]] = defaultdict(dict)
    for clip_id, verdict in verdicts.items():
        by_week[weeks[clip_id] or "~"][clip_id] = verdict
    return [
        clip_id
        for week in sorted(by_week)
        for clip_id in balanced_sample(by_week[week], number, seed)
    ]


def _lot(clip_id: str, seed: int) -> bytes:
    return blake2b(f"{seed} {clip_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
