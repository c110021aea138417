"""Measure how the cells of an image move: the effect of a moving arm, or of a camera on it.

Dense flow (Farnebäck, "Two-frame motion estimation based on polynomial expansion", SCIA 2003,
doi:10.1007/3-540-45103-X_50) on a much reduced image, averaged over the cells of a grid. Still
points weigh as much as moving ones, so a cell indicates how large a share of it moves how far.
Tracked corners do not: few of them lie on an arm in front of a still table. Small images follow the
fast motion of a wrist camera as well as the share of a slow arm.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.decode import Frame
from syncaudit.detectors.rotation.detector import MIN_INCREMENT_S, frame_times_s
from syncaudit.model import CameraStream, ImageMotion
from syncaudit.model.arrays import Floats
from syncaudit.model.clip import direction_of

# Flow is computed at about this width, and averaged over this many columns and rows of cells.
FLOW_WIDTH_PX = 64
GRID = (4, 3)
MIN_SIDE_PX = 24
# Motion vectors are rounded to a quarter of a pixel: up to an eighth is suppressed.
HELD_BACK_PX = 0.125
_FLOW = {
    "pyr_scale": 0.5,
    "levels": 2,
    "winsize": 13,
    "iterations": 2,
    "poly_n": 5,
    "poly_sigma": 1.1,
    "flags": 0,
}


@dataclass(slots=True)
class ImageMotionDetector:
    """Accumulate the motion of one camera's images.

    Call `update` with each image in order and `finish` at the end.
    """

    stream: CameraStream
    _image: NDArray[np.uint8] | None = None
    _index: int = -1
    _pairs: list[tuple[int, int]] = field(default_factory=list)
    _moves: list[NDArray[np.float32]] = field(default_factory=list)
    _powers: list[tuple[float, float]] = field(default_factory=list)

    def update(self, image: Frame) -> None:
        """Take one frame."""
        small = image.reduced(max(1, round(image.shape[1] / FLOW_WIDTH_PX)))
        before, previous = self._image, self._index
        self._image, self._index = small, image.index
        if before is None or before.shape != small.shape or min(small.shape) < MIN_SIDE_PX:
            return
        if image.index >= self.stream.time_ns.shape[0]:
            return
        flow = cv2.calcOpticalFlowFarneback(before, small, None, **_FLOW)  # type: ignore[call-overload]  # None makes a new array
        flow /= small.shape[1]
        cells = cv2.resize(flow, GRID, interpolation=cv2.INTER_AREA)
        if np.isfinite(cells).all():
            square = np.sum(np.square(flow, dtype=np.float64), axis=2).ravel()
            self._pairs.append((previous, image.index))
            self._moves.append(cells.ravel())
            self._powers.append((float(square.sum()), float(square @ square)))

    def finish(self) -> ImageMotion | None:
        """Return the motion, or None where there are no two images in order."""
        if not self._pairs:
            return None
        times_s, epoch_ns, stamp_std_s = frame_times_s(self.stream)
        previous, index = np.array(self._pairs).T
        start_s, stop_s = times_s[previous], times_s[index]
        # Use only images later than all before: later ones must not lie in between.
        usable = stop_s - start_s > MIN_INCREMENT_S
        usable &= stop_s >= np.maximum.accumulate(stop_s)
        if not usable.any():
            return None
        start_s, stop_s = start_s[usable], stop_s[usable]
        moves = np.stack(self._moves).astype(np.float64)[usable]
        powers = np.array(self._powers)[usable]
        return ImageMotion(
            source=self.stream.name,
            epoch_ns=epoch_ns,
            start_s=start_s,
            stop_s=stop_s,
            moves=_at_middle_row(moves, start_s, stop_s, _cells_late_s(self.stream)),
            stamp_std_s=stamp_std_s,
            coding_std_s=self._coding_std_s(powers, stop_s - start_s),
        )

    def _coding_std_s(self, powers: Floats, width_s: Floats) -> float:
        """Return how long coding may hold motion back, which is shorter for fast motion.

        The speed is that of the pixels that determine the delay: those that move, weighted by the
        square of their speed. `powers`, shape (n, 2), are the sums over the pixels of the squared
        displacements, in widths of the image, and of their squares.
        """
        square, fourth = np.sum(powers / width_s[:, None] ** np.array([2, 4]), axis=0)
        width_px = 0 if self.stream.files.is_images else self.stream.width_px or 0
        if not width_px or not fourth:
            return 0.0
        return float(HELD_BACK_PX / (width_px * np.sqrt(fourth / square)))


def _cells_late_s(stream: CameraStream) -> Floats:
    """Return how long after the middle row each column of moves is exposed, shape (m,)."""
    is_across, is_down = direction_of(stream.scan)
    x, y = (np.arange(n) / n + 0.5 / n - 0.5 for n in GRID)
    lines = stream.n_lines * (is_across * x[None, :] + is_down * y[:, None])
    return np.repeat((stream.line_delay_s or 0.0) * lines.ravel(), 2)


def _at_middle_row(moves: Floats, start_s: Floats, stop_s: Floats, late_s: Floats) -> Floats:
    """Return the moves, shape (n, m), of cells that are all exposed at once.

    A cell exposed later shows later motion: to first order, its velocity differs by the
    acceleration over that time.
    """
    width_s, middle_s = stop_s - start_s, 0.5 * (start_s + stop_s)
    velocity = moves / width_s[:, None]
    change = np.zeros_like(velocity)
    apart_s = middle_s[2:] - middle_s[:-2]
    known = apart_s > MIN_INCREMENT_S
    change[1:-1][known] = (velocity[2:] - velocity[:-2])[known] / apart_s[known, None]
    return moves - width_s[:, None] * change * late_s
