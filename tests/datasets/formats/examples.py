"""Small data sets of every format, for the contract test that all formats run.

An example is one module function `write_<format>(folder, n_clips)`: it writes a data set with so
many clips, the same bytes for the same arguments, and returns what to hand to the importer.
`EXAMPLES` is the table; a new format adds its line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bags import write_mcaps, write_rosbags
from plain_folder import write_plain_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A format's example.

    Parameters
    ----------
    write : callable
        Takes (empty folder, number of clips), returns the source to import.
    broken : mapping of str to (path in the source, new bytes or None to delete, pattern)
        What breaks the data set as a whole, and what the error says.
    """

    write: Callable[[Path, int], Path]
    broken: tuple[tuple[str, bytes | None, str], ...] = ()


EXAMPLES: dict[str, Example] = {
    "folder": Example(write=write_plain_folder),
    "mcap": Example(write=write_mcaps),
    "rosbag": Example(write=write_rosbags),
}
