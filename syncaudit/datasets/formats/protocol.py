"""What a data set format is to syncaudit: a probe, and the clips that it finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from syncaudit.datasets.sidecars import Sidecars
from syncaudit.datasets.source import Source
from syncaudit.model import Clip

__all__ = ["DatasetFormat", "Import", "Undated"]

_MOST_NOTES = 1000


@dataclass(slots=True)
class Undated:
    """Clips in which nothing holds stamps, and the first of them."""

    n_clips: int = 0
    folder: str = ""  # where the first lies
    sources: Sequence[str] = ()  # its files that were taken for something
    ignored: Sequence[str] = ()  # those that no rule takes

    def add(self, folder: str, sources: Sequence[str], ignored: Sequence[str]) -> None:
        """Count one more clip."""
        if not self.n_clips:
            self.folder, self.sources, self.ignored = folder, sources, ignored
        self.n_clips += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """What a format gets beside the source."""

    sidecars: Sidecars  # takes what no reader can take from the source
    # content of ``--rules FILE``; {} is the format's defaults
    rules: Mapping[str, Any] = field(default_factory=dict)
    # what was taken for what, what was ignored and why, how often
    notes: Counter[str] = field(default_factory=Counter)
    # where all clips are and tables were ignored, the import is refused
    undated: Undated = field(default_factory=Undated)

    def note(self, text: str) -> None:
        """Tell people something about the import; equal texts are counted, not repeated.

        Say it of the kind of thing (``CAM_*: 6 cameras``) rather than of the single clip.
        """
        if text in self.notes or len(self.notes) < _MOST_NOTES:
            self.notes[text] += 1


class DatasetFormat(Protocol):
    """An importer of one data set format.

    Instances hold no state: everything is in the arguments, and `clips` may be called again.

    Attributes
    ----------
    name : str
        As in ``syncaudit manifest NAME``; lower case.
    summary : str
        One line for people.
    takes_rules : bool
        Whether ``--rules`` means anything to it.
    """

    name: str
    summary: str
    takes_rules: bool

    def probe(self, source: Source) -> str | None:
        """Return why `source` is none of this format, or None if it is one.

        Looks at names and small files only, never raises, and says what was expected.
        """
        ...

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the clips one by one, always in the same order and with the same ids.

        Memory does not grow with the number of clips. URIs are relative to
        ``base_uri=source.base_uri``, or what `Sidecars.write_table` returned. Files of samples
        are not checked: what is wrong with them is for the audit to find. A table that cannot
        be converted is named in the clip as it is, so that its reader says what is wrong.

        Raises
        ------
        ManifestError
            If what describes the data set is broken: file, place, cure.
        """
        ...
