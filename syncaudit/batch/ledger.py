"""The ledger of finished clips: ``verdicts.jsonl``, appended to as verdicts arrive.

A killed run leaves complete lines and at most one half-written last line, which is cut off when
the ledger is opened again. If a clip has several lines, the last one counts. A line that was edited
after it was written (its digest does not match) is not a verdict. Nor are lines judged by an
outdated policy, but they hold measurements: a run that is stopped before it has judged them again
keeps them in a hidden file next to the ledger, as it does the lines of clips that its manifest no
longer names.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from syncaudit.batch.verdict_lines import EDITED, Entry, line_at, scan, verdict_at
from syncaudit.errors import UsageError
from syncaudit.model import ClipVerdict
from syncaudit.readers.runs import FoundVerdicts, finished_run, is_intact, sealed
from syncaudit.writing import Signature, naming_full, remove_ours, replacing

_SYNC_EVERY_S = 1.0


class VerdictFile:
    """Read-only ``verdicts.jsonl`` with access to any line by its clip.

    With `partial`, an unfinished run is accepted, and damaged rows are left out. UsageError if it
    cannot be read or holds no verdict; unless `partial`, also if the run that wrote it was not
    finished, or a row is missing, damaged or edited.
    """

    def __init__(self, path: Path, *, partial: bool = False) -> None:
        self.path = path
        try:
            # Use one open file for index and lines, even if the path is replaced meanwhile.
            self._file = os.open(path, os.O_RDONLY)
            weakref.finalize(self, os.close, self._file)
            self._index, _, damaged = scan(self._file)
        except OSError as error:
            raise UsageError(
                f"the verdicts cannot be read: {error.strerror}",
                path=str(path),
                hint="Expected the output folder of 'syncaudit validate'.",
            ) from error
        if not self._index:
            raise UsageError(
                "holds no verdicts",
                path=str(path),
                hint="Expected the output of 'syncaudit validate'.",
            )
        if partial:
            return
        expected = finished_run(str(path))
        if not damaged and expected.has_digests:
            entries = enumerate(self._index.values(), start=1)
            damaged = [(number, EDITED) for number, entry in entries if not entry.is_sealed]
        if damaged:
            number, why = damaged[0]
            raise UsageError(
                f"line {number} {why}",
                path=str(path),
                hint="Run the same 'syncaudit validate' again: it measures that clip again. Or "
                "leave out what is damaged with --partial (in Python, partial=True).",
            )
        pairs = ((clip_id, entry.verdict) for clip_id, entry in self._index.items())
        expected.check_verdicts(FoundVerdicts(pairs), str(path))

    @property
    def clip_ids(self) -> list[str]:
        """Clips in the order of the file."""
        return list(self._index)

    def __contains__(self, clip_id: object) -> bool:
        return clip_id in self._index

    def entry(self, clip_id: str) -> Entry:
        """Return the entry of a clip; KeyError if it is not in the file."""
        return self._index[clip_id]

    def line(self, clip_id: str) -> str:
        """Return the row of a clip as text; KeyError if it is not in the file."""
        return line_at(self._file, self._index[clip_id])

    def verdict(self, clip_id: str) -> ClipVerdict:
        """Return the verdict on a clip; KeyError if it is not in the file."""
        return verdict_at(self.line(clip_id))


class Ledger:
    """Append-only file of verdict rows indexed by clip; a lock keeps a second run out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = _lock(path.with_name(f".{path.name}.lock"))
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        self._file = os.open(path, flags, 0o666)
        self._index, self._end, _ = scan(self._file)
        os.ftruncate(self._file, self._end)
        self._stale: dict[str, str] = dict(_lines_of(self._stale_path))
        self._synced_at = time.monotonic()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file and let the next run in."""
        self.close()

    def __contains__(self, clip_id: object) -> bool:
        return clip_id in self._index

    @property
    def clip_ids(self) -> list[str]:
        """Clips that have a verdict."""
        return list(self._index)

    def entry(self, clip_id: str) -> Entry | None:
        """Return the entry of a clip; None if it is not done."""
        return self._index.get(clip_id)

    def verdict(self, clip_id: str) -> str | None:
        """Return the verdict of a clip; None if it is not done."""
        entry = self._index.get(clip_id)
        return None if entry is None else entry.verdict

    def outdate(self, clip_id: str) -> None:
        """Remove a verdict but keep its line, whose measurements can be judged again.

        A line without a fingerprint is never reused.
        """
        entry = self._index.pop(clip_id, None)
        if entry is not None and entry.fingerprint:
            self._stale[clip_id] = self._read(entry)

    def outdated(self, clip_id: str) -> str | None:
        """Return the line of a clip that must be judged again."""
        return self._stale.get(clip_id)

    def append(self, clip_id: str, verdict: str, fingerprint: str | None, line: str) -> None:
        """Append one verdict in a single write, so that a kill cannot split it."""
        data = line.encode() + b"\n"
        if fingerprint is not None:  # otherwise there is no new measurement to replace it
            self._stale.pop(clip_id, None)
        # Index first: Ctrl-C between the two must not lose a line that is in the file.
        self._index[clip_id] = Entry(
            start=self._end, length=len(data) - 1, verdict=verdict, fingerprint=fingerprint
        )
        written = 0
        with naming_full(self.path):
            while written < len(data):
                written += os.write(self._file, data[written:])
        self._end += len(data)
        if time.monotonic() - self._synced_at > _SYNC_EVERY_S:
            os.fsync(self._file)
            self._synced_at = time.monotonic()

    def settle(self) -> None:
        """Forget an interrupted `append` that was indexed but not written in full."""
        size = os.fstat(self._file).st_size
        self._index = {
            clip_id: entry
            for clip_id, entry in self._index.items()
            if entry.start + entry.length < size
        }
        self._end = size

    def lines(self, clip_ids: Iterable[str]) -> Iterator[str]:
        """Yield the line of each clip that is done, in the order asked for."""
        for clip_id in clip_ids:
            entry = self._index.get(clip_id)
            if entry is not None:
                yield self._read(entry)

    def rows(self, clip_ids: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield the row of each clip that is done, in the order asked for."""
        for line in self.lines(clip_ids):
            yield json.loads(line)

    def verdicts(self, clip_ids: Iterable[str]) -> Iterator[ClipVerdict]:
        """Yield the verdict on each clip that is done, in the order asked for."""
        return map(verdict_at, self.lines(clip_ids))

    def rewrite(self, clip_ids: Iterable[str]) -> None:
        """Replace the file by the lines of these clips in this order, in one step."""
        with replacing(self.path, is_durable=True) as file:
            for line in self.lines(clip_ids):
                # Rows of older versions have no digest yet.
                whole = sealed(line) if is_intact(line.encode()) is None else line
                file.write(f"{whole}\n".encode())
            _write_lines(self._stale_path, self._stale.values())

    def close(self) -> None:
        """Close the file and release the lock."""
        if self._file >= 0:
            os.fsync(self._file)
            os.close(self._file)
            self._file = -1
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @property
    def _stale_path(self) -> Path:
        return self.path.with_name(f".{self.path.name}.outdated")

    def _read(self, entry: Entry) -> str:
        return line_at(self._file, entry)


def _lines_of(path: Path) -> Iterator[tuple[str, str]]:
    if not path.is_file() or path.is_symlink() or not path.stat().st_size:
        return
    file = VerdictFile(path, partial=True)
    for clip_id in file.clip_ids:
        yield clip_id, file.line(clip_id)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    """Replace a file with these lines in one step, or remove it if there are none."""
    texts = list(lines)
    if not texts:
        remove_ours(path, Signature.VERDICTS)
        return
    with replacing(path, is_durable=True) as file:
        file.writelines(f"{text}\n".encode() for text in texts)


def _lock(path: Path) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise UsageError(
            f"another run is writing to {path.parent}",
            hint="Wait for it to end or choose another --out folder.",
        ) from None
    except OSError:
        pass  # a file system without locks: continue without one
    return handle
