"""``keep.json``: the episodes of a LeRobot data set to train on, in the format of its tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from syncaudit.model import Clip, Verdict
from syncaudit.writing import Signature, remove_ours, replace_text

KEEP_FILE = "keep.json"

# An episode of several clips is as good as its worst clip; without a verdict it is unknown.
_WORST_FIRST = (Verdict.REJECT, None, Verdict.UNVERIFIED, Verdict.PASS)


def episode_lists(
    clips: Iterable[Clip], verdict_of: Callable[[str], str | None]
) -> list[dict[str, Any]]:
    """Return the status of the episodes of each data set that clips come from.

    For each data set, in the order of the clips: ``dataset``, ``total_episodes`` (None if
    unknown), the episode indices in ``keep``, ``reject``, ``unverified`` and ``unknown`` (without
    a verdict), and as text ``episodes`` (those to keep) and ``exclude_episodes`` (all others).
    """
    found: dict[str, dict[int, int]] = {}
    totals: dict[str, int | None] = {}
    for clip in clips:
        if clip.origin is None:
            continue
        name, episode = clip.origin.dataset, clip.origin.episode_index
        verdict = verdict_of(clip.clip_id)
        rank = _WORST_FIRST.index(None if verdict is None else Verdict(verdict))
        ranks = found.setdefault(name, {})
        ranks[episode] = min(rank, ranks.get(episode, rank))
        totals[name] = clip.origin.total_episodes or totals.get(name)
    return [_lists(name, ranks, totals[name]) for name, ranks in found.items()]


def _lists(name: str, ranks: dict[int, int], total: int | None) -> dict[str, Any]:
    unknown = _WORST_FIRST.index(None)
    # Episodes that the manifest left out (--limit, --shard) were never audited.
    ranks = {**dict.fromkeys(range(total or 0), unknown), **ranks}
    by_verdict: dict[str | None, list[int]] = {verdict: [] for verdict in _WORST_FIRST}
    for episode, rank in sorted(ranks.items()):
        by_verdict[_WORST_FIRST[rank]].append(episode)
    keep = by_verdict[Verdict.PASS]
    return {
        "dataset": name,
        "total_episodes": total,
        "keep": keep,
        "reject": by_verdict[Verdict.REJECT],
        "unverified": by_verdict[Verdict.UNVERIFIED],
        "unknown": by_verdict[None],
        "episodes": _pasted(keep),
        "exclude_episodes": _pasted(sorted(ranks.keys() - set(keep))),
    }


def _pasted(episodes: Iterable[int]) -> str:
    """Return episodes as a single command-line argument."""
    return f"[{','.join(map(str, episodes))}]"


def write_keep(clips: Iterable[Clip], verdict_of: Callable[[str], str | None], out: Path) -> None:
    """Write ``keep.json`` into `out`, unless no clip belongs to an episode.

    A single data set is written as one object, several as a list ``datasets``.
    """
    lists = episode_lists(clips, verdict_of)
    path = out / KEEP_FILE
    if not lists:
        remove_ours(path, Signature.KEEP)
        return
    text = (
        _worded(lists[0])
        if len(lists) == 1
        else '{"datasets": [\n' + ",\n".join(map(_worded, lists)) + "\n]}"
    )
    replace_text(path, f"{text}\n")


def _worded(content: Mapping[str, Any]) -> str:
    """Format an object with one key per line, since lists of episodes are long."""
    lines = (f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in content.items())
    return "{\n" + ",\n".join(lines) + "\n}"
