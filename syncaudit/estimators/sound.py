"""Measure two microphones against each other by generalised cross-correlation (PHAT)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from syncaudit.estimators.sound_blocks import MIN_BLOCKS, Blocks, measure_blocks
from syncaudit.estimators.sound_pair import Refusal, SoundPair
from syncaudit.estimators.sound_search import CoarseOffset, search_coarsely
from syncaudit.model import AudioStream, PairMeasurement

__all__ = ["METHOD", "estimate_microphones"]

METHOD = "gcc_phat"
# Runner-up lobe of the pooled correlation within 20 ms: a pure tone reaches 1.
MAX_SIDE_LOBE = 0.85
MIN_DRIFT_SPAN_S = 25.0
# Half a sample at 48 kHz: clock of the codec, filters that differ between microphones.
SYSTEMATIC_S = 1e-5
# Offsets of blocks that scatter more than this are not one offset and one drift.
MAX_SCATTER_S = 2e-3


def estimate_microphones(
    source: AudioStream, target: AudioStream, *, max_offset_s: float = 5.0
) -> PairMeasurement:
    """Measure offset and drift between two microphones that hear the same sounds.

    A coarse search correlates whitened, amplitude-limited pieces of 2.5 s over all offsets and
    adds up the squares (so that drift between pieces does no harm). Then up to 120 disjoint
    blocks of 1 s are aligned and each is measured by the cross-spectrum, whitened to its phase
    (PHAT) and weighted by the coherence ``C / (1 - C)`` pooled over all blocks, the maximum
    likelihood weighting (Knapp, Carter, "The generalized correlation method for estimation of
    time delay", IEEE Trans. ASSP 24, 1976, doi:10.1109/TASSP.1976.1162830). The peak is refined
    on the continuous sum of cosines, which is exact band-limited interpolation. A robust line
    through the blocks gives offset and drift.

    The error is the greater of the scatter of the disjoint blocks (with Student's t) and the
    bound of Knapp and Carter, ``1 / (2 T integral (2 pi f)^2 C / (1 - C) df)``, plus a systematic
    10 us. The offset contains the way of the sound: 2.9 ms for every metre that the target is
    farther from the source of the sound than the source microphone is. Encoder delay of lossy
    files is part of the file and so of the offset.

    Parameters
    ----------
    source, target : AudioStream
        Sounds at any sampling rates, with any epochs.
    max_offset_s : float
        Largest offset searched for, either sign.

    Returns
    -------
    PairMeasurement
        Method ``gcc_phat``; refused, with a reason, without enough overlap, coherence or
        uniqueness.
    """
    at_ns = int(source.time_ns[0]) if source.time_ns.size else 0
    pair = SoundPair.of(source, target, max_offset_s)
    if isinstance(pair, str):
        return PairMeasurement.refused(source.name, target.name, METHOD, at_ns, pair)
    at_ns = pair.at_ns
    coarse = search_coarsely(pair)
    if isinstance(coarse, Refusal):
        return PairMeasurement.refused(
            source.name, target.name, METHOD, at_ns, coarse.why, coarse.figures
        )
    blocks = measure_blocks(pair, coarse)
    if isinstance(blocks, Refusal):
        return PairMeasurement.refused(
            source.name, target.name, METHOD, at_ns, blocks.why, coarse.figures | blocks.figures
        )
    return _answer(pair, coarse, blocks)


def _answer(pair: SoundPair, coarse: CoarseOffset, blocks: Blocks) -> PairMeasurement:
    x = blocks.times_s - pair.middle_s
    keep = np.ones(x.size, dtype=bool)
    with_drift = float(np.ptp(x)) >= MIN_DRIFT_SPAN_S and x.size >= 6
    # Over shorter spans a slope is fitted all the same where blocks abound: drift is real there
    # too, and the offset holds in the middle.
    slope, level, cov = 0.0, 0.0, np.zeros((2, 2))
    for _ in range(6):
        fit_slope = bool(with_drift or np.count_nonzero(keep) >= 8)
        slope, level, cov, scatter = _line(x[keep], blocks.offsets_s[keep], fit_slope)
        residual = blocks.offsets_s - level - slope * x
        robust = 1.4826 * float(np.median(np.abs(residual[keep])))
        new = np.abs(residual) <= max(4.5 * robust, 2e-6)
        if np.count_nonzero(new) < MIN_BLOCKS or np.array_equal(new, keep):
            break
        keep = new
    n = int(np.count_nonzero(keep))
    freedom = max(1, n - (2 if fit_slope else 1))
    wide = float(student.ppf(0.975, freedom)) / 1.96
    bound = float(np.median(blocks.bound_s))
    # The bound at its own share of each parameter: scatter may be small by luck.
    share = max(scatter, bound, 1e-12)
    random = wide * share * float(np.sqrt(cov[0, 0]))
    std = float(np.hypot(random, SYSTEMATIC_S))
    drift_std = wide * share * float(np.sqrt(cov[1, 1])) * 1e6 if fit_slope else None
    figures = coarse.figures | {
        "blocks": float(n),
        "blocks_tried": float(blocks.n_tried),
        "coherence": blocks.coherence,
        "side_lobe": blocks.side_lobe,
        "scatter_s": scatter,
        "bound_s": bound,
        "random_std_s": random,
    }
    why = None
    if blocks.side_lobe > MAX_SIDE_LOBE:
        why = (
            f"ambiguous: another lobe of the correlation reaches {100.0 * blocks.side_lobe:.0f} % "
            "of the best; the sound is a tone"
        )
    elif scatter > MAX_SCATTER_S:
        why = f"the blocks scatter by {scatter * 1e3:.2g} ms: not one offset and one drift"
    elif n < max(MIN_BLOCKS, 0.5 * x.size):
        why = (
            f"only {n} of {x.size} blocks lie on one line: the clock steps, or several sources of "
            "sound move"
        )
    elif abs(level) > pair.max_offset_s:
        why = f"the offset, {level:.3f} s, lies outside the search (±{pair.max_offset_s:g} s)"
    return PairMeasurement(
        source=pair.a.name,
        target=pair.b.name,
        method=METHOD,
        at_ns=pair.at_ns,
        offset_s=level,
        offset_std_s=std,
        systematic_std_s=SYSTEMATIC_S,
        drift_ppm=slope * 1e6 if with_drift else None,
        drift_std_ppm=max(drift_std or 0.0, 0.01) if with_drift else None,
        accepted=why is None,
        why=why,
        diagnostics=figures,
    )


def _line(
    x: NDArray[np.float64], y: NDArray[np.float64], fit_slope: bool
) -> tuple[float, float, NDArray[np.float64], float]:
    """Return slope, level at 0, unit covariance (level, slope) and scatter of a line."""
    design = np.column_stack((np.ones_like(x), x)) if fit_slope else np.ones((x.size, 1))
    inverse = np.linalg.inv(design.T @ design)
    level0 = float(np.mean(y))
    beta = inverse @ (design.T @ (y - level0))
    residual = y - level0 - design @ beta
    scatter = float(np.sqrt(np.sum(residual**2) / max(1, x.size - design.shape[1])))
    cov = np.zeros((2, 2))
    cov[: design.shape[1], : design.shape[1]] = inverse
    slope = float(beta[1]) if fit_slope else 0.0
    return slope, level0 + float(beta[0]), cov, scatter
