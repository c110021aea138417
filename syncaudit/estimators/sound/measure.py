"""Measure two microphones against each other by generalised cross-correlation (PHAT).

A robust line, with at most one step, is fitted to the offsets of blocks of sound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from syncaudit.dsp.indices import nearest, runs_of
from syncaudit.dsp.robust import spread, student_widening
from syncaudit.estimators.sound.blocks import (
    MIN_BLOCKS,
    TRACK_DRIFT,
    TRACK_S,
    Blocks,
    fitting_offset,
    measure_blocks,
)
from syncaudit.estimators.sound.search import (
    OWN_ECHO_S,
    CoarseOffset,
    search_coarsely,
    search_widely,
)
from syncaudit.estimators.sound.spectra import Refusal, SoundPair
from syncaudit.model import AudioStream, PairMeasurement
from syncaudit.model.arrays import Bools, Floats

METHOD = "gcc_phat"
# Runner-up lobe of the pooled correlation within 20 ms: a pure tone reaches 1.
MAX_SIDE_LOBE = 0.85
MIN_DRIFT_SPAN_S = 25.0
# Half a sample at 48 kHz: clock of the codec.
SYSTEMATIC_S = 1e-5
# If offsets of blocks scatter more than this, one offset and one drift do not describe them.
MAX_SCATTER_S = 2e-3
# Blocks that scatter by more than this received the sound along different paths.
LOBES_S = 1e-4
# Share of the blocks that must lie on the line: an eighth elsewhere is a second stretch of time.
MIN_KEPT = 0.8
# Share of the time with a common sound that may have no consistent offset.
MAX_UNCLEAR = 0.3
# Only stretches at least this long without a measured block are searched anew.
MIN_STRETCH_S = 2.0
MAX_STRETCHES = 6
# Length of the pieces that locate a step, and the largest number of halvings.
PIECE_S = 0.5
MAX_HALVINGS = 8

# A speaker who moves by 1.7 m, or a change of speaker, changes the offset by 5 ms, which is not a
# step.
MIN_STEP_S = 5e-3
# A step must reduce the mean deviation from the line to this share of that without a step.
STEP_GAIN = 0.6
# A clock jumps at once, the path of a sound that passes by changes for seconds, and talkers who
# take turns scatter: share of the jump that the blocks beside it may lack, and all may scatter by.
MAX_GRADUAL = 0.1
# Smaller bends of the track are due to the rooms (reflections that come and go).
STEADY_S = 5e-5
# Blocks this close to the line have errors, but lie on it.
NEAR_S = 1e-4


def estimate_microphones(
    source: AudioStream, target: AudioStream, *, max_offset_s: float = 5.0
) -> PairMeasurement:
    """Measure offset and drift between two microphones that record the same sounds.

    A coarse search correlates whitened, amplitude-limited pieces of 2.5 s over all offsets and
    sums the squares (so that drift between pieces does no harm). Then up to 120 disjoint
    blocks of 1 s are aligned, and the phase of their cross-spectra (PHAT; Knapp, Carter, "The
    generalized correlation method for estimation of time delay", IEEE Trans. ASSP 24, 1976,
    doi:10.1109/TASSP.1976.1162830) is pooled. The lobe of the direct sound is chosen once for all
    blocks, after removing the room echoes that the two levels reveal (`blocks`). Each block is then
    measured on that lobe, weighted by the pooled coherence. The peak is refined on the continuous
    sum of cosines, which is exact band-limited interpolation. A robust line through the blocks
    gives offset and drift.

    A stretch with sound in both that leaves this track is searched anew: a lost buffer shows as a
    step of at least 5 ms, which is fitted too and located to half a second. Smaller jumps may be
    due to moving people; they widen the error. More than one step is refused.

    The error is the greater of the scatter of the disjoint blocks (with Student's t, and widened
    where neighbouring residuals are correlated) and the bound of Knapp and Carter,
    ``1 / (2 T integral (2 pi f)^2 C / (1 - C) df)``, plus a systematic 10 us, the delay of
    the filter that the ratio of their levels shows, and that of one hidden beyond the band in which
    they agree (microphones differ). The offset contains the travel
    time of the sound: 2.9 ms for every metre that the target is farther from the origin of the
    sound than the source microphone is. Encoder delay that the container does not state is part of
    the file and so of the offset.

    Sampling rates and epochs may be any. If no common sound is found within `max_offset_s`, either
    sign, all offsets at which the sounds overlap are tried, up to six minutes. Without enough
    overlap, coherence or uniqueness the measurement is refused, with a reason.
    """
    pair = SoundPair.of(source, target, max_offset_s)
    if isinstance(pair, str):
        at_ns = int(source.time_ns[0]) if source.time_ns.size else 0
        return PairMeasurement.refused(source.name, target.name, METHOD, at_ns, pair)
    refuse = partial(PairMeasurement.refused, source.name, target.name, METHOD, pair.at_ns)
    coarse = search_coarsely(pair)
    if isinstance(coarse, Refusal):
        wide = None if coarse.figures.get("is_ambiguous") else search_widely(pair)
        if wide is not None and isinstance(found := measure_blocks(*wide), Blocks):
            return _answer(*wide, found)
        return refuse(coarse.why, coarse.figures, evidence=coarse.agreement)
    blocks = measure_blocks(pair, coarse)
    if isinstance(blocks, Refusal):
        figures = coarse.figures | blocks.figures
        return refuse(blocks.why, figures, evidence=coarse.agreement)
    return _answer(pair, coarse, blocks)


def _answer(pair: SoundPair, coarse: CoarseOffset, first: Blocks) -> PairMeasurement:
    blocks, unclear_s, elsewhere_s = _with_outliers(pair, first)
    x = blocks.times_s - pair.middle_s
    with_drift = float(np.ptp(x)) >= MIN_DRIFT_SPAN_S and x.size >= 6
    bound = float(np.median(blocks.bound_s))
    line = fit_blocks(x, blocks.offsets_s, bound_s=bound, with_drift=with_drift)
    random = line.level_std_s
    # Sound paths that come and go do not average out.
    paths = line.scatter_s if line.scatter_s > LOBES_S else 0.0
    parts = SYSTEMATIC_S, blocks.filter_std_s, blocks.lobes_std_s, line.unsteady_s, paths
    systematic = float(np.linalg.norm(parts))
    # A jump that is not reported as a step bends the line by up to 1.5 jumps over its span.
    bend = 3.0 * line.unsteady_s / max(float(np.ptp(x)), 1e-9)
    drift_std = float(np.hypot(line.slope_std, bend)) * 1e6
    figures = coarse.figures | {
        "blocks": float(np.count_nonzero(line.is_kept)),
        "blocks_tried": float(blocks.tried_s.size),
        "coherence": blocks.coherence,
        "side_lobe": blocks.side_lobe,
        "scatter_s": line.scatter_s,
        "bound_s": bound,
        "random_std_s": random,
        "unsteady_s": line.unsteady_s,
        "unclear_s": unclear_s,
        "elsewhere_s": elsewhere_s,
    }
    offset_s, step = _step(pair, blocks, line)
    return PairMeasurement(
        source=pair.a.name,
        target=pair.b.name,
        method=METHOD,
        at_ns=pair.at_ns,
        offset_s=offset_s,
        offset_std_s=float(np.hypot(random, systematic)),
        systematic_std_s=systematic,
        drift_ppm=line.slope * 1e6 if with_drift else None,
        drift_std_ppm=max(drift_std, 0.01) if with_drift else None,
        **step,
        accepted=(why := _why_not(pair, blocks, line, unclear_s, elsewhere_s)) is None,
        why=why,
        diagnostics=figures,
        evidence=coarse.agreement,
    )


def _step(pair: SoundPair, blocks: Blocks, line: BlockLine) -> tuple[float, dict[str, Any]]:
    """Return the offset in the middle, and the fields of the step where there is one."""
    if line.step_s is None or line.step_std_s is None or line.split is None:
        return line.level_s, {}
    x = blocks.times_s - pair.middle_s
    k = line.split
    is_after = x[k - 1] + x[k] < 0.0  # the level holds on the side of the middle
    level_s = line.level_s - (line.step_s if is_after else 0.0)
    before = level_s + line.slope * x[k]
    at_s = _locate_step(
        pair, float(blocks.times_s[k - 1]), float(blocks.times_s[k]), (before, before + line.step_s)
    )
    # The reported instant decides which of the two offsets holds in the middle.
    return level_s + (line.step_s if at_s <= pair.middle_s else 0.0), {
        "step_s": line.step_s,
        "step_std_s": float(np.hypot(line.step_std_s, SYSTEMATIC_S)),
        "step_at_ns": pair.clock_a.epoch_ns + round(at_s * 1e9),
    }


def _why_not(
    pair: SoundPair, blocks: Blocks, line: BlockLine, unclear_s: float, elsewhere_s: float
) -> str | None:
    n = int(np.count_nonzero(line.is_near))
    span_s = float(np.ptp(blocks.tried_s))
    if blocks.side_lobe > MAX_SIDE_LOBE:
        return (
            f"ambiguous: another lobe of the correlation reaches {100.0 * blocks.side_lobe:.0f} % "
            "of the best; the sound is a tone, or an echo is as loud as the direct sound"
        )
    if line.scatter_s > MAX_SCATTER_S:
        return (
            f"the blocks scatter by {line.scatter_s * 1e3:.2g} ms: not one offset and one drift "
            "(sound lost more than once, or a microphone that moves)"
        )
    if n < max(MIN_BLOCKS, MIN_KEPT * blocks.times_s.size):
        return (
            f"only {n} of {blocks.times_s.size} blocks lie on one line: the clock steps more than "
            "once, or several sources of sound move"
        )
    if elsewhere_s > 0.0:
        return (
            f"for {elsewhere_s:.0f} s the sounds agree at an offset of their own, too briefly to "
            "measure it: the clock steps near an end or more than once"
        )
    if unclear_s > MAX_UNCLEAR * (unclear_s + blocks.times_s.size / blocks.tried_s.size * span_s):
        return (
            f"for {unclear_s:.0f} s the sounds agree at no single offset: the clock steps "
            "repeatedly, or the sound repeats"
        )
    if abs(line.level_s) > pair.max_offset_s:
        return f"the offset, {line.level_s:.3f} s, is outside the search (±{pair.max_offset_s:g} s)"
    return None


def _with_outliers(pair: SoundPair, blocks: Blocks) -> tuple[Blocks, float, float]:
    """Return the blocks, and those of stretches that follow another offset.

    Where a microphone loses a buffer, everything after it leaves the previous track. Stretches with
    sound in both but without a measured block are searched anew over all offsets. The seconds of
    those that leave the track but cannot be measured follow, and of those, how many agree at one
    offset that is no echo.
    """
    seen: set[float] = set()
    unclear_s = elsewhere_s = 0.0
    for _ in range(MAX_STRETCHES):
        stretch = next((run for run in _stretches(blocks) if run[0] not in seen), None)
        if stretch is None:
            break
        seen.add(stretch[0])
        part = pair.part(*stretch)
        coarse = search_coarsely(part)
        best_s = coarse.figures.get("coarse_offset_s")
        if best_s is None:
            continue  # nothing in common there
        # A lost buffer may be shorter than the coarse search resolves.
        own = coarse if isinstance(coarse, Refusal) else measure_blocks(part, coarse)
        if isinstance(own, Blocks):
            blocks = blocks.joined(own)
            continue
        away_s = _from_track_s(blocks, 0.5 * sum(stretch), best_s)
        is_clear = isinstance(coarse, CoarseOffset)
        if away_s > TRACK_S and (is_clear or coarse.figures.get("is_ambiguous")):
            unclear_s += stretch[1] - stretch[0]
            elsewhere_s += (stretch[1] - stretch[0]) * (is_clear and away_s > OWN_ECHO_S)
    return blocks, unclear_s, elsewhere_s


def _locate_step(
    pair: SoundPair, early_s: float, late_s: float, offsets_s: tuple[float, float]
) -> float:
    """Return when the offset changes, by bisecting the time between two blocks."""
    for _ in range(MAX_HALVINGS):
        if late_s - early_s <= PIECE_S:
            break
        middle = 0.5 * (early_s + late_s)
        side = fitting_offset(pair, middle, offsets_s, PIECE_S)
        if side is None:
            break
        if side == 0:
            early_s = middle
        else:
            late_s = middle
    return 0.5 * (early_s + late_s)


def _stretches(blocks: Blocks) -> list[tuple[float, float]]:
    """Return the longest runs of tried blocks of which none was measured."""
    tried = blocks.tried_s
    pitch = float(np.median(np.diff(tried)))
    closest = blocks.times_s[nearest(blocks.times_s, tried)]
    is_empty = np.abs(tried - closest) > 0.75 * pitch
    runs = [
        (float(tried[first]) - 0.5, float(tried[stop - 1]) + 0.5)
        for first, stop in zip(*runs_of(is_empty), strict=True)
    ]
    runs = [run for run in runs if run[1] - run[0] >= MIN_STRETCH_S - 1e-6]
    return sorted(runs, key=lambda run: run[0] - run[1])


def _from_track_s(blocks: Blocks, at_s: float, offset_s: float) -> float:
    """Return how far an offset is from that of the nearest block, beyond what drift allows."""
    k = int(np.argmin(np.abs(blocks.times_s - at_s)))
    drift_s = TRACK_DRIFT * abs(float(blocks.times_s[k]) - at_s)
    return abs(offset_s - float(blocks.offsets_s[k])) - drift_s


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockLine:
    """Offset, drift and step of blocks."""

    # Offset at zero, and its change.
    level_s: float
    slope: float
    # Standard errors.
    level_std_s: float
    slope_std: float
    scatter_s: float  # scatter of the kept blocks about the line
    unsteady_s: float  # half of a jump too small to be reported as a step
    is_kept: Bools  # shape (n,): blocks that are not outliers
    is_near: Bools  # shape (n,): those, and blocks whose error is less than a lobe
    # Change of the offset, and its standard error.
    step_s: float | None = None
    step_std_s: float | None = None
    split: int | None = None  # first block after the step


def fit_blocks(x: Floats, y: Floats, *, bound_s: float, with_drift: bool) -> BlockLine:
    """Fit offset, drift and at most one step by least squares without outliers.

    Parameters
    ----------
    x : ndarray, shape (n,)
        Times in order, zero where the offset is wanted.
    y : ndarray, shape (n,)
        Offsets in seconds.
    bound_s : float
        Smallest error of a block: their scatter may be small by luck.
    with_drift : bool
        Whether a drift is wanted; shorter spans with many blocks get a slope all the same, since
        the drift is real there too.
    """
    is_kept = np.ones(x.size, dtype=bool)
    slopes = with_drift or x.size >= 8
    split, jump, gradual = _best_split(x, y, slopes)
    is_step = abs(jump) >= MIN_STEP_S and gradual <= MAX_GRADUAL * abs(jump)
    for _ in range(6):
        design = _design(x, slopes, split if is_step else None)
        beta, inverse, residual = _least_squares(design, y, is_kept)
        new = np.abs(residual) <= max(4.5 * spread(residual[is_kept], 0.0), 2e-6)
        if np.count_nonzero(new) < MIN_BLOCKS + is_step or np.array_equal(new, is_kept):
            break
        is_kept = new
    n = int(np.count_nonzero(is_kept))
    free = max(1, n - design.shape[1])
    scatter = float(np.sqrt(np.sum(residual[is_kept] ** 2) / free))
    wide = _kinship(residual[is_kept]) * student_widening(free)
    stds = wide * max(scatter, bound_s, 1e-12) * np.sqrt(np.diag(inverse))
    return BlockLine(
        level_s=float(beta[0]),
        slope=float(beta[1]) if slopes else 0.0,
        level_std_s=float(stds[0]),
        slope_std=float(stds[1]) if slopes else 0.0,
        scatter_s=scatter,
        unsteady_s=0.5 * abs(jump) if split is not None and not is_step else 0.0,
        is_kept=is_kept,
        is_near=is_kept | (np.abs(residual) < NEAR_S),
        step_s=float(beta[-1]) if is_step else None,
        step_std_s=float(np.hypot(stds[-1], gradual)) if is_step else None,
        split=split if is_step else None,
    )


def _design(x: Floats, slopes: bool, split: int | None) -> Floats:
    """Return columns level, slope, step; the step is zero on the side where x is zero."""
    columns = [np.ones_like(x)]
    if slopes:
        columns.append(x)
    if split is not None:
        is_after = np.arange(x.size) >= split
        zero_is_after = x[split - 1] + x[split] < 0.0
        columns.append(is_after.astype(np.float64) - float(zero_is_after))
    return np.column_stack(columns)


def _least_squares(design: Floats, y: Floats, is_kept: Bools) -> tuple[Floats, Floats, Floats]:
    """Return the parameters, their unit covariance and the residuals of all rows."""
    used = design[is_kept]
    inverse = np.linalg.pinv(used.T @ used)
    centre = float(np.mean(y[is_kept]))
    beta = inverse @ (used.T @ (y[is_kept] - centre))
    residual = y - centre - design @ beta
    beta[0] += centre
    return beta, np.asarray(inverse, dtype=np.float64), residual


def _best_split(x: Floats, y: Floats, slopes: bool) -> tuple[int | None, float, float]:
    """Return the first block after the best jump, its size, and by how much blocks depart from it.

    (None, 0, 0) if there is none.
    """
    if x.size < 2 * MIN_BLOCKS:
        return None, 0.0, 0.0
    plain, _, _ = _least_deviation(_design(x, slopes, None), y)
    best, at, jump, gradual = plain, None, 0.0, 0.0
    for split in range(MIN_BLOCKS, x.size - MIN_BLOCKS + 1):
        cost, beta, residual = _least_deviation(_design(x, slopes, split), y)
        if cost < best:
            best, at, jump = cost, split, float(beta[-1])
            gradual = max(abs(float(residual[split] - residual[split - 1])), spread(residual, 0.0))
    if at is None or best > STEP_GAIN * plain or abs(jump) < STEADY_S:
        return None, 0.0, 0.0
    return at, jump, gradual


def _least_deviation(design: Floats, y: Floats) -> tuple[float, Floats, Floats]:
    """Return the mean absolute deviation, the parameters and residuals (L1 by reweighting)."""
    centre = float(np.median(y))
    z = y - centre
    weight = np.ones(y.size)
    for _ in range(8):
        weighted = design * weight[:, None]
        beta = np.linalg.pinv(design.T @ weighted) @ (weighted.T @ z)
        residual = z - design @ beta
        weight = 1.0 / np.maximum(np.abs(residual), 1e-7)
    return float(np.mean(np.abs(residual))), np.asarray(beta), residual


def _kinship(residual: Floats) -> float:
    """Return the factor by which errors of sums grow, from the correlation of neighbours.

    First-order autoregression: ``sqrt((1 + r) / (1 - r))``, where r exceeds chance (2 / sqrt(n)).
    """
    if residual.size < 8:
        return 1.0
    power = float(np.sum(residual**2))
    r = float(np.sum(residual[1:] * residual[:-1])) / power if power > 0.0 else 0.0
    if r < 2.0 / np.sqrt(residual.size):
        return 1.0
    r = min(r, 0.98)
    return float(np.sqrt((1.0 + r) / (1.0 - r)))
