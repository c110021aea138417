"""Check that the verdicts of a run can be relied on: finished, complete and unedited.

A run writes ``complete: false`` into its summary before anything else and ``complete: true`` last,
so a run that was killed, or ran out of disk space, cannot look finished. Every row of
``verdicts.jsonl`` ends with a digest of itself, and the summary holds a digest of all verdicts: a
table from another run (an interrupted copy, a restored file) is detected even if it has the same
number of each verdict.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from syncaudit.errors import StreamReadError, UsageError
from syncaudit.model import Verdict
from syncaudit.readers.uris import open_file, parent_of, read_bytes

SUMMARY = "summary.json"
_RESUME = (
    "Run the same 'syncaudit validate' again: it resumes where it stopped. Or use what is there "
    "with --partial (in Python, partial=True)."
)
_SEAL = ', "digest": "'
_DIGITS = 16
_CLIP = re.compile(rb'\{"clip_id": ("(?:[^"\\]|\\.)*")')
# Durations as `ClipVerdict.to_json` writes them. Quotes inside strings are escaped.
_NUMBER = rb"(?:null|-?[0-9][0-9.eE+-]*)"
_TIMES = re.compile(
    rb', "seconds": %s, "stages": \{(?:"[^"\\]*": %s(?:, )?)*\}' % (_NUMBER, _NUMBER)
)


def sealed(line: str) -> str:
    """Return a row, a JSON object on one line, with its digest as the last entry.

    The digest leaves out how long the audit took, so that two runs with the same results write the
    same digests.
    """
    return f'{line[:-1]}{_SEAL}{_digest(line.encode())}"}}'


def is_intact(line: bytes) -> bool | None:
    """Return whether a row is unchanged; None for one written by a version without digests."""
    line = line.rstrip(b"\r\n")
    place = len(line) - len(_SEAL) - _DIGITS - 2
    if place < 1 or line[place : place + len(_SEAL)] != _SEAL.encode():
        return False if b'"digest": ' in line[-64:] else None
    return line[place + len(_SEAL) : -2] == _digest(line[:place] + b"}").encode()


def clip_of_row(line: bytes) -> str | None:
    """Return the clip at the start of a possibly damaged row; None if that is damaged too."""
    found = _CLIP.match(line)
    try:
        return None if found is None else str(json.loads(found[1]))
    except ValueError:
        return None


def _digest(line: bytes) -> str:
    return hashlib.sha256(_TIMES.sub(b"", line, count=1)).hexdigest()[:_DIGITS]


class FoundVerdicts:
    """Verdicts found in a file: the count of each, and a digest of all in order."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self.counts: Counter[str] = Counter()
        self._sha256 = hashlib.sha256()
        for clip_id, verdict in pairs:
            self.add(clip_id, verdict)

    def add(self, clip_id: str, verdict: str) -> None:
        """Add one verdict."""
        self.counts[verdict] += 1
        self._sha256.update(f"{clip_id}\0{verdict}\n".encode("utf-8", "backslashreplace"))

    @property
    def digest(self) -> str:
        """SHA-256 of all verdicts so far."""
        return self._sha256.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRun:
    """Verdicts to expect according to the summary of a finished run."""

    counts: Mapping[str, int]  # clips by verdict
    digest: str | None  # of its verdicts (`FoundVerdicts`); None from older versions
    has_digests: bool  # every row of ``verdicts.jsonl`` carries one

    def check(self, found: FoundVerdicts, place: str) -> None:
        """Reject verdicts that are not those of the run, or were edited.

        They are in file order; for JSON Lines the digest of every row is checked.
        """
        self.check_verdicts(found, place)
        if not place.endswith(".jsonl"):
            return
        with open_file(place) as lines:
            for number, line in enumerate(lines, start=1):
                if self.is_edited(line):
                    raise UsageError(f"line {number} was edited", path=place, hint=_RESUME)

    def is_edited(self, line: bytes) -> bool:
        """Return whether a row differs from what the run wrote."""
        is_as_written = is_intact(line)
        return is_as_written is False or (is_as_written is None and self.has_digests)

    def check_verdicts(self, found: FoundVerdicts, place: str) -> None:
        """Reject verdicts that are not those of the run; like `check`, without row digests."""
        if any(found.counts[name] != count for name, count in self.counts.items()):
            raise UsageError(
                f"holds {_words(found.counts)}, but the summary of the run counts "
                f"{_words(self.counts)}",
                path=place,
                hint=f"The file was cut off or changed. {_RESUME}",
            )
        if self.digest is not None and found.digest != self.digest:
            raise UsageError(
                "does not hold the verdicts that the summary beside it describes",
                path=place,
                hint=f"It was changed, or one of the two is a copy from another run. {_RESUME}",
            )


def _words(counts: Mapping[str, int]) -> str:
    each = ", ".join(f"{counts.get(str(v), 0)} {v}" for v in Verdict)
    return f"{sum(counts.values())} verdicts ({each})"


def finished_run(verdict_file: str) -> ExpectedRun:
    """Return what to expect of a verdict file, from the summary of its run.

    UsageError if the run was stopped or killed, or there is no summary beside the file.
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
            f"no {SUMMARY} beside the verdicts confirms that their run was finished "
            f"({error.message})",
            path=verdict_file,
            hint=_RESUME,
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError("is not the summary of a run", path=place, hint=_RESUME) from error
    if not is_complete:
        raise UsageError(
            "the run that wrote these verdicts was stopped early or is still running",
            path=folder,
            hint=_RESUME,
        )
    digest = summary.get("verdicts_digest")
    return ExpectedRun(
        counts=counts,
        digest=digest if isinstance(digest, str) else None,
        has_digests=summary.get("row_digests") is True,
    )
