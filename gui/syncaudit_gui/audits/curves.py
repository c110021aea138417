"""The evidence behind a measurement, drawn: agreement over the offset, residuals of events.

For the eye: the same signals and searches as the estimators use. The numbers beside it are those of
the estimators, which also know couplings, rows and steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import PairMeasurement
from syncaudit.pipeline import ClipEvidence
from syncaudit_gui.audits.motion_curves import MOTIONS, ROBOT_MOTIONS, motion_curve, robot_curve
from syncaudit_gui.audits.result import DelayEvidence, EvidenceKey, ResidualEvidence
from syncaudit_gui.audits.sound_curves import knock_curve, microphone_curve, speech_curve
from syncaudit_gui.viewmodel.clock_map import ClockMap
from syncaudit_gui.viewmodel.events import flash_times

__all__ = ["CURVES", "find_curves"]

# Events farther apart than this belong to different pulses.
SAME_EVENT_S = 0.01

CURVES: dict[str, Callable[[PairMeasurement, ClipEvidence], DelayEvidence | None]] = {
    **dict.fromkeys(MOTIONS, motion_curve),
    **dict.fromkeys(ROBOT_MOTIONS, robot_curve),
    "gcc_phat": microphone_curve,
    "knocks": knock_curve,
    "speech": speech_curve,
}
"""Who draws what of each method; flashes have residuals."""


def find_curves(
    pairs: tuple[PairMeasurement, ...], evidence: ClipEvidence, epoch_ns: int
) -> Iterator[tuple[EvidenceKey, DelayEvidence | ResidualEvidence]]:
    """Yield what can be drawn of each measurement; nothing where a side of it is too short.

    Parameters
    ----------
    pairs : tuple of PairMeasurement
        Accepted and refused.
    evidence : ClipEvidence
        What they were measured on.
    epoch_ns : int
        Zero of the timeline.
    """
    for pair in pairs:
        drawn: DelayEvidence | ResidualEvidence | None = None
        if pair.method == "flash":
            drawn = _residuals(pair, evidence, epoch_ns)
        elif pair.method in CURVES:
            drawn = CURVES[pair.method](pair, evidence)
        if drawn is not None:
            yield (pair.source, pair.target, pair.method), drawn


def _residuals(
    pair: PairMeasurement, evidence: ClipEvidence, epoch_ns: int
) -> ResidualEvidence | None:
    source, target = (_instants(name, evidence, epoch_ns) for name in (pair.source, pair.target))
    if pair.offset_s is None or source is None or target is None:
        return None
    target = np.sort(target)
    if not target.size or not source.size:
        return None
    clock = ClockMap(
        offset_s=pair.offset_s,
        drift_ppm=pair.drift_ppm or 0.0,
        at_s=(pair.at_ns - epoch_ns) * 1e-9,
        step_s=pair.step_s or 0.0,
        step_at_s=None if pair.step_at_ns is None else (pair.step_at_ns - epoch_ns) * 1e-9,
        is_step_past=pair.step_at_ns is not None and pair.at_ns >= pair.step_at_ns,
    )
    moved_s = clock.apply(source)
    after = np.clip(np.searchsorted(target, moved_s), 1, max(1, target.size - 1))
    before_s, after_s = target[after - 1], target[np.minimum(after, target.size - 1)]
    nearest_s = np.where(moved_s - before_s < after_s - moved_s, before_s, after_s)
    residuals_s = nearest_s - moved_s
    is_same = np.abs(residuals_s) < SAME_EVENT_S
    return ResidualEvidence(times_s=source[is_same], residuals_s=residuals_s[is_same])


def _instants(name: str, evidence: ClipEvidence, epoch_ns: int) -> NDArray[np.float64] | None:
    if name in evidence.flashes:
        return flash_times(evidence.flashes[name], epoch_ns)
    train = evidence.triggers.get(name)
    return None if train is None else (train.epoch_ns - epoch_ns) * 1e-9 + train.times_s
