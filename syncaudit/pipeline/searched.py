"""Say how far was searched, where a measurement found nothing."""

from __future__ import annotations

from dataclasses import replace

from syncaudit.model import PairMeasurement

__all__ = ["with_range"]

# Figures that a search leaves: without any, a measurement was refused before.
_OF_A_SEARCH = ("searched_s", "runner_up", "margin")


def with_range(pair: PairMeasurement, max_offset_s: float) -> PairMeasurement:
    """Return a measurement whose refusal tells the range of its search, and how to widen it.

    Parameters
    ----------
    pair : PairMeasurement
        Accepted or refused. An estimator that could not search all of the range states half of
        what it did search as ``searched_s`` of its diagnostics.
    max_offset_s : float
        Range of the policy, either sign.
    """
    figures = pair.diagnostics
    if pair.accepted or pair.why is None or not any(name in figures for name in _OF_A_SEARCH):
        return pair
    reach_s = figures.get("searched_s", max_offset_s)
    if reach_s > 1.01 * max_offset_s:  # clocks of unrelated epochs
        words = "searched wherever the two may overlap"
    elif reach_s < 0.99 * max_offset_s:
        words = f"searched ± {reach_s:.2g} s, as far as so short a clip allows"
    else:
        words = f"searched ± {max_offset_s:g} s, raise max_offset_s in the policy to look farther"
    return replace(pair, why=f"{pair.why}; {words}")
