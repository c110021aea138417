"""Look up the verdicts of clips for data loaders."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Literal

from syncaudit.errors import StreamReadError, SyncAuditError, UsageError, nearest_name, one_line
from syncaudit.model import Verdict

# The faster one first.
_NAMES = ("verdicts.parquet", "verdicts.jsonl")


class UnknownClipError(SyncAuditError, KeyError):
    """A sample belongs to a clip that was not audited; it is never let through silently."""

    __str__ = SyncAuditError.__str__


class VerdictIndex:
    """Verdicts by clip.

    Parameters
    ----------
    verdicts : iterable of (str, str)
        Clip id and verdict; if a clip occurs twice, the later one counts.
    admit : collection of str
        Verdicts that are admitted; by default only a pass.
    unknown : {"raise", "drop"}
        Treatment of a clip without a verdict: stop the loader, or leave it out and count it.
    without : collection of str
        Clips that are never admitted, whatever their verdict: those shared with another split
        (`syncaudit check-split --leaks`).
    place : str
        Origin of the verdicts, for messages.
    """

    def __init__(
        self,
        verdicts: Iterable[tuple[str, str]],
        *,
        admit: Collection[str] = (Verdict.PASS,),
        unknown: Literal["raise", "drop"] = "raise",
        without: Collection[str] = (),
        place: str = "the verdicts",
    ) -> None:
        wrong = set(admit) - set(Verdict)
        if wrong:
            name = min(wrong)
            raise UsageError(
                f"no verdict is called '{name}'", hint=nearest_name(name, [str(v) for v in Verdict])
            )
        if unknown not in ("raise", "drop"):
            raise UsageError(f"unknown is '{unknown}', expected 'raise' or 'drop'")
        self._verdicts = {clip_id: Verdict(verdict) for clip_id, verdict in verdicts}
        self._admit = {Verdict(verdict) for verdict in admit}
        self._unknown = unknown
        self._without = frozenset(without)
        self._place = place
        self.dropped: Counter[str] = Counter()
        """Samples left out so far, by verdict (``unknown`` for clips without one, ``leaked``)."""

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        admit: Collection[str] = (Verdict.PASS,),
        unknown: Literal["raise", "drop"] = "raise",
        without: Collection[str] | str | Path = (),
        partial: bool = False,
    ) -> VerdictIndex:
        """Read the output folder of `syncaudit validate`, or one of its verdict files.

        Parameters
        ----------
        path : str or Path
            Folder, ``verdicts.parquet`` (read by column, which is faster) or ``verdicts.jsonl``;
            local or any fsspec URL.
        admit, unknown
            As for the class.
        without : collection of str, str or Path
            As for the class, or a file that lists them.
        partial : bool
            Accept the verdicts so far of a run that was not finished, or has no summary; in a
            folder read ``verdicts.jsonl``, as the Parquet file may be from the previous run.

        Raises
        ------
        UsageError
            If there are no verdicts; unless `partial`, also if no ``summary.json`` beside them
            states that the run was finished, or they differ from those it counts.
        """
        from syncaudit.readers.runs import FoundVerdicts, finished_run  # heavy

        place = find_verdicts(path, partial=partial)
        if place.endswith(".parquet"):
            pairs: Iterable[tuple[str, str]] = _parquet(place)
        else:
            pairs = _surviving(place) if partial else _json_lines(place)
        if isinstance(without, str | Path):
            from syncaudit.readers.clip_list import read_clip_ids  # heavy

            without = read_clip_ids(str(without), may_be_empty=True)
        index = cls(pairs, admit=admit, unknown=unknown, without=without, place=place)
        if not partial:
            found = FoundVerdicts((clip_id, str(v)) for clip_id, v in index._verdicts.items())
            finished_run(place).check(found, place)
        return index

    def __len__(self) -> int:
        return len(self._verdicts)

    def verdict(self, clip_id: str) -> Verdict | None:
        """Return the verdict of a clip; None if it has none."""
        return self._verdicts.get(clip_id)

    def admits(self, clip_id: str) -> bool:
        """Return whether samples of a clip are admitted; count those that are not.

        UnknownClipError if the clip has no verdict, unless the index was told to drop such clips.
        """
        if clip_id in self._without:
            self.dropped["leaked"] += 1
            return False
        verdict = self._verdicts.get(clip_id)
        if verdict in self._admit:
            return True
        if verdict is None and self._unknown == "raise":
            raise UnknownClipError(
                f"clip '{clip_id}' has no verdict in {self._place}",
                hint="Audit it, or pass unknown='drop' to leave such clips out.",
            )
        self.dropped["unknown" if verdict is None else str(verdict)] += 1
        return False

    def admitted(self) -> Iterator[str]:
        """Yield the admitted clips, in the order of the verdicts."""
        return (
            clip_id
            for clip_id, verdict in self._verdicts.items()
            if verdict in self._admit and clip_id not in self._without
        )


def find_verdicts(path: str | Path, *, partial: bool = False) -> str:
    """Return the verdict file in an output folder, or the file itself if one is given.

    If there are two, `partial` selects the one to which verdicts are appended during a run.
    """
    from syncaudit.readers.uris import resolve  # heavy

    place = resolve(str(path))
    if place.endswith((".parquet", ".jsonl")):
        return place
    folder = place.rstrip("/")
    names = reversed(_NAMES) if partial else _NAMES
    found = [name for name in names if _exists(f"{folder}/{name}")]
    if not found:
        raise UsageError(
            "holds no verdicts",
            path=str(path),
            hint="Expected the output folder of 'syncaudit validate'.",
        )
    return f"{folder}/{found[0]}"


def _exists(place: str) -> bool:
    from syncaudit.readers.faults import reworded
    from syncaudit.readers.uris import local_path

    path = local_path(place)
    if path is not None:
        return path.is_file()
    from syncaudit.readers.access import file_system

    with reworded(place):
        system, inner = file_system(place)
        return bool(system.exists(inner))


def _parquet(place: str) -> Iterator[tuple[str, str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from syncaudit.readers.uris import open_file

    try:
        with open_file(place) as opened, pq.ParquetFile(opened) as file:
            for batch in file.iter_batches(columns=["clip_id", "verdict"]):
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
    except (StreamReadError, OSError, pa.ArrowException) as error:
        raise _unreadable(place, error) from error


def _json_lines(place: str) -> Iterator[tuple[str, str]]:
    from syncaudit.readers.uris import open_file

    try:
        with open_file(place) as file:
            for number, line in enumerate(file, start=1):
                row = _row(line)
                if row is None:
                    raise ValueError(f"line {number} is not a verdict")
                yield str(row["clip_id"]), row["verdict"]
    except (StreamReadError, OSError, ValueError) as error:
        raise _unreadable(place, error) from error


def _surviving(place: str) -> Iterable[tuple[str, str]]:
    """Return the verdicts of intact lines; a clip whose last line is damaged has none."""
    from syncaudit.readers.runs import clip_of_row, is_intact
    from syncaudit.readers.uris import open_file

    found: dict[str, str] = {}
    try:
        with open_file(place) as file:
            for line in file:
                row = _row(line) if line.endswith(b"\n") and is_intact(line) is not False else None
                if row is None:
                    found.pop(clip_of_row(line) or "", None)
                else:
                    found[str(row["clip_id"])] = row["verdict"]
    except (StreamReadError, OSError) as error:
        raise _unreadable(place, error) from error
    return found.items()


def _row(line: bytes) -> dict[str, str] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_verdict = isinstance(row, dict) and "clip_id" in row and row.get("verdict") in set(Verdict)
    return row if is_verdict else None


def _unreadable(place: str, error: Exception) -> UsageError:
    return UsageError(
        f"the verdicts cannot be read: {one_line(error)}",
        path=place,
        hint="Expected the output of 'syncaudit validate'.",
    )
