"""How often something happened, and between which bounds that holds for clips not seen."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LEVEL", "Rate"]

LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Hits among cases, which come from fewer clips or as many.

    Several variants of one clip show the same pictures and the same road: they are no independent
    draws. The interval therefore counts clips, not variants: as if all variants of a clip turned
    out alike, which is the worst case.

    Parameters
    ----------
    n_hits, n : int
        How often, among how many.
    n_clips : int
        From how many different clips those are.
    """

    n_hits: int
    n: int
    n_clips: int

    @property
    def share(self) -> float | None:
        """Hits by cases; None without a case."""
        return self.n_hits / self.n if self.n else None

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the bounds of the true rate.

        Exact bounds of a binomial share (C. J. Clopper, E. S. Pearson, "The use of confidence or
        fiducial limits illustrated in the case of the binomial", 1934), with the effective number
        of cases in place of their number, as E. L. Korn and B. I. Graubard ("Confidence intervals
        for proportions with small expected number of positive counts estimated from survey data",
        1998) do for samples in clusters; here the number of clips.

        Parameters
        ----------
        level : float
            Probability with which they hold, at least.

        Returns
        -------
        tuple of float
            Lowest and highest rate; 0 and 1 where nothing was counted.
        """
        from scipy.special import betaincinv

        if not self.n:
            return 0.0, 1.0
        n = float(min(self.n, self.n_clips))
        hits = n * self.n_hits / self.n
        tail = 0.5 * (1.0 - level)
        low = float(betaincinv(hits, n - hits + 1.0, tail)) if self.n_hits else 0.0
        high = float(betaincinv(hits + 1.0, n - hits, 1.0 - tail)) if self.n_hits < self.n else 1.0
        return low, high

    def to_json(self) -> dict[str, object]:
        """Return counts, share and interval."""
        low, high = self.interval()
        return {"hits": self.n_hits, "n": self.n, "share": self.share, "low": low, "high": high}
