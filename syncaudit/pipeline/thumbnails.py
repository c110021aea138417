"""Make a few small images of a clip for the report page."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import cv2
import numpy as np

from syncaudit.decode import decode_still
from syncaudit.errors import SyncAuditError
from syncaudit.model import CameraSpec, CameraStream, Clip
from syncaudit.readers import read_source
from syncaudit.readers.access import is_url
from syncaudit.report import Thumbnail

_MAX_THUMBNAILS = 3
_WIDTH_PX = 320
_QUALITY = 72  # of JPEG: some 10 kB per image


def take_thumbnails(clip: Clip, sources: Sequence[str]) -> list[Thumbnail]:
    """Return up to three images of a clip, each from the middle of its recording.

    Only local files are opened: a page is not worth a download. `sources` are the cameras wanted,
    the most wanted first; those whose frames cannot be decoded are left out.
    """
    found = []
    for name in sources:
        spec = clip.sources.get(name)
        if not isinstance(spec, CameraSpec) or is_url(spec.uri) or is_url(clip.base_uri):
            continue
        with suppress(SyncAuditError, OSError, ValueError, IndexError, cv2.error, MemoryError):
            stream = read_source(name, spec, clip.base_uri)
            frame = _thumbnail(name, stream) if isinstance(stream, CameraStream) else None
            if frame is not None:
                found.append(frame)
        if len(found) == _MAX_THUMBNAILS:
            break
    return found


def _thumbnail(name: str, camera: CameraStream) -> Thumbnail | None:
    n = camera.n_frames_container or camera.time_ns.size
    middle = n // 2
    pts_ns = None if camera.pts_s is None else int(camera.pts_s[middle] * 1e9)
    pixels = decode_still(camera.files, index=middle, pts_ns=pts_ns)
    if pixels is None:
        return None
    height, width = pixels.shape[:2]
    size = (_WIDTH_PX, max(1, round(height * _WIDTH_PX / width)))
    if width > _WIDTH_PX:
        pixels = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA).astype(np.uint8)
    is_done, jpeg = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    if not is_done:
        return None
    return Thumbnail(
        source=name,
        jpeg=jpeg.tobytes(),
        width_px=pixels.shape[1],
        height_px=pixels.shape[0],
        words=f"frame {middle + 1:,} of {n:,}",
    )
