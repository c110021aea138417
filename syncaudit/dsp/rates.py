"""Count how often something happened, with bounds that hold for unseen clips."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Hits among cases, which come from at most as many clips.

    Several variants of one clip show the same images and the same road, so they are not independent
    draws. The interval therefore counts clips, not variants: as if all variants of a clip had the
    same outcome, which is the worst case.
    """

    # How often, among how many.
    n_hits: int
    n: int
    n_clips: int  # number of different clips they come from

    @property
    def share(self) -> float | None:
        """Hits divided by cases; None without a case."""
        return self.n_hits / self.n if self.n else None

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the bounds of the true rate.

        Exact bounds of a binomial share (C. J. Clopper, E. S. Pearson, "The use of confidence or
        fiducial limits illustrated in the case of the binomial", 1934), with the effective number
        of cases in place of their number, as E. L. Korn and B. I. Graubard ("Confidence intervals
        for proportions with small expected number of positive counts estimated from survey data",
        1998) do for clustered samples; here that is the number of clips. They hold with a
        probability of at least `level`, and are 0 and 1 if nothing was counted.
        """
        from scipy.special import betaincinv

        if not self.n:
            return 0.0, 1.0
        n, hits = self._effective
        tail = 0.5 * (1.0 - level)
        high = float(betaincinv(hits + 1.0, n - hits, 1.0 - tail)) if self.n_hits < self.n else 1.0
        return _low(n, hits, tail), high

    def clips_to_promise(self, share: float, level: float = LEVEL) -> int:
        """Return how many more clips, all of them hits, raise the lower bound to `share`.

        Zero if it is already reached: then the share is demonstrated, not merely observed.
        """
        n, hits = self._effective
        tail = 0.5 * (1.0 - level)

        def is_shown(more: int) -> bool:
            return _low(n + more, hits + more, tail) >= share

        high = 1
        while not is_shown(high):
            high *= 2
        return bisect_left(range(high), True, key=is_shown)

    @property
    def _effective(self) -> tuple[float, float]:
        """Cases and hits as if all variants of a clip had the same outcome."""
        n = float(min(self.n, self.n_clips))
        return n, n * self.n_hits / self.n if self.n else 0.0

    def to_json(self) -> dict[str, object]:
        """Return counts, share and interval."""
        low, high = self.interval()
        return {"hits": self.n_hits, "n": self.n, "share": self.share, "low": low, "high": high}


def _low(n: float, hits: float, tail: float) -> float:
    from scipy.special import betaincinv

    return float(betaincinv(hits, n - hits + 1.0, tail)) if hits > 0.0 else 0.0
