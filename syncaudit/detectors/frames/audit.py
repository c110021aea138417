"""Find images that are useless for training: frozen, blank, grey, cut off, damaged, undecoded.

Brightness reveals images that show nothing: black, grey, white, cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.decode import Frame
from syncaudit.detectors.frames.frozen import FrozenFinder, Look, Shown
from syncaudit.dsp.indices import runs_of
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

# Images are sampled at about this many rows and columns.
N_ROWS, N_COLUMNS = 24, 32
# Spread of luma up to which an image is of one colour: rounding and ringing of encoders.
BLANK_STD = 1.0
# Cells of an image without structure differ by what noise remains in a mean (twice its variance),
# and by one level of shading.
N_CELLS = (6, 8)
SHADING_STD = 1.0
MOST_NOISE_STD = 12.0
# Luma from which a pixel is practically clipped (235 in video range), and the share of such pixels
# in a white-out.
WHITE_LUMA, WHITE_SHARE = 230, 0.95
# Decoders output mid-grey where they have no data; scenes contain it too, so its share is compared
# with that of the clip.
GREY_LUMA, N_GREY_LEVELS, GREY_SHARE = 126, 5, 0.3
# A wall or a screen that a change of exposure brings to these grey levels was plain before: most of
# it within twice as many levels, since exposures hardly halve from frame to frame.
PLAIN_PERCENTILES, PLAIN_LEVELS = (10, 90), 10.0
# Lower rows that all repeat one row, as a share of the height beyond the usual one.
HALF_SHARE = 0.12
# Plain rows that are cut off begin at an edge of this many levels; black ground at night fades.
HALF_STEP = 12.0
# Mean difference up to which a row repeats another, and minimum structure along such a row.
SAME_LEVELS = 1.5
ROW_STD = 6.0
# A spell of black among dark images is night; as a defect it lasts all of the clip, or begins or
# ends among brighter images.
DARK_LUMA, DARK_STEP = 24.0, 8.0

Floats = NDArray[np.float32]


@dataclass(slots=True)
class ImageLooks:
    """Reduce images to brightness statistics, which are compared over the clip at the end.

    Call `update` with some images at a time, and `finish` at the end.
    """

    _figures: list[Floats] = field(default_factory=list)
    _clear: Floats | None = None  # the last image that is not grey

    def update(self, images: Sequence[NDArray[np.uint8]]) -> None:
        """Take rows of some images, each of shape (n, w), the same rows of each."""
        n_rows, n_columns = images[0].shape
        down, across = max(1, n_rows // N_ROWS), max(1, n_columns // N_COLUMNS)
        samples = np.stack([rows[::down, ::across] for rows in images])
        luma = samples.reshape(len(images), -1)
        flat = luma.astype(np.float32)
        levels = flat.reshape(samples.shape)
        mean = _means(luma)
        variance = np.maximum(np.einsum("ij,ij->i", flat, flat) / flat.shape[1] - mean**2, 0.0)
        white = _means((luma >= WHITE_LUMA).view(np.uint8))
        is_grey = luma - np.uint8(GREY_LUMA) < N_GREY_LEVELS  # wraps below it
        grey = _means(is_grey.view(np.uint8))
        for k in range(len(images)):
            if grey[k] <= GREY_SHARE:
                self._clear = flat[k]
            elif self._clear is not None and _is_flat(self._clear[is_grey[k]]):
                grey[k] = 0.0
        plain, cut = _is_plain(levels, variance), _repeated_shares(levels)
        columns = (mean, np.sqrt(variance), white, grey, plain, cut)
        self._figures.append(np.stack(columns, axis=1).astype(np.float32))

    def finish(self) -> tuple[Mapping[ImageFault, Bools], Floats]:
        """Return which images have which fault, each shape (n,), and the mean luma of all."""
        if not self._figures:
            return {}, np.empty(0, np.float32)
        mean, std, white, grey, plain, cut = np.concatenate(self._figures).T
        is_white = white >= WHITE_SHARE
        is_blank = (std <= BLANK_STD) & ~is_white
        is_blank &= ~_in_the_dark(is_blank, mean)
        is_grey = ~is_blank & (grey > GREY_SHARE + float(np.median(grey)))
        is_half = ~is_blank & ~is_grey & (cut > HALF_SHARE + float(np.median(cut)))
        is_half &= _comes_abruptly(is_half, cut)
        is_covered = (plain > 0.0) & ~is_blank & ~is_white & ~is_grey
        return {
            ImageFault.BLANK: is_blank,
            ImageFault.WHITE: is_white,
            ImageFault.GREY: is_grey,
            ImageFault.HALF: is_half,
            ImageFault.COVERED: is_covered & ~_in_the_dark(is_covered, mean),
        }, mean


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


def _means(values: NDArray[np.uint8]) -> Floats:
    """Return the mean of each row; sums are exact."""
    sums = cv2.reduce(values, 1, cv2.REDUCE_SUM, dtype=cv2.CV_32S)
    return np.asarray(sums[:, 0] / values.shape[1], dtype=np.float32)


def _is_flat(luma: Floats) -> bool:
    return bool(np.ptp(np.percentile(luma, PLAIN_PERCENTILES)) <= PLAIN_LEVELS)


def _is_plain(levels: Floats, variance: Floats) -> Bools:
    """Return which images show only noise: the means of cells vary as noise alone explains."""
    n, n_rows, n_columns = levels.shape
    down, across = n_rows // N_CELLS[0], n_columns // N_CELLS[1]
    if not down or not across:
        return np.zeros(n, dtype=np.bool_)
    # More variance than the maximum noise, and its remainder in the means, is structure.
    left = 2.0 / (down * across)
    if variance.min() > 1.01 * (SHADING_STD**2 + (1.0 + left) * MOST_NOISE_STD**2):
        return np.zeros(n, dtype=np.bool_)
    into_cells = np.zeros((n_columns, N_CELLS[1]), dtype=np.float32)
    cells = np.repeat(np.arange(N_CELLS[1]), across)
    into_cells[np.arange(cells.size), cells] = np.float32(1.0) / across
    strips = (levels.reshape(-1, n_columns) @ into_cells).reshape(n, n_rows, N_CELLS[1])
    rows = strips[:, : down * N_CELLS[0]].reshape(n, N_CELLS[0], down, N_CELLS[1])
    means = rows.mean(axis=2)
    between = means.reshape(n, -1).var(axis=1)
    noise = np.maximum(variance - between, 0.0)
    limit = SHADING_STD**2 + left * noise
    return np.asarray((between <= limit) & (noise <= MOST_NOISE_STD**2))


def _repeated_shares(levels: Floats) -> Floats:
    """Return what share of each image's rows, from the bottom up, repeats one row."""
    if levels.shape[1] < 2:
        return np.zeros(levels.shape[0], np.float32)
    last = levels[:, -1]
    is_candidate = np.abs(levels[:, -2] - last).mean(axis=1) <= SAME_LEVELS
    shares = np.full(levels.shape[0], 1.0 / levels.shape[1], np.float32)  # a row equals itself
    for k in np.flatnonzero(is_candidate).tolist():
        shares[k] = max(shares[k], _repeated_share(levels[k]))
    return shares


