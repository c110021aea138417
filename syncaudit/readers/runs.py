"""Tell whether the verdicts of a run can be relied on: finished, all there, unedited.

A run writes ``complete: false`` into its summary before anything else and ``complete: true`` last,
so a run that was killed, or ran out of disk, cannot look like a finished one. Every row of
``verdicts.jsonl`` ends with a digest of itself.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from syncaudit.errors import StreamReadError, UsageError
from syncaudit.model import Verdict
from syncaudit.readers.uris import open_file, parent_of, read_bytes

__all__ = ["ExpectedRun", "finished_run", "is_intact", "sealed"]

SUMMARY = "summary.json"
_RESUME = (
    "Run the same 'syncaudit validate' again: it goes on where it stopped. Or take what is there "
    "with --partial (in Python, partial=True)."
)
_SEAL = ', "digest": "'
_DIGITS = 16
# How long the audit took, as `ClipVerdict.to_json` puts it. Inside of texts quotes are escaped.
_NUMBER = rb"(?:null|-?[0-9][0-9.eE+-]*)"
_TIMES = re.compile(
    rb', "seconds": %s, "stages": \{(?:"[^"\\]*": %s(?:, )?)*\}' % (_NUMBER, _NUMBER)
)


def sealed(line: str) -> str:
    """Return a row, a JSON object as one line, with a digest of it as its last entry.

    The digest leaves out how long the audit took, so that two runs that find the same write the
    same.
    """
    return f'{line[:-1]}{_SEAL}{_digest(line.encode())}"}}'


def is_intact(line: bytes) -> bool | None:
    """Return whether a row is what was written; None for one of a version without digests."""
    line = line.rstrip(b"\r\n")
    place = len(line) - len(_SEAL) - _DIGITS - 2
    if place < 1 or line[place : place + len(_SEAL)] != _SEAL.encode():
        return False if b'"digest": ' in line[-64:] else None
    return line[place + len(_SEAL) : -2] == _digest(line[:place] + b"}").encode()


def _digest(line: bytes) -> str:
    return hashlib.sha256(_TIMES.sub(b"", line, count=1)).hexdigest()[:_DIGITS]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRun:
    """What the summary of a finished run says of its verdicts.

    Parameters
    ----------
    folder : str
        Of the run.
    counts : mapping of str to int
        Clips by verdict.
    has_digests : bool
        Whether every row of ``verdicts.jsonl`` carries one.
    """

    folder: str
    counts: Mapping[str, int]
    has_digests: bool

    def check(self, found: Mapping[str, int], place: str) -> None:
        """Refuse verdicts that are not as many as the run wrote, or not as it wrote them.

        Parameters
        ----------
        found : mapping of str to int
            Clips by verdict, each clip counted once.
        place : str
            The verdict file; of JSON Lines the digest of every row is looked at.

        Raises
        ------
        UsageError
            Naming both counts, or the first row that was edited.
        """
        self.check_counts(found, place)
        if not place.endswith(".jsonl"):
            return
        with open_file(place) as lines:
            for number, line in enumerate(lines, start=1):
                if self.is_edited(line):
                    raise UsageError(f"line {number} was edited", path=place, hint=_RESUME)

    def is_edited(self, line: bytes) -> bool:
        """Return whether a row is not as the run wrote it."""
        is_as_written = is_intact(line)
        return is_as_written is False or (is_as_written is None and self.has_digests)

    def check_counts(self, found: Mapping[str, int], place: str) -> None:
        """Refuse verdicts that are not as many as the run wrote; as `check`."""
        if all(found.get(name, 0) == count for name, count in self.counts.items()):
            return
        raise UsageError(
            f"holds {_words(found)}, but the summary of the run counts {_words(self.counts)}",
            path=place,
            hint=f"The file was cut off or changed. {_RESUME}",
        )


def _words(counts: Mapping[str, int]) -> str:
    each = ", ".join(f"{counts.get(str(v), 0)} {v}" for v in Verdict)
    return f"{sum(counts.values())} verdicts ({each})"


def finished_run(verdict_file: str) -> ExpectedRun:
    """Return what the run that wrote a verdict file says of it.

    Parameters
    ----------
    verdict_file : str
        Local path or any fsspec URL, resolved.

    Raises
    ------
    UsageError
        If the run was stopped or killed, or there is no summary beside the file.
    """
    folder = parent_of(verdict_file)
    place = f"{folder.rstrip('/')}/{SUMMARY}"
    try:
        summary = json.loads(read_bytes(place))
        is_complete = summary["complete"] is True
        counts = {str(v): int(summary["clips"][str(v)]) for v in Verdict} if is_complete else {}
        if is_complete:
            is_complete = summary["clips"].get("total") in (None, sum(counts.values()))
    except StreamReadError as error:
        raise UsageError(
            f"the verdicts have no {SUMMARY} beside them that says that their run was finished "
            f"({error.message})",
            path=verdict_file,
            hint=_RESUME,
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError("is no summary of a run", path=place, hint=_RESUME) from error
    if not is_complete:
        raise UsageError(
            "the run that wrote these verdicts was stopped early or is still running",
            path=folder,
            hint=_RESUME,
        )
    return ExpectedRun(folder=folder, counts=counts, has_digests=summary.get("row_digests") is True)
