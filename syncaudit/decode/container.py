"""Open containers through FFmpeg: list the frames of their video and decode their audio.

Frames are listed from what the container states, without decoding them.
"""

from __future__ import annotations

import errno
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.frame import white_of
from syncaudit.decode.mp4.sample_tables import read_sample_table
from syncaudit.decode.spans import ContainerFrames, has_clock, in_ns, is_inside, packets_of
from syncaudit.errors import StreamReadError, reason_of
from syncaudit.limits import SOUND_SAMPLES
from syncaudit.machine_faults import machine_fault
from syncaudit.model import FrameFiles

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.video.stream import VideoStream


# Containers and raw streams that hold frames and sound themselves. FFmpeg's playlists (ffconcat,
# HLS, DASH, IMF) would open any file or host they name.
_FORMATS = (
    "mov,matroska,webm,avi,mpegts,mpegtsraw,mpeg,mpegvideo,m4v,h264,hevc,vvc,av1,obu,ivf,vc1,mjpeg,"
    "mjpeg_2000,flv,live_flv,asf,asf_o,nut,mxf,dv,rm,gif,apng,yuv4mpegpipe,wav,w64,flac,mp3,aac,"
    "ogg,aiff,caf,au,amr,ape,wv,tta,tak,ac3,eac3,opus,voc,avr,nist,sph,ircam,"
    "image2,bmp_pipe,gif_pipe,j2k_pipe,jpeg_pipe,jpegls_pipe,jpegxl_pipe,pam_pipe,pbm_pipe,pgm_pipe,"
    "png_pipe,ppm_pipe,tiff_pipe,webp_pipe,exr_pipe,hdr_pipe,sgi_pipe,sunrast_pipe,dds_pipe,qoi_pipe"
)
_ALLOWED = {"format_whitelist": _FORMATS, "protocol_whitelist": "file"}

# Encoders that prepend 256 to 2112 samples, and containers whose presentation times are not those
# of samples.
_PRIMED_CODECS = frozenset({"aac", "mp3", "mp3float", "mp2", "mp2float", "ac3", "eac3"})
_WITHOUT_CLOCK = frozenset({"aac", "mpegts", "mpeg", "avi", "flv", "asf"})
# Presentation times are rounded to 1 ms in Matroska; packets are at least 20 ms long.
_JUMP_S = 0.005
_MAX_ERRORS = 100_000  # a demuxer that fails forever must not hang


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoHeader:
    """Codec and format of a video stream."""

    codec: str  # FFmpeg's name: h264, hevc, av1, vp9, mjpeg ...
    pixel_format: str | None  # FFmpeg's name: yuv420p ...; None if it requires decoding
    width_px: int  # 0 if the header does not state it
    height_px: int
    n_videos: int  # video streams of the file
    white: int  # luma of white, as in `Image`


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoPart:
    """The requested frames of a video."""

    path: str  # local file with one video stream
    header: VideoHeader
    pts: tuple[int, ...]  # of all its frames, sorted, in units of `time_base`
    key_pts: frozenset[int]  # of its key frames
    time_base: Fraction  # seconds per unit
    begin: int  # half-open range of the requested ones among them
    stop: int
    span_ns: tuple[int, int] | None = None  # time span that contains them; None: all are requested

    @classmethod
    def of(cls, path: str, header: VideoHeader, listed: ContainerFrames) -> VideoPart:
        """Return the part that holds all frames that a container lists."""
        return cls(
            path=path,
            header=header,
            pts=() if listed.pts is None else tuple(listed.pts.tolist()),
            key_pts=frozenset(listed.key_pts.tolist()),
            time_base=listed.time_base,
            begin=0,
            stop=listed.n_frames,
        )

    @property
    def wanted(self) -> tuple[int, ...]:
        """Presentation times of the requested frames."""
        return self.pts[self.begin : self.stop]


@contextmanager
def open_container(path: str, *, fast: bool = False) -> Iterator[InputContainer]:
    """Open a media file and close it again.

    `fast` does not decode while probing: enough to list packets, and 3-9 times faster. Do not use
    it for decoding, since the decoder then does not know the reorder depth from the start.
    """
    import av

    place = Path(path)
    try:
        exists = place.exists()
    except (OSError, ValueError) as error:  # the name is too long or invalid
        raise StreamReadError(
            f"cannot be a file ({reason_of(error)})", path=path[:200], hint="Check the uri."
        ) from error
    if not exists:
        raise StreamReadError(
            "file not found", code="missing_file", path=path, hint="Check the uri."
        )
    if place.is_file() and place.stat().st_size == 0:
        raise StreamReadError(
            "the file is empty (0 bytes)", code="empty", path=path, hint="Copy it again."
        )
    options = _ALLOWED | ({"skip_frame": "all"} if fast else {})
    try:
        container = av.open(path, mode="r", options=options, metadata_errors="replace")
    except (av.FFmpegError, OSError, ValueError, MemoryError, OverflowError) as error:
        raise _unopenable(place, error) from error
    with container:
        yield container


