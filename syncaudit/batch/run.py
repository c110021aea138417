"""Audit many clips, here or on a cluster, and write what comes out."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from syncaudit import __version__
from syncaudit.batch.engines import Engine, engine_called
from syncaudit.batch.fingerprint import content_half, fingerprint_of
from syncaudit.batch.finish import RunFacts, finish
from syncaudit.batch.ledger import Ledger
from syncaudit.batch.outputs import RowMaker
from syncaudit.batch.picked import Picked
from syncaudit.batch.pool import Lost
from syncaudit.batch.summary import BatchSummary, Progress, VerdictCounter
from syncaudit.batch.task import AuditFunction, AuditTask, JudgeTask, TaskResult, failed_result
from syncaudit.errors import UsageError
from syncaudit.model import Clip, ReasonCode
from syncaudit.policy import Policy
from syncaudit.readers.uris import is_url

__all__ = ["check_unique", "make_folder", "run_batch"]

# Judging again takes a millisecond a clip: fewer are not worth starting workers for.
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
    about: Mapping[str, object] | None = None,
    audit: AuditFunction | None = None,
    engine: str = "local",
    address: str | None = None,
) -> BatchSummary:
    """Audit `clips`, one task each, and write verdicts, split manifests, summary and report.

    Verdicts are appended to ``verdicts.jsonl`` as they come. A clip that stands there already
    with the same fingerprint (row, policy, calibration, version, file sizes and times) is not
    audited again, so a run that was stopped goes on where it stopped; one of which only the
    policy has changed is judged again by what was measured. Ctrl-C and SIGTERM end the run early;
    the outputs then hold what is done. Clips of one recording are pooled at the end.

    Parameters
    ----------
    clips : sequence of Clip
        The manifest; clip ids are unique.
    policy : Policy
        What is judged by.
    out : str or Path
        Folder of the outputs; made where missing.
    workers : int
        Worker processes, each with its own clip, so that a crash costs one clip only; 0 audits
        in this process, without protection against crashes and hangs.
    calibration : mapping, optional
        Known corrections (formats, section 4).
    on_progress : callable, optional
        Called in this process at the start and after every clip.
    to_row : callable, optional
        Makes manifest rows (`syncaudit.datasets.clip_to_row`). Without it
        ``passed.jsonl``, ``rejected.jsonl`` and ``unverified.jsonl`` are not written.
    timeout_s : float, optional
        Wall time after which a clip is given up with code ``timeout``; needs worker processes.
    about : mapping, optional
        Further entries of ``summary.json``.
    audit : callable, optional
        ``audit(clip, policy, calibration=...)``; default `syncaudit.pipeline.audit`. Picklable.
    engine : str
        ``local`` or ``ray``.
    address : str, optional
        Of a running Ray cluster.

    Returns
    -------
    BatchSummary
        Counts and figures, as written to ``summary.json``.

    Raises
    ------
    UsageError
        If clip ids repeat, an argument is out of range, or another run writes to `out`.
    """
    _check(clips, workers, timeout_s)
    run_engine = engine_called(engine)
    began = time.monotonic()
    started_at = datetime.now(UTC)
    folder = make_folder(out)
    task = AuditTask(audit=audit or _pipeline_audit(), policy=policy, calibration=calibration)
    clip_ids = [clip.clip_id for clip in clips]
    stopped: str | None = None
    with Ledger(folder / "verdicts.jsonl") as ledger:
        todo, again = _sort_out(clips, ledger, policy, calibration)
        kept = [v for v in map(ledger.verdict, clip_ids) if v is not None]
        counter = VerdictCounter(len(clips), on_progress, kept=kept)
        options = {"timeout_s": timeout_s, "address": address}
        try:
            with _terminable():
                counter.tell()
                n_judges = min(workers, len(again) // _FEW)
                for clip, result in _judged(policy, clips, again, ledger, n_judges):
                    ledger.append(clip.clip_id, result.verdict, result.fingerprint, result.line)
                    counter.tell(clip.clip_id, result.verdict)
                for clip, result in _audited(task, clips, todo, run_engine, workers, options):
                    ledger.append(clip.clip_id, result.verdict, result.fingerprint, result.line)
                    if result.trace is not None:
                        _log(folder / "errors.log", clip.clip_id, result.trace)
                    counter.tell(clip.clip_id, result.verdict)
        except _Terminated:
            stopped = "terminated"
        except KeyboardInterrupt:
            stopped = "interrupted"
        return finish(
            clips,
            ledger,
            policy,
            folder,
            RunFacts(
                reused=len(clips) - len(todo),
                wall_s=time.monotonic() - began,
                workers=min(workers, len(todo)),
                stopped=stopped,
                about={
                    "started_at": started_at.isoformat(timespec="seconds"),
                    **(about or {}),
                    "engine": engine,
                    "calibrated": calibration is not None,
                    "judged_again": len(again),
                },
            ),
            to_row=to_row,
        )


def check_unique(clip_ids: Sequence[str]) -> None:
    """Refuse clip ids that repeat.

    Raises
    ------
    UsageError
        Naming the first.
    """
    repeated = [name for name, n in Counter(clip_ids).items() if n > 1]
    if repeated:
        raise UsageError(
            f"clip_id '{repeated[0]}' stands more than once in the manifest",
            hint="Every clip needs an id of its own.",
        )


def _check(clips: Sequence[Clip], workers: int, timeout_s: float | None) -> None:
    check_unique([clip.clip_id for clip in clips])
    if workers < 0:
        raise UsageError(f"workers must be 0 or more, got {workers}")
    if timeout_s is not None and not timeout_s > 0:
        raise UsageError(f"timeout must be more than 0 s, got {timeout_s}")


def make_folder(out: str | Path) -> Path:
    """Return the output folder, made where missing.

    Raises
    ------
    UsageError
        If it cannot be made, or is a URL.
    """
    if is_url(str(out)):
        raise UsageError(
            "outputs are written to local folders",
            path=str(out),
            hint="Send them with syncaudit.batch.OutputFolder, as the command line does.",
        )
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the output folder cannot be made: {error.strerror}",
            path=str(folder),
            hint="Choose another --out folder.",
        ) from error
    return folder.resolve()


def _sort_out(
    clips: Sequence[Clip],
    ledger: Ledger,
    policy: Policy,
    calibration: Mapping[str, object] | None,
) -> tuple[list[int], list[int]]:
    """Return which clips must be audited, and which only judged again."""
    todo, again = [], []
    for k, clip in enumerate(clips):
        entry = ledger.entry(clip.clip_id)
        known = None if entry is None else entry.fingerprint
        if entry is None:
            known = _fingerprint_in(ledger.outdated(clip.clip_id))
        if not known:
            ledger.forget(clip.clip_id)
            todo.append(k)
            continue
        now = fingerprint_of(clip, policy, calibration=calibration)
        if now is None or content_half(now) != content_half(known):
            ledger.forget(clip.clip_id)
            todo.append(k)
        elif entry is None or now != known:
            ledger.outdate(clip.clip_id)
            again.append(k)
    return todo, again


def _fingerprint_in(line: str | None) -> str | None:
    return None if line is None else json.loads(line).get("fingerprint")


def _judged(
    policy: Policy, clips: Sequence[Clip], again: Sequence[int], ledger: Ledger, workers: int
) -> Iterator[tuple[Clip, TaskResult]]:
    """Yield the clips that are judged again, by what their rows hold."""
    items = Picked(again, lambda k: (clips[k], ledger.outdated(clips[k].clip_id) or ""))
    run = engine_called("local")
    for index, value in run(JudgeTask(policy=policy), items, workers=workers):
        clip = clips[again[index]]
        if isinstance(value, Lost):
            message = f"the process that judged this clip again ended without an answer: {value}"
            value = failed_result(clip, ReasonCode.UNREADABLE, message)
        yield clip, value


def _audited(
    task: AuditTask,
    clips: Sequence[Clip],
    todo: Sequence[int],
    run: Engine,
    workers: int,
    options: Mapping[str, Any],
) -> Iterator[tuple[Clip, TaskResult]]:
    items = Picked(todo, lambda k: clips[k])
    for index, value in run(task, items, workers=workers, **options):
        clip = clips[todo[index]]
        if not isinstance(value, Lost):
            yield clip, value
        elif value.is_timeout:
            limit_s = options["timeout_s"]
            message = f"the audit took longer than {limit_s:g} s and was stopped"
            yield clip, failed_result(clip, ReasonCode.TIMEOUT, message)
        else:
            message = (
                f"the process that audited this clip ended without an answer, twice: {value}. "
                "A damaged file may crash a decoder; the other clips are not affected."
            )
            yield clip, failed_result(clip, ReasonCode.UNREADABLE, message)


class _Terminated(KeyboardInterrupt):
    """SIGTERM came: a scheduler or a shutdown wants the run to end."""


@contextmanager
def _terminable() -> Iterator[None]:
    """Turn SIGTERM into an exception while a run is on, where signals can be caught."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _log(path: Path, clip_id: str, trace: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        stamp = datetime.now(UTC).isoformat(timespec="seconds")
        file.write(f"{stamp} clip {clip_id}, syncaudit {__version__}\n{trace}\n")


def _pipeline_audit() -> AuditFunction:
    from syncaudit.pipeline import audit

    function: AuditFunction = audit
    return function
