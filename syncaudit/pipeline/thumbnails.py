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
from syncaudit.readers.uris import is_url
from syncaudit.report import Picture

__all__ = ["take_pictures"]

_MAX_PICTURES = 3
_WIDTH_PX = 320
_QUALITY = 72  # of JPEG: some 10 kB per image


def take_pictures(clip: Clip, sources: Sequence[str]) -> list[Picture]:
    """Return up to three images of a clip, each from the middle of its recording.

    Only local files are opened: a page is not worth a download.

    Parameters
    ----------
    clip : Clip
        The manifest row.
    sources : sequence of str
        Cameras wanted, the most wanted first.

    Returns
    -------
    list of Picture
        From the cameras whose frames can be decoded; nothing is raised if they cannot.
    """
    found = []
    for name in sources:
        spec = clip.sources.get(name)
        if not isinstance(spec, CameraSpec) or is_url(spec.uri) or is_url(clip.base_uri):
            continue
        with suppress(SyncAuditError, OSError, ValueError, IndexError, cv2.error, MemoryError):
            stream = read_source(name, spec, clip.base_uri)
            picture = _picture(name, stream) if isinstance(stream, CameraStream) else None
            if picture is not None:
                found.append(picture)
        if len(found) == _MAX_PICTURES:
            break
    return found


def _picture(name: str, camera: CameraStream) -> Picture | None:
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
    return Picture(
        source=name,
        jpeg=jpeg.tobytes(),
        width_px=pixels.shape[1],
        height_px=pixels.shape[0],
        words=f"frame {middle + 1:,} of {n:,}",
    )
