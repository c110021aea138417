"""Flash calibration; not built yet."""
