"""Date lights that go on or off and stay, by how far whole frames are lit: global shutters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.robust import mad_std

__all__ = ["Switches", "find_switches"]

Floats = NDArray[np.float64]

# Least change, as a share of the picture and in levels, and what of it each side may vary by.
MIN_SHARE = 0.03
MIN_LEVELS = 3.0
STEADY_SHARE = 0.12
# Share of the cells that must change in one sense, by at least a quarter of the median.
ONE_SENSE = 0.8
# A change that is the same factor everywhere, within this, is gain or exposure, not light.
GAIN_SPREAD = 0.03
# Cells above this may be clipped.
CLIPPED_LEVEL = 235.0
MIN_CELLS = 8
# Errors of encoded levels: what encoders drop of a change that has begun; what is common to a
# frame on the side from which it is predicted and on the other; of single cells. Measured with
# x264 at crf 26.
DROPPED_LEVELS = 0.3
COMMON_LEVELS = (0.5, 0.15)
CELL_LEVELS = 0.5
# A share is a part of the exposure where it differs by this much, and so many sigmas, from none
# and from all.
MIN_PART = 0.05
MIN_SIGMAS = 4.0
# What keeps shares from telling the tone curve: levels of cells, more the less of the exposure is
# lit; neighbouring cells err alike.
TONE_LEVELS = 0.25
PREDICTED_SHARE = 3.0
CORRELATED_CELLS = 2.0
# Cells whose change is farther from that of the others, in deviations, are of something else.
MAX_UNLIKE = 2.0
# Exponents that tone curves may have (1: linear): usual ones, mean and deviation, and points.
USUAL_GAMMA = (1.8, 0.5)
GAMMAS = np.linspace(0.6, 3.2, 53)
# Fewer are none: light may change for once, a lamp goes on and off.
MIN_SWITCHES = 3
N_ROUNDS = 3
MIN_STD_S = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Switches:
    """When a light went on or off, on the camera's own clock.

    Parameters
    ----------
    frame : ndarray of int, shape (m,)
        Position of the frame that was lit in part, or of the last one before.
    start_s, stop_s, std_s : ndarray, shape (m,)
        Interval and the softness of its ends, which is its length where a frame lit in part dates
        the instant.
    sense : ndarray of int, shape (m,)
        +1 where the light went on, -1 where off.
    gamma, gamma_std : float
        Exponent of the tone curve.
    """

    frame: NDArray[np.int64]
    start_s: Floats
    stop_s: Floats
    std_s: Floats
    sense: NDArray[np.int64]
    gamma: float = 1.0
    gamma_std: float = 0.0


@dataclass(slots=True)
class _Partial:
    """A frame between two steady states, in the sense of the change."""

    frame: int
    is_on: bool
    before: Floats
    after: Floats
    now: Floats
    share: float = 0.5


def find_switches(frame_s: Floats, cells: Floats, *, exposure_s: float | None) -> Switches:
    """Return when lights went on or off that stayed so for two frames at least.

    A frame that is exposed for E around `frame_s` while the light goes on gathers the share
    ``u = (frame_s + E / 2 - t) / E`` of it, which dates the instant t; so does the darkness of
    a light that goes off. Is no frame between two states lit in part, the light changed between two
    exposures: that is all that is known, and an interval; of a light that no three frames show,
    each of two may have been lit for a part of its exposure.

    Tone curves bend the share. With luma = light^(1/gamma) a cell that goes from luma p to q shows
    ``(p^gamma + u (q^gamma - p^gamma))^(1/gamma)``: bright changes bend more than faint ones, so
    that cells of unlike change tell gamma, over all frames that are lit in part. What it may still
    be off by is part of the errors.

    Parameters
    ----------
    frame_s : ndarray, shape (n,)
        Middle of each exposure.
    cells : ndarray, shape (n, c)
        Of `FrameCells`.
    exposure_s : float, optional
        Where it is not stated, only intervals are known.
    """
    found = [_chosen(group, cells) for group in _groups(_is_between(cells))]
    partials = [partial for partial in found if partial is not None]
    if len(partials) < MIN_SWITCHES:
        none, nothing = np.empty(0), np.empty(0, dtype=np.int64)
        return Switches(frame=nothing, start_s=none, stop_s=none, std_s=none, sense=nothing)
    stds = np.array([_share_std(partial) for partial in partials])
    shares = np.array([partial.share for partial in partials])
    margins = np.maximum(MIN_PART, MIN_SIGMAS * stds)
    is_part = (shares > margins) & (shares < 1.0 - margins)
    gamma, gamma_std = _tone([p for p, is_it in zip(partials, is_part, strict=True) if is_it])
    half_s = 0.5 * (exposure_s or 0.0)
    starts, stops, softness = [], [], []
    last = frame_s.size - 1
    for partial, std, has_part in zip(partials, stds.tolist(), is_part.tolist(), strict=True):
        k = partial.frame
        if has_part and exposure_s:
            share = _share(partial, gamma)
            lever = 0.5 * (_share(partial, gamma + 0.1) - _share(partial, gamma - 0.1)) / 0.1
            at_s = float(frame_s[k]) + (0.5 - share) * exposure_s
            std_s = exposure_s * float(np.hypot(std, lever * gamma_std))
            starts.append(at_s - 0.5 * std_s)
            stops.append(at_s + 0.5 * std_s)
            softness.append(std_s)
            continue
        # Without an exposure a frame that is lit in part may reach half-way to its neighbours.
        low, high = (
            (k - 1, k + 1) if has_part else (k, k + 1) if partial.share < 0.5 else (k - 1, k)
        )
        begin_s = float(frame_s[max(low, 0)]) + half_s
        end_s = float(frame_s[min(high, last)]) - half_s
        if not has_part and not _lasts(cells, partial, low, high):
            begin_s -= 0.0 if partial.is_on else 2.0 * half_s
            end_s += 2.0 * half_s if partial.is_on else 0.0
        starts.append(begin_s)
        stops.append(max(begin_s, end_s))
        softness.append(max(MIN_STD_S, MIN_PART * half_s))
    return Switches(
        frame=np.array([partial.frame for partial in partials], dtype=np.int64),
        start_s=np.array(starts),
        stop_s=np.array(stops),
        std_s=np.array(softness),
        sense=np.array([2 * int(partial.is_on) - 1 for partial in partials], dtype=np.int64),
        gamma=gamma,
        gamma_std=gamma_std,
    )


def _is_between(cells: Floats) -> NDArray[np.bool_]:
    """Return which frames lie between two steady states of unlike light."""
    n = cells.shape[0]
    found = np.zeros(n, dtype=np.bool_)
    if n < 5:
        return found
    before, after = 0.5 * (cells[:-4] + cells[1:-3]), 0.5 * (cells[3:-1] + cells[4:])
    middle = np.median(after - before, axis=1)
    at = np.flatnonzero(np.abs(middle) > MIN_LEVELS)
    if not at.size:
        return found
    before, after = before[at], after[at]
    change, size = np.sign(middle[at])[:, None] * (after - before), np.abs(middle[at])
    unsteady = np.maximum(
        np.median(np.abs(cells[at + 1] - cells[at]), axis=1),
        np.median(np.abs(cells[at + 4] - cells[at + 3]), axis=1),
    )
    in_sense = np.mean(change > 0.25 * size[:, None], axis=1)
    dark = np.minimum(before, after)
    factor = change / (dark + 1.0)
    spread = np.median(np.abs(factor - np.median(factor, axis=1)[:, None]), axis=1)
    is_gain = 1.4826 * spread < GAIN_SPREAD * np.median(factor, axis=1)
    found[at + 2] = (
        (size > MIN_SHARE * np.median(dark, axis=1))
        & (unsteady < STEADY_SHARE * size)
        & (in_sense >= ONE_SENSE)
        & ~is_gain
    )
    return found


def _groups(is_between: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    frames = np.flatnonzero(is_between)
    if not frames.size:
        return []
    return np.split(frames, np.flatnonzero(np.diff(frames) > 1) + 1)


def _chosen(group: NDArray[np.int64], cells: Floats) -> _Partial | None:
    """Return the frame of neighbours that is most nearly lit by half."""
    partials = []
    for k in group.tolist():
        before, after = 0.5 * (cells[k - 2] + cells[k - 1]), 0.5 * (cells[k + 1] + cells[k + 2])
        is_used = np.maximum(before, after) < CLIPPED_LEVEL
        if np.count_nonzero(is_used) < min(MIN_CELLS, is_used.size):
            continue
        partial = _Partial(
            frame=k,
            is_on=bool(np.median(after - before) > 0.0),
            before=before[is_used],
            after=after[is_used],
            now=cells[k][is_used],
        )
        partial.share = _share(partial, 1.0)
        partials.append(partial)
    return min(partials, key=lambda partial: abs(partial.share - 0.5), default=None)


def _lasts(cells: Floats, partial: _Partial, low: int, high: int) -> bool:
    """Return whether a light that changed between two frames was on for three.

    A pulse may light two alike, each for a part of its exposure.
    """
    near, step = (high, 1) if partial.is_on else (low, -1)
    if not 0 <= near + 2 * step < cells.shape[0]:
        return False
    lit = cells[[near, near + step, near + 2 * step]]
    size = abs(float(np.median(partial.after - partial.before)))
    return bool(np.max(np.median(np.abs(np.diff(lit, axis=0)), axis=1)) < STEADY_SHARE * size)


def _share_std(partial: _Partial) -> float:
    """Return the error of a share by levels alone."""
    size = abs(float(np.median(partial.after - partial.before)))
    u = float(np.clip(partial.share, 0.0, 1.0))
    left = partial.now - _shown(partial, u, 1.0)
    noise = max(CELL_LEVELS, 1.4826 * float(np.median(np.abs(left - np.median(left)))))
    common = noise / CELL_LEVELS * np.array(COMMON_LEVELS) * (1.0 - u, u)
    own = noise / np.sqrt(partial.now.size / 4.0)
    return float(np.hypot(np.hypot(*common), own)) / max(size, 1.0)


def _shown(partial: _Partial, share: float, gamma: float) -> Floats:
    """Return the levels of the cells after a share of the exposure."""
    p, q = np.maximum(partial.before, 1.0) ** gamma, np.maximum(partial.after, 1.0) ** gamma
    clear = np.maximum(p + share * (q - p), 1e-6) ** (1.0 / gamma)
    return np.asarray(clear - _dropped(partial, share))


def _dropped(partial: _Partial, share: float) -> float:
    """Return by how many levels an encoder leaves out of a change that has begun."""
    sense = 1.0 if partial.is_on else -1.0
    return sense * DROPPED_LEVELS * (1.0 - share) ** 2 * (share > 0.0)


def _share(partial: _Partial, gamma: float) -> float:
    """Return the share of the exposure after the change: what half of the cells show at most."""
    before, after = (np.maximum(own, 1.0) ** gamma for own in (partial.before, partial.after))
    share = 0.5
    for _ in range(N_ROUNDS):
        now = np.maximum(partial.now + _dropped(partial, share), 1.0) ** gamma
        share = float(np.clip(np.median((now - before) / (after - before)), -0.2, 1.2))
    return share


def _tone(partials: list[_Partial]) -> tuple[float, float]:
    """Return mean and deviation of the exponent, by how alike the shares of all cells are.

    Cells in part of what no light reaches (a screen, the sky) change less than all others, and
    look like those of linear cameras: they are left out.
    """
    logs = -0.5 * ((GAMMAS - USUAL_GAMMA[0]) / USUAL_GAMMA[1]) ** 2
    for partial in partials:
        early = 1.0 + PREDICTED_SHARE * (1.0 - float(np.clip(partial.share, 0.0, 1.0)))
        ratio = np.log(np.maximum(partial.after, 1.0) / np.maximum(partial.before, 1.0))
        is_used = np.abs(ratio - np.median(ratio)) <= MAX_UNLIKE * mad_std(ratio - np.median(ratio))
        for i, gamma in enumerate(GAMMAS.tolist()):
            left = partial.now - _shown(partial, _share(partial, gamma), gamma)
            # What all cells of a frame have in common says nothing.
            left = (left - np.median(left))[is_used] / (TONE_LEVELS * early)
            logs[i] -= np.sum(np.log1p(left**2 / 3.0)) * 2.0 / CORRELATED_CELLS
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = float(weights @ GAMMAS)
    step = float(GAMMAS[1] - GAMMAS[0])
    return mean, float(np.sqrt(weights @ (GAMMAS - mean) ** 2 + step**2 / 12.0))