def _unopenable(place: Path, error: Exception) -> StreamReadError:
    path = str(place)
    if isinstance(error, PermissionError):
        return StreamReadError(
            "no permission to read it", path=path, hint="Check the file's permissions."
        )
    if _lacks_moov(place):
        return StreamReadError(
            "the MP4 index (moov atom) is missing: the file is cut off or was never closed",
            code="unreadable",
            path=path,
            hint="Copy it again, or rebuild it with a tool such as untrunc.",
        )
    is_listed = getattr(error, "errno", None) != errno.EINVAL  # among the allowed formats
    return StreamReadError(
        f"FFmpeg cannot open it ({reason_of(error)})"
        if is_listed
        else "it is not a video or audio container (playlists are not followed)",
        code="unreadable",
        path=path,
        hint="Expected a video or audio file such as mp4, mkv, mov, avi, webm or raw H.264; "
        "check it with ffprobe.",
    )


def _lacks_moov(place: Path) -> bool:
    """Return whether the top-level boxes of an ISO file lack a ``moov``."""
    size = place.stat().st_size if place.is_file() else 0
    if size < 8:
        return False
    with place.open("rb") as file:
        at, seen = 0, set[bytes]()
        while at + 8 <= size:
            file.seek(at)
            head = file.read(16)
            length, kind = int.from_bytes(head[:4], "big"), head[4:8]
            if length == 1:
                length = int.from_bytes(head[8:16], "big")
            seen.add(kind)
            if length < 8:
                break
            at += length
    return b"ftyp" in seen and b"moov" not in seen


def video_stream(container: InputContainer, stream: int, path: str) -> VideoStream:
    """Return video stream number `stream` of an open container."""
    found = container.streams.video
    if not 0 <= stream < len(found):
        raise StreamReadError(
            f"it has {len(found)} video stream(s), stream {stream} was requested",
            code="unreadable" if not found else "manifest",
            path=path,
            hint="Streams are counted from 0; correct 'stream' or 'uri' of the camera.",
        )
    if not _is_decodable(found[stream]):
        raise StreamReadError(
            "its video codec is not known to FFmpeg",
            path=path,
            hint="Check it with ffprobe; re-encode it as H.264.",
        )
    return found[stream]


def _is_decodable(stream: VideoStream | AudioStream) -> bool:
    # The context is missing if FFmpeg has no decoder, whatever PyAV's annotations claim.
    context: object = stream.codec_context
    return context is not None


def _audio_stream(container: InputContainer, path: str) -> AudioStream:
    """Return the first audio track of an open container."""
    found = container.streams.audio
    if not found or not _is_decodable(found[0]):
        raise StreamReadError(
            "it has no audio track" if not found else "its audio codec is not known to FFmpeg",
            path=path,
            hint="Name a file with audio, or leave the source out of the manifest.",
        )
    return found[0]


def list_frames(
    path: str, stream: int = 0, span_ns: tuple[int, int] | None = None
) -> ContainerFrames:
    """List the frames of a video without decoding: count and presentation times.

    Plain MP4 files are listed from their sample tables, all others by demuxing. With `span_ns`,
    only frames whose presentation times lie in this half-open range are listed.
    """
    return list_tabulated(path, stream, span_ns) or _demuxed(path, stream, span_ns)


def list_tabulated(
    path: str, stream: int = 0, span_ns: tuple[int, int] | None = None
) -> ContainerFrames | None:
    """List the frames of a plain MP4 file; None if it must be demuxed or is not a file.

    Parameters as for `list_frames`; never raises.
    """
    frames = read_sample_table(path, stream)
    return frames if frames is None or span_ns is None else _within(frames, span_ns)


def _within(frames: ContainerFrames, span_ns: tuple[int, int]) -> ContainerFrames:
    """Return the timed frames that lie in a span."""
    if frames.pts is None:
        return frames
    begin, end = (
        bisect_left(frames.pts, limit_ns, key=lambda value: in_ns(int(value), frames.time_base))
        for limit_ns in span_ns
    )
    pts = frames.pts[begin:end]
    return replace(frames, n_frames=pts.size, pts=pts if pts.size else None)


