"""Derived recordings: cut, thinned out, re-encoded, with coarser timestamps, or rotated.

The known offset of a pair holds for all of them, except when one stream comes from another
recording and has nothing in common with the rest. Streams are changed after reading; videos are
re-encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray
from planted import NOTHING, Plant, audited
from scipy.signal import decimate, resample_poly

from syncaudit.model import (
    AudioStream,
    CameraStream,
    Channel,
    Clip,
    ClipVerdict,
    SignalStream,
    SourceKind,
    Stream,
)
from syncaudit.pipeline import ReadClip, read_clip
from syncaudit.policy import Policy

Streams = Mapping[str, Stream]
Change = Callable[[Stream], Stream]


@dataclass(frozen=True, kw_only=True)
class Derived:
    """A recording derived from another.

    Attributes
    ----------
    name : str
    streams : mapping of str to Stream
    """

    name: str
    streams: Streams


def derived_audits(
    clip: Clip, policy: Policy, folder: Path, offset_s: float
) -> Iterator[tuple[str | None, Plant, ReadClip, ClipVerdict]]:
    """Yield the audit of every variant derived from a clip, as `planted.audits` does.

    Parameters
    ----------
    clip : Clip
        The original clip.
    policy : Policy
    folder : Path
        Folder for videos.
    offset_s : float
        Known offset of the first of two sources to the second, used to cut windows.
    """
    read = read_clip(clip)
    for each in _derived(read.streams, folder, offset_s):
        now = replace(read, streams=each.streams)
        yield None, replace(NOTHING, name=each.name), now, audited(clip, policy, now)


def _derived(streams: Streams, folder: Path, offset_s: float) -> Iterator[Derived]:
    yield from _windows(streams, offset_s)
    for name, stream in streams.items():
        changes: dict[str, Change] = {}
        if isinstance(stream, SignalStream) and stream.kind is SourceKind.IMU:
            changes |= {f"{hz} Hz": lambda s, hz=hz: _thinned(s, hz) for hz in (50.0, 100.0)}
            changes["one axis reversed"] = lambda s: _turned(s, np.diag([1.0, 1.0, -1.0]))
            changes["axes exchanged"] = lambda s: _turned(s, np.eye(3)[[1, 2, 0]])
        if isinstance(stream, SignalStream | CameraStream):
            changes["stamps of 1 ms"] = lambda s: _restamped(s, lambda t: np.rint(t * 1e3) / 1e3)
            changes["stamps of float32"] = lambda s: _restamped(
                s, lambda t: (t + 5e4).astype(np.float32).astype(np.float64) - 5e4
            )
        if isinstance(stream, CameraStream) and not stream.files.is_images:
            for crf, every, part in ((45, 1, 1), (30, 2, 1), (30, 1, 2)):
                how = f"crf {crf}, 1 of {every} frames, 1/{part} size"
                changes[how] = lambda s, crf=crf, every=every, part=part: _coded(
                    s, folder / f"{s.name}-{crf}-{every}-{part}.mp4", crf, every, part
                )
        if isinstance(stream, CameraStream) and stream.files.is_images:
            for quality, part in ((15, 1), (60, 2), (60, 4)):
                how = f"quality {quality}, 1/{part} size"
                changes[how] = lambda s, quality=quality, part=part: _pictures(
                    s, folder / f"{s.name}-{quality}-{part}", quality, part
                )
        if isinstance(stream, AudioStream):
            changes |= {
                f"{hz} Hz": lambda s, hz=hz: _resampled(s, hz) for hz in (8000, 16000, 44100)
            }
        for how, change in changes.items():
            yield Derived(name=f"{how} in {name}", streams={**streams, name: change(stream)})


def _windows(streams: Streams, offset_s: float) -> Iterator[Derived]:
    """Yield windows of clips with two sources that can be cut by sample."""
    can = all(
        isinstance(s, SignalStream) or (isinstance(s, CameraStream) and s.files.is_images)
        for s in streams.values()
    )
    if len(streams) != 2 or not can:
        return
    (name, first), (_, second) = streams.items()
    apart_ns = round(1e9 * offset_s)
    start_ns = max(int(first.time_ns[0]) + apart_ns, int(second.time_ns[0]))
    stop_ns = min(int(first.time_ns[-1]) + apart_ns, int(second.time_ns[-1]))
    for span_s in (5.0, 10.0, 20.0):
        n = min(8, int((stop_ns - start_ns) * 1e-9 / span_s))
        for k in range(n):
            low = start_ns + round(k * (stop_ns - start_ns - 1e9 * span_s) / max(1, n - 1))
            cut = {
                each: _cut(stream, low - (apart_ns if each == name else 0), span_s)
                for each, stream in streams.items()
            }
            yield Derived(name=f"{span_s:g} s, part {k + 1} of {n}", streams=cut)


def _cut(stream: Stream, low_ns: int, span_s: float) -> Stream:
    high_ns = low_ns + round(1e9 * span_s)

    def inside(time_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.asarray((time_ns >= low_ns) & (time_ns < high_ns))

    keep = inside(stream.time_ns)
    if isinstance(stream, SignalStream):
        channels = tuple(_kept(c, inside(c.time_ns)) for c in stream.channels)
        return replace(stream, time_ns=stream.time_ns[keep], channels=channels)
    assert isinstance(stream, CameraStream)  # for the type checker
    paths = tuple(np.array(stream.files.paths)[keep].tolist())
    files = replace(stream.files, paths=paths)
    return replace(stream, time_ns=stream.time_ns[keep], files=files, n_frames_container=len(paths))


def _kept(channel: Channel, keep: NDArray[np.bool_] | slice) -> Channel:
    return replace(channel, time_ns=channel.time_ns[keep], values=channel.values[keep])


def _thinned(stream: Stream, rate_hz: float) -> Stream:
    """Return an IMU resampled to about `rate_hz`, anti-alias filtered without delay."""
    assert isinstance(stream, SignalStream)  # for the type checker
    now_hz = 1e9 / float(np.median(np.diff(stream.time_ns)))
    every = round(now_hz / rate_hz)
    if every < 2:
        return stream
    channels = tuple(
        replace(
            channel,
            time_ns=channel.time_ns[::every],
            values=decimate(channel.values, every, ftype="fir", axis=0, zero_phase=True),
        )
        for channel in stream.channels
    )
    return replace(stream, time_ns=stream.time_ns[::every], channels=channels)


def _turned(stream: Stream, by: NDArray[np.float64]) -> Stream:
    assert isinstance(stream, SignalStream)  # for the type checker
    channels = tuple(replace(each, values=each.values @ by.T) for each in stream.channels)
    return replace(stream, channels=channels)


def _restamped(stream: Stream, to: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Stream:
    """Return a stream with a function applied to its timestamps, in seconds of a day."""
    day_ns = 86_400_000_000_000
    zero_ns = int(stream.time_ns[0]) // day_ns * day_ns

    def moved(time_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        return zero_ns + np.rint(1e9 * to(1e-9 * (time_ns - zero_ns))).astype(np.int64)

    if isinstance(stream, SignalStream):
        channels = tuple(replace(c, time_ns=moved(c.time_ns)) for c in stream.channels)
        return replace(stream, time_ns=moved(stream.time_ns), channels=channels)
    return replace(stream, time_ns=moved(stream.time_ns))


def _resampled(stream: Stream, rate_hz: int) -> Stream:
    assert isinstance(stream, AudioStream)  # for the type checker
    ratio = Fraction(rate_hz, round(stream.rate_hz))
    samples = resample_poly(stream.samples, ratio.numerator, ratio.denominator)
    return replace(stream, samples=samples.astype(np.float32), rate_hz=float(rate_hz))


def _pictures(stream: Stream, folder: Path, quality: int, part: int) -> Stream:
    """Return a camera whose individual images were re-encoded or downscaled."""
    assert isinstance(stream, CameraStream)  # for the type checker
    folder.mkdir()
    paths = []
    for k, path in enumerate(stream.files.paths):
        image = cv2.imread(path)
        size = (image.shape[1] // part, image.shape[0] // part)
        small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        paths.append(str(folder / f"{k:06d}.jpg"))
        cv2.imwrite(paths[-1], small, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return replace(
        stream,
        files=replace(stream.files, paths=tuple(paths)),
        width_px=size[0],
        height_px=size[1],
        focal_px=None if stream.focal_px is None else stream.focal_px / part,
    )


def _coded(stream: Stream, path: Path, crf: int, every: int, part: int) -> Stream:
    """Return a camera whose video was re-encoded: H.264, fewer or smaller frames."""
    assert isinstance(stream, CameraStream)  # for the type checker
    size = (stream.width_px // part // 2 * 2, stream.height_px // part // 2 * 2)
    with av.open(stream.files.paths[0]) as source, av.open(str(path), "w") as target:
        out = target.add_stream("libx264", rate=30)
        out.width, out.height, out.pix_fmt = *size, "yuv420p"
        out.options = {"crf": str(crf), "bf": "0"}
        for k, frame in enumerate(source.decode(video=0)):
            if k % every == 0:
                small = frame.reformat(*size, format="yuv420p")
                small.pts = k // every
                small.time_base = Fraction(1, 30)
                target.mux(out.encode(small))
        target.mux(out.encode(None))
    time_ns = stream.time_ns[::every]
    return replace(
        stream,
        time_ns=time_ns,
        files=replace(stream.files, paths=(str(path),), stream=0, span_ns=None, first=0),
        n_frames_container=time_ns.size,
        pts_s=np.arange(time_ns.size) / 30.0,
        width_px=size[0],
        height_px=size[1],
        focal_px=None if stream.focal_px is None else stream.focal_px / part,
    )
