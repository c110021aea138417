"""Write clips with known timestamp errors, to evaluate the filter."""

from syncaudit_calibration.inject.variants import Injection, inject_variants

__all__ = ["Injection", "inject_variants"]
