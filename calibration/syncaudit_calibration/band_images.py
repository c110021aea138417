"""Extract lit frames of a camera with the edges fitted to their bands, for plots."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode import iter_luma
from syncaudit.errors import SyncAuditError
from syncaudit.model import CameraStream, FlashEdges
from syncaudit.model.arrays import Floats

N_IMAGES = 3
# Neighbouring frames on either side to compare with, as in the detector.
NEIGHBOURS = 2


@dataclass(frozen=True, slots=True, eq=False)
class BandImage:
    """One lit frame."""

    index: int  # position in file order
    # shape (h, w): the frame, its lines as rows in the order in which they are read
    luma: NDArray[np.uint8]
    gain: Floats  # shape (h,): mean brightness of each row minus that of the neighbouring frames
    # (row, std, exposure part): fitted edges, rows from the top
    edges: list[tuple[float, float, float]]


def find_band_images(stream: CameraStream, edges: FlashEdges) -> list[BandImage]:
    """Return a few frames spread over those with both edges of a band, or over all lit ones."""
    frames, counts = np.unique(edges.frame_index, return_counts=True)
    whole = frames[counts >= 2]
    candidates = whole if whole.size else frames
    places = np.linspace(0, candidates.size - 1, min(N_IMAGES, candidates.size))
    wanted = set(candidates[np.unique(np.rint(places).astype(int))].tolist())
    images: list[BandImage] = []
    ring: deque[tuple[int, NDArray[np.uint8]]] = deque(maxlen=2 * NEIGHBOURS + 1)
    try:
        for frame in iter_luma(stream.files):
            ring.append((frame.index, np.array(frame.scanned(edges.scan).luma)))
            if len(ring) == ring.maxlen and ring[NEIGHBOURS][0] in wanted:
                images.append(_image(list(ring), edges))
            if len(images) == len(wanted) or frame.index > max(wanted) + NEIGHBOURS:
                break
    except SyncAuditError:
        return images  # the findings already report the damage
    return images


def _image(frames: list[tuple[int, NDArray[np.uint8]]], edges: FlashEdges) -> BandImage:
    index, luma = frames[NEIGHBOURS]
    rows = np.stack([image.mean(axis=1, dtype=np.float64) for _, image in frames])
    others = np.delete(rows, NEIGHBOURS, axis=0)
    here = np.flatnonzero(edges.frame_index == index)
    middle = 0.5 * (luma.shape[0] - 1)
    return BandImage(
        index=index,
        luma=luma,
        gain=rows[NEIGHBOURS] - np.median(others, axis=0),
        edges=[
            (
                float(edges.row_px[k]) + middle,
                float(edges.row_std_px[k]),
                float(edges.exposure_part[k]),
            )
            for k in here
        ],
    )
