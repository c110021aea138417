"""Find audio that is useless for training: silence, clipping, dropouts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.indices import runs_of
from syncaudit.formatting import word_count
from syncaudit.model import Finding, ReasonCode, Severity

# Silence: nothing above -80 dB of full scale.
SILENT_PEAK = 1e-4
# Samples in runs of three or more at the same extreme are clipped.
CLIP_RUN = 3
CLIP_SHARE, CLIP_DEFECT_SHARE = 1e-3, 0.05
# A dropout: exact zeros for this long between loud samples; pauses fade, dropouts are abrupt.
DROPOUT_S = 0.003
DROPOUT_LEVEL = 2e-3
DROPOUT_DEFECT_SHARE = 0.05


def sound_defects(uri: str, samples: NDArray[np.float32], rate_hz: float) -> list[Finding]:
    """Return findings on silence, clipping and dropouts in sound, shape (n,), full scale 1.

    Non-finite samples are ignored (they have a finding of their own).
    """
    if not samples.size or not rate_hz > 0.0:
        return []
    x = samples if np.isfinite(samples).all() else np.nan_to_num(samples, posinf=0.0, neginf=0.0)
    low, high = float(x.min()), float(x.max())
    if high - low < 2.0 * SILENT_PEAK:
        return [
            Finding(
                code=ReasonCode.EMPTY,
                message=f"{uri}: all {x.size / rate_hz:.1f} s are silent (they vary by "
                f"{high - low:.2g} of full scale). Check the microphone and its channel.",
                value=high - low,
                limit=2.0 * SILENT_PEAK,
            )
        ]
    return [*_clipping(uri, x, low, high), *_dropouts(uri, x, rate_hz)]


def _clipping(uri: str, x: NDArray[np.float32], low: float, high: float) -> list[Finding]:
    n_clipped = sum(_in_runs(x == extreme, CLIP_RUN) for extreme in (low, high) if extreme != 0.0)
    share = n_clipped / x.size
    if share < CLIP_SHARE:
        return []
    return [
        Finding(
            code=ReasonCode.CORRUPT,
            message=f"{uri}: {100.0 * share:.2g} % of the samples are clipped (at {low:.2f} and "
            f"{high:.2f} of full scale). Record with less gain.",
            value=share,
            limit=CLIP_DEFECT_SHARE,
            severity=Severity.DEFECT if share > CLIP_DEFECT_SHARE else Severity.WARNING,
        )
    ]


def _dropouts(uri: str, x: NDArray[np.float32], rate_hz: float) -> list[Finding]:
    starts, stops = runs_of(x == 0.0)
    is_long = stops - starts >= max(4, round(DROPOUT_S * rate_hz))
    reach = max(4, round(0.01 * rate_hz))
    found = [
        (start, stop)
        for start, stop in zip(starts[is_long].tolist(), stops[is_long].tolist(), strict=True)
        if _is_cut(x[max(0, start - reach) : start]) and _is_cut(x[stop : stop + reach][::-1])
    ]
    if not found:
        return []
    lost_s = sum(stop - start for start, stop in found) / rate_hz
    share = lost_s * rate_hz / x.size
    return [
        Finding(
            code=ReasonCode.CORRUPT,
            message=f"{uri}: {word_count(len(found), 'dropout')} (exact zeros within sound), "
            f"{lost_s * 1e3:.0f} ms in total, the first at {found[0][0] / rate_hz:.3f} s. "
            "The recorder lost buffers there.",
            value=share,
            limit=DROPOUT_DEFECT_SHARE,
            severity=Severity.DEFECT if share > DROPOUT_DEFECT_SHARE else Severity.WARNING,
        )
    ]


def _is_cut(before: NDArray[np.float32]) -> bool:
    """Return whether sound stops abruptly: the last samples are as loud as those before."""
    if before.size < 4:
        return False
    level = float(np.sqrt(np.mean(before.astype(np.float64) ** 2)))
    return level > DROPOUT_LEVEL and float(np.max(np.abs(before[-3:]))) > 0.3 * level


def _in_runs(flags: NDArray[np.bool_], shortest: int) -> int:
    """Count the flags in runs of at least `shortest`."""
    starts, stops = runs_of(flags)
    lengths = stops - starts
    return int(lengths[lengths >= shortest].sum())
