"""Read every source of a clip; what cannot be read becomes a finding.

Streams are restricted to the window over which the clip is judged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from syncaudit.at_work import at_work_on
from syncaudit.dsp.robust import nearest_quantiles
from syncaudit.errors import ClipInputError, MachineError, SyncAuditError
from syncaudit.machine_faults import machine_fault
from syncaudit.model import (
    AudioStream,
    CameraStream,
    Channel,
    Clip,
    EventStream,
    Finding,
    FrameFiles,
    ReasonCode,
    SignalStream,
    Stream,
)
from syncaudit.readers import read_source
from syncaudit.readers.access import is_url

_LOOK_BYTES = 1 << 20

# Kept of signals on either side of a stated window, so that shifted clocks still overlap.
MARGIN_S = 6.0
# The same for frames, audio and the timestamps that are judged: clocks may be off by this much.
NEAR_S = 1.0

_LOWEST, _HIGHEST = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadClip:
    """The streams of a clip and the findings about those that could not be read."""

    streams: Mapping[str, Stream]  # by source; those that could not be read are absent
    findings: tuple[Finding, ...] = field(default=())  # from the readers, all sources together


def read_clip(
    clip: Clip,
    *,
    is_tolerant: bool = False,
    near_ns: Mapping[str, tuple[int, int]] | None = None,
) -> ReadClip:
    """Read all sources of `clip`; bad data are findings.

    MachineError if the machine failed, not the data. With `is_tolerant`, for display and not for
    judging, the other sources are read even then. `near_ns` is by source, as in `read_source`.
    """
    streams: dict[str, Stream] = {}
    findings: list[Finding] = []
    for name, spec in clip.sources.items():
        try:
            near = None if near_ns is None else near_ns.get(name)
            with at_work_on(f"reading source {name!r}"):
                stream = read_source(name, spec, clip.base_uri, near_ns=near)
        except SyncAuditError as error:
            if not is_tolerant:
                refuse_machine_fault(error, error.path, source=name)
            findings.append(unreadable(name, error))
            continue
        streams[name] = stream
        findings += [replace(finding, source=name) for finding in stream.findings]
        # Transcripts are relative to their audio and have no timestamps of their own.
        if stream.time_ns.size == 0 and spec.kind != "transcript" and not stream.findings:
            findings.append(
                Finding(
                    code=ReasonCode.EMPTY,
                    source=name,
                    message=f"{stream.uri or name} holds no samples. Record it again or drop it.",
                )
            )
    return ReadClip(
        streams={**streams, **_placed(clip, streams)},
        findings=tuple(from_manifest(finding, clip.base_uri) for finding in findings),
    )


def _placed(clip: Clip, streams: Mapping[str, Stream]) -> dict[str, Stream]:
    """Return undated streams moved to the start of the dated ones, if there are any."""
    undated = {
        name
        for name, stream in streams.items()
        if stream.is_start_assumed and getattr(clip.sources[name], "start_ns", 0) is None
    }
    dated = {name: stream for name, stream in streams.items() if name not in undated}
    if not any(stream.time_ns.size for stream in dated.values()):
        return {}
    start_ns = window_of(clip, dated).start_ns
    return {
        name: replace(streams[name], time_ns=streams[name].time_ns + start_ns) for name in undated
    }


def from_manifest(finding: Finding, base_uri: str) -> Finding:
    """Return `finding` with paths as in the manifest: relative to its folder.

    A verdict then does not depend on where a data set lies, and is easier to read.
    """
    message = without_base(finding.message, base_uri) or ""
    return finding if message == finding.message else replace(finding, message=message)


def without_base(text: str | None, base_uri: str) -> str | None:
    """Return `text` with paths relative to the manifest's folder."""
    base = base_uri.rstrip("/")
    return text.replace(f"{base}/", "") if text and base else text


def refuse_machine_fault(
    error: BaseException, path: str | None, *, source: str | None = None
) -> None:
    """Raise MachineError if the machine caused an error, which is then not a finding about a clip.

    C libraries often report only that a file cannot be opened; the file is then opened directly,
    and read at both ends, to find out why.
    """
    if isinstance(error, MachineError):
        raise error
    fault = machine_fault(error) or machine_fault(_plain_error(path))
    if fault is not None:
        raise MachineError(
            f"this clip cannot be judged: {fault} ({str(error).rstrip('.')})",
            source=source,
            hint="Fix that and run again: the clip is then measured again.",
        ) from error


def _plain_error(path: str | None) -> OSError | None:
    if path is None or is_url(path):
        return None
    try:
        if not Path(path).is_file():
            return None
        with Path(path).open("rb") as file:
            file.read(_LOOK_BYTES)
            file.seek(max(0, Path(path).stat().st_size - _LOOK_BYTES))
            file.read(_LOOK_BYTES)
    except OSError as error:
        return error
    return None


