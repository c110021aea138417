"""Audit many clips on this machine and write what comes out."""

from __future__ import annotations

import platform
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from syncaudit import __version__
from syncaudit.batch.fingerprint import fingerprint_of
from syncaudit.batch.ledger import Ledger
from syncaudit.batch.outputs import RowMaker, write_json, write_split, write_verdicts
from syncaudit.batch.plain import plain
from syncaudit.batch.pool import Lost, limit_threads, map_isolated
from syncaudit.batch.summary import BatchSummary, Progress, Tally
from syncaudit.batch.task import AuditFunction, AuditTask, TaskResult, failed_result
from syncaudit.errors import UsageError
from syncaudit.model import Clip, ReasonCode, Verdict
from syncaudit.policy import Policy
from syncaudit.report import write_report

__all__ = ["run_batch"]

_PACKAGES = ("numpy", "scipy", "opencv-python-headless", "opencv-python", "av", "pyarrow")


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
) -> BatchSummary:
    """Audit `clips`, one task each, and write verdicts, split manifests, summary and report.

    Verdicts are appended to ``verdicts.jsonl`` as they come. A clip that stands there already
    with the same fingerprint (row, policy, calibration, version, file sizes and times) is not
    audited again, so a run that was stopped goes on where it stopped. Ctrl-C and SIGTERM end
    the run early; the outputs then hold what is done.

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
    began = time.monotonic()
    started_at = datetime.now(UTC)
    folder = _make_folder(out)
    task = AuditTask(audit=audit or _pipeline_audit(), policy=policy, calibration=calibration)
    clip_ids = [clip.clip_id for clip in clips]
    stopped: str | None = None
    with Ledger(folder / "verdicts.jsonl") as ledger:
        todo = _sort_out(clips, ledger, policy, calibration)
        counter = _Counter(ledger, clip_ids, on_progress)
        n_workers = min(workers, len(todo))
        try:
            with _terminable():
                counter.tell()
                for clip, result in _results(task, todo, n_workers, timeout_s):
                    ledger.append(clip.clip_id, result.verdict, result.fingerprint, result.line)
                    if result.trace is not None:
                        _log(folder / "errors.log", clip.clip_id, result.trace)
                    counter.tell(clip.clip_id, result.verdict)
        except _Terminated:
            stopped = "terminated"
        except KeyboardInterrupt:
            stopped = "interrupted"
        ledger.settle()
        tally = Tally()
        for row in ledger.rows(clip_ids):
            tally.add(row)
        summary = BatchSummary(
            total=len(clips),
            reused=len(clips) - len(todo),
            tally=tally,
            wall_s=time.monotonic() - began,
            workers=n_workers,
            stopped=stopped,
            out=folder,
            tolerances_s=_tolerances(clips, policy),
            about={
                "started_at": started_at.isoformat(timespec="seconds"),
                **(about or {}),
                "calibrated": calibration is not None,
                "policy": plain(policy),
                "versions": _versions(),
            },
        )
        write_verdicts(ledger, clip_ids, folder)
        if to_row is not None:
            write_split(clips, ledger.verdict, to_row, folder)
        write_json(summary.to_json(), folder / "summary.json")
        write_report(ledger.rows(clip_ids), summary.to_json(), folder / "report.html")
    return summary


def _check(clips: Sequence[Clip], workers: int, timeout_s: float | None) -> None:
    repeated = [name for name, n in Counter(clip.clip_id for clip in clips).items() if n > 1]
    if repeated:
        raise UsageError(
            f"clip_id '{repeated[0]}' stands more than once in the manifest",
            hint="Every clip needs an id of its own.",
        )
    if workers < 0:
        raise UsageError(f"workers must be 0 or more, got {workers}")
    if timeout_s is not None and not timeout_s > 0:
        raise UsageError(f"timeout must be more than 0 s, got {timeout_s}")


def _make_folder(out: str | Path) -> Path:
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
) -> list[Clip]:
    """Return the clips that must be audited; stale verdicts are forgotten."""
    todo = []
    for clip in clips:
        entry = ledger.entry(clip.clip_id)
        if entry is not None:
            known = entry.fingerprint
            if known and known == fingerprint_of(clip, policy, calibration=calibration):
                continue
            ledger.forget(clip.clip_id)
        todo.append(clip)
    return todo


def _results(
    task: AuditTask, clips: Sequence[Clip], workers: int, timeout_s: float | None
) -> Iterator[tuple[Clip, TaskResult]]:
    if workers == 0:
        if clips:
            limit_threads()
        for clip in clips:
            yield clip, task(clip)
        return
    for index, value in map_isolated(task, clips, workers=workers, timeout_s=timeout_s):
        clip = clips[index]
        if not isinstance(value, Lost):
            yield clip, value
        elif value.is_timeout:
            message = f"the audit took longer than {timeout_s:g} s and was stopped"
            yield clip, failed_result(clip, ReasonCode.TIMEOUT, message)
        else:
            message = (
                f"the process that audited this clip ended without an answer, twice: {value}. "
                "A damaged file may crash a decoder; the other clips are not affected."
            )
            yield clip, failed_result(clip, ReasonCode.UNREADABLE, message)


def _tolerances(clips: Sequence[Clip], policy: Policy) -> dict[str, float]:
    """Return the tolerated offset of every source name, for the report."""
    tolerances: dict[str, float] = {}
    for clip in clips:
        for name, spec in clip.sources.items():
            if name not in tolerances:
                tolerances[name] = policy.limits(name, spec.kind).offset_s
    return tolerances


class _Counter:
    """Counts verdicts as they come and tells the caller."""

    def __init__(
        self,
        ledger: Ledger,
        clip_ids: Sequence[str],
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        kept = [v for v in (ledger.verdict(clip_id) for clip_id in clip_ids) if v is not None]
        self._counts = Counter(kept)
        self._reused = len(kept)
        self._total = len(clip_ids)
        self._on_progress = on_progress

    def tell(self, clip_id: str | None = None, verdict: str | None = None) -> None:
        """Count one more clip, or none at the start."""
        if verdict is not None:
            self._counts[verdict] += 1
        if self._on_progress is None:
            return
        self._on_progress(
            Progress(
                total=self._total,
                done=self._counts.total(),
                reused=self._reused,
                counts={str(v): self._counts[v] for v in Verdict},
                clip_id=clip_id,
                verdict=verdict,
            )
        )


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


def _versions() -> dict[str, str]:
    versions = {"syncaudit": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _pipeline_audit() -> AuditFunction:
    from syncaudit.pipeline import audit

    function: AuditFunction = audit
    return function
