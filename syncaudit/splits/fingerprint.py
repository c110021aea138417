"""How the brightness of a video changes, coarse in space and fine in time.

Frames of one scene look alike in every clip: a fixed camera shows the same table in all episodes.
What changes from moment to moment belongs to one recording alone, survives coding, scaling, other
frame rates, brightness and gain, and does not depend on where a clip begins.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.decode import iter_luma
from syncaudit.model import CameraStream, Clip
from syncaudit.pipeline.window import part_of, wanted_frames

__all__ = ["STEP_S", "Fingerprint", "fingerprint_of"]

# A tenth of a second: trims that are no multiple of it cost at most half of it, over which means
# of two tenths change little.
STEP_S = 0.1
# Change over half a second: longer than the period of slow cameras, shorter than a glance.
_LAG = 5
_COLUMNS, _ROWS = 12, 8
# Grey levels by which coding alone changes the mean of a cell, at most.
_NOISE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fingerprint:
    """Changes of brightness of one video.

    Parameters
    ----------
    changes : ndarray of float32, shape (n, 96)
        How each cell of a 12 x 8 grid changes over half a second, without what all cells have in
        common, one row every `STEP_S`. Every row has a norm of nearly 1, so that no single event
        decides, and less where coding alone may have changed it.
    """

    changes: NDArray[np.float32]


def fingerprint_of(stream: CameraStream, clip: Clip) -> Fingerprint:
    """Decode a camera, in the window of its clip, and return its fingerprint.

    Empty where the video is shorter than the change that is measured.

    Raises
    ------
    StreamReadError
        If it cannot be decoded.
    """
    wanted = wanted_frames(stream, clip)
    files = stream.files if wanted is None else part_of(stream, wanted)
    times, cells = [], []
    with iter_luma(files) as frames:
        for picture in frames:
            time_s = picture.pts_s
            if time_s is None:
                if picture.index >= stream.time_ns.size:
                    continue
                time_s = float(stream.time_ns[picture.index] - stream.time_ns[0]) * 1e-9
            times.append(time_s)
            small = cv2.resize(picture.luma, (_COLUMNS, _ROWS), interpolation=cv2.INTER_AREA)
            cells.append(small.ravel())
    return Fingerprint(changes=changes_of(np.array(times), np.array(cells, dtype=np.float64)))


def changes_of(times_s: NDArray[np.float64], cells: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the changes of cells (`Fingerprint`): of means over two steps.

    Parameters
    ----------
    times_s : ndarray, shape (n,)
        Of the frames.
    cells : ndarray, shape (n, k)
        Brightness.
    """
    empty = np.empty((0, _COLUMNS * _ROWS), dtype=np.float32)
    if times_s.size < 2:
        return empty
    order = np.argsort(times_s, kind="stable")
    times_s, cells = times_s[order] - times_s[order[0]], cells[order]
    edges = np.arange(int(times_s[-1] / STEP_S + 1e-6) + 1) * STEP_S
    if edges.size <= _LAG + 2:
        return empty
    areas = 0.5 * np.diff(times_s)[:, None] * (cells[1:] + cells[:-1])
    integral = np.concatenate((np.zeros((1, cells.shape[1])), np.cumsum(areas, axis=0)))
    at_edges = np.stack([np.interp(edges, times_s, column) for column in integral.T], axis=1)
    means = (at_edges[2:] - at_edges[:-2]) / (2.0 * STEP_S)
    changes = means[_LAG:] - means[:-_LAG]
    changes -= changes.mean(axis=1, keepdims=True)
    power = np.sum(changes**2, axis=1, keepdims=True) + changes.shape[1] * _NOISE**2
    return np.asarray(changes / np.sqrt(power), dtype=np.float32)
