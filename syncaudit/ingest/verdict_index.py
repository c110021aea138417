"""Look up the verdict of a clip: what every data loader asks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Literal

from syncaudit.errors import StreamReadError, SyncAuditError, UsageError, nearest_name, one_line
from syncaudit.model import Verdict

__all__ = ["UnknownClipError", "VerdictIndex", "find_verdicts"]

# The quick one first.
_NAMES = ("verdicts.parquet", "verdicts.jsonl")


class UnknownClipError(SyncAuditError, KeyError):
    """A sample belongs to a clip that no audit has seen; it is never let through silently."""

    __str__ = SyncAuditError.__str__


class VerdictIndex:
    """Verdicts by clip.

    Parameters
    ----------
    verdicts : iterable of (str, str)
        Clip id and verdict; where a clip comes twice the later counts.
    admit : collection of str
        Verdicts that may train; by default only those that passed.
    unknown : {"raise", "drop"}
        What a clip without a verdict does: stop the loader, or be left out and counted.
    place : str
        Where the verdicts come from, for messages.
    """

    def __init__(
        self,
        verdicts: Iterable[tuple[str, str]],
        *,
        admit: Collection[str] = (Verdict.PASS,),
        unknown: Literal["raise", "drop"] = "raise",
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
        self._place = place
        self.dropped: Counter[str] = Counter()
        """Samples left out so far, by verdict (``unknown`` for clips without one)."""

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        admit: Collection[str] = (Verdict.PASS,),
        unknown: Literal["raise", "drop"] = "raise",
        partial: bool = False,
    ) -> VerdictIndex:
        """Read the output folder of `syncaudit validate`, or one of its verdict files.

        Parameters
        ----------
        path : str or Path
            Folder, ``verdicts.parquet`` (read by column, the quick way) or ``verdicts.jsonl``;
            local or any fsspec URL.
        admit, unknown
            As for the class.
        partial : bool
            Take what is there of a run that was not finished, or that no summary tells of; in a
            folder of ``verdicts.jsonl``, for the Parquet file may be of the run before.

        Raises
        ------
        UsageError
            If there are no verdicts; unless `partial`, also if no ``summary.json`` beside them
            says that the run was finished, or there are fewer or others than it counts.
        """
        from syncaudit.readers.runs import FoundVerdicts, finished_run  # heavy

        place = find_verdicts(path, partial=partial)
        if place.endswith(".parquet"):
            pairs: Iterable[tuple[str, str]] = _parquet(place)
        else:
            pairs = _surviving(place) if partial else _json_lines(place)
        index = cls(pairs, admit=admit, unknown=unknown, place=place)
        if not partial:
            found = FoundVerdicts((clip_id, str(v)) for clip_id, v in index._verdicts.items())
            finished_run(place).check(found, place)
        return index

    def __len__(self) -> int:
        """Return the number of clips that have a verdict."""
        return len(self._verdicts)

    def verdict(self, clip_id: str) -> Verdict | None:
        """Return the verdict of a clip; None where it has none."""
        return self._verdicts.get(clip_id)

    def admits(self, clip_id: str) -> bool:
        """Return whether samples of a clip may train; count those that may not.

        Raises
        ------
        UnknownClipError
            If the clip has no verdict, unless the index was told to drop such clips.
        """
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
        """Yield the clips that may train, in the order of the verdicts."""
        return (clip_id for clip_id, verdict in self._verdicts.items() if verdict in self._admit)


def find_verdicts(path: str | Path, *, partial: bool = False) -> str:
    """Return the verdict file of an output folder, or the file that was named itself.

    With `partial` the one that verdicts are appended to as they come, where there are two.
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
    from syncaudit.readers.file_errors import reworded
    from syncaudit.readers.uris import local_path

    path = local_path(place)
    if path is not None:
        return path.is_file()
    from syncaudit.readers.remote import file_system

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
    """Return the verdicts of whole lines; a clip whose last line is damaged has none."""
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
