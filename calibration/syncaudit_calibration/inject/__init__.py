"""Write clips with a known error in their stamps, by which the filter can be measured."""

from syncaudit_calibration.inject.draw import Change, Draw, Movable, all_changes, movable_sources
from syncaudit_calibration.inject.variants import Injection, inject_variants

__all__ = [
    "Change",
    "Draw",
    "Injection",
    "Movable",
    "all_changes",
    "inject_variants",
    "movable_sources",
]
