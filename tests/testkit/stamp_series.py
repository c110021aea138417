"""Timestamps of a known rate, in seconds and nanoseconds."""

import numpy as np

EPOCH = 1_767_225_600_000_000_000


def nanos(seconds):
    """Convert seconds since the epoch to timestamps in nanoseconds of the same shape."""
    return EPOCH + np.rint(np.asarray(seconds) * 1e9).astype(np.int64)


def ticks(n, rate_hz, *, jitter_s=0.0, delay_s=0.0, seed=0):
    """Return n instants at a rate, in seconds, with Gaussian jitter and exponential delays."""
    rng = np.random.default_rng(seed)
    out = 0.0123456 + np.arange(n) / rate_hz
    out = out + jitter_s * rng.standard_normal(n)
    return out + (rng.exponential(delay_s, n) if delay_s else 0.0)
