"""Choose the comparison that best shows a source's offset, with the clocks of the window."""

from __future__ import annotations

import numpy as np

from syncaudit.model import Comparison, compare_pair, pair_to_show
from syncaudit_gui.viewmodel.clip_model import ClipModel


def compare(model: ClipModel, source: str) -> tuple[Comparison | None, float | None]:
    """Return the comparison that best shows a source's offset, and the offset's error.

    The comparison is None if none was kept, the standard error if it is unknown.
    """
    judged = model.judgement
    if judged is None:
        return None, None
    rejected = {name for name, found in judged.sources.items() if str(found.verdict) == "reject"}
    pair = pair_to_show(judged.pairs, source, judged.reference, rejected)
    if pair is None:
        return None, None
    ours, theirs = model.corrected_map(pair.source), model.corrected_map(pair.target)

    def offset_at(time_s: float) -> float:
        corrected_s = ours.at(time_s)
        # Clock rates agree to parts per million, so where the target is evaluated hardly matters.
        return (corrected_s - time_s) - (theirs.at(corrected_s) - corrected_s)

    found = compare_pair(pair, model.epoch_ns, offset_at)
    estimate = judged.sources.get(source)
    if found is None or estimate is None:
        return found, None
    clock = estimate.map_since(model.epoch_ns, judged.at_ns)
    return found, float(estimate.std_at(clock, np.array([found.peak_s - found.offset_s]))[0])
