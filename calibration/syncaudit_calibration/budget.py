"""How well each source's correction is known at any instant, at flashes and between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import UsageError, nearest_name
from syncaudit.model import seconds_since
from syncaudit_calibration.calibration import Calibration

__all__ = ["error_budget"]


def error_budget(
    calibration: Calibration, source: str, times_ns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return one sigma of a source's correction at each of its own stamps.

    ``sigma^2 = a C a`` with ``a = (1, t - at, [t >= step])`` and C the covariance of offset, drift
    and step. The clock is taken to run evenly between flashes: far from them the error grows by
    the drift's; the wander of a real oscillator (about 0.01 to 0.1 ppm over minutes) is not in it.

    Parameters
    ----------
    calibration : Calibration
        Result of `calibrate_events`.
    source : str
        Which source.
    times_ns : ndarray of int, shape (n,)
        Own stamps.

    Returns
    -------
    ndarray, shape (n,)
        Seconds.

    Raises
    ------
    UsageError
        If the calibration does not hold the source.
    """
    if source not in calibration.sources:
        raise UsageError(
            f"the calibration holds no source '{source}'",
            hint=nearest_name(source, calibration.sources),
        )
    found = calibration.sources[source]
    since_s = seconds_since(times_ns, found.at_ns)
    is_late = np.zeros(since_s.size)
    if found.step_at_ns is not None:
        # The offset at `at_ns` holds on its own side of the step.
        later = np.asarray(times_ns) >= found.step_at_ns
        is_late = later.astype(np.float64) - float(found.at_ns >= found.step_at_ns)
    terms = np.stack([np.ones(since_s.size), since_s, is_late], axis=1)
    sigma: NDArray[np.float64] = np.sqrt(
        np.einsum("ij,jk,ik->i", terms, found.covariance, terms).clip(0.0)
    )
    return sigma
