"""Find pictures that are shown again although time goes on."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["FrozenFinder", "StillSpell"]

# Different pictures on either side of a still that must show motion.
REACH = 5
MIN_REACH = 3
# Change against that of the motion around it up to which a picture is the one before once more.
STILL_SHARE = 0.02
# A freeze that is encoded settles in steps of at most this share, no more than so many.
SETTLING_SHARE = 0.15
MAX_SETTLING = 6
# A key frame is coded anew: the same picture may change by this share of the motion, or as much
# as coarse quantisation does.
KEY_SHARE = 0.5
KEY_LEVELS = 2.5
# Least motion, in mean levels: encoded noise of a scene at rest changes less, and in fits.
MIN_MOTION = 1.0
# Pictures of one scene in one light differ by no more than this factor in contrast.
MOST_CONTRAST = 1.5
# Pictures around it must differ from a still by this share of a step, for lights go off and on
# again, and so must the step next to it: what stops or starts by itself does so gradually.
AWAY_SHARE = 0.5


@dataclass(slots=True, kw_only=True)
class StillSpell:
    """A run of frames that show one picture again.

    Parameters
    ----------
    first : int
        Order (among the pictures taken) of the first repeat.
    n_frames : int
        Repeats.
    before, after : list of float
        Mean change from each different picture to the next, up to five on either side.
    away_before, away_after : float
        Least change between the still and those pictures.
    """

    first: int
    n_frames: int = 1
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    away_before: float = np.inf
    away_after: float = np.inf

    @property
    def is_within_motion(self) -> bool:
        """Whether it begins and ends at once, within motion: so time did go on meanwhile."""
        return _is_motion(self.before[::-1], self.away_before) and _is_motion(
            self.after, self.away_after
        )


def _is_motion(changes: list[float], away: float) -> bool:
    """Tell whether changes, the one next to the still first, are motion cut short."""
    if len(changes) < MIN_REACH:
        return False
    usual = float(np.median(changes[1:]))
    return usual >= MIN_MOTION and min(away, changes[0]) >= AWAY_SHARE * usual


@dataclass(slots=True)
class FrozenFinder:
    """Follow the change from picture to picture; call `update` with each, in order.

    A freeze is told from a scene at rest by what surrounds it: pictures that move on step by step,
    stop at once, and move at once again. Light that flashes over a scene at rest jumps too, but
    comes back to the same picture; a vehicle stops and starts gradually.
    """

    changes: list[float] = field(default_factory=list)
    spells: list[StillSpell] = field(default_factory=list)
    _before: deque[tuple[float, NDArray[np.uint8]]] = field(
        default_factory=lambda: deque(maxlen=REACH + 1)
    )
    _last: NDArray[np.uint8] | None = None
    _open: StillSpell | None = None
    _n_settling: int = 0
    _watched: list[tuple[StillSpell, NDArray[np.uint8]]] = field(default_factory=list)

    def update(self, rows: NDArray[np.uint8], *, is_key: bool) -> None:
        """Take the rows of one picture, contiguous, its own copy."""
        last, self._last = self._last, rows
        if last is None:
            self._before.append((0.0, rows))
            self.changes.append(0.0)
            return
        change = _difference(rows, last)
        self.changes.append(change)
        motion = self._motion
        is_key = is_key and self._open is not None
        if change <= STILL_SHARE * motion:
            self._stay(rows)
        elif self._n_settling < MAX_SETTLING and (
            change <= SETTLING_SHARE * motion
            or (is_key and change <= max(KEY_SHARE * motion, KEY_LEVELS))
        ):
            self._n_settling += 1  # the same picture if what follows is still
        else:
            self._go(change, rows, last)

    @property
    def _motion(self) -> float:
        """Usual change between the latest different pictures."""
        steps = sorted(change for change, _ in self._before if change > 0.0)
        return steps[len(steps) // 2] if steps else 0.0

    def _stay(self, rows: NDArray[np.uint8]) -> None:
        n_new = 1 + self._n_settling
        self._n_settling = 0
        if self._open is not None:
            self._open.n_frames += n_new
            return
        earlier = list(self._before)[:-1]  # the last is the still itself, shown first
        if earlier and not _is_alike(rows, earlier[-1][1]):
            # It went dark: what moves there changes by less, and sets another scale.
            self._before.clear()
            self._before.append((0.0, rows))
            return
        self._open = StillSpell(
            first=len(self.changes) - n_new,
            n_frames=n_new,
            before=[change for change, _ in self._before][1:],
            away_before=min((_difference(rows, other) for _, other in earlier), default=np.inf),
        )
        self.spells.append(self._open)

    def _go(self, change: float, rows: NDArray[np.uint8], last: NDArray[np.uint8]) -> None:
        self._n_settling = 0
        if self._open is not None:
            self._watched.append((self._open, last))
            self._open = None
        for spell, shown in self._watched:
            spell.after.append(change)
            spell.away_after = min(spell.away_after, _difference(rows, shown))
        self._watched = [pair for pair in self._watched if len(pair[0].after) < REACH]
        self._before.append((change, rows))


def _is_alike(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> bool:
    """Tell whether two pictures have about the same contrast."""
    return (
        1.0 / MOST_CONTRAST < (float(one.std()) + 1.0) / (float(other.std()) + 1.0) < MOST_CONTRAST
    )


def _difference(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    return float(cv2.norm(one, other, cv2.NORM_L1)) / one.size
