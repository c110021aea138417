"""Find how a camera rotates from frame to frame: the evidence that needs no flash.

Corners (Shi & Tomasi, "Good features to track", CVPR 1994) are followed by pyramidal
Lucas-Kanade (Bouguet, 2001) on the luma picture at reduced size, and a rotation is fitted to each
frame pair. With a rolling shutter each point has its own time, row by row: the increment is
dated to where its points lie.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.rotation_fit import Heading, fit_rotation
from syncaudit.model import CameraStream, RotationIncrements, seconds_since

__all__ = ["RotationDetector", "frame_times_s"]

# Pictures are tracked at about this width: halving 480p loses no accuracy and a third of the cost.
TRACK_WIDTH_PX = 430
MAX_POINTS = 120
KLT_WINDOW_PX = 15
KLT_LEVELS = 3
# Horizontal field of view assumed where the manifest states none.
ASSUMED_FOV_DEG = 70.0
# Systematic uncertainty of a read-out that is not stated: whole frames take 5-25 ms.
UNKNOWN_READOUT_STD_S = 0.008


def frame_times_s(stream: CameraStream) -> tuple[NDArray[np.float64], int, float]:
    """Return when the middle row of each frame is exposed, by the camera's own stamps.

    Parameters
    ----------
    stream : CameraStream
        With `stamp_at`, and exposure and line delay where stated.

    Returns
    -------
    times_s : ndarray, shape (n,)
        Seconds since the epoch.
    epoch_ns : int
        First stamp.
    std_s : float
        Systematic uncertainty where `stamp_at` needs a figure that is not stated.
    """
    epoch_ns = int(stream.time_ns[0])
    times_s = seconds_since(stream.time_ns, epoch_ns)
    if stream.stamp_at == "mid_exposure_mid_row":
        return times_s, epoch_ns, 0.0
    half_exposure_s = 0.5 * (stream.exposure_s if stream.exposure_s is not None else 0.010)
    half_readout_s = 0.5 * stream.height_px * (stream.line_delay_s or 0.0)
    std_s = 0.0 if stream.exposure_s is not None else 0.003
    if stream.line_delay_s is None:
        std_s = math.hypot(std_s, UNKNOWN_READOUT_STD_S)
    sign = 1.0 if stream.stamp_at == "start_of_frame" else -1.0
    return times_s + sign * (half_exposure_s + half_readout_s), epoch_ns, std_s


@dataclass(slots=True)
class RotationDetector:
    """Accumulate rotation increments over the frames of one camera.

    Call `update` with each luma picture in order and `finish` at the end. One detector serves one
    camera and keeps one small picture.
    """

    stream: CameraStream
    _picture: NDArray[np.uint8] | None = None
    _index: int = -1
    _heading: Heading = field(default_factory=Heading)
    _rows: list[tuple[NDArray[np.float64], ...]] = field(default_factory=list)
    _n_frames: int = 0

    def update(self, index: int, luma: NDArray[np.uint8]) -> None:
        """Take frame `index` (position in file order), luma of shape (h, w)."""
        self._n_frames += 1
        picture = _reduced(luma)
        before, previous = self._picture, self._index
        self._picture, self._index = picture, index
        if before is None or before.shape != picture.shape:
            return
        if index >= self.stream.time_ns.shape[0]:
            return
        self._measure(before, picture, previous, index, luma.shape)

    def _measure(
        self,
        before: NDArray[np.uint8],
        after: NDArray[np.uint8],
        previous: int,
        index: int,
        full_shape: tuple[int, ...],
    ) -> None:
        points = cv2.goodFeaturesToTrack(
            before, MAX_POINTS, 0.005, max(6, before.shape[1] // 36), blockSize=5
        )
        if points is None or len(points) < 12:
            return
        moved, found, _ = cv2.calcOpticalFlowPyrLK(
            before,
            after,
            points,
            None,  # type: ignore[call-overload]  # no first guess
            winSize=(KLT_WINDOW_PX, KLT_WINDOW_PX),
            maxLevel=KLT_LEVELS,
            criteria=(cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 12, 0.01),
        )
        good = found.ravel() == 1
        p = points.reshape(-1, 2)[good].astype(np.float64)
        q = moved.reshape(-1, 2)[good].astype(np.float64)
        height, width = before.shape
        inside = (q[:, 0] > 2) & (q[:, 0] < width - 3) & (q[:, 1] > 2) & (q[:, 1] < height - 3)
        p, q = p[inside], q[inside]
        scale = full_shape[1] / width
        focal_px = self._focal_px(full_shape[1]) / scale
        centre = np.array([(width - 1) / 2.0, (height - 1) / 2.0])
        fit = fit_rotation(
            (p - centre) / focal_px, (q - centre) / focal_px, heading=self._heading, focal_px=focal_px
        )
        if fit is None:
            return
        row_scale = full_shape[0] / height
        rows_mid = (0.5 * (p[:, 1] + q[:, 1]) - centre[1]) * row_scale
        rows_moved = (q[:, 1] - p[:, 1]) * row_scale
        self._rows.append(
            (
                np.array([previous, index], dtype=np.float64),
                fit.angles_rad,
                fit.std_rad,
                fit.influence.T @ rows_mid,
                fit.influence.T @ rows_moved,
            )
        )

    def _focal_px(self, width_px: int) -> float:
        if self.stream.focal_px is not None:
            return self.stream.focal_px
        return 0.5 * width_px / math.tan(math.radians(ASSUMED_FOV_DEG) / 2.0)

    def finish(self) -> RotationIncrements | None:
        """Return the increments, or None where nothing could be tracked."""
        if not self._rows:
            return None
        times_s, epoch_ns, stamp_std_s = frame_times_s(self.stream)
        frames, angles, std, rows_mid, rows_moved = (np.stack(part) for part in zip(*self._rows, strict=True))
        previous, index = frames.astype(np.intp).T
        line_delay_s = self.stream.line_delay_s
        delay_s = line_delay_s or 0.0
        middle = (0.5 * (times_s[previous] + times_s[index]))[:, None] + rows_mid * delay_s
        half = 0.5 * ((times_s[index] - times_s[previous])[:, None] + rows_moved * delay_s)
        usable = np.all(half > 1e-4, axis=1)
        row_std_s = stamp_std_s
        if line_delay_s is None and self.stream.height_px:
            share = float(np.abs(np.median(rows_mid, axis=0)).mean()) / self.stream.height_px
            row_std_s = math.hypot(row_std_s, share * 2.0 * UNKNOWN_READOUT_STD_S)
        if not usable.any():
            return None
        return RotationIncrements(
            source=self.stream.name,
            epoch_ns=epoch_ns,
            start_s=(middle - half)[usable],
            stop_s=(middle + half)[usable],
            angles_rad=angles[usable],
            std_rad=std[usable],
            has_focal=self.stream.focal_px is not None,
            row_time_std_s=row_std_s,
            n_frames=self._n_frames,
        )


def _reduced(luma: NDArray[np.uint8]) -> NDArray[np.uint8]:
    factor = max(1, round(luma.shape[1] / TRACK_WIDTH_PX))
    if factor == 1:
        return luma.copy()
    size = (luma.shape[1] // factor, luma.shape[0] // factor)
    return np.asarray(
        cv2.resize(
            luma[: size[1] * factor, : size[0] * factor], size, interpolation=cv2.INTER_AREA
        ),
        dtype=np.uint8,
    )