def _demuxed(path: str, stream: int, span_ns: tuple[int, int] | None) -> ContainerFrames:
    import av

    with open_container(path, fast=True) as container:
        found = video_stream(container, stream, path)
        pts: list[int | None] = []
        key_pts: list[int] = []
        damage: str | None = None
        time_base = Fraction(found.time_base or 1)
        try:
            for packet in packets_of(container, found, span_ns):
                if not packet.size or packet.is_discard:
                    continue
                if is_inside(packet.pts, time_base, span_ns):
                    pts.append(packet.pts)
                    if packet.is_keyframe and packet.pts is not None:
                        key_pts.append(packet.pts)
        except (av.FFmpegError, OSError, ValueError, MemoryError) as error:
            if machine_fault(error) is not None:
                raise StreamReadError(f"cannot be read ({reason_of(error)})", path=path) from error
            damage = reason_of(error)
        times = [value for value in pts if value is not None]
        is_timed = has_clock(container) and bool(times) and len(times) == len(pts)
        return ContainerFrames(
            n_frames=len(pts),
            pts=np.sort(np.array(times, dtype=np.int64)) if is_timed else None,
            key_pts=np.array(key_pts, dtype=np.int64),
            time_base=time_base,
            width_px=found.width or 0,
            height_px=found.height or 0,
            damage=damage,
        )


def read_header(files: FrameFiles) -> VideoHeader:
    """Return the contents of a video's header."""
    quick = _read_header(files, fast=True)
    # Without decoding, the pixel format may remain unknown.
    return quick if quick.pixel_format is not None else _read_header(files, fast=False)


def _read_header(files: FrameFiles, *, fast: bool) -> VideoHeader:
    path = files.paths[0]
    with open_container(path, fast=fast) as container:
        stream = video_stream(container, files.stream, path)
        return VideoHeader(
            codec=stream.codec_context.codec.canonical_name,
            pixel_format=stream.codec_context.pix_fmt,
            width_px=stream.width or 0,
            height_px=stream.height or 0,
            n_videos=len(container.streams.video),
            white=white_of(stream.codec_context.pix_fmt or "", stream.codec_context.color_range),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SoundTrack:
    """First audio track of a file.

    Before each sample in `jumps`, presentation time jumps ahead of the sample count (or back) by
    this many seconds: packets that the recorder lost.
    """

    rate_hz: int
    samples: NDArray[np.float32]  # mean of the channels, full scale 1, shape (n,)
    n_errors: int  # packets that could not be decoded
    start_s: float  # presentation time of the first sample
    jumps: tuple[tuple[int, float], ...] = ()
    # the codec prepends samples, and the file does not record how many: most tracks of MP4 files
    # do, but not those that begin late, are fragmented or have no edit list
    is_priming_unknown: bool = False


def decode_sound(path: str) -> SoundTrack:
    """Decode the first audio track of a local file."""
    import av

    failures = (av.FFmpegError, OSError, ValueError, MemoryError)
    blocks: list[NDArray[np.float32]] = []
    jumps: list[tuple[int, float]] = []
    n_errors, start_s, n_samples = 0, 0.0, 0
    due_s: float | None = None
    with open_container(path) as container:
        stream = _audio_stream(container, path)
        rate_hz = int(stream.rate or 0)
        has_clock = not _WITHOUT_CLOCK & set(container.format.name.split(","))
        is_primed = stream.codec_context.name in _PRIMED_CODECS
        states_priming = False
        resampler = av.AudioResampler(format="fltp")

        def keep(frame: av.AudioFrame | None) -> None:
            for part in resampler.resample(frame):
                with np.errstate(all="ignore"):  # float sound may hold inf and NaN
                    blocks.append(part.to_ndarray().mean(axis=0, dtype=np.float32))

        packets = container.demux(stream)
        while True:
            try:
                packet = next(packets)
                if not n_samples:  # at the end it states what to cut off there
                    states_priming |= packet.has_sidedata("skip_samples")
                for frame in packet.decode():
                    if not blocks and frame.time is not None:
                        start_s = float(frame.time)
                    rate_hz = rate_hz or int(frame.sample_rate)
                    if frame.time is not None and frame.sample_rate:
                        if has_clock and due_s is not None and abs(frame.time - due_s) > _JUMP_S:
                            jumps.append((n_samples, float(frame.time) - due_s))
                        due_s = float(frame.time) + frame.samples / frame.sample_rate
                    n_samples += frame.samples
                    refuse_endless(path, n_samples)
                    keep(frame)
            except (StopIteration, EOFError):
                break
            except StreamReadError:
                raise
            except failures:
                n_errors += 1
                if n_errors > _MAX_ERRORS:
                    break
        if blocks:
            with suppress(*failures):
                keep(None)
    return SoundTrack(
        rate_hz=rate_hz,
        samples=np.concatenate(blocks) if blocks else np.empty(0, np.float32),
        n_errors=n_errors,
        start_s=start_s,
        jumps=tuple(jumps),
        is_priming_unknown=is_primed and not states_priming,
    )


def refuse_endless(path: str, n_samples: int) -> None:
    """Reject audio with more samples than are ever decoded at once."""
    if n_samples > SOUND_SAMPLES:
        raise StreamReadError(
            f"holds more than {SOUND_SAMPLES} samples of audio (6 hours at 48 kHz)",
            path=path,
            hint="Split the recording into hours.",
        )
