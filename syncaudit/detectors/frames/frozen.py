"""Find images that are shown again although time goes on.

A repeat is proven by missing motion: the image does not depart from the one shown before by more
than re-encoding causes, however many frames later, while the images before and after move so fast
that the frames between would have moved by clearly more than that.

How much two images differ, and how much of that is the noise of their coding, is measured here too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.model.arrays import Bools

# Number of different images on either side of a still that must show motion.
REACH = 5
MIN_REACH = 3
# Minimum number of steps that show whether a camera moves at all.
MIN_MOVING = 8
# Change, relative to the surrounding motion, up to which an image repeats the previous one.
STILL_SHARE = 0.02
# An encoded freeze settles in steps of at most this share, and in at most this many.
SETTLING_SHARE = 0.15
MAX_SETTLING = 6
# A key frame is encoded anew: the same image changes by up to this multiple of the noise of that
# (the largest of several such changes), or by less than a step of the surrounding motion: later
# ones by this share.
KEY_NOISE = 1.5
KEY_SHARE = 0.3
# Encoders drop changes below their noise: a still must have missed twice that, and at least one
# level.
LOST_NOISE = 2.0
MIN_LOST = 1.0
# ... and this many times what the still departs from itself, from its first frame to any other:
# encoders hold slow motion back for some frames, within twice that.
LOST_HELD = 4.0
# Images of one scene in one light differ by no more than this factor in contrast.
MOST_CONTRAST = 1.5
# The images around a still must differ from it by this share of a step, because lights go off and
# on again, and so must the step next to it: natural motion stops and starts gradually.
AWAY_SHARE = 0.6
# Motion accumulates: the farthest of the surrounding images departs by more than any step does,
# while encodings of one scene all depart by the same amount. (Changes larger than those of the
# coarsest coding are motion anyway.)
GROWTH = 1.5
# The coarsest coding tried changes cells by 6 levels; the noise of a sensor in the dark by less.
MIN_COARSE = 8.0

# Images are compared by the means of this many cells (columns, rows): encoders drop fine structure,
# while motion changes coarse structure as well. The cell at this quantile of the change counts, so
# that an arm in front of a still wall is motion, and a speck of dust is not.
CELLS = (16, 12)
CELL_QUANTILE = 0.98
# Minimum number of key frames to estimate their own noise: of fewer, one may begin another scene.
MIN_KEYS = 3
MIN_IMAGES = 4
# Fast motion, like noise, leaves nothing in common after two steps. Coding leaves more: the worst
# tried (x264, crf 40, every second frame a key frame) changed the coarse cells by this share of
# their contrast.
MOST_NOISE = 0.18
# A varying quantizer changes the mean of a cell by up to a level, however dark and flat the scene.
# Where all are key frames, the same image is otherwise coded the same.
QUANTIZER_NOISE = 1.0
# Quantile of the noise of all runs of images: motion that turns or tears looks like noise.
NOISE_QUANTILE = 0.25

Signatures = NDArray[np.float16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An image and how long it is shown."""

    first: int  # position (among the images taken) of the frame that shows it first
    n_repeats: int  # frames after it that show the same
    # Whether it begins and ends abruptly within motion: time went on while it was repeated, and any
    # repeats would have been detected.
    is_within_motion: bool

    @property
    def repeats(self) -> slice:
        """Positions of the repeats."""
        return slice(self.first + 1, self.first + 1 + self.n_repeats)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was found in all images of a camera."""

    shown: tuple[Shown, ...]  # all different images, in order
    # Whether most of them differ from the one before by more than their coding explains.
    is_moving: bool


@dataclass(slots=True)
class FrozenFinder:
    """Follow the change from image to image; call `update` with each, then `finish`."""

    _changes: list[float] = field(default_factory=list)
    _images: list[Signatures] = field(default_factory=list)
    _is_key: list[bool] = field(default_factory=list)
    _last: NDArray[np.uint8] | None = None

    def update(self, rows: NDArray[np.uint8], *, is_key: bool) -> None:
        """Take the rows of one image, contiguous, its own copy."""
        last, self._last = self._last, rows
        change = 0.0 if last is None else float(cv2.norm(rows, last, cv2.NORM_L1)) / rows.size
        self._changes.append(change)
        self._images.append(_signature(rows))
        self._is_key.append(is_key)

    def finish(self) -> Look:
        """Return which images are shown, for how long, and what proves it."""
        if not self._images:
            return Look(shown=(), is_moving=False)
        images, is_key = np.stack(self._images), np.array(self._is_key)
        spans = _spans(self._changes, images.astype(np.float32).std(axis=1))
        first = np.array([start for start, _ in spans])
        noise = coding_noise(images[first], is_key[first])
        return _judged(_joined(spans, images, is_key, noise), images, noise)


def _spans(changes: Sequence[float], contrasts: NDArray[np.float32]) -> list[tuple[int, int]]:
    """Return the first and last frame of each image, as far as repeats are not re-encoded.

    A freeze is distinguished from a scene at rest by what surrounds it, so the scale is the usual
    change between the latest different images.
    """
    spans = [(0, 0)]
    usual: deque[float] = deque(maxlen=REACH + 1)
    n_settling = 0
    for k in range(1, len(changes)):
        motion = _median(usual) if usual else 0.0
        if changes[k] <= STILL_SHARE * motion or not changes[k]:
            start = spans[-1][0]
            if (
                usual
                and start
                and not _has_similar_contrast(contrasts[start], contrasts[start - 1])
            ):
                usual.clear()  # It went dark: motion changes less there.
                spans += [(at, at) for at in range(k - n_settling, k)]
                spans.append((k, k))
            else:
                spans[-1] = (start, k)
            n_settling = 0
        elif n_settling < MAX_SETTLING and changes[k] <= SETTLING_SHARE * motion:
            n_settling += 1  # the same image if what follows is still
        else:
            spans += [(at, at) for at in range(k - n_settling, k + 1)]
            usual.append(changes[k])
            n_settling = 0
    return spans + [(at, at) for at in range(len(changes) - n_settling, len(changes))]


def _joined(
    spans: Sequence[tuple[int, int]], images: Signatures, is_key: Bools, noise: float
) -> list[tuple[int, int]]:
    """Join images that differ by no more than re-encoding causes, first and last as well."""
    joined = [spans[0]]
    own_noise, is_intra = noise, bool(is_key.all())
    for start, stop in spans[1:]:
        first, last = joined[-1]
        is_first_key = not is_key[first + 1 : last + 1].any()
        # P frames correct the errors of a key frame once an image stands still.
        if is_key[start] or (not is_first_key and last - first >= MIN_REACH):
            change = float(apart(images[first], images[start]))
            limit = KEY_NOISE * own_noise
            if len(joined) > MIN_REACH and not is_intra:  # intra coding codes equal images equally
                # An image that stands still before or after re-encoding does so throughout.
                is_still = max(last - first, stop - start) >= MIN_REACH
                share = SETTLING_SHARE
                if is_still:
                    share = AWAY_SHARE if is_first_key else KEY_SHARE
                around = joined[-REACH - 1 :]
                speed = _speed(around[:-1], _steps(around, images), noise)
                limit = max(limit, share * speed)
            # Motion in more light than there is now sets no scale: it went dark.
            if change <= min(limit, KEY_NOISE * most_noise(images[first : first + 1])):
                # One re-encoding of this image sets the scale for later ones.
                if is_key[start] and is_first_key:
                    own_noise = max(noise, change)
                joined[-1] = (first, stop)
                continue
        own_noise = noise
        joined.append((start, stop))
    return joined


def _judged(spans: Sequence[tuple[int, int]], images: Signatures, noise: float) -> Look:
    firsts = images[[first for first, _ in spans]]
    steps = _steps(spans, images)
    # Change from each image to the first, second ... different one after it.
    away = [
        apart(firsts[k:], firsts[:-k]).tolist() for k in range(1, min(REACH, len(spans) - 1) + 1)
    ]
    least = max(MIN_LOST, LOST_NOISE * noise)
    coarsest = max(MIN_COARSE, LOST_NOISE * most_noise(firsts))
    shown = []
    for k, (first, last) in enumerate(spans):
        n_before, n_after = min(k, REACH), min(len(spans) - 1 - k, REACH)
        sides = (
            (
                spans[k - n_before : k],
                steps[k - n_before : k][::-1],
                [away[j][k - j - 1] for j in range(n_before)],
                away[n_before - 2][k - n_before] if n_before > 1 else 0.0,
            ),
            (
                spans[k + 1 : k + 1 + n_after],
                steps[k : k + n_after],
                [away[j][k] for j in range(n_after)],
                away[n_after - 2][k + 1] if n_after > 1 else 0.0,
            ),
        )
        n_frames, lost = min(max(1, last - first), REACH), least
        if last > first:
            held = apart(images[first], images[first + 1 : last + 1])
            lost = max(least, LOST_HELD * float(held.max()))
        is_proven = min(n_before, n_after) >= MIN_REACH and all(
            n_frames * _speed(around, nearby[1:], noise, far=far, coarsest=coarsest) >= lost
            and _is_cut_short(nearby, departed, coarsest)
            for around, nearby, departed, far in sides
        )
        shown.append(Shown(first=first, n_repeats=last - first, is_within_motion=is_proven))
    is_moving = len(steps) >= MIN_MOVING and _median(steps) >= least
    return Look(shown=tuple(shown), is_moving=is_moving)


def _steps(spans: Sequence[tuple[int, int]], images: Signatures) -> list[float]:
    """Return the change from each image to the next."""
    lasts = [last for _, last in spans[:-1]]
    firsts = [first for first, _ in spans[1:]]
    return [float(step) for step in apart(images[lasts], images[firsts])]


def _is_cut_short(steps: Sequence[float], away: Sequence[float], coarsest: float) -> bool:
    """Return whether the steps beside an image, nearest first, are motion that stops abruptly.

    `steps`: changes from image to image. `away`: departure of each from the image. `coarsest`:
    changes larger than this are motion.
    """
    usual = _median(steps[1:])
    if min(*away, steps[0]) < AWAY_SHARE * usual:
        return False
    return usual >= coarsest or max(away) >= GROWTH * max(steps[1:])


def _speed(
    around: Sequence[tuple[int, int]],
    steps: Sequence[float],
    noise: float,
    *,
    far: float = 0.0,
    coarsest: float = 0.0,
) -> float:
    """Return how much the image changes from frame to frame.

    Parameters
    ----------
    around : sequence of (int, int)
        First and last frame of some consecutive images.
    steps : sequence of float
        Changes from one to the next.
    noise : float
        Noise of coding.
    far : float
        Change from the first of them to the last. What coding drops from single steps, or adds to
        them, becomes visible there.
    coarsest : float
        Steps of this size are motion, which leaves nothing in common over several.
    """
    usual = _median(steps)
    speed = _net(usual, noise) * len(around) / (around[-1][1] - around[0][0] + 1)
    if usual >= coarsest:
        return speed
    return min(speed, _net(far, noise) / (around[-1][0] - around[0][0]))


def _net(change: float, noise: float) -> float:
    return float(np.sqrt(max(0.0, change**2 - noise**2)))


def _median(values: Sequence[float]) -> float:
    return float(sorted(values)[len(values) // 2])


def _has_similar_contrast(one: np.float32, other: np.float32) -> bool:
    return bool(1.0 / MOST_CONTRAST < (one + 1.0) / (other + 1.0) < MOST_CONTRAST)


def _signature(rows: NDArray[np.uint8]) -> Signatures:
    """Return the means of the cells of an image, shape (192,), relative to mid-grey."""
    sums = cv2.integral(rows)
    across, down = (
        np.arange(n + 1) * size // n for n, size in zip(CELLS, rows.shape[::-1], strict=True)
    )
    cells = np.diff(np.diff(sums[down[:, None], across], axis=0), axis=1)
    n_pixels = np.maximum(np.diff(down)[:, None] * np.diff(across), 1)  # tiny images: some empty
    return np.asarray(cells / n_pixels - 128.0, dtype=np.float16).ravel()


def apart(one: Signatures, other: Signatures) -> NDArray[np.float32]:
    """Return the change between images, in levels; shape (..., 192) becomes (...)."""
    change = np.abs(one.astype(np.float32) - other.astype(np.float32))
    place = int(CELL_QUANTILE * (change.shape[-1] - 1))
    return np.asarray(np.partition(change, place, axis=-1)[..., place])


def coding_noise(images: Signatures, is_key: Bools) -> float:
    """Return how much images differ although nothing moved, in levels.

    Motion accumulates: the square of its change grows as that of the number of steps, while two
    codings of one scene differ by the same amount however far apart they are (the nugget of a
    variogram; G. Matheron, "Principles of geostatistics", Economic Geology 58, 1963,
    doi:10.2113/gsecongeo.58.8.1246). The squares over one, two and three steps are therefore
    extrapolated to zero steps, as q + a n^2 + b n^4. Key frames, coded independently of the
    previous image, exceed the steps beside them by their own noise.

    `images`, shape (n, 192): signatures of the images that differ, in order. `is_key`, shape (n,):
    which are key frames.
    """
    if images.shape[0] < MIN_IMAGES:
        return 0.0
    one = np.square(apart(images[1:], images[:-1]))
    two = np.square(apart(images[2:], images[:-2]))
    three = np.square(apart(images[3:], images[:-3]))
    nugget = 0.5 * (one[:-2] + one[1:-1] + one[2:]) - 0.3 * (two[:-1] + two[1:]) + 0.1 * three
    square = max(0.0, float(np.quantile(nugget, NOISE_QUANTILE)))
    at = np.flatnonzero(is_key[2:-1] & ~is_key[1:-2] & ~is_key[3:]) + 2
    if at.size >= MIN_KEYS:
        square = max(square, float(np.median(one[at - 1] - 0.5 * (one[at - 2] + one[at]))))
    most = QUANTIZER_NOISE if is_key.all() else max(QUANTIZER_NOISE, most_noise(images))
    return min(float(np.sqrt(square)), most)


def most_noise(images: Signatures) -> float:
    """Return the noise of the coarsest coding of some images, shape (n, 192), in levels."""
    return MOST_NOISE * float(np.median(images.astype(np.float32).std(axis=1)))
