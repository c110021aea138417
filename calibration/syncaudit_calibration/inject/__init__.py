"""Write clips with a known error in their stamps, by which the filter can be measured."""

from syncaudit_calibration.inject.variants import Injection, inject_variants

__all__ = ["Injection", "inject_variants"]