def _repeated_share(rows: Floats) -> float:
    last = rows[-1]
    departs = np.abs(rows - last).mean(axis=1)
    is_other = departs[::-1] > SAME_LEVELS
    if not is_other.any():
        return 0.0  # all of one colour, or of one row
    n_same = int(np.argmax(is_other))
    if float(last.std()) < ROW_STD:
        # Plain rows may be dark ground, which fades, or clipped by a flash; a cut leaves them
        # exactly equal, and begins at an edge.
        is_edge = float(departs[-n_same - 1]) >= HALF_STEP
        if not is_edge or departs[-n_same:].any() or last[0] >= WHITE_LUMA:
            return 0.0
    return n_same / float(rows.shape[0])


def _comes_abruptly(is_half: Bools, cut: Floats) -> Bools:
    """Return which cut images are in a spell that begins or ends from one image to the next.

    Stripes that come to fill the lower part of a view, such as the fingers of a gripper before a
    plain table, take several images to do so.
    """
    is_abrupt = np.zeros_like(is_half)
    for start, stop in zip(*runs_of(is_half), strict=True):
        steps = [
            float(cut[inside] - cut[outside])
            for inside, outside in ((start, start - 1), (stop - 1, stop))
            if 0 <= outside < cut.size
        ]
        is_abrupt[start:stop] = max(steps, default=0.0) > HALF_SHARE
    return is_abrupt


def _in_the_dark(is_blank: Bools, mean: Floats) -> Bools:
    """Return which blank images are black among images that are hardly brighter."""
    is_dark = np.zeros_like(is_blank)
    for start, stop in zip(*runs_of(is_blank), strict=True):
        around = mean[[k for k in (start - 1, stop) if 0 <= k < mean.size]]
        level = float(mean[start:stop].mean())
        is_dark[start:stop] = (
            around.size > 0 and level < DARK_LUMA and float(around.max()) < level + DARK_STEP
        )
    return is_dark
