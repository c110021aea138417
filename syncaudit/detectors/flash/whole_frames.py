"""Date lights by whole frames: global shutters, and unknown readouts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from syncaudit.detectors.flash.blinking import MIN_PART, Blinking, Change
from syncaudit.detectors.flash.lighting import BLACK_LEVELS, CLIPPED_LEVEL, MAX_ANSWER, STEADY_SHARE
from syncaudit.detectors.flash.shape import GAMMAS, USUAL_GAMMA
from syncaudit.dsp.robust import mad_std, spread
from syncaudit.model.arrays import Floats, Ints

# Frames on either side among which an unlit one is looked for.
RADIUS = 3
# Minimum flash, as a share of the background and in robust deviations of all frames.
MIN_SHARE = 0.03
MIN_STRENGTH = 8.0
# Share of the cells that must gain at least a third of the median gain.
MIN_EVEN = 0.75
# Neighbouring frames share one pulse if their gains add up to a full one within this tolerance.
SHARED_TOLERANCE = 0.2
# Minimum number of frames that a light must span, of which the first or last may be partly lit.
MIN_LIT = 3
# Minimum number of cells that do not clip.
MIN_CELLS = 8
# Errors of encoded levels: the error common to a frame, on the side from which it is predicted and
# on the other, and that of single cells. Measured with x264 at crf 26.
COMMON_LEVELS = (0.5, 0.15)
CELL_LEVELS = 0.5
# A frame counts as partly lit where its share differs by this many sigmas from none and from all.
MIN_SIGMAS = 4.0
# Errors that limit the tone curve's estimate from shares: levels of cells, the larger the less of
# the exposure is lit; errors of neighbouring cells are correlated.
TONE_LEVELS = 0.25
PREDICTED_SHARE = 3.0
CORRELATED_CELLS = 2.0
# Cells whose change departs from that of the others by more deviations have another cause.
MAX_DEVIATIONS = 2.0
# Accepted probability of taking lights that change instantly for slow ones.
MAX_RISK = 0.05
MIN_STD_S = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pulses:
    """When lights went on, from the frames that show them, shape (m,).

    Each went on between `start_s` and `stop_s`, however long it lasted, and was on at least until
    `lit_s`: a light no longer than L went on no earlier than L before. Light within an exposure
    that lasts no longer than `hidden_s` cannot be detected.
    """

    start_s: Floats
    stop_s: Floats
    lit_s: Floats
    hidden_s: float = 0.0


def date_pulses(
    frame_s: Floats,
    cells: Floats,
    *,
    exposure_s: float | None,
    readout_s: float | None,
    switched: Ints,
) -> Pulses:
    """Return when lights went on that whole frames show.

    A frame is lit if three quarters of its cells are brighter than in the darkest frame before and
    after, in similar proportion: a moving image brightens some rows and darkens others. Consecutive
    lit frames show one light. It went on before the exposure of the first of them ended, and not
    before the end of the previous exposure, which shows nothing of it; its length does not narrow
    this down further. Exposure or readout that is not stated may be anything up to a frame period.

    `frame_s`, shape (n,), are the middles of the exposures of the middle rows of frames of `cells`,
    shape (n, c). The frames in `switched`, near which a lasting light went on or off, and the ones
    beside them show no pulse.
    """
    floor = np.maximum(_darkest(cells), _darkest(cells[::-1])[::-1])
    share = _share(cells, floor)
    gains = np.median(share, axis=1)
    gains[[0, -1]] = 0.0  # there are frames on one side only
    usual = float(np.median(gains))
    limit = max(MIN_SHARE, usual + MIN_STRENGTH * mad_std(gains - usual))
    is_even = np.mean(share > gains[:, None] / 3.0, axis=1) >= MIN_EVEN
    gains *= is_even & (gains > limit)
    near = switched[:, None] + np.arange(-RADIUS, RADIUS + 1)
    gains[np.clip(near, 0, max(gains.size - 1, 0)).ravel()] = 0.0
    lit = np.flatnonzero(gains)
    if not lit.size:
        return Pulses(start_s=np.empty(0), stop_s=np.empty(0), lit_s=np.empty(0))
    period_s = max(float(np.median(np.diff(np.sort(frame_s)))), 1e-3)
    longest_s = period_s if exposure_s is None else exposure_s
    readout_s = period_s if readout_s is None else readout_s
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
    return Pulses(
        start_s=np.minimum(frame_s[first - 1] + sure_s, stop_s),
        stop_s=stop_s,
        lit_s=frame_s[last] - open_s,
        hidden_s=hidden_s,
    )


def _share(cells: Floats, floor: Floats) -> Floats:
    return np.asarray((cells - floor) / (floor + BLACK_LEVELS))


def _darkest(cells: Floats) -> Floats:
    """Return the darkest of the up to three frames before each; the first has none."""
    n = cells.shape[0]
    before = np.arange(n)[:, None] - np.arange(1, RADIUS + 1)
    brightness = np.append(cells.sum(axis=1), np.inf)
    chosen = np.argmin(brightness[np.where(before < 0, n, before)], axis=1)
    darkest: Floats = cells[np.maximum(before[np.arange(n), chosen], 0)]
    return darkest


@dataclass(frozen=True, slots=True)
class _Partial:
    """Cells of a frame between two steady states."""

    before: Floats
    after: Floats
    now: Floats

    def share(self, gamma: float = 1.0) -> float:
        """Return the share of the exposure after the change: the median over the cells."""
        own = (self.before, self.after, self.now)
        before, after, now = (np.maximum(levels, 1.0) ** gamma for levels in own)
        return float(np.clip(np.median((now - before) / (after - before)), -0.2, 1.2))

    def shown(self, share: float, gamma: float = 1.0) -> Floats:
        """Return the levels of the cells if a share of the exposure follows the change."""
        p, q = np.maximum(self.before, 1.0) ** gamma, np.maximum(self.after, 1.0) ** gamma
        return np.asarray(np.maximum(p + share * (q - p), 1e-6) ** (1.0 / gamma))

    def share_std(self) -> float:
        """Return the error of the share from the levels alone."""
        size = abs(float(np.median(self.after - self.before)))
        u = float(np.clip(self.share(), 0.0, 1.0))
        noise = max(CELL_LEVELS, spread(self.now - self.shown(u)))
        common = noise / CELL_LEVELS * np.array(COMMON_LEVELS) * (1.0 - u, u)
        return math.hypot(*common, noise / math.sqrt(self.now.size / 4.0)) / max(size, 1.0)


def date_changes(
    blinking: Blinking,
    frame_s: Floats,
    cells: Floats,
    *,
    exposures_s: tuple[float, float],
    period_s: float,
    rise_s: float,
) -> tuple[Floats, Floats, Floats]:
    """Return when lasting lights seen by global shutters changed, by how far frames are lit.

    A frame that is exposed for E around `frame_s` while the light goes on gathers the share
    ``u = (frame_s + E / 2 - t) / E`` of it, which dates the instant t; so does the darkness of
    a light that goes off. If no frame between two states is partly lit, the light changed between
    two exposures, and only that interval is known; if a light spans fewer than three frames, each
    of two may have been lit for a part of its exposure.

    Tone curves bend the share. With luma = light^(1/gamma) a cell that goes from luma p to q shows
    ``(p^gamma + u (q^gamma - p^gamma))^(1/gamma)``: bright changes bend more than faint ones, so
    that cells with different changes determine gamma, over all partly lit frames. Its remaining
    uncertainty is part of the errors. Where more frames are partly lit than lights that change
    instantly would explain, they may take up to `rise_s`, and no share dates anything.

    `frame_s`, shape (n,), and `cells`, shape (n, c): middle of each exposure, and brightness;
    `exposures_s`: shortest (0 where none is stated) and longest possible exposure. Returns the
    start and the end of the interval of each change and the error of its ends, which is its length
    where a partly lit frame dates the instant, shape (m,) each.
    """
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
        elif exposure_s and blinking.is_steady(own, STEADY_SHARE):
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
        share = partial.share(gamma)
        per_gamma = 5.0 * (partial.share(gamma + 0.1) - partial.share(gamma - 0.1))
        at_s = float(frame_s[changes[i].foot + 1]) + (0.5 - share) * exposure_s
        std_s[i] = exposure_s * float(np.hypot(partial.share_std(), per_gamma * gamma_std))
        start_s[i], stop_s[i] = at_s - 0.5 * std_s[i], at_s + 0.5 * std_s[i]
    return start_s, stop_s, std_s


def _partial(own: Change, cells: Floats) -> _Partial | None:
    """Return the frame that is partly lit, or None where none is."""
    k = own.foot + 1
    if own.peak != k + 1 or own.foot < 1 or own.peak + 1 >= cells.shape[0]:
        return None
    before, after = 0.5 * (cells[k - 2] + cells[k - 1]), 0.5 * (cells[k + 1] + cells[k + 2])
    is_used = np.maximum(before, after) < CLIPPED_LEVEL
    if np.count_nonzero(is_used) < min(MIN_CELLS, is_used.size):
        return None
    partial = _Partial(before[is_used], after[is_used], cells[k][is_used])
    margin = max(MIN_PART, MIN_SIGMAS * partial.share_std())
    return partial if margin < partial.share() < 1.0 - margin else None


def _tone(partials: list[_Partial]) -> tuple[float, float]:
    """Return mean and deviation of the exponent, from how well the shares of all cells agree.

    Cells that partly cover what no light reaches (a screen, the sky) change less than all others
    and look like those of linear cameras: they are excluded.
    """
    logs = -0.5 * ((GAMMAS - USUAL_GAMMA[0]) / USUAL_GAMMA[1]) ** 2
    for partial in partials:
        early = 1.0 + PREDICTED_SHARE * (1.0 - float(np.clip(partial.share(), 0.0, 1.0)))
        ratio = np.log(np.maximum(partial.after, 1.0) / np.maximum(partial.before, 1.0))
        off = ratio - np.median(ratio)
        is_used = np.abs(off) <= MAX_DEVIATIONS * mad_std(off)
        for i, gamma in enumerate(GAMMAS.tolist()):
            left = partial.now - partial.shown(partial.share(gamma), gamma)
            # What all cells of a frame have in common does not constrain the exponent.
            left = (left - np.median(left))[is_used] / (TONE_LEVELS * early)
            logs[i] -= np.sum(np.log1p(left**2 / 3.0)) * 2.0 / CORRELATED_CELLS
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = float(weights @ GAMMAS)
    step = float(GAMMAS[1] - GAMMAS[0])
    return mean, float(np.sqrt(weights @ (GAMMAS - mean) ** 2 + step**2 / 12.0))
