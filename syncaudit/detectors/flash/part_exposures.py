"""Date lasting lights seen by global shutters, from how far whole frames are lit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from syncaudit.detectors.flash.blinking import Blinking, Change
from syncaudit.detectors.flash.screen import CLIPPED_LEVEL
from syncaudit.detectors.flash.tone_curve import USUAL_GAMMA
from syncaudit.dsp.robust import mad_std, spread

Floats = NDArray[np.float64]

# Minimum number of frames that a light must span, of which the first or last may be partly lit; and
# the part of a change by which the frames on either side of it may differ: exposures fluctuate.
MIN_LIT = 3
MAX_UNSTEADY = 0.12
# Minimum number of cells that do not clip.
MIN_CELLS = 8
# Errors of encoded levels: what encoders drop of a change that has begun; the error common to a
# frame, on the side from which it is predicted and on the other; and that of single cells. Measured
# with x264 at crf 26.
DROPPED_LEVELS = 0.3
COMMON_LEVELS = (0.5, 0.15)
CELL_LEVELS = 0.5
# A frame counts as partly lit where its share differs by this much, and by this many sigmas, from
# none and from all.
MIN_PART = 0.05
MIN_SIGMAS = 4.0
# Errors that limit the tone curve's estimate from shares: levels of cells, the larger the less of
# the exposure is lit; errors of neighbouring cells are correlated.
TONE_LEVELS = 0.25
PREDICTED_SHARE = 3.0
CORRELATED_CELLS = 2.0
# Cells whose change departs from that of the others by more deviations than this have another
# cause.
MAX_DEVIATIONS = 2.0
# Exponents of tone curves that are tried.
GAMMAS = np.linspace(0.6, 3.2, 53)
N_ROUNDS = 3
# Accepted probability of taking lights that change instantly for slow ones.
MAX_RISK = 0.05
MIN_STD_S = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Switches:
    """When a light went on or off, on the camera's own clock.

    Parameters
    ----------
    frame : ndarray of int, shape (m,)
        Position of the last frame before.
    start_s, stop_s, std_s : ndarray, shape (m,)
        Interval and the error of its ends, which is its length where a partly lit frame dates the
        instant.
    sense : ndarray of int, shape (m,)
        +1 where the light went on, -1 where off.
    """

    frame: NDArray[np.int64]
    start_s: Floats
    stop_s: Floats
    std_s: Floats
    sense: NDArray[np.int64]


@dataclass(slots=True)
class _Partial:
    """A frame between two steady states, in the sense of the change."""

    is_on: bool
    before: Floats
    after: Floats
    now: Floats
    share: float = 0.5


def date_changes(
    blinking: Blinking | None,
    frame_s: Floats,
    cells: Floats,
    *,
    exposures_s: tuple[float, float],
    period_s: float,
    rise_s: float,
) -> Switches:
    """Return when lights went on or off, from the exposures of whole frames.

    A frame that is exposed for E around `frame_s` while the light goes on gathers the share
    ``u = (frame_s + E / 2 - t) / E`` of it, which dates the instant t; so does the darkness of
    a light that goes off. If no frame between two states is partly lit, the light changed between
    two exposures, and only that interval is known; if a light spans fewer than three frames, each
    of two may have been lit for a part of its exposure.

    Tone curves bend the share. With luma = light^(1/gamma) a cell that goes from luma p to q shows
    ``(p^gamma + u (q^gamma - p^gamma))^(1/gamma)``: bright changes bend more than faint ones, so
    that cells with different changes determine gamma, over all partly lit frames. Its remaining
    uncertainty is part of the errors.

    Parameters
    ----------
    blinking : Blinking, optional
        Between which frames a light changed; None if none did.
    frame_s : ndarray, shape (n,)
        Middle of each exposure.
    cells : ndarray, shape (n, c)
        Brightness of the frames.
    exposures_s : tuple of float
        Shortest and longest possible exposure; the shortest is 0 where none is stated.
    period_s : float
        Frame period.
    rise_s : float
        Longest time that lights may take to go on: where more frames are partly lit than lights
        that change instantly would explain, this may be the reason, and no share dates anything.
    """
    if blinking is None:
        none, nothing = np.empty(0), np.empty(0, dtype=np.int64)
        return Switches(frame=nothing, start_s=none, stop_s=none, std_s=none, sense=nothing)
    changes = blinking.changes
    start_s, stop_s = blinking.intervals_s(frame_s, exposure_s=exposures_s, rise_s=0.0)
    exposure_s, longest_s = exposures_s
    std_s = np.full(start_s.size, max(MIN_STD_S, 0.5 * MIN_PART * exposure_s))
    partials: dict[int, _Partial] = {}
    n_tried = 0
    for i, own in enumerate(changes):
        # The frames from a light going on until it goes off are lit.
        lit = changes[i : i + 2] if own.sense > 0 else changes[max(i - 1, 0) : i + 1]
        lasts = len(lit) < 2 or lit[1].peak - lit[0].foot > MIN_LIT
        if not lasts:
            start_s[i] -= longest_s * (own.sense < 0)
            stop_s[i] += longest_s * (own.sense > 0)
        elif exposure_s and blinking.is_steady(own, MAX_UNSTEADY):
            n_tried += 1
            partial = _partial(own, cells)
            if partial is not None:
                partials[i] = partial
    if binom.sf(len(partials) - 1, n_tried, min(exposure_s / period_s, 1.0)) < MAX_RISK:
        slow = blinking.intervals_s(frame_s, exposure_s=exposures_s, rise_s=rise_s)
        start_s, stop_s = np.minimum(start_s, slow[0]), np.maximum(stop_s, slow[1])
        partials.clear()
    gamma, gamma_std = _tone(list(partials.values()))
    for i, partial in partials.items():
        share = _share(partial, gamma)
        lever = 0.5 * (_share(partial, gamma + 0.1) - _share(partial, gamma - 0.1)) / 0.1
        at_s = float(frame_s[changes[i].foot + 1]) + (0.5 - share) * exposure_s
        std_s[i] = exposure_s * float(np.hypot(_share_std(partial), lever * gamma_std))
        start_s[i], stop_s[i] = at_s - 0.5 * std_s[i], at_s + 0.5 * std_s[i]
    return Switches(
        frame=np.array([own.foot for own in changes], dtype=np.int64),
        start_s=start_s,
        stop_s=stop_s,
        std_s=std_s,
        sense=np.array([own.sense for own in changes], dtype=np.int64),
    )


def _partial(own: Change, cells: Floats) -> _Partial | None:
    """Return the frame that is partly lit, or None where none is."""
    k = own.foot + 1
    if own.peak != k + 1 or own.foot < 1 or own.peak + 1 >= cells.shape[0]:
        return None
    before, after = 0.5 * (cells[k - 2] + cells[k - 1]), 0.5 * (cells[k + 1] + cells[k + 2])
    is_used = np.maximum(before, after) < CLIPPED_LEVEL
    if np.count_nonzero(is_used) < min(MIN_CELLS, is_used.size):
        return None
    partial = _Partial(
        is_on=own.sense > 0, before=before[is_used], after=after[is_used], now=cells[k][is_used]
    )
    partial.share = _share(partial, 1.0)
    margin = max(MIN_PART, MIN_SIGMAS * _share_std(partial))
    return partial if margin < partial.share < 1.0 - margin else None


def _share_std(partial: _Partial) -> float:
    """Return the error of a share from the levels alone."""
    size = abs(float(np.median(partial.after - partial.before)))
    u = float(np.clip(partial.share, 0.0, 1.0))
    left = partial.now - _shown(partial, u, 1.0)
    noise = max(CELL_LEVELS, spread(left))
    common = noise / CELL_LEVELS * np.array(COMMON_LEVELS) * (1.0 - u, u)
    own = noise / np.sqrt(partial.now.size / 4.0)
    return float(np.hypot(np.hypot(*common), own)) / max(size, 1.0)


def _shown(partial: _Partial, share: float, gamma: float) -> Floats:
    """Return the levels of the cells if a share of the exposure follows the change."""
    p, q = np.maximum(partial.before, 1.0) ** gamma, np.maximum(partial.after, 1.0) ** gamma
    clear = np.maximum(p + share * (q - p), 1e-6) ** (1.0 / gamma)
    return np.asarray(clear - _dropped(partial, share))


def _dropped(partial: _Partial, share: float) -> float:
    """Return how many levels an encoder drops of a change that has begun."""
    sense = 1.0 if partial.is_on else -1.0
    return sense * DROPPED_LEVELS * (1.0 - share) ** 2 * (share > 0.0)


def _share(partial: _Partial, gamma: float) -> float:
    """Return the share of the exposure after the change: the median over the cells."""
    before, after = (np.maximum(own, 1.0) ** gamma for own in (partial.before, partial.after))
    share = 0.5
    for _ in range(N_ROUNDS):
        now = np.maximum(partial.now + _dropped(partial, share), 1.0) ** gamma
        share = float(np.clip(np.median((now - before) / (after - before)), -0.2, 1.2))
    return share


def _tone(partials: list[_Partial]) -> tuple[float, float]:
    """Return mean and deviation of the exponent, from how well the shares of all cells agree.

    Cells that partly cover what no light reaches (a screen, the sky) change less than all others
    and look like those of linear cameras: they are excluded.
    """
    logs = -0.5 * ((GAMMAS - USUAL_GAMMA[0]) / USUAL_GAMMA[1]) ** 2
    for partial in partials:
        early = 1.0 + PREDICTED_SHARE * (1.0 - float(np.clip(partial.share, 0.0, 1.0)))
        ratio = np.log(np.maximum(partial.after, 1.0) / np.maximum(partial.before, 1.0))
        is_used = np.abs(ratio - np.median(ratio)) <= MAX_DEVIATIONS * mad_std(
            ratio - np.median(ratio)
        )
        for i, gamma in enumerate(GAMMAS.tolist()):
            left = partial.now - _shown(partial, _share(partial, gamma), gamma)
            # What all cells of a frame have in common does not constrain the exponent.
            left = (left - np.median(left))[is_used] / (TONE_LEVELS * early)
            logs[i] -= np.sum(np.log1p(left**2 / 3.0)) * 2.0 / CORRELATED_CELLS
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = float(weights @ GAMMAS)
    step = float(GAMMAS[1] - GAMMAS[0])
    return mean, float(np.sqrt(weights @ (GAMMAS - mean) ** 2 + step**2 / 12.0))
