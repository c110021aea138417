"""Timestamps and samples collected from one topic, ready to be written."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.formatting import word_count
from syncaudit.model.arrays import Ints

# A header stamp of zero was never set; above this share the topic counts as having none.
_MOST_UNSET = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """One source made from a topic."""

    topic: str
    kind: str
    suffix: str = ""  # distinguishes several sources from one topic
    columns: dict[str, NDArray[Any]]  # table of the source, stamps first, shape (n,) each
    is_captured: bool  # ``timestamp_ns`` are header stamps
    images: str | None = None  # video file or folder of stills
    sound: str | None = None  # sound file
    log: bytes | None = None  # bus log in candump format
    # further keys of the manifest: ``columns`` of a state, ``signals`` of a bus
    said: dict[str, Any] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)  # ``code: text``


class Damage:
    """Counts messages that do not match their type."""

    def __init__(self) -> None:
        self._count = 0
        self.first = ""  # the fault of the first bad message

    def note(self, error: Exception) -> None:
        """Count one message."""
        self.first = self.first or str(error)
        self._count += 1

    def findings(self, topic: str) -> list[str]:
        """Return one finding about all bad messages, or none."""
        if not self._count:
            return []
        return [
            f"corrupt: {word_count(self._count, 'message')} of {topic} cannot be read, left out "
            f"(the first: {self.first})"
        ]


class Stamps:
    """The stamps of messages that are taken one by one; see `stamp_columns`."""

    def __init__(self) -> None:
        self._capture, self._receive, self._publish = array("q"), array("q"), array("q")

    def __len__(self) -> int:
        """Return the number of messages."""
        return len(self._capture)

    def add(self, capture_ns: int, receive_ns: int, publish_ns: int | None) -> None:
        """Add those of one message."""
        self._capture.append(capture_ns)
        self._receive.append(receive_ns)
        if publish_ns is not None:
            self._publish.append(publish_ns)

    def columns(self) -> tuple[dict[str, NDArray[Any]], bool, list[str]]:
        """Return what `stamp_columns` chooses."""
        return stamp_columns(*map(np.array, (self._capture, self._receive, self._publish)))


def stamp_columns(
    capture: Ints, receive: Ints, publish: Ints
) -> tuple[dict[str, NDArray[Any]], bool, list[str]]:
    """Choose the timestamps of a source, and keep the other stamps beside them.

    `capture` are header stamps, `receive` the times at which the recorder received the messages, in
    file order, all int64 of shape (n,); `publish` the times at which they were sent, shape (n,) or
    (0,) if the bag does not contain them.

    Return ``timestamp_ns`` (header stamps; receive stamps if the headers were never set) with
    ``receive_ns`` and ``publish_ns`` if they differ, whether ``timestamp_ns`` are header stamps,
    and findings as ``code: text``.
    """
    n_unset = int(np.count_nonzero(capture == 0))
    if n_unset > _MOST_UNSET * capture.size:
        finding = (
            f"manifest: {n_unset} of {capture.size} header timestamps are zero, so receive "
            "timestamps are used: they include every delay between sensor and recorder. Let the "
            "driver set header.stamp"
        )
        return {"timestamp_ns": receive}, False, [finding]
    columns: dict[str, NDArray[Any]] = {"timestamp_ns": capture, "receive_ns": receive}
    if publish.size == receive.size and not np.array_equal(publish, receive):
        columns["publish_ns"] = publish
    return columns, True, []
