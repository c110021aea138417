"""Errors of a calibration by flashes."""

# Targets of issue 3.
OFFSET_S = 50e-6


def errors_of(calibration, clocks):
    """Return the errors of offset (s) and drift (ppm) by source; `clocks` are the true ones."""
    at_s = calibration.at_ns * 1e-9
    return {
        name: (
            source.offset_s - clocks[name].correction_s(at_s),
            source.drift_ppm - 1e6 * clocks[name].drift,
        )
        for name, source in calibration.sources.items()
    }
