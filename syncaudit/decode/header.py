"""What a file says of its video before anything is decoded."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from syncaudit.decode.container import open_container, video_stream
from syncaudit.decode.picture import white_of
from syncaudit.model import FrameFiles

__all__ = ["VideoHeader", "VideoPart", "read_header"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoHeader:
    """Codec and format of a video stream."""

    codec: str  # FFmpeg's name: h264, hevc, av1, vp9, mjpeg ...
    pixel_format: str | None  # FFmpeg's name: yuv420p ...; None where only decoding would tell
    width_px: int  # 0 where the header does not say
    height_px: int
    n_videos: int  # video streams of the file
    white: int  # luma of white, as of `Picture`


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoPart:
    """Frames of a video that are wanted."""

    path: str  # local file with one video stream
    header: VideoHeader
    pts: tuple[int, ...]  # of all its frames, sorted, in units of `time_base`
    time_base: Fraction  # seconds per unit
    begin: int  # half-open range of the wanted ones among them
    stop: int
    span_ns: tuple[int, int] | None  # of time that they lie in; None: all are wanted

    @property
    def wanted(self) -> tuple[int, ...]:
        """Presentation times of the wanted frames."""
        return self.pts[self.begin : self.stop]


def read_header(files: FrameFiles) -> VideoHeader:
    """Return what the header of a video says."""
    quick = _read_header(files, fast=True)
    # Without decoding, the format of the pixels may stay unknown.
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
