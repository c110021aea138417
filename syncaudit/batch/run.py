"""Audit many clips, here or on a cluster, and write the results."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from syncaudit.batch.begin import begun_run, check_outputs, make_folder, refuse_screen
from syncaudit.batch.engines import get_engine
from syncaudit.batch.execute import audited, judged
from syncaudit.batch.fingerprint import content_half
from syncaudit.batch.finish import finish
from syncaudit.batch.ledger import Ledger
from syncaudit.batch.memory import MemoryLimit
from syncaudit.batch.outputs import RowMaker, check_rows, log_defect
from syncaudit.batch.summary import BatchSummary, Progress, VerdictCounter
from syncaudit.batch.task import AuditFunction, AuditTask
from syncaudit.errors import UsageError
from syncaudit.model import Clip, ClipVerdict
from syncaudit.plugins import ESTIMATORS, versions_of
from syncaudit.policy import Policy
from syncaudit.readers.access import Roots

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)

# Judging again takes a millisecond per clip: starting workers does not pay off below this.
_FEW = 500


def run_batch(
    clips: Sequence[Clip],
    policy: Policy,
    *,
    out: str | Path,
    workers: int = 1,
    calibration: Mapping[str, object] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    to_row: RowMaker | None = None,
    timeout_s: float | None = None,
    memory_limit: str = "auto",
    about: Mapping[str, object] | None = None,
    audit: AuditFunction | None = None,
    settings: Mapping[str, object] | None = None,
    engine: str = "local",
    address: str | None = None,
    prune: bool = False,
    force: bool = False,
    roots: Roots | None = None,
) -> BatchSummary:
    """Audit `clips`, one task each, and write verdicts, split manifests, summary and report.

    Verdicts are appended to ``verdicts.jsonl`` as they arrive. A clip already listed there with the
    same fingerprint (row, policy, calibration, version, file sizes and times) is not audited again,
    so a stopped run resumes where it stopped; a clip of which only the policy has changed is judged
    again from its measurements. Ctrl-C and SIGTERM end the run early; the outputs then hold what is
    done. Clips of one recording are pooled at the end.

    Parameters
    ----------
    clips : sequence of Clip
        The manifest; clip ids are unique.
    policy : Policy
        The policy to judge by.
    out : str or Path
        Folder of the outputs; created if missing.
    workers : int
        Worker processes, each with its own clip, so that a crash costs only one clip; 0 audits in
        this process, without protection against crashes, hangs and excessive memory use.
    calibration : mapping, optional
        Known corrections (formats, section 4).
    on_progress : callable, optional
        Called in this process at the start and after every clip.
    to_row : callable, optional
        Makes manifest rows (`syncaudit.datasets.clip_to_row`). Without it
        ``passed.jsonl``, ``rejected.jsonl`` and ``unverified.jsonl`` are not written.
    timeout_s : float, optional
        Wall time after which a clip is given up with code ``timeout``; needs worker processes.
    memory_limit : str
        Memory above which a clip is given up with code ``unreadable``; needs worker processes. A
        size (``4G``), ``none``, or ``auto``: the machine's memory shared by the workers.
    about : mapping, optional
        Further entries of ``summary.json``.
    audit : callable, optional
        ``audit(clip, policy, calibration=..., **settings)``; default `syncaudit.pipeline.audit`.
        Picklable.
    settings : mapping, optional
        Further arguments of `audit` that change what is measured; part of the fingerprints.
    engine : str
        ``local`` or ``ray``.
    address : str, optional
        Address of a running Ray cluster.
    prune : bool
        Drop verdicts in `out` of clips that are not among `clips`; otherwise they are refused.
    force : bool
        Also overwrite files in `out` that syncaudit did not write.
    roots : Roots, optional
        Folders that the clips' files must lie in; by default unrestricted.

    Returns
    -------
    BatchSummary
        Counts and figures, as written to ``summary.json``.

    Raises
    ------
    UsageError
        If clip ids repeat, an argument is out of range, another run writes to `out`, or files or
        verdicts there would be lost.
    """
    _check(clips, workers, timeout_s)
    memory = MemoryLimit.parse(memory_limit)
    run_engine = partial(
        get_engine(engine, address=address), workers=workers, timeout_s=timeout_s, memory=memory
    )
    began = time.monotonic()
    started_at = datetime.now(UTC)
    folder = make_folder(out)
    manifest = (about or {}).get("manifest")
    check_outputs(folder, inputs=[manifest] if isinstance(manifest, str) else [], is_forced=force)
    refuse_screen(folder, about or {}, is_forced=force)
    if to_row is not None:
        check_rows(clips, to_row, folder)
    if audit is None:
        _check_plugins()
    task = AuditTask(
        audit=audit or _audit,
        policy=policy,
        calibration=calibration,
        settings=settings or {},
        roots=roots,
    )
    clip_ids = [clip.clip_id for clip in clips]
    stopped: str | None = None
    known = {
        "started_at": started_at.isoformat(timespec="seconds"),
        **(about or {}),
        "engine": engine,
        "calibrated": calibration is not None,
    }
    with begun_run(folder, clips, policy, known, is_pruning=prune) as ledger:
        todo, again = _sort_out(clips, ledger, task)
        kept = [v for v in map(ledger.verdict, clip_ids) if v is not None]
        counter = VerdictCounter(len(clips), on_progress, kept=kept)
        results = chain(
            judged(policy, clips, again, ledger, min(workers, len(again) // _FEW)),
            audited(task, clips, todo, run_engine, timeout_s),
        )
        try:
            with terminable():
                counter.tell()
                for clip, result in results:
                    ledger.append(clip.clip_id, result.verdict, result.fingerprint, result.line)
                    if result.trace is not None:
                        log_defect(folder, f"clip {clip.clip_id}", result.trace)
                    counter.tell(clip.clip_id, result.verdict)
        except Terminated:
            stopped = "terminated"
        except KeyboardInterrupt:
            stopped = "interrupted"
        return finish(
            clips,
            ledger,
            policy,
            {**known, "judged_again": len(again)},
            began_s=began,
            reused=len(clips) - len(todo),
            workers=min(workers, len(todo)),
            stopped=stopped,
            to_row=to_row,
        )


def _check(clips: Sequence[Clip], workers: int, timeout_s: float | None) -> None:
    clip_ids = [clip.clip_id for clip in clips]
    repeated = [name for name, n in Counter(clip_ids).items() if n > 1]
    if repeated:
        raise UsageError(
            f"clip_id '{repeated[0]}' appears more than once in the manifest",
            hint="Give every clip a unique id.",
        )
    if workers < 0:
        raise UsageError(f"workers must be 0 or more, got {workers}")
    if timeout_s is not None and not timeout_s > 0:
        raise UsageError(f"timeout must be more than 0 s, got {timeout_s}")


def _audit(clip: Clip, policy: Policy, **settings: Any) -> ClipVerdict:
    from syncaudit.pipeline import audit  # heavy, and needed by workers alone

    return audit(clip, policy, **settings)


def _check_plugins() -> None:
    """Raise plugin errors here rather than for every clip."""
    if versions_of(ESTIMATORS):
        from syncaudit.estimators import all_estimators

        all_estimators()


def _sort_out(
    clips: Sequence[Clip], ledger: Ledger, task: AuditTask
) -> tuple[list[int], list[int]]:
    """Return the clips that must be audited, and those that only need judging again.

    Earlier measurements are kept aside until they are replaced: a store that cannot be reached
    today may hold the same files tomorrow.
    """
    todo, again = [], []
    for k, clip in enumerate(clips):
        entry = ledger.entry(clip.clip_id)
        known = None if entry is None else entry.fingerprint
        line = ledger.outdated(clip.clip_id)
        kept = known or (None if line is None else json.loads(line).get("fingerprint"))
        now = task.fingerprint(clip) if kept else None
        if now is not None and now == known:
            continue
        if kept and now is not None and content_half(now) == content_half(kept):
            again.append(k)
        else:
            todo.append(k)
        ledger.outdate(clip.clip_id)
    return todo, again


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP: a scheduler, a shutdown or a lost terminal ends the run."""


@contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into an exception during a run, where they can be caught.

    Ignored signals stay ignored, as SIGHUP under nohup.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    terminals = [number for number in (1, 2) if os.isatty(number)]

    def stop(number: int, _: object) -> None:
        if number == signal.SIGHUP:
            _silence(terminals)
        raise Terminated

    before = {
        number: signal.signal(number, stop)
        for number in _SIGNALS
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _silence(terminals: list[int]) -> None:
    """Discard further output: printing to a closed terminal is an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in terminals:
        os.dup2(nowhere, number)
    os.close(nowhere)
