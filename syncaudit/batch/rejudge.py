"""Judge the clips of a finished run by another policy, without opening any recording."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from syncaudit.batch.begin import begun_run, check_outputs, make_folder, refuse_other_run
from syncaudit.batch.engines import ENGINES
from syncaudit.batch.execute import LazySequence
from syncaudit.batch.finish import finish
from syncaudit.batch.json_encoding import json_line
from syncaudit.batch.ledger import Ledger, VerdictFile
from syncaudit.batch.outputs import RowMaker
from syncaudit.batch.summary import (
    BatchSummary,
    Progress,
    VerdictCounter,
    read_summary,
    stated_roots,
)
from syncaudit.batch.task import JudgeTask
from syncaudit.batch.verdict_lines import verdict_at
from syncaudit.batch.worker import Lost
from syncaudit.errors import SyncAuditError, UsageError
from syncaudit.model import Clip, ClipVerdict
from syncaudit.policy import Policy
from syncaudit.writing import replace_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A clip whose verdict has changed."""

    clip_id: str
    before: str
    after: str
    why: tuple[str, ...]  # sentences: the reasons of the new verdict, or those that no longer apply


def judge_again(
    clips: Sequence[Clip],
    verdicts: VerdictFile,
    policy: Policy,
    *,
    out: str | Path,
    workers: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
    to_row: RowMaker | None = None,
    judged_from: str | None = None,
    partial: bool = False,
    prune: bool = False,
    force: bool = False,
) -> tuple[BatchSummary, list[Change]]:
    """Judge clips by `policy` and write all outputs of a run, plus ``changes.jsonl``.

    `clips` are in the order of `verdicts`, which holds the measurements; `out` is a different
    folder. 0 `workers` judge in this process. `judged_from` is the user's name of the folder of
    `verdicts`, if that is only a copy. With `partial`, `verdicts` may be part of a run, and the
    result is not marked complete either. `force` also overwrites the verdicts of another run; the
    rest is as for `run_batch`. UsageError if the policy needs a different search range than the
    clips were measured with, or files or verdicts in `out` would be lost.
    """
    began = time.monotonic()
    folder = make_folder(out)
    if folder == verdicts.path.parent.resolve():
        raise UsageError(
            f"{out} holds the verdicts that are to be judged again",
            hint="Choose another --out folder, or run 'syncaudit validate' on the same one.",
        )
    items = LazySequence(
        range(len(clips)), lambda k: (clips[k], _checked(verdicts, clips[k], policy))
    )
    counter = VerdictCounter(len(clips), on_progress)
    about = {"judged_from": judged_from or str(verdicts.path.parent)}
    stated = stated_roots(read_summary(verdicts.path.parent))
    roots = {"roots": list(stated)} if stated else {}
    check_outputs(folder, is_forced=force)
    refuse_other_run(folder, about, is_forced=force)
    with begun_run(folder, clips, policy, about, is_pruning=prune) as ledger:
        counter.tell()
        for index, value in ENGINES["local"](JudgeTask(policy=policy), items, workers=workers):
            if isinstance(value, Lost):
                raise SyncAuditError(f"a worker ended without an answer: {value}")
            clip_id = clips[index].clip_id
            ledger.append(clip_id, value.verdict, value.fingerprint, value.line)
            counter.tell(clip_id, value.verdict)
        summary = finish(
            clips,
            ledger,
            policy,
            {**about, **roots, "judged_again": len(clips)},
            began_s=began,
            reused=0,
            workers=workers,
            stopped="partial" if partial else None,
            to_row=to_row,
            with_images=False,
        )
        changes = list(_changes(clips, verdicts, ledger))
    replace_text(folder / "changes.jsonl", "".join(f"{json_line(one)}\n" for one in changes))
    return summary, changes


def _checked(verdicts: VerdictFile, clip: Clip, policy: Policy) -> str:
    """Return the line of a clip; refuse it if the policy has a different search range."""
    line = verdicts.line(clip.clip_id)
    record = verdict_at(line).record
    if record is not None and record.max_offset_s != policy.max_offset_s:
        raise UsageError(
            f"clip '{clip.clip_id}' was measured within {record.max_offset_s:g} s, but the "
            f"policy looks within {policy.max_offset_s:g} s",
            path=str(verdicts.path),
            hint="Set max_offset_s to the same value, or measure again with 'syncaudit validate'.",
        )
    return line


def _changes(clips: Sequence[Clip], verdicts: VerdictFile, ledger: Ledger) -> Iterator[Change]:
    for clip in clips:
        before, after = verdicts.entry(clip.clip_id).verdict, ledger.verdict(clip.clip_id)
        if after is None or before == after:
            continue
        reasons = _messages(next(ledger.verdicts([clip.clip_id])))
        if not reasons:
            old = verdicts.verdict(clip.clip_id)
            reasons = tuple(f"no longer: {message}" for message in _messages(old))
        yield Change(clip_id=clip.clip_id, before=before, after=after, why=reasons)


def _messages(verdict: ClipVerdict) -> tuple[str, ...]:
    return tuple(reason.message for reason in verdict.reasons)
