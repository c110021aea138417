"""How well each delay of a search explains what was seen: its best lobe, and the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import AgreementCurve

__all__ = ["DelayCurve"]

Floats = NDArray[np.float64]

# Log-likelihood by which a valley must separate two lobes.
MIN_VALLEY = 4.0
# Half of the delays around the best that people are shown: bodies move for so long.
NEAR_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DelayCurve:
    """Log-likelihood ratio over the delay.

    Parameters
    ----------
    delays_s : ndarray, shape (l,)
        Candidates, evenly spaced.
    log_likelihood : ndarray, shape (l,)
        Gain of log-likelihood over "no relation"; -inf where too little overlaps.
    """

    delays_s: Floats
    log_likelihood: Floats

    def best(self) -> int:
        """Return the index of the best delay."""
        return int(np.argmax(self.log_likelihood))

    def runner_up(self, index: int, *, apart_s: float = 0.0) -> float:
        """Return the log-likelihood of the best lobe other than the one at `index`.

        Another lobe is what lies beyond a valley at least `MIN_VALLEY` deeper than itself: ripples
        on the flank of a lobe are part of it. Only lobes farther than `apart_s` count.
        """
        curve = np.where(np.isfinite(self.log_likelihood), self.log_likelihood, 0.0)
        best = 0.0
        distance_s = np.abs(self.delays_s - self.delays_s[index])
        for side, far in (
            (curve[index + 1 :], distance_s[index + 1 :]),
            (curve[:index][::-1], distance_s[:index][::-1]),
        ):
            if side.size:
                valley = np.minimum.accumulate(np.minimum(side, curve[index]))
                apart = (side - valley >= MIN_VALLEY) & (far >= apart_s)
                if apart.any():
                    best = max(best, float(side[apart].max()))
        return best

    def agreement(self, n_values: float, epochs_s: float) -> AgreementCurve | None:
        """Return the multiple correlation at every delay near the best.

        The log-likelihood of n values is ``-n / 2 log(1 - R^2)``.

        Parameters
        ----------
        n_values : float
            What the log-likelihood was added up over.
        epochs_s : float
            Target epoch after source epoch.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            share = 1.0 - np.exp(-2.0 * self.log_likelihood / n_values)
        agreement = np.sqrt(np.clip(share, 0.0, 1.0))
        agreement[~np.isfinite(self.log_likelihood)] = np.nan
        return AgreementCurve.around(
            self.delays_s + epochs_s,
            agreement,
            float(self.delays_s[self.best()]) + epochs_s,
            near_s=NEAR_S,
        )

    def is_at_edge(self, index: int) -> bool:
        """Tell whether the best delay lies at the end of what could be searched."""
        usable = np.flatnonzero(np.isfinite(self.log_likelihood))
        return bool(index <= usable[0] + 1 or index >= usable[-1] - 1)
