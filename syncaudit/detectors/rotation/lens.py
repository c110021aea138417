"""Map image positions to directions: correct the distortion of a stated or estimated lens.

Points far from the centre move less, or more, than in a pinhole camera: a wide lens makes
rotations appear a third too small, and what it adds to apparent travel biases offsets by
milliseconds.

Rotation moves points in a way that is known all over the image up to three numbers; the effect of a
lens grows with the distance from the centre. Rotation, direction of travel and one radial
term (`Lens.radial`) are fitted to the frame pairs with the most rotation by Gauss-Newton, using
only flow across the direction of travel, as in self-calibration from two views (Fitzgibbon, CVPR
2001, doi given there).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from syncaudit.detectors.rotation.fit import (
    MIN_NOISE_PX,
    Fit,
    Heading,
    Rays,
    converge,
    first_direction,
    fit_from,
)
from syncaudit.dsp.robust import mad_std_of_rows
from syncaudit.model import Distortion
from syncaudit.model.arrays import Bools, Floats

# Rays farther from the axis are left out: they tend to infinity in the plane where flow is fitted.
MAX_ANGLE_RAD = math.radians(70.0)
# Between this many angles the curve of a lens is practically straight.
N_ANGLES = 700
# Decentring is a small part of the distortion: a few fixed-point steps solve for it.
DECENTRING_STEPS = 3
# Lenses from a fisheye (-1/3) to a slight pincushion, one sigma.
PRIOR_STD = 0.3
# Iterations start from a pinhole, and from a wide lens if that fits better: between the two,
# rotation may look like travel, and a fit may get stuck there.
WIDE = -0.3
MIN_TERM, MAX_TERM, MAX_STEP = -0.6, 0.3, 0.2
MAX_STEPS = 8
CONVERGED_STD = 0.3
TURN_ITERATIONS = 3
# A smaller term moves points at the edge of 80 degrees by under 1.5 %: a pinhole will do. The term
# must also differ from zero by this many standard errors.
MIN_NEEDED = 0.02
MIN_Z = 4.0
# Known this precisely, no other start need be tried.
KNOWN_STD = 0.01
# Tracks are accurate to this many times their noise floor. If even such tracks could not determine
# the term to within this error, as on a straight road, it is not searched for near the pinhole.
USUAL_NOISE = 5.0
MAX_BEST_STD = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """Positions of points in a pinhole image."""

    places: Floats  # shape (..., 2): in focal lengths from the centre
    # shape (...): how much larger a length is in the image than in this plane: track errors are
    # uniform in the image
    scale: Floats
    is_seen: Bools  # shape (...): false outside what the lens can show


@dataclass(frozen=True, slots=True, eq=False)
class Lens:
    """Inverse of a lens as a table over the distance from the image centre."""

    radius: Floats  # shape (k,): distances in the image, focal lengths, increasing from zero
    stretch: Floats  # shape (k,): distance in a pinhole image divided by that
    scale: Floats  # shape (k,): as for `Sight`
    decentring: tuple[float, float] = (0.0, 0.0)  # p1 and p2 of `Distortion`

    @classmethod
    def stated(cls, distortion: Distortion) -> Lens:
        """Return the inverse of a stated lens."""
        angle = _angles()
        return cls._of(angle, distortion.radius(angle), distortion.decentring)

    @classmethod
    def radial(cls, term: float) -> Lens:
        """Return a lens of one radial term: rays are ``(x, y, 1 + term * r^2)``.

        The division model (Fitzgibbon, "Simultaneous linear estimation of multiple view geometry
        and lens distortion", CVPR 2001, doi:10.1109/CVPR.2001.990465): -1/3 is a fisheye to third
        order, and 0 a pinhole.
        """
        angle = _angles()
        plane = np.tan(angle)
        root = 1.0 - 4.0 * term * plane**2
        return cls._of(angle[root > 0.0], 2.0 * plane[root > 0.0] / (1.0 + np.sqrt(root[root > 0])))

    @classmethod
    def _of(
        cls, angle: Floats, radius: Floats, decentring: tuple[float, float] = (0.0, 0.0)
    ) -> Lens:
        # A polynomial turns back somewhere outside the image to which it was fitted.
        back = np.flatnonzero(np.diff(radius) <= 0.0)
        stop = int(back[0]) + 1 if back.size else radius.size
        angle, radius = angle[:stop], radius[:stop]
        plane = np.tan(angle)
        stretch, along = np.ones(stop), np.ones(stop)
        stretch[1:] = plane[1:] / radius[1:]
        along[1:] = np.gradient(radius, plane)[1:] if stop > 2 else 1.0
        scale = np.sqrt(np.maximum(along, 0.0) / stretch)
        return cls(radius, stretch, scale, decentring)

    def sight(self, points: Floats) -> Sight:
        """Undistort points, shape (..., 2), in focal lengths from the image centre."""
        bent, (p1, p2) = points, self.decentring
        if p1 or p2:
            for _ in range(DECENTRING_STEPS):
                there = bent * np.interp(_length(bent), self.radius, self.stretch)[..., None]
                x, y = there[..., 0], there[..., 1]
                square = x * x + y * y
                aside = [
                    2 * p1 * x * y + p2 * (square + 2 * x * x),
                    p1 * (square + 2 * y * y) + 2 * p2 * x * y,
                ]
                bent = points - np.stack(aside, axis=-1)
        length = _length(bent)
        return Sight(
            places=bent * np.interp(length, self.radius, self.stretch)[..., None],
            scale=np.interp(length, self.radius, self.scale),
            is_seen=length < self.radius[-1],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _RadialTerm:
    """Radial term of `Lens.radial` with its standard error and residual."""

    value: float
    std: float
    cost: float = 0.0

    @property
    def is_needed(self) -> bool:
        """Whether a pinhole would fit worse."""
        return abs(self.value) > max(MIN_NEEDED, MIN_Z * self.std)

    @property
    def is_known(self) -> bool:
        """Whether more pairs of frames would add nothing."""
        return self.std < KNOWN_STD


@lru_cache(maxsize=1)
def _angles() -> Floats:
    return np.linspace(0.0, MAX_ANGLE_RAD, N_ANGLES)


def _length(points: Floats) -> Floats:
    return np.sqrt(points[..., 0] ** 2 + points[..., 1] ** 2)


def find_radial_term(
    before: Floats, after: Floats, is_point: Bools, *, focal_px: float
) -> _RadialTerm:
    """Return the radial term that best explains some pairs of frames.

    Parameters
    ----------
    before, after : ndarray, shape (m, n, 2)
        Positions in the image, in focal lengths from its centre.
    is_point : ndarray of bool, shape (m, n)
        False where a pair has fewer points than n.
    focal_px : float
        Focal length in pixels of the tracked image.
    """
    search = _Search(before, after, is_point, MIN_NOISE_PX / focal_px)
    pinhole = search.step(0.0)
    if pinhole.best_std < MAX_BEST_STD:
        best = search.refined(0.0, pinhole)
        if best.is_known and not best.is_needed:
            return best
    else:
        best = _RadialTerm(value=0.0, std=pinhole.std, cost=pinhole.cost)
    wide = search.step(WIDE)
    if wide.cost > best.cost:
        return best
    return min(best, search.refined(WIDE, wide), key=lambda term: term.cost)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Step:
    """Result of one fit of all pairs for the term: its change and how well it is determined."""

    fit: Fit
    change: float
    best_std: float
    std: float
    cost: float


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """Pairs of frames whose lens is estimated; as for `find_radial_term`."""

    before: Floats
    after: Floats
    is_point: Bools
    floor: float

    def refined(self, value: float, step: _Step) -> _RadialTerm:
        """Return the term reached by iterating from a start and its first step."""
        for _ in range(MAX_STEPS - 1):
            now = min(max(value - min(max(step.change, -MAX_STEP), MAX_STEP), MIN_TERM), MAX_TERM)
            moved, value = abs(now - value), now
            if moved < CONVERGED_STD * step.std:
                break
            step = self.step(value, step.fit)
        return _RadialTerm(value=value, std=step.std, cost=step.cost)

    def step(self, value: float, last: Fit | None = None) -> _Step:
        """Fit all pairs for a given term, starting from the last fit."""
        lens = Lens.radial(value)
        p, q = lens.sight(self.before), lens.sight(self.after)
        scale = np.sqrt(p.scale * q.scale)
        is_point = self.is_point & p.is_seen & q.is_seen
        rays = Rays.of(p.places, q.places, is_point, scale)
        if last is None:
            fit = fit_from(rays, first_direction(rays, self.floor), Heading(), self.floor)
        else:
            direction = last.step.direction
            fit = converge(
                rays, last.angles, direction, Heading(), self.floor, max_iterations=TURN_ITERATIONS
            )
        before, after = np.sum(self.before**2, axis=-1), np.sum(self.after**2, axis=-1)
        # A ray (x, y, 1 + value r^2) moves inwards as the term grows.
        grown = [
            -sight.places * (square / (1.0 + value * square))[..., None]
            for sight, square in ((p, before), (q, after))
        ]
        square = 0.5 * (before + after)
        # Derivative of the log scale, (1 + v r^2)^(3/2) (1 - v r^2)^(-1/2), by the term.
        swollen = 0.5 * square * (3.0 / (1.0 + value * square) + 1.0 / (1.0 - value * square))
        information, score = fit.step.told_across(grown[1] - grown[0], swollen)
        is_good = fit.is_good & (is_point.sum(axis=1) > 0)
        information, score = np.where(is_good, (information, score), 0.0)
        precision = float(information.sum()) + PRIOR_STD**-2
        # A wrong lens leaves more than noise: this is what good tracks could determine.
        excess = np.maximum(fit.step.noise / (USUAL_NOISE * self.floor), 1.0)
        could_tell = float(np.sum(information * excess**2)) + PRIOR_STD**-2
        # Pairs that contradict one another carry less information than their noise suggests; and if
        # flow is little more than noise, the effect of a lens on that may look like a lens.
        scatter = float(np.sqrt(np.sum(score**2))) / precision
        swell = np.where(is_good, np.sum(fit.step.trust * swollen, axis=1), 0.0)
        along = mad_std_of_rows(scale * fit.step.along[:, 3], is_point)
        rest = np.log(fit.step.noise) + np.log(np.maximum(along, self.floor))
        return _Step(
            fit=fit,
            change=(float(score.sum()) + value * PRIOR_STD**-2) / precision,
            best_std=could_tell**-0.5,
            std=math.hypot(max(precision**-0.5, scatter), float(swell.sum()) / precision),
            cost=float(np.mean(np.where(is_good, rest, 0.0))),
        )
