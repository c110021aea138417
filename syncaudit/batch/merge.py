"""Merge the outputs of shards into those of a single run."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from syncaudit.batch.begin import begun_run, check_outputs, make_folder, refuse_other_run
from syncaudit.batch.finish import finish
from syncaudit.batch.ledger import VerdictFile
from syncaudit.batch.outputs import RowMaker
from syncaudit.batch.summary import BatchSummary, stated_roots
from syncaudit.errors import UsageError
from syncaudit.model import Clip
from syncaudit.policy import Policy, policy_from_plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Outputs of one run over part of a manifest."""

    folder: Path
    name: str  # as given by the user
    clips: Sequence[Clip]  # those that have a verdict, in the order of the verdicts
    policy: Mapping[str, Any]  # as stored in the summary
    number: int | None  # index from 1 and count; None if it was not a shard
    count: int | None
    # roots that its clips were trusted within, if its summary states them
    roots: tuple[str, ...] = ()


def read_shard(folder: Path, clips: Sequence[Clip], *, name: str | None = None) -> Shard:
    """Return a shard from its ``summary.json``; `clips` are in the order of its verdicts.

    `name` is the user's name of the folder if `folder` is only a copy. UsageError if the summary
    cannot be read or the run was stopped early.
    """
    path = folder / "summary.json"
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        is_complete, policy = summary["complete"] is True, summary["policy"]
        shard = summary.get("shard") or {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            "this is not the summary of a run",
            path=str(path),
            hint="Name output folders of 'syncaudit validate'.",
        ) from error
    if not is_complete:
        raise UsageError(
            f"the run in {name or folder} was stopped early",
            path=str(path),
            hint="Run it again: it resumes where it stopped. Then merge.",
        )
    return Shard(
        folder=folder,
        name=name or str(folder),
        clips=clips,
        policy=policy,
        number=shard.get("number"),
        count=shard.get("count"),
        roots=stated_roots(summary),
    )


def merge_shards(
    shards: Sequence[Shard],
    *,
    out: str | Path,
    to_row: RowMaker | None = None,
    prune: bool = False,
    force: bool = False,
) -> BatchSummary:
    """Write the outputs of several runs as those of one.

    Shards of one manifest are merged in the order of the manifest; other runs are concatenated.
    Clips of one recording are pooled over all shards. `prune` and `force` are as for `run_batch`.
    UsageError if policies differ, clips repeat, shards are missing, or files or verdicts in `out`
    would be lost.
    """
    began = time.monotonic()
    policy = _one_policy(shards)
    clips = _in_order(shards)
    _refuse_repeated(shards)
    folder = make_folder(out)
    if any(shard.folder.resolve() == folder for shard in shards):
        raise UsageError(
            f"{out} is one of the folders to merge", hint="Choose another --out folder."
        )
    about = {"merged": [shard.name for shard in shards]}
    check_outputs(folder, is_forced=force)
    refuse_other_run(folder, about, is_forced=force)
    with begun_run(folder, clips, policy, about, is_pruning=prune) as ledger:
        for shard in shards:
            verdicts = VerdictFile(shard.folder / "verdicts.jsonl")
            for clip in shard.clips:
                entry = verdicts.entry(clip.clip_id)
                line = verdicts.line(clip.clip_id)
                ledger.append(clip.clip_id, entry.verdict, entry.fingerprint, line)
        return finish(
            clips,
            ledger,
            policy,
            {**about, **_roots(shards)},
            began_s=began,
            reused=len(clips),
            workers=0,
            to_row=to_row,
        )


def _roots(shards: Sequence[Shard]) -> dict[str, list[str]]:
    """Return the union of the shards' roots, each of which was trusted by its user."""
    if not all(shard.roots for shard in shards):
        return {}
    return {"roots": list(dict.fromkeys(place for shard in shards for place in shard.roots))}


def _one_policy(shards: Sequence[Shard]) -> Policy:
    first = shards[0]
    for shard in shards[1:]:
        if shard.policy != first.policy:
            raise UsageError(
                f"{shard.name} was judged by another policy than {first.name}",
                hint="Judge it again with 'syncaudit judge', then merge.",
            )
    return policy_from_plain(first.policy)


def _refuse_repeated(shards: Sequence[Shard]) -> None:
    places: dict[str, str] = {}
    for shard in shards:
        for clip in shard.clips:
            if clip.clip_id in places:
                raise UsageError(
                    f"clip '{clip.clip_id}' is in {places[clip.clip_id]} and in {shard.name}",
                    hint="Merge runs over different clips, each once; 'syncaudit diff' compares "
                    "two runs over the same.",
                )
            places[clip.clip_id] = shard.name


def _in_order(shards: Sequence[Shard]) -> list[Clip]:
    """Return the clips of all shards; those of one manifest are interleaved, as they were dealt."""
    count = shards[0].count
    if count is None or any(shard.count != count for shard in shards):
        return [clip for shard in shards for clip in shard.clips]
    by_number = {shard.number: shard for shard in shards}
    missing = [k for k in range(1, count + 1) if k not in by_number]
    if missing or len(by_number) < len(shards):
        what = (
            f"shard {missing[0]} of {count} is missing" if missing else "one shard is given twice"
        )
        raise UsageError(what, hint=f"Name the folders of all {count} shards, each once.")
    dealt = zip_longest(*(by_number[k].clips for k in range(1, count + 1)))
    return [clip for clip in chain.from_iterable(dealt) if clip is not None]
