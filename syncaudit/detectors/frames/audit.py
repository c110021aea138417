"""Find images that are useless for training: frozen, blank, grey, cut off, damaged, undecoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode import Frame
from syncaudit.detectors.frames.frozen import FrozenFinder, Look, Shown
from syncaudit.detectors.frames.looks import ImageLooks
from syncaudit.model import CameraStream, ImageAudit, ImageFault, ImageFaultRun
from syncaudit.model.arrays import Bools, Ints

# Images that are shown for longer than this many times the usual, plus one frame, are frozen.
LONG = 2.5
# Minimum number of repeats to determine a rate.
MIN_REPEATS = 8
# Repeats of every fourth frame or more are not accidental; nor are fewer, if this share of them
# comes at one distance or its multiples. (Of accidental ones, one half would come at multiples of
# two frames, one third at multiples of three.)
MANY_SHARE = 0.25
REGULAR_SHARE = 0.75
# If more than this share of the images is unproven, their positions indicate nothing.
MOST_UNPROVEN = 0.4

# About 30 rows of each image are looked at, eight apart or a multiple of that.
FIRST_ROW, EVERY_ROW, HEIGHT_PX = 4, 8, 240
# Images that are processed in one go: work that alternates with a decoder finds its caches evicted.
N_AT_ONCE = 16
# Number of spells of each fault that are kept, the longest ones.
MOST_SPELLS = 20
# A still that is not surrounded by motion must last this many images, in a clip in which most
# others move: other sources then determine whether time went on.
MIN_LONG = 8
# Share of repeats from which a camera counts as showing one image throughout.
ALL_SHARE = 0.97
# Spells of fewer images are not reported: a flash whitens one or two, a shutter blackens them.
MIN_IMAGES = {ImageFault.WHITE: 4, ImageFault.BLANK: 2, ImageFault.COVERED: 4}
_PLAIN = (ImageFault.BLANK, ImageFault.COVERED, ImageFault.WHITE)

HasMoved = Callable[[int, int, bool], bool]


@dataclass(slots=True)
class ImageAuditor:
    """Accumulate what the images of one camera show of their own faults.

    Call `update` with each image in order and `finish` at the end.
    """

    stream: CameraStream
    _looks: ImageLooks = field(default_factory=ImageLooks)
    _frozen: FrozenFinder = field(default_factory=FrozenFinder)
    _looked_at: list[int] = field(default_factory=list)
    _waiting: list[tuple[NDArray[np.uint8], bool]] = field(default_factory=list)
    _taken: list[int] = field(default_factory=list)
    _odd_sized: list[int] = field(default_factory=list)
    _damaged: list[int] = field(default_factory=list)
    _is_spoilt: bool = False
    _shape: tuple[int, ...] = ()

    def update(self, image: Frame) -> None:
        """Take one image.

        Images after a damaged one refer to it until the next key frame; decoders do not report
        those.
        """
        index, shape, is_key = image.index, image.shape, image.is_key
        self._looked_at.append(index)
        self._is_spoilt = image.is_corrupt or (self._is_spoilt and not is_key)
        if self._is_spoilt:
            self._damaged.append(index)
        self._shape = self._shape or shape
        if shape != self._shape or 0 in shape:
            self._odd_sized.append(index)
            return
        every = EVERY_ROW * max(1, shape[0] // HEIGHT_PX)
        rows = image.rows(FIRST_ROW % shape[0], every)
        self._taken.append(index)
        self._waiting.append((rows, is_key))
        if len(self._waiting) == N_AT_ONCE:
            self._look()

    def _look(self) -> None:
        """Process the waiting images."""
        if self._waiting:
            self._looks.update([rows for rows, _ in self._waiting])
        for rows, is_key in self._waiting:
            self._frozen.update(rows, is_key=is_key)
        self._waiting.clear()

    def finish(
        self,
        *,
        n_errors: int = 0,
        first_error: str | None = None,
        expected: Ints | None = None,
        has_moved: HasMoved | None = None,
    ) -> ImageAudit:
        """Return what was found.

        Parameters
        ----------
        n_errors, first_error : int, str, optional
            Number of decoder errors, and the first of them.
        expected : ndarray of int, optional
            Positions that should have given an image; default: those between first and last.
        has_moved : callable, optional
            ``has_moved(first, last, is_all)``: whether other sources moved between the images
            at these positions (`is_all`: the camera shows one image throughout).
        """
        self._look()
        index = np.array(self._taken, dtype=np.int64)
        by_look, luma = self._looks.finish()
        found = {
            fault: index[_long_enough(flags, MIN_IMAGES.get(fault, 1))]
            for fault, flags in by_look.items()
        }
        is_plain = np.isin(index, np.concatenate([index[:0], *(found[f] for f in _PLAIN if found)]))
        look = self._frozen.finish()
        rate = _cadence(look.shown)
        usual = 0 if rate is None else rate[1]
        found[ImageFault.FROZEN] = index[self._is_frozen(look, usual, is_plain, has_moved)]
        damaged = found[ImageFault.DAMAGED] = np.array(self._damaged, dtype=np.int64)
        for fault in (ImageFault.GREY, ImageFault.HALF):
            if fault in found:
                found[fault] = np.setdiff1d(found[fault], damaged)  # reported already
        found[ImageFault.SIZE] = np.array(self._odd_sized, dtype=np.int64)
        seen = np.array(self._looked_at, dtype=np.int64)
        if expected is None:
            expected = np.arange(seen.min(), seen.max() + 1) if seen.size else seen
        found[ImageFault.UNDECODED] = np.setdiff1d(expected, seen)
        level = dict(zip(self._taken, luma.tolist(), strict=True))
        spells: list[ImageFaultRun] = []
        for fault, places in found.items():
            runs = sorted(_runs(places), key=len, reverse=True)[:MOST_SPELLS]
            spells += [self._spell(fault, run, level) for run in runs]
        return ImageAudit(
            frames=seen.size,
            counts={str(fault): int(at.size) for fault, at in found.items() if at.size},
            spells=tuple(sorted(spells, key=lambda spell: (spell.first, spell.fault))),
            errors=n_errors,
            first_error=first_error,
            new_share=None if rate is None else rate[0],
            light=round(float(np.median(luma)), 1) if luma.size else None,
        )

    def _is_frozen(
        self, look: Look, usual: int, is_plain: Bools, has_moved: HasMoved | None
    ) -> Bools:
        """Return which images repeat the one before more often than `usual`."""
        is_frozen = np.zeros(len(self._taken), dtype=np.bool_)
        is_still = np.zeros(len(self._taken), dtype=np.bool_)
        for one in look.shown:
            is_still[one.repeats] = True
        is_all = bool(is_still[1:].mean() >= ALL_SHARE) if is_still.size > MIN_LONG else False
        for one in look.shown:
            place = one.repeats
            if one.n_repeats <= usual or is_plain[place].all():
                continue  # reported as such
            is_proven = one.is_within_motion
            if not is_proven and has_moved is not None and one.n_repeats >= MIN_LONG:
                at = self._taken[place]
                is_proven = (look.is_moving or is_all) and has_moved(at[0], at[-1], is_all)
            is_frozen[place] = is_proven
        return is_frozen

    def _spell(self, fault: ImageFault, run: Ints, level: dict[int, float]) -> ImageFaultRun:
        time_ns = self.stream.time_ns
        origin = min(min(self._looked_at, default=0), time_ns.size - 1)
        first, last = (int(place) for place in run[[0, -1]])
        start_s, stop_s = (
            (int(time_ns[min(place, time_ns.size - 1)]) - int(time_ns[origin])) * 1e-9
            for place in (first, last)
        )
        luma = [level[place] for place in run.tolist() if place in level]
        return ImageFaultRun(
            fault=fault,
            first=first,
            last=last,
            frames=int(run.size),
            start_s=start_s,
            stop_s=stop_s,
            duration_s=int(run.size) * self._period_s,
            level=float(np.median(luma)) if luma and fault in _PLAIN else None,
        )

    @property
    def _period_s(self) -> float:
        steps = np.diff(self.stream.time_ns)
        return float(np.median(steps)) * 1e-9 if steps.size else 0.0


def _runs(places: Ints) -> list[Ints]:
    """Split sorted positions into runs of neighbours."""
    if not places.size:
        return []
    return np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)


def _long_enough(flags: Bools, shortest: int) -> Ints:
    """Return the positions of flags in runs of at least `shortest`."""
    runs = [run for run in _runs(np.flatnonzero(flags)) if run.size >= shortest]
    return np.concatenate([np.empty(0, np.int64), *runs])


def _cadence(shown: Sequence[Shown]) -> tuple[float, int] | None:
    """Return the share of frames that show a new image, and the longest usual repetition.

    `shown`: different images; only those within motion count, whose repeats would be detected.
    """
    seen = [one for one in shown if one.is_within_motion]
    if not seen:
        return None
    lengths = np.array([1 + one.n_repeats for one in seen])
    longest = int(LONG * np.median(lengths)) + 1
    repeated = [one for one in seen if 1 <= one.n_repeats < longest]
    if len(repeated) < MIN_REPEATS:
        return None
    # Some repeats go undetected, which leaves multiples of the distance.
    gaps = np.diff([one.first for one in repeated])
    gap = int(np.quantile(gaps, 0.25, method="nearest"))
    if np.mean(gaps % gap == 0) >= REGULAR_SHARE:
        gap //= _n_hidden(shown, [one.first for one in repeated], gap)
        return 1.0 - float(np.median([one.n_repeats for one in repeated])) / gap, longest - 1
    usual = lengths[lengths <= longest]
    share = usual.size / float(usual.sum())
    return (share, longest - 1) if share <= 1.0 - MANY_SHARE else None


def _n_hidden(shown: Sequence[Shown], repeated: Sequence[int], gap: int) -> int:
    """Return into how many equal parts unproven images divide the distance between repeats.

    Where every second frame is a key frame, every second repeat may be one too: being re-encoded,
    it is not a proven repeat, but it is not motion either, and always in the same positions.
    """
    unproven = {one.first for one in shown if not one.is_within_motion}
    if len(unproven) > MOST_UNPROVEN * len(shown):
        return 1
    for n_parts in (3, 2):
        if gap % n_parts == 0 and gap > 2 * n_parts:
            places = [at + gap // n_parts * k for at in repeated[:-1] for k in range(1, n_parts)]
            if np.mean([place in unproven for place in places]) >= REGULAR_SHARE:
                return n_parts
    return 1