def unreadable(source: str, error: SyncAuditError) -> Finding:
    """Return the finding for an expected error of a reader or decoder."""
    code = error.code if isinstance(error, ClipInputError) else ReasonCode.UNREADABLE
    known = {str(member) for member in ReasonCode}
    return Finding(
        code=ReasonCode(code) if code in known else ReasonCode.UNREADABLE,
        source=source,
        message=str(error),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Interval judged, on the reported time base; half open."""

    start_ns: int
    stop_ns: int

    @property
    def at_ns(self) -> int:
        """Middle of the window."""
        return self.start_ns + (self.stop_ns - self.start_ns) // 2

    @property
    def span_s(self) -> float:
        """Length in seconds."""
        return (self.stop_ns - self.start_ns) * 1e-9


def window_of(clip: Clip, streams: Mapping[str, Stream]) -> Window:
    """Return the window of a clip: as stated, else the overlap of all sources.

    If they do not all overlap (one clock of another epoch), it is the overlap of most of them, the
    longest in case of a tie: Marzullo, "Maintaining the Time in a Distributed System", 1984. A log
    that counts from a start of its own is left out unless there is nothing else.
    """
    dated = [stream for stream in streams.values() if not _has_own_start(stream)]
    extents = [
        extent for stream in dated or streams.values() if (extent := _extent(stream)) is not None
    ]
    if not extents:
        start_ns = clip.start_ns or 0
        return Window(start_ns=start_ns, stop_ns=clip.end_ns or start_ns)
    start_ns, stop_ns = _common_extent(extents)
    if clip.start_ns is not None:
        start_ns = clip.start_ns
    if clip.end_ns is not None:
        stop_ns = clip.end_ns
    return Window(start_ns=start_ns, stop_ns=max(start_ns, stop_ns))


def _common_extent(extents: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the longest interval that as many of `extents` as possible cover."""
    most, found = 0, extents[0]
    for start in sorted({first for first, _ in extents}):
        stops = [last for first, last in extents if first <= start < last]
        if stops and (len(stops), min(stops) - start) > (most, found[1] - found[0]):
            most, found = len(stops), (start, min(stops))
    return found


def _has_own_start(stream: Stream) -> bool:
    """Return whether the timestamps of a signal are unrelated to those of other sources."""
    return isinstance(stream, SignalStream) and stream.is_start_assumed


def _extent(stream: Stream) -> tuple[int, int] | None:
    if isinstance(stream, EventStream) or stream.time_ns.size == 0:
        return None
    first, last = nearest_quantiles(stream.time_ns, (0.001, 0.999))
    if isinstance(stream, AudioStream):
        last = max(last, _end_of(stream))
    return first, last


def _end_of(stream: AudioStream) -> int:
    """Return when the last sample of an audio stream ends, counted from its last timestamp."""
    left = stream.samples.size - int(stream.anchor_samples[-1])
    return int(stream.time_ns[-1]) + round(max(0, left) / stream.rate_hz * 1e9)


def extents(
    clip: Clip, streams: Mapping[str, Stream], window: Window
) -> dict[str, tuple[int, int]]:
    """Return the first and last timestamp of every source in or near the clip's stated window.

    For a source without any there, those of all its timestamps, to show how far off it is. Where
    the manifest states no window, of all timestamps, but empty if every source reaches into
    `window`. Sources without timestamps of their own, or with an assumed start, are left out.
    """
    near = stated(clip, MARGIN_S)
    found = {}
    for name, stream in streams.items():
        time_ns = stream.time_ns
        if time_ns.size == 0 or stream.is_start_assumed:
            continue
        if isinstance(stream, AudioStream):
            time_ns = np.append(time_ns, _end_of(stream))
        if near is not None and not isinstance(stream, AudioStream):
            inside = time_ns[(time_ns >= near[0]) & (time_ns < near[1])]
            time_ns = inside if inside.size else time_ns
        found[name] = (int(time_ns.min()), int(time_ns.max()))
    all_reach = all(
        first <= window.stop_ns and last >= window.start_ns for first, last in found.values()
    )
    return {} if near is None and all_reach else found


def crop(stream: Stream, clip: Clip, *, margin_s: float = NEAR_S) -> Stream:
    """Return `stream` without what lies outside the clip's stated window and `margin_s` around it.

    Nothing is cropped where the manifest states no window, or where nothing would be left (a
    clock of another epoch). Frames of a camera are selected by `wanted_frames` instead: they are
    decoded by position.
    """
    if isinstance(stream, CameraStream) or stream.time_ns.size == 0 or _has_own_start(stream):
        return stream
    window = stated(clip, margin_s)
    if window is None:
        return stream
    low, high = window
    if isinstance(stream, AudioStream):
        return _crop_audio(stream, *(stated(clip, NEAR_S) or window))
    keep = _inside(stream.time_ns, low, high)
    if keep is None:
        return stream
    if isinstance(stream, SignalStream):
        channels = tuple(_crop_channel(channel, low, high) for channel in stream.channels)
        return replace(stream, time_ns=stream.time_ns[keep], channels=channels)
    return replace(stream, time_ns=stream.time_ns[keep])


def wanted_frames(stream: CameraStream, clip: Clip) -> NDArray[np.bool_] | None:
    """Return which frames lie in or near the clip's stated window; None if all do."""
    window = stated(clip, NEAR_S)
    return None if window is None else _inside(stream.time_ns, *window)


def part_of(stream: CameraStream, wanted: NDArray[np.bool_]) -> FrameFiles:
    """Return the files of a camera reduced to the run of frames that are wanted, at least one.

    Frames keep their index. In a long recording of many clips this allows seeking, instead of
    decoding from the beginning for each clip. Videos whose frames do not match the timestamps
    stay whole: there the index of a frame does not determine its presentation time.
    """
    files = stream.files
    first, last = (int(index) for index in np.flatnonzero(wanted)[[0, -1]])
    if files.column is not None:
        start = 0 if files.rows is None else files.rows[0]
        return replace(files, rows=(start + first, start + last + 1), first=first)
    if files.is_images:
        return replace(files, paths=files.paths[first : last + 1], first=first)
    if stream.pts_s is None or stream.pts_s.size != wanted.size:
        return files
    pts_ns = np.rint(stream.pts_s * 1e9).astype(np.int64)
    first = int(np.searchsorted(pts_ns, pts_ns[first]))
    return replace(files, span_ns=(int(pts_ns[first]), int(pts_ns[last]) + 1), first=first)


def stamps_in_window(stream: Stream, clip: Clip) -> Stream:
    """Return `stream` with only the timestamps in or near the clip's window, which are judged."""
    if not isinstance(stream, CameraStream):
        return crop(stream, clip)
    keep = wanted_frames(stream, clip)
    if keep is None:
        return stream
    return replace(stream, time_ns=stream.time_ns[keep], n_frames_container=None)


def stated(clip: Clip, margin_s: float) -> tuple[int, int] | None:
    """Return the stated window of a clip with a margin, ``[low, high)`` in ns; None if open."""
    if not clip.states_window:
        return None
    margin_ns = round(margin_s * 1e9)
    low = _LOWEST if clip.start_ns is None else max(_LOWEST, clip.start_ns - margin_ns)
    high = _HIGHEST if clip.end_ns is None else min(_HIGHEST, clip.end_ns + margin_ns)
    return low, high


def _inside(time_ns: NDArray[np.int64], low: int, high: int) -> NDArray[np.bool_] | None:
    """Return the run of samples from the first in ``[low, high)`` to the last; None: all.

    Absurd timestamps within the run stay in it: they are what the audit is about. Where none lies
    inside (a clock of another epoch), all are kept.
    """
    inside = np.flatnonzero((time_ns >= low) & (time_ns < high))
    if inside.size == 0 or inside[-1] - inside[0] + 1 == time_ns.size:
        return None
    keep = np.zeros(time_ns.size, dtype=np.bool_)
    keep[inside[0] : inside[-1] + 1] = True
    return keep


def _crop_audio(stream: AudioStream, low: int, high: int) -> AudioStream:
    """Crop audio that has one timestamp; audio with a table of timestamps is left whole."""
    if stream.time_ns.size != 1 or not stream.rate_hz > 0.0:
        return stream
    zero_ns = int(stream.time_ns[0]) - round(int(stream.anchor_samples[0]) / stream.rate_hz * 1e9)
    n = int(stream.samples.size)
    first = min(n, max(0, math.ceil((low - zero_ns) * 1e-9 * stream.rate_hz)))
    stop = min(n, max(0, math.ceil((high - zero_ns) * 1e-9 * stream.rate_hz)))
    if stop <= first or (first, stop) == (0, n):
        return stream
    return replace(
        stream,
        time_ns=np.array([zero_ns + round(first / stream.rate_hz * 1e9)], dtype=np.int64),
        anchor_samples=np.zeros(1, dtype=np.int64),
        samples=stream.samples[first:stop],
        first_sample=stream.first_sample + first,
        file_seconds=stream.file_seconds or n / stream.rate_hz,
    )


def _crop_channel(channel: Channel, low: int, high: int) -> Channel:
    keep = _inside(channel.time_ns, low, high)
    if keep is None:
        return channel
    return replace(channel, time_ns=channel.time_ns[keep], values=channel.values[keep])
