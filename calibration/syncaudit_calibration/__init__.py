"""Flash calibration: estimate all clocks, line delays and exposures of a recording jointly.

Names are loaded on first use, because every ``syncaudit --help`` imports this package to list its
commands.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from syncaudit_calibration.bundle import calibrate_events
    from syncaudit_calibration.calibrate_recording import calibrate
    from syncaudit_calibration.calibration import (
        CalibratedFlash,
        CalibratedSource,
        CalibratedStep,
        Calibration,
        error_budget,
    )
    from syncaudit_calibration.errors import CalibrationError

__all__ = [
    "CalibratedFlash",
    "CalibratedSource",
    "CalibratedStep",
    "Calibration",
    "CalibrationError",
    "calibrate",
    "calibrate_events",
    "error_budget",
]

# Names that are not in `calibration`; all are imported on first use (PEP 562).
_HOMES = {
    "CalibrationError": "errors",
    "calibrate": "calibrate_recording",
    "calibrate_events": "bundle",
}


def __getattr__(name: str) -> object:
    """Load a public name from the module that defines it."""
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'calibration')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Include the public names, loaded or not."""
    return sorted({*globals(), *__all__})
