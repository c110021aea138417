"""Find frames that a flash lights as a whole: global shutters, and unknown readouts."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.robust import mad_std

Floats = NDArray[np.float64]

# Rows of cells per frame; with four strips of columns a frame becomes 8 x 4 cells.
N_CELL_ROWS = 8
# Batches of frames that are reduced at once.
N_AT_ONCE = 16
# Frames on either side among which an unlit one is looked for.
RADIUS = 3
# Minimum flash, as a share of the background and in robust deviations of all frames.
MIN_SHARE = 0.03
MIN_STRENGTH = 8.0
# Share of the cells that must gain at least a third of the median gain.
MIN_CELLS = 0.75
# The most of a change that auto-exposure takes back from one frame to the next: it settles
# geometrically.
MAX_ANSWER = 0.3
# Neighbouring frames share one pulse if their gains add up to a full one within this tolerance.
SHARED_TOLERANCE = 0.2


@dataclass(slots=True)
class FrameCells:
    """Reduce frames to cells, many at once: they are not needed until the end."""

    _waiting: list[NDArray[np.float32]] = field(default_factory=list)
    _cells: list[NDArray[np.float32]] = field(default_factory=list)

    def add(self, strips: NDArray[np.float32]) -> None:
        """Take the strips of some frames, shape (m, n, s)."""
        self._waiting.append(strips)
        if len(self._waiting) >= N_AT_ONCE:
            self._reduce()

    def finish(self) -> NDArray[np.float32]:
        """Return the cells of all frames, shape (m, 8, s); there must be some."""
        self._reduce()
        if len(self._cells) > 1:
            self._cells = [np.concatenate(self._cells)]
        return self._cells[0]

    def _reduce(self) -> None:
        if self._waiting:
            self._cells.append(_frame_cells(np.concatenate(self._waiting)))
            self._waiting.clear()


def _frame_cells(strips: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean of 8 groups of rows in every strip, shape (m, 8, s) of (m, n, s)."""
    n = strips.shape[1]
    starts = np.linspace(0, n, min(N_CELL_ROWS, n), endpoint=False).astype(np.int64)
    sums = np.add.reduceat(strips, starts, axis=1)
    counts = np.diff(np.append(starts, n)).astype(np.float32)
    return np.asarray(sums / counts[:, None], dtype=np.float32)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LitFrames:
    """When lights went on, from the frames that show them.

    Parameters
    ----------
    start_s, stop_s : ndarray, shape (m,)
        Each went on between these, however long it lasted.
    lit_s : ndarray, shape (m,)
        It was on at least until then: a light no longer than L went on no earlier than L before.
    hidden_s : float
        Duration of light within an exposure that is too short to be detected.
    """

    start_s: Floats
    stop_s: Floats
    lit_s: Floats
    hidden_s: float = 0.0


def lit_frames(
    frame_s: Floats,
    cells: Floats,
    *,
    exposure_s: float | None,
    readout_s: float | None,
    switched: NDArray[np.int64],
) -> LitFrames:
    """Return when lights went on that whole frames show.

    A frame is lit if three quarters of its cells are brighter than in the darkest frame before and
    after, in similar proportion: a moving image brightens some rows and darkens others. Consecutive
    lit frames show one light. It went on before the exposure of the first of them ended, and not
    before the end of the previous exposure, which shows nothing of it; its length does not narrow
    this down further. Exposure or readout that is not stated may be anything up to a frame period.

    Parameters
    ----------
    frame_s : ndarray, shape (n,)
        Middle of the exposure of the middle row.
    cells : ndarray, shape (n, c)
        From `FrameCells`.
    exposure_s, readout_s : float, optional
        Where stated.
    switched : ndarray of int
        Frames near which a lasting light went on or off (`date_changes`): those and the ones beside
        them show no pulse.
    """
    floor = np.maximum(_darkest(cells), _darkest(cells[::-1])[::-1])
    gains, limit = _gains(cells, floor)
    near = switched[:, None] + np.arange(-RADIUS, RADIUS + 1)
    gains[np.clip(near, 0, max(gains.size - 1, 0)).ravel()] = 0.0
    lit = np.flatnonzero(gains)
    if not lit.size:
        return LitFrames(start_s=np.empty(0), stop_s=np.empty(0), lit_s=np.empty(0))
    period_s = max(float(np.median(np.diff(np.sort(frame_s)))), 1e-3)
    longest_s, readout_s = _or(exposure_s, period_s), _or(readout_s, period_s)
    full = float(np.median(gains[lit]))
    hidden_s = longest_s * limit / full
    # A frame may show light up to `open_s` from its middle, and shows any light up to `sure_s`.
    open_s = 0.5 * (longest_s + readout_s)
    sure_s = 0.5 * ((exposure_s or 0.0) - readout_s) - hidden_s
    is_next = (np.diff(lit) == 1) & (np.diff(frame_s[lit]) > 0.0)
    first = lit[np.concatenate([[True], ~is_next])]
    last = lit[np.concatenate([~is_next, [True]])]
    # If a light outlasts the search for darkness, only frames in its middle stand out.
    beside = np.stack(
        [_share(cells[first - 1], floor[first]), _share(cells[last + 1], floor[last])]
    )
    is_dark = np.all(np.median(beside, axis=2) < limit, axis=0)
    whole = np.add.reduceat(gains, first)[is_dark]
    first, last = first[is_dark], last[is_dark]
    # More than a full gain in total is more than one pulse: perhaps two, of which the first counts.
    last = np.where(whole < (1.0 + SHARED_TOLERANCE) * full, last, first)
    # A frame before a light stands out from those after it, which auto-exposure dims, but hardly
    # from the one before it.
    is_vague = (last > first) & (gains[first] < MAX_ANSWER * gains[np.minimum(first + 1, last)])
    is_vague &= np.median(_share(cells[first], cells[first - 1]), axis=1) < 0.5 * gains[first]
    stop_s = frame_s[first + is_vague] + open_s
    return LitFrames(
        start_s=np.minimum(frame_s[first - 1] + sure_s, stop_s),
        stop_s=stop_s,
        lit_s=frame_s[last] - open_s,
        hidden_s=hidden_s,
    )


def _or(stated_s: float | None, else_s: float) -> float:
    return else_s if stated_s is None else stated_s


def _gains(cells: Floats, floor: Floats) -> tuple[Floats, float]:
    """Return each frame's gain as a share of its background, 0 below the limit, and the limit."""
    gains = np.zeros(cells.shape[0])
    if gains.size < 3:
        return gains, MIN_SHARE
    share = _share(cells[1:-1], floor[1:-1])
    gains[1:-1] = np.median(share, axis=1)
    noise = mad_std(gains - np.median(gains))
    limit = max(MIN_SHARE, float(np.median(gains)) + MIN_STRENGTH * noise)
    is_even = np.mean(share > gains[1:-1, None] / 3.0, axis=1) >= MIN_CELLS
    gains[1:-1] *= is_even & (gains[1:-1] > limit)
    return gains, limit


def _share(cells: Floats, floor: Floats) -> Floats:
    return np.asarray((cells - floor) / (floor + 16.0))


def _darkest(cells: Floats) -> Floats:
    """Return the darkest of the up to three frames before each; the first has none."""
    n = cells.shape[0]
    before = np.arange(n)[:, None] - np.arange(1, RADIUS + 1)
    brightness = np.append(cells.sum(axis=1), np.inf)
    chosen = np.argmin(brightness[np.where(before < 0, n, before)], axis=1)
    darkest: Floats = cells[np.maximum(before[np.arange(n), chosen], 0)]
    return darkest
