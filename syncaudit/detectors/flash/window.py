"""Reduce a camera's frames as they arrive to what is needed to find lights in them.

The ripple of lamps on the mains is removed from the rows of a rolling shutter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from syncaudit.decode import Frame
from syncaudit.detectors.flash.lighting import (
    RADIUS,
    REACH,
    is_lit_across,
    lasting_senses,
    lit_candidates,
    step_candidates,
)
from syncaudit.dsp.robust import mad_std
from syncaudit.model.arrays import Bools, Floats, Singles

N_BLOCKS = 16
# Four strips of about 120 rows suffice to decide whether a frame needs a closer look; whole frames
# are reduced to 8 x 4 cells.
N_STRIPS = 4
N_STRIP_ROWS = 120
N_CELL_ROWS = 8
# Pixels this close to white count as clipped (encoders ripple by two levels); a cell with a larger
# share of them than this is not used.
NEAR_WHITE = 3
CLIPPED_SHARE = 0.02
# Frames that are looked at in one go.
N_AT_ONCE = 16
# Where this share of the frames may be lit, so are those that a frame is compared with.
CROWDED_SHARE = 0.85
# Frames whose median is the usual brightness of a cell.
N_USUAL = 64
# Halves of the width that are looked at, as parts of it: left, middle and right.
STARTS = 0.0, 0.25, 0.5
# Minimum number of frames that a half shows lit, and how many times as many as the whole width
# does: moving objects light a half now and then.
MIN_LIT_FRAMES = 3
MORE = 1.25

Waves = NDArray[np.complex128]

# Fewest and most ripples per image: 100 or 120 Hz while 5 to 60 ms are read out; slower ones look
# like a gradient.
MIN_CYCLES, MAX_CYCLES = 0.5, 8.0
# Steps of the search per image: of the periodogram, and of a fit to as many values around its peak.
STEP_CYCLES, FINE_CYCLES, N_FINE = 0.02, 0.01, 15
# The second harmonic makes the ripple of a lamp that lights with every half-wave pointed.
N_HARMONICS = 2
# Frames on either side that determine the ripple of a frame: the mains drift, and flashes come
# between.
RIPPLE_REACH = 6
# Share by which ripples must advance alike from frame to frame, and by how much, in radians: what
# stands still is the scene, and a ripple that does is part of it. The least ripple that matters, as
# a share of the brightness.
MIN_COHERENCE = 0.9
MIN_ADVANCE = 0.1
MIN_DEPTH = 0.004
# Largest ratio of the quartiles of its depth: lamps on the mains ripple all the time.
MAX_UNSTEADY = 2.0
# Fewer frames show no ripple.
MIN_FRAMES = 40
# Changes beyond this many deviations have another cause than the ripple.
MAX_DEVIATIONS = 4.0


@dataclass(slots=True)
class FrameWindow:
    """Take the frames of one camera in order, all of one size.

    Parameters
    ----------
    has_rows : bool
        Whether rows are exposed one after the other. Where all are exposed at once, frames are
        reduced to `cells` alone, and no image is kept.

    Attributes
    ----------
    candidates : list of int
        Frames, by their position in file order, that may be lit or show a light that goes on or
        off: nearly none of an ordinary clip.
    steps : list of int
        Those between two steady states of different brightness.
    levels, clean : dict of int to ndarray, shape (h, b)
        Brightness of the candidates and of the frames near them, and where it is not clipped.
    """

    has_rows: bool
    candidates: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    levels: dict[int, Singles] = field(default_factory=dict)
    clean: dict[int, Bools] = field(default_factory=dict)
    _frames: list[Frame] = field(default_factory=list)
    _n_done: int = 0
    _wanted: int = -1
    _sums: list[NDArray[np.int32]] = field(default_factory=list)
    _rows: list[Singles] = field(default_factory=list)
    _near: list[Singles] = field(default_factory=list)
    _width_px: int = 0

    def add(self, image: Frame) -> None:
        """Take a frame."""
        height, self._width_px = image.shape
        n_blocks = min(N_BLOCKS, self._width_px)
        self._sums.append(image.block_sums(n_blocks, max(1, height // N_STRIP_ROWS)))
        if self.has_rows:
            self._frames.append(image)
            stop = len(self._frames) - RADIUS
            if stop - self._n_done >= N_AT_ONCE:
                self._screen(stop)
        elif len(self._sums) == N_AT_ONCE:
            self._reduce()

    def finish(self) -> None:
        """Process the remaining frames."""
        stop = len(self._frames)
        if stop > self._n_done:
            self._screen(stop)
        else:
            self._reduce()

    def remove_flicker(self, places: Mapping[int, int], frame_s: Floats) -> None:
        """Take the ripple of lamps on the mains out of rows and levels, after `finish`.

        `places` are the positions among the frames by those in file order, `frame_s`, shape (n,),
        the times of the frames.
        """
        rows = self.rows()
        flicker = find_flicker(rows, frame_s)
        if flicker is None:
            return
        self._rows = [flicker.removed(rows, np.median(rows, axis=0), slice(None))]
        if self.levels:
            some = list(self.levels.values())[:: max(1, len(self.levels) // N_USUAL)]
            usual = np.median(some, axis=0)
            self.levels = {
                index: flicker.removed(own, usual, places[index])
                for index, own in self.levels.items()
            }

    def senses(self, places: Mapping[int, int]) -> dict[int, int]:
        """Return whether light goes on (+1) or off (-1) at each step that lasts.

        `places`: as for `remove_flicker`.
        """
        at = np.array([places[index] for index in self.steps], dtype=np.int64)
        senses = lasting_senses(self.rows(), at)
        return {k: sense for k, sense in zip(self.steps, senses, strict=True) if sense}

    def changes(self) -> Floats:
        """Return the mean change of rows from the previous frame to each, in levels, (n,)."""
        steps = np.diff(self.rows(), axis=0)
        return np.append(0.0, np.abs(steps, out=steps).mean(axis=(1, 2), dtype=np.float64))

    def rows(self) -> Singles:
        """Return the brightness of about 120 rows in column blocks, of all frames, (n, r, b)."""
        if len(self._rows) > 1:
            self._rows = [np.concatenate(self._rows)]
        return self._rows[0]

    def cells(self) -> Singles:
        """Return the brightness of all frames in 8 groups of rows and a few strips, (n, 8, s)."""
        return _frame_cells(self.rows()) if self.has_rows else self.rows()

    def lit_half(self) -> slice | None:
        """Return the half of the width that light reaches, or None where it reaches most of it.

        A lamp beside a camera lights what is near it: most of the blocks of a row stay dark at
        every flash, so no row of the whole width counts as lit.
        """
        levels = self.rows()
        n_blocks = levels.shape[2]
        size = round(0.5 * n_blocks)
        if size == 0:
            return None
        starts = [round(start * n_blocks) for start in STARTS]
        n_lit = [_n_lit(levels[:, :, start : start + size]) for start in starts]
        most = max(n_lit)
        if most < max(MIN_LIT_FRAMES, MORE * _n_lit(levels)):
            return None
        first = starts[n_lit.index(most)]
        width_px = self._width_px
        return slice(first * width_px // n_blocks, (first + size) * width_px // n_blocks)

    def _screen(self, stop: int) -> None:
        """Screen the frames from `_n_done` to `stop`, and forget the oldest."""
        self._reduce()
        frames, near, start = self._frames, np.concatenate(self._near), self._n_done
        strips = _strips(near)
        changed = step_candidates(strips, start, stop)
        lit = lit_candidates(strips, start, stop)
        if len(lit) < CROWDED_SHARE * (stop - start) or not _is_crowd(near, lit):
            lit = [at for at in lit if is_lit_across(near, at)]
        found = sorted(frames[at].index for at in {*lit, *changed})
        self.candidates += found
        self.steps += [frames[at].index for at in changed]
        for frame in frames:
            is_near = frame.index <= self._wanted or any(
                abs(frame.index - index) <= REACH for index in found
            )
            if is_near and frame.index not in self.levels:
                self.levels[frame.index] = _block_levels(frame)
                self.clean[frame.index] = clean_blocks(frame)
        if found:
            self._wanted = found[-1] + REACH
        n_kept = min(stop, max(RADIUS, REACH))
        self._frames, self._near = frames[stop - n_kept :], [near[stop - n_kept :]]
        self._n_done = n_kept

    def _reduce(self) -> None:
        """Reduce the frames that arrived since; many at once cost little more than one."""
        if self._sums:
            n_px = self._width_px // self._sums[0].shape[1]
            levels = np.stack(self._sums).astype(np.float32) / np.float32(n_px)
            self._sums.clear()
            self._rows.append(levels if self.has_rows else _frame_cells(levels))
            if self.has_rows:
                self._near.append(levels)


def _block_levels(frame: Frame) -> Singles:
    """Return the mean luma of each row in each column block, shape (h, b), without odd columns."""
    width = frame.shape[1]
    n_blocks = min(N_BLOCKS, width)
    return frame.block_sums(n_blocks).astype(np.float32) / np.float32(width // n_blocks)


def clean_blocks(frame: Frame) -> Bools:
    """Return where at most 2 % of the pixels are clipped, shape (h, b)."""
    clipped = cv2.threshold(frame.luma, frame.white - NEAR_WHITE, 1, cv2.THRESH_BINARY)[1]
    if not cv2.countNonZero(clipped):
        return np.ones((frame.shape[0], min(N_BLOCKS, frame.shape[1])), dtype=np.bool_)
    return _block_levels(Frame(0, np.asarray(clipped, dtype=np.uint8))) <= CLIPPED_SHARE


def _strips(levels: Singles) -> Singles:
    """Return the mean brightness in up to four strips, shape (m, n, s), of blocks (m, n, b)."""
    m, n, n_blocks = levels.shape
    if n_blocks % N_STRIPS:
        return levels
    strips: Singles = levels.reshape(m, n, N_STRIPS, -1).mean(axis=3)
    return strips


def _frame_cells(levels: Singles) -> Singles:
    """Return the mean of 8 groups of rows in every strip, shape (m, 8, s) of (m, n, b)."""
    n = levels.shape[1]
    starts = np.linspace(0, n, min(N_CELL_ROWS, n), endpoint=False).astype(np.int64)
    sums = np.add.reduceat(_strips(levels), starts, axis=1)
    counts = np.diff(np.append(starts, n)).astype(np.float32)
    return np.asarray(sums / counts[:, None], dtype=np.float32)


def _is_crowd(levels: Singles, lit: Sequence[int]) -> bool:
    """Return whether most of some frames are lit, though the frames beside may be lit as well."""
    n_lit = sum(is_lit_across(levels, at, is_crowded=True) for at in lit)
    return 2 * n_lit > len(lit)


def _n_lit(levels: Singles) -> int:
    """Return how many frames have lit rows."""
    return sum(is_lit_across(levels, at) for at in lit_candidates(_strips(levels), 0, len(levels)))


@dataclass(frozen=True, slots=True, eq=False)
class Flicker:
    """A ripple that advances from frame to frame.

    `waves`, shape (n, m), are amplitude and phase in the first row of each frame, of the ripple and
    its harmonics; `cycles` the ripples per image; `depth`, shape (r, b), the ripple of each cell
    relative to the common one, as a share of its brightness.
    """

    waves: Waves
    cycles: float
    depth: Floats

    def of_rows(self, frames: slice | int, n_rows: int) -> Singles:
        """Return the common ripple in the rows of some frames, shape (..., n_rows)."""
        rows = np.exp(2j * np.pi * self.cycles * np.arange(n_rows) / n_rows)
        powers = rows ** np.arange(1, self.waves.shape[1] + 1)[:, None]
        ripple: Singles = np.real(self.waves[frames] @ powers).astype(np.float32)
        return ripple

    def removed(self, levels: Singles, usual: Singles, frames: slice | int) -> Singles:
        """Return images without the ripple.

        `levels`, shape (..., h, b), are those of `frames`, and `usual`, shape (h, b), the median of
        all images.
        """
        height, n_rows = usual.shape[0], self.depth.shape[0]
        depth = self.depth[np.minimum(np.arange(height) * n_rows // height, n_rows - 1)]
        ripple = self.of_rows(frames, height)[..., None] * (depth * usual).astype(np.float32)
        return np.asarray(levels - ripple)


def find_flicker(rows: Singles, frame_s: Floats) -> Flicker | None:
    """Return the ripple that all frames show, or None where none does.

    Light of lamps on the mains ripples twice per period: at 100 or 120 Hz, a sine along the rows
    that advances by the same phase from frame to frame. It is the peak of the periodogram along the
    rows, of the median over the frames, which flashes do not affect. The phase in a frame follows
    from the frames around it. `rows`, shape (n, r, b): brightness of r rows in column blocks of n
    frames at the times `frame_s`.
    """
    n, n_rows, _ = rows.shape
    if n < MIN_FRAMES:
        return None
    usual = np.median(rows, axis=0).astype(np.float64)
    change = rows / (usual + 1.0) - 1.0
    ripple = np.median(change, axis=2)
    cycles = _cycles(ripple)
    if cycles < MIN_CYCLES:
        return None
    seen, left = _fitted(ripple, cycles)
    if np.median(left) > 0.5 * np.median(np.abs(seen[:, 0])) ** 2:  # most is something else
        return None
    waves = _smooth(seen, frame_s)
    if waves is None:
        return None
    flicker = Flicker(waves, cycles, np.ones(usual.shape))
    common = flicker.of_rows(slice(None), n_rows)[..., None]
    rest = change
    for _ in range(2):
        weight = common**2 * (np.abs(rest) < MAX_DEVIATIONS * (mad_std(rest) + 1e-6))
        depth = np.sum(weight * change / np.where(common == 0.0, 1.0, common), axis=0)
        depth /= np.maximum(weight.sum(axis=0), 1e-9)
        rest = change - depth * common
    return Flicker(waves, cycles, depth)


def _cycles(ripple: Floats) -> float:
    """Return the number of ripples per image, of shares of brightness of shape (n, r)."""
    n_rows = ripple.shape[1]
    own = (ripple - ripple.mean(axis=1, keepdims=True)) * np.hanning(n_rows)
    tried = np.arange(MIN_CYCLES, MAX_CYCLES, STEP_CYCLES)
    waves = np.exp(-2j * np.pi * np.outer(np.arange(n_rows) / n_rows, tried))
    first = tried[np.argmax(np.median(np.abs(own @ waves) ** 2, axis=0))]
    near = first + FINE_CYCLES * np.arange(-N_FINE, N_FINE + 1)
    return float(near[np.argmin([np.median(_fitted(ripple, cycles)[1]) for cycles in near])])


def _fitted(ripple: Floats, cycles: float) -> tuple[Waves, Floats]:
    """Return the waves of each frame, shape (n, m), and its mean squared residual, (n,)."""
    n_rows = ripple.shape[1]
    powers = np.arange(1, N_HARMONICS + 1)[:, None]
    angle = 2.0 * np.pi * cycles * powers * np.arange(n_rows) / n_rows
    design = np.vstack([np.ones(n_rows), np.cos(angle), np.sin(angle)]).T
    found = np.linalg.lstsq(design, ripple.T, rcond=None)[0]
    left = np.mean((ripple.T - design @ found) ** 2, axis=0)
    return (found[1 : N_HARMONICS + 1] - 1j * found[N_HARMONICS + 1 :]).T, left


def _smooth(waves: Waves, frame_s: Floats) -> Waves | None:
    """Return the waves as those of the frames around suggest, or None where they do not agree."""
    steps_s = np.diff(frame_s)
    period_s = float(np.median(steps_s))
    if period_s <= 0.0:
        return None
    place = np.cumsum(np.append(0.0, np.round(steps_s / period_s)))
    is_next = np.diff(place) == 1.0
    turns = waves[1:, 0] * np.conj(waves[:-1, 0])
    turn = np.sum(turns[is_next] / np.maximum(np.abs(turns[is_next]), 1e-12)) / is_next.sum()
    if abs(turn) < MIN_COHERENCE or abs(np.angle(turn)) < MIN_ADVANCE:
        return None
    low, depth, high = np.percentile(np.abs(waves[:, 0]), (25.0, 50.0, 75.0))
    if depth < MIN_DEPTH or high > MAX_UNSTEADY * low:
        return None
    advance = np.exp(1j * np.angle(turn) * place[:, None] * np.arange(1, waves.shape[1] + 1))
    still = waves / advance
    size = (2 * RIPPLE_REACH + 1, 1)
    smooth: Waves = median_filter(still.real, size) + 1j * median_filter(still.imag, size)
    found: Waves = smooth * advance
    return found
