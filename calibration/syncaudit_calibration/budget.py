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

    ``sigma^2 = a C a`` with ``a = (1, t - at, [t >= step_k])`` and C the covariance of offset,
    drift and steps. The clock is taken to run evenly between flashes: far from them the error grows
    by the drift's; the wander of a real oscillator (about 0.01 to 0.1 ppm over minutes) is not in
    it.

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
    terms = np.column_stack([np.ones(since_s.size), since_s, found.step_terms(times_ns)])
    sigma: NDArray[np.float64] = np.sqrt(
        np.einsum("ij,jk,ik->i", terms, found.covariance, terms).clip(0.0)
    )
    return sigma
