"""Read what a file states about its video, without decoding."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from syncaudit.decode.container import open_container, video_stream
from syncaudit.decode.container_frames import ContainerFrames
from syncaudit.decode.frame import white_of
from syncaudit.model import FrameFiles


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
