"""Read cameras: locations and timestamps of their frames, without decoding them.

A camera's timestamp table has one row per frame, which may name the frame's image.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.container import list_frames, list_tabulated
from syncaudit.decode.spans import ContainerFrames
from syncaudit.decode.stored import list_stored
from syncaudit.errors import StreamReadError
from syncaudit.formatting import word_count
from syncaudit.model import CameraSpec, CameraStream, Finding, FrameFiles, ReasonCode
from syncaudit.model.units import STAMPS_KEY
from syncaudit.readers.access import is_url, refuse_outside
from syncaudit.readers.columns import STAMPS
from syncaudit.readers.faults import assumed_start, empty_stream, stream_fields, warned
from syncaudit.readers.tables import read_table
from syncaudit.readers.uris import (
    IMAGES,
    check_file,
    holds_data,
    is_image,
    keep_local,
    list_folder,
    natural_key,
    resolve,
    suffix_of,
)

# A camera whose uri is such a table has timestamps but no images.
_TABLES = frozenset({".csv", ".parquet", ".pq"})

# Column of the timestamp table that names each frame's image, for folders shared by clips.
FILE = "file"


def read_camera(
    name: str, spec: CameraSpec, base_uri: str, *, scratch: Path | None = None
) -> CameraStream:
    """Read the timestamps and the frame list of a camera.

    It is a video file, a folder or glob of images in natural order of their names, or a table of
    timestamps: a camera without images, of which only the timestamps are audited. Copies of remote
    images, which decoders need as local files, go into `scratch`; without it they stay in a
    temporary folder until `remove_unused_copies` or the end of the process.
    """
    uri = resolve(spec.uri, base_uri)
    suffix = suffix_of(uri)
    if suffix in _TABLES and spec.pictures is None:
        alone = FrameStamps.read(replace(spec, timestamps=spec.timestamps or spec.uri), base_uri)
        doubts = () if spec.timestamps is None else (_no_images(uri, spec.timestamps),)
        return CameraStream(
            **stream_fields(name, spec, uri, alone.time_ns, alone.findings + doubts),
            files=FrameFiles(paths=()),
            stamp_at=spec.stamp_at,
            line_delay_s=spec.line_delay_s,
            exposure_s=spec.exposure_s,
            scan=spec.scan,
        )
    findings: list[Finding] = []
    stamps = None if spec.timestamps is None else FrameStamps.read(spec, base_uri)
    frames: ContainerFrames | None = None
    named = None if stamps is None else stamps.files
    if spec.pictures is not None:
        # The images in a column of a Parquet file are read only on decoding.
        path = str(keep_local(uri, scratch))
        rows = None if spec.picture_rows is None else (spec.picture_rows[0], spec.picture_rows[1])
        files = FrameFiles(paths=(path,), is_images=True, column=spec.pictures, rows=rows)
    elif named is not None:
        paths = tuple(_local(resolve(name, uri), scratch) for name in named)
        if not paths:
            raise StreamReadError("its timestamp table names no image", code="empty", path=uri)
        files = FrameFiles(paths=paths, is_images=True)
    elif (
        suffix not in IMAGES
        and not is_url(uri)  # the most common case: the sample tables of a plain MP4 list them
        and (frames := list_tabulated(uri, spec.stream, _span_ns(spec))) is not None
    ):
        files = _one_file(uri, spec, n_bytes=frames.n_bytes)  # it is a file, since it could be read
    elif holds_data(uri):
        files = _one_file(uri, spec, is_image=suffix in IMAGES)
    elif (listed := list_folder(uri)) is not None:
        files = _images(uri, listed, scratch)
    else:
        path = _local(uri, scratch)
        check_file(path)
        files = _one_file(path, spec, is_image=is_image(path))
    if frames is None:
        if files.column is not None:
            frames = list_stored(files)
        else:
            stream, span_ns = (0, None) if files.is_images else (files.stream, files.span_ns)
            frames = list_frames(files.paths[0], stream, span_ns)
    if spec.pts_ns is not None and not frames.n_frames and frames.damage is None:
        raise _nothing_selected(uri, spec, files)
    pts_ns = frames.pts_ns()
    pts_s: NDArray[np.float64] | None = None
    if files.is_images:
        n_frames = frames.n_frames if files.column is not None else len(files.paths)
    else:
        n_frames = frames.n_frames
        if pts_ns is not None:
            pts_s = pts_ns.astype(np.float64) * 1e-9
        findings += _damage(uri, frames)
    if stamps is not None and spec.timestamps is not None:
        time_ns = stamps.time_ns
        findings += stamps.findings
        if len(time_ns) != n_frames:
            findings.append(_mismatch(uri, n_frames, spec.timestamps, len(time_ns)))
    else:
        time_ns, more = _container_stamps(uri, spec, files, frames.n_frames, pts_ns)
        findings += more
    return CameraStream(
        **stream_fields(name, spec, uri, time_ns, findings),
        is_start_assumed=spec.is_start_assumed and spec.timestamps is None,
        files=files,
        n_frames_container=n_frames,
        pts_s=pts_s,
        width_px=frames.width_px,
        height_px=frames.height_px,
        stamp_at=spec.stamp_at,
        line_delay_s=spec.line_delay_s,
        exposure_s=spec.exposure_s,
        scan=spec.scan,
        focal_px=_focal_px(spec, frames.width_px),
        distortion=spec.distortion,
    )


def _no_images(uri: str, timestamps: str) -> Finding:
    return warned(
        ReasonCode.MANIFEST,
        f"{uri} is a table, so this camera has no images: only the timestamps in {timestamps} are "
        "audited. Name its video or images as 'uri'; if the table holds images, name their column "
        "as 'pictures'.",
    )


def _one_file(
    path: str, spec: CameraSpec, *, is_image: bool = False, n_bytes: int | None = None
) -> FrameFiles:
    # A single image counts as a folder of one; FFmpeg would invent a clock for it.
    return FrameFiles(
        paths=(path,),
        is_images=is_image,
        stream=spec.stream,
        span_ns=_span_ns(spec),
        n_bytes=n_bytes,
    )


def _span_ns(spec: CameraSpec) -> tuple[int, int] | None:
    return None if spec.pts_ns is None else (spec.pts_ns[0], spec.pts_ns[1])


def _images(uri: str, listed: list[str], scratch: Path | None) -> FrameFiles:
    found = [path for path in listed if is_image(path)]
    if not found:
        raise StreamReadError(
            f"holds no images ({len(listed)} other files)",
            code="empty" if listed else "missing_file",
            path=uri,
            hint=f"Expected a folder or glob of {', '.join(sorted(IMAGES))}.",
        )
    found.sort(key=natural_key)
    # An image of 0 bytes is damage to one frame, found on decoding; only remote images are
    # accessed here.
    return FrameFiles(paths=tuple(_local(path, scratch) for path in found), is_images=True)


def _local(path: str, scratch: Path | None) -> str:
    refuse_outside(path)
    return str(keep_local(path, scratch)) if is_url(path) else path


def _container_stamps(
    uri: str, spec: CameraSpec, files: FrameFiles, n_frames: int, pts_ns: NDArray[Any] | None
) -> tuple[NDArray[np.int64], tuple[Finding, ...]]:
    """Return ``start_ns`` + pts in whole nanoseconds."""
    if files.is_images:
        raise StreamReadError(
            "images carry no timestamps of their own",
            code="manifest",
            path=uri,
            hint="Give 'timestamps': a CSV or Parquet with 'timestamp_ns', one row per image.",
        )
    if pts_ns is None:
        raise StreamReadError(
            "no presentation times are in it (a raw stream, or it holds no frames)",
            code="manifest" if n_frames else "empty",
            path=uri,
            hint="Give 'timestamps': a CSV or Parquet with 'timestamp_ns', one row per frame.",
        )
    if spec.start_ns is None and not spec.is_start_assumed:
        raise StreamReadError(
            "there are neither 'timestamps' nor 'start_ns' to date its frames",
            code="manifest",
            path=uri,
            hint="Give 'timestamps' (a CSV or Parquet with 'timestamp_ns', one row per frame), or "
            "'start_ns', the time of presentation time 0.",
        )
    start_ns, first_ns = spec.start_ns or 0, int(pts_ns[0])
    if start_ns + first_ns < -(2**63) or start_ns + int(pts_ns[-1]) >= 2**63:
        raise StreamReadError(
            f"'start_ns' {start_ns} plus its presentation times exceeds int64",
            code="manifest",
            path=uri,
            hint="'start_ns' is in nanoseconds.",
        )
    findings: tuple[Finding, ...] = (assumed_start(uri),) if spec.is_start_assumed else ()
    if first_ns != 0 and spec.pts_ns is None and spec.start_ns is not None:
        findings += (
            warned(
                ReasonCode.MANIFEST,
                f"{uri}: the first frame has presentation time {first_ns / 1e9:.6f} s, "
                "which is added to 'start_ns'. If 'start_ns' is the time of the first frame, "
                "subtract that.",
                first_ns / 1e9,
            ),
        )
    return (pts_ns + start_ns).astype(np.int64, copy=False), findings


def _nothing_selected(uri: str, spec: CameraSpec, files: FrameFiles) -> StreamReadError:
    pts_ns = list_frames(files.paths[0], spec.stream).pts_ns()
    run = "it has none" if pts_ns is None else f"they run from {pts_ns[0]} to {pts_ns[-1]}"
    return StreamReadError(
        f"no frame has a presentation time in 'pts_ns' {spec.pts_ns}: {run}",
        code="empty",
        path=uri,
        hint="Correct 'pts_ns' (nanoseconds of the container, without 'start_ns'), or 'uri'.",
    )


def _damage(uri: str, frames: ContainerFrames) -> tuple[Finding, ...]:
    if frames.damage is not None:
        return (
            Finding(
                code=ReasonCode.CORRUPT,
                message=f"{uri}: the container breaks off after "
                f"{word_count(frames.n_frames, 'frame')} ({frames.damage}). Copy it again.",
                value=float(frames.n_frames),
            ),
        )
    return () if frames.n_frames else empty_stream(uri, "frames")


def _mismatch(uri: str, n_frames: int, timestamps: str, n_stamps: int) -> Finding:
    return Finding(
        code=ReasonCode.LENGTH_MISMATCH,
        message=f"{uri} holds {n_frames} frames but {timestamps} {n_stamps} timestamps: it is "
        f"unknown which {abs(n_frames - n_stamps)} are missing. Export one row per frame.",
        value=float(n_frames),
        limit=float(n_stamps),
    )


def _focal_px(spec: CameraSpec, width_px: int) -> float | None:
    """Return the focal length, derived from `fov_deg` (horizontal, full width) if not given."""
    if spec.focal_px is not None:
        return spec.focal_px
    if spec.fov_deg is None or not width_px or not 0 < spec.fov_deg < 180:
        return None
    half_rad = math.radians(spec.fov_deg) / 2
    if spec.distortion is None:
        return width_px / 2 / math.tan(half_rad)
    # Beyond a right angle, or where the polynomial has turned back, no ray reaches the image.
    radius = float(spec.distortion.radius(np.array(half_rad)))
    return width_px / 2 / radius if radius > 0.0 else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FrameStamps:
    """A timestamp table; with a column ``file`` it also names the image of each frame."""

    time_ns: NDArray[np.int64]
    files: tuple[str, ...] | None
    findings: tuple[Finding, ...]

    @classmethod
    def read(cls, spec: CameraSpec, base_uri: str) -> FrameStamps:
        """Read the table that a camera names."""
        uri = resolve(spec.timestamps or "", base_uri)
        columns = (spec.stamps or STAMPS, FILE)
        table = read_table(uri, text_columns=columns, rows=spec.rows, columns=columns)
        time_ns = table.stamps(
            spec.stamps, may_be_seconds=spec.stamps is not None, unit=spec.units.get(STAMPS_KEY)
        )
        findings = table.findings if table.n_rows else table.findings + empty_stream(uri, "stamps")
        names = table.data.column(FILE).to_pylist() if table.has(FILE) else None
        if not all(isinstance(each, str) and each and "\0" not in each for each in names or ()):
            raise StreamReadError(
                f"'{FILE}' is blank or not text in a row",
                code="corrupt",
                path=uri,
                hint="It names the image of each timestamp, relative to the camera's uri.",
            )
        files = None if names is None else tuple(names)
        return cls(time_ns=time_ns, files=files, findings=findings)


def named_images(spec: CameraSpec, base_uri: str) -> list[str] | None:
    """Return the resolved images that a camera's timestamp table names; None if it names none."""
    if spec.timestamps is None:
        return None
    uri = resolve(spec.timestamps, base_uri)
    table = read_table(uri, text_columns=(FILE,), rows=spec.rows, columns=(FILE,))
    if FILE not in table.names:
        return None
    folder = resolve(spec.uri, base_uri)
    return [resolve(str(name), folder) for name in table.data.column(FILE).to_pylist()]
