"""Recognise files that syncaudit wrote by a mark near their beginning."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import Enum
from typing import Any

__all__ = ["HEAD_BYTES", "Signature"]

# Marks are at the front, but in films they follow the tables of all frames.
HEAD_BYTES = 1 << 20


def _holds(*marks: bytes) -> Callable[[bytes], bool]:
    return lambda head: any(mark in head for mark in marks)


def _object_with(*keys: str) -> Callable[[bytes], bool]:
    """Return a test for the beginning of a JSON object, which must contain these keys."""
    names = [re.compile(rb'"%s"\s*:' % key.encode()) for key in keys]
    return lambda head: head.lstrip()[:1] == b"{" and all(name.search(head) for name in names)


def _rows_with(*keys: str) -> Callable[[bytes], bool]:
    """Return a test for files whose first JSON line is an object with these keys."""

    def has(head: bytes) -> bool:
        line, newline, _ = head.partition(b"\n")
        if not newline and len(head) >= HEAD_BYTES:  # a row longer than the part read
            return _object_with(*keys)(line)
        row = _parsed(line)
        return isinstance(row, dict) and all(key in row for key in keys)

    return has


def _any_of(*kinds: Callable[[bytes], bool]) -> Callable[[bytes], bool]:
    return lambda head: any(kind(head) for kind in kinds)


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


class Signature(Enum):
    """Kinds of files that carry a mark of syncaudit."""

    REPORT = (_holds(b'name="generator" content="syncaudit', b"<title>syncaudit"),)
    JUNIT = (_holds(b'<testsuites name="syncaudit"'),)
    MARKDOWN = (lambda head: head.startswith(b"<!-- syncaudit -->"),)
    SARIF = (_holds(b'"name": "syncaudit"', b'"name":"syncaudit"'),)
    SUMMARY = (_object_with("version", "complete", "clips"),)
    KEEP = (_any_of(_object_with("dataset", "keep"), _object_with("datasets")),)
    CLIPS = (_rows_with("clip_id"),)
    VERDICTS = (_rows_with("clip_id", "verdict"),)
    POOLED = (_rows_with("digest", "row"),)
    LOG = (_holds(b", syncaudit "),)
    EMPTY = (lambda head: not head,)
    MANIFEST = (_rows_with("clip_id", "sources"),)
    RECORDINGS = (_rows_with("recording_id", "clocks"),)
    CHANGES = (_rows_with("clip_id", "before", "after"),)
    CALIBRATION = (_object_with("version", "reference", "sources"),)
    BASELINE = (_holds(b"by 'syncaudit baseline'"),)
    TUNED = (_holds(b"by 'syncaudit tune'"),)
    LEAKS = (_holds(b"# by 'syncaudit check-split'"),)
    TRAIN = (lambda head: head.startswith(b"start_s,width_s\n"),)
    PLAN = (_holds(b"syncaudit flash-plan"),)
    PLOT = (_holds(b"Software\0syncaudit"),)
    MCAP = (lambda head: head[:5] == b"\x89MCAP" and b"syncaudit" in head[:64],)
    RERUN = (lambda head: head[:3] == b"RRF" and b"syncaudit" in head[:256],)
    PARQUET = (lambda head: head[:4] == b"PAR1",)

    def fits(self, head: bytes) -> bool:
        """Return whether the first bytes of a file match this kind."""
        return bool(self.value[0](head))
