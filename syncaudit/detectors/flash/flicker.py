"""Remove the ripple of lamps on the mains from the rows of a rolling shutter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from syncaudit.dsp.robust import mad_std
from syncaudit.model.arrays import Floats, Singles

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
REACH = 6
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
    size = (2 * REACH + 1, 1)
    smooth: Waves = median_filter(still.real, size) + 1j * median_filter(still.imag, size)
    found: Waves = smooth * advance
    return found
