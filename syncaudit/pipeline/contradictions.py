"""Find where a clip's files or its manifest are contradicted: other windows, twins, flashes."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from syncaudit.estimators.events.flash_bands import are_equally_high, why_bands_contradict
from syncaudit.estimators.events.flashes import METHOD
from syncaudit.estimators.events.scans import READ_UP
from syncaudit.formatting import word_duration
from syncaudit.model import (
    CameraStream,
    Clip,
    ClipEvidence,
    EventStream,
    Finding,
    FlashEdges,
    PairMeasurement,
    ReasonCode,
    Severity,
    SignalStream,
    SourceSpec,
    Stream,
)
from syncaudit.pipeline.reading import NEAR_S, Window

# Keys that distinguish sources sharing a file; the data may be the same whatever else differs.
_PARTS = ("kind", "stream", "rows", "pts_ns", "columns", "signals", "tier", "stamps", "audio")
# Fewer sources do not outvote one.
MIN_SOURCES = 3
# Bytes compared at the beginning, in the middle and at the end of files of one size.
_SAMPLE_BYTES = 65536


def find_misplaced_files(
    clip: Clip, streams: Mapping[str, Stream], window: Window
) -> tuple[Finding, ...]:
    """Return warnings about files that may belong to another clip or another source.

    Clocks are not known here and may be off by a second, so nothing rejects. Where the manifest
    states the window, `syncaudit.policy.sources` finds what does not cover it.
    """
    findings: list[Finding] = []
    if clip.states_window:
        return _twins(clip, streams)
    ends = {
        name: _ends(stream.time_ns)
        for name, stream in streams.items()
        if isinstance(stream, CameraStream | SignalStream | EventStream) and stream.time_ns.size
    }
    usual = [pair for name, pair in ends.items() if not isinstance(streams[name], EventStream)]
    window = _usual(usual) or window
    if window.stop_ns > window.start_ns:
        for name, pair in ends.items():
            findings += _outside(name, streams[name], pair, window)
    return (*findings, *_twins(clip, streams))


def _ends(time_ns: NDArray[np.int64]) -> tuple[int, int]:
    """Return first and last by time, in a quarter of the time that `min` and `max` take."""
    return time_ns.item(time_ns.argmin()), time_ns.item(time_ns.argmax())


def _usual(ends: Sequence[tuple[int, int]]) -> Window | None:
    """Return when most sources begin and end; None if there are too few."""
    if len(ends) < MIN_SOURCES:
        return None
    starts, stops = (sorted(column) for column in zip(*ends, strict=True))
    return Window(start_ns=starts[len(ends) // 2], stop_ns=stops[(len(ends) - 1) // 2])


def _outside(name: str, stream: Stream, ends: tuple[int, int], window: Window) -> list[Finding]:
    first, last = ends
    late_s, early_s = (first - window.start_ns) * 1e-9, (window.stop_ns - last) * 1e-9
    if late_s > window.span_s + NEAR_S or early_s > window.span_s + NEAR_S:
        way = "after" if late_s > 0.0 else "before"
        away_s = late_s - window.span_s if late_s > 0.0 else early_s - window.span_s
        text = (
            f"{stream.uri}: all of its timestamps are {way} the clip, the nearest by "
            f"{word_duration(away_s)}: a file of another clip, or a clock with another epoch. "
            f"Check the uri of {name}."
        )
        return [Finding.warning(ReasonCode.LENGTH_MISMATCH, name, text, value=away_s, limit=0.0)]
    if isinstance(stream, EventStream):
        return []  # nothing has to happen at the ends
    found = []
    for lacks_s, words in (
        (late_s, "begins {} after most others"),
        (early_s, "ends {} before most others"),
    ):
        if lacks_s > NEAR_S:
            text = (
                f"{stream.uri}: {words.format(word_duration(lacks_s))}; the rest is missing. Find "
                "it, or shorten the clip (start_ns, end_ns)."
            )
            found.append(Finding.warning(ReasonCode.GAP, name, text, value=lacks_s, limit=NEAR_S))
    return found


def _twins(clip: Clip, streams: Mapping[str, Stream]) -> tuple[Finding, ...]:
    """Return a warning for every two sources that hold the same data."""
    by_size: dict[int, list[tuple[str, str]]] = {}
    for name, stream in streams.items():
        path = _main_file(stream)
        known = stream.files.n_bytes if isinstance(stream, CameraStream) else None
        if path is not None and (size := known or _size_of_file(path)):
            by_size.setdefault(size, []).append((name, path))
    findings = []
    for files in by_size.values():
        for (one, path), (other, other_path) in combinations(files, 2):
            if _part(clip.sources[one]) != _part(clip.sources[other]):
                continue
            if path != other_path and _digest(path) != _digest(other_path):
                continue
            text = (
                f"{one} and {other} hold the same data ({streams[one].uri}, "
                f"{streams[other].uri}): one was copied over the other, or listed twice. Check "
                "their uris."
            )
            findings.append(Finding.warning(ReasonCode.DUPLICATE, other, text))
    return tuple(findings)


def _part(spec: SourceSpec) -> list[object]:
    return [getattr(spec, key, None) for key in _PARTS]


def _main_file(stream: Stream) -> str | None:
    """Return the local file that a stream was read from (the middle one of many images)."""
    if isinstance(stream, CameraStream):
        paths = stream.files.paths
        return paths[len(paths) // 2] if paths else None
    return stream.uri if stream.uri and "://" not in stream.uri else None


def _size_of_file(path: str) -> int:
    """Return the size in bytes of a regular file; 0 for anything else."""
    try:
        status = os.stat(path)  # noqa: PTH116  # for every source of every clip
    except (OSError, ValueError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _digest(path: str) -> bytes:
    size = _size_of_file(path)
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        for start in (0, size // 2, max(0, size - _SAMPLE_BYTES)):
            file.seek(start)
            digest.update(file.read(_SAMPLE_BYTES))
    return digest.digest()


def contradicted_statements(
    evidence: ClipEvidence, measured: Iterable[PairMeasurement]
) -> Iterator[Finding]:
    """Yield a finding for every camera whose flashes contradict its exposure and line delay.

    Only flashes are evidence: those that another source saw too (an accepted measurement has
    matched those of both, beyond chance), or that left bands of one height.
    """
    confirmed = {
        name
        for pair in measured
        if pair.accepted and pair.method == METHOD
        for name in (pair.source, pair.target)
    }
    for name, flashes in evidence.flashes.items():
        if not isinstance(flashes, FlashEdges):
            continue
        why = why_bands_contradict(flashes)
        if why is not None and (name in confirmed or are_equally_high(flashes)):
            yield Finding(
                code=ReasonCode.MANIFEST,
                source=name,
                message=f"{name}: {why}",
                severity=Severity.DOUBT if flashes.stamp_part else Severity.WARNING,
            )


def cameras_read_upwards(measured: Iterable[PairMeasurement]) -> list[Finding]:
    """Return a warning for every camera whose flashes match only if its images are read upwards."""
    names = {
        name
        for pair in measured
        if pair.accepted
        for side, name in (("source", pair.source), ("target", pair.target))
        if f"{side}_{READ_UP}" in pair.diagnostics
    }
    return [
        Finding.warning(
            ReasonCode.MANIFEST,
            name,
            f"{name}: its flashes match those of others only if its images are read from the last "
            'row to the first, as if rotated by 180 degrees: state "scan": "up" in the manifest',
        )
        for name in sorted(names)
    ]
