"""Vehicle motion: a smooth six-degree-of-freedom trajectory as splines of time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline, PPoly

GRAVITY_MPS2 = 9.81

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Motion:
    """Hold a trajectory: body axes x forward, y left, z up; world axes z up.

    Orientation is ``Rz(yaw) Ry(pitch) Rx(roll)`` with Euler angles as cubic splines, so the angular
    rate is the exact derivative of the orientation. Velocity is a cubic spline; position is its
    antiderivative and acceleration its derivative, both exact.
    """

    euler_rad: PPoly  # spline of (yaw, pitch, roll)
    velocity_mps: PPoly  # spline of the world velocity (x, y, z)
    position_m: PPoly  # antiderivative of the velocity
    # times between which the trajectory is defined
    start_s: float
    stop_s: float
    bump_times_s: FloatArray  # shape (n,): times at which an axle hits a discrete bump
    # shape (m,): road excitation on a grid of `grid_times_s`, for the microphone
    roughness: FloatArray
    grid_times_s: FloatArray  # shape (m,)

    @classmethod
    def from_samples(
        cls,
        times_s: FloatArray,
        euler_rad: FloatArray,
        velocity_mps: FloatArray,
        *,
        bump_times_s: FloatArray | None = None,
        roughness: FloatArray | None = None,
    ) -> "Motion":
        """Fit the splines to samples on a grid.

        Grid times, increasing, and roughness have the shape (m,), angles and velocities (m, 3),
        bumps (n,). ValueError if shapes disagree or a value is not finite.
        """
        for name, samples in (("euler_rad", euler_rad), ("velocity_mps", velocity_mps)):
            if samples.shape != (times_s.size, 3):
                raise ValueError(f"{name} has shape {samples.shape}, expected ({times_s.size}, 3)")
            if not np.isfinite(samples).all():
                raise ValueError(f"{name} holds values that are not finite")
        velocity = CubicSpline(times_s, velocity_mps)
        return cls(
            euler_rad=CubicSpline(times_s, euler_rad),
            velocity_mps=velocity,
            position_m=velocity.antiderivative(),
            start_s=float(times_s[0]),
            stop_s=float(times_s[-1]),
            bump_times_s=np.empty(0) if bump_times_s is None else bump_times_s,
            roughness=np.zeros(times_s.size) if roughness is None else roughness,
            grid_times_s=times_s,
        )

    def orientation(self, times_s: ArrayLike) -> FloatArray:
        """Return rotation matrices that take body vectors to the world, shape (n, 3, 3)."""
        return rotation_from_euler(self.euler_rad(self._inside(times_s)))

    def position(self, times_s: ArrayLike) -> FloatArray:
        """Return the body origin in the world, metres, shape (n, 3)."""
        return _floats(self.position_m(self._inside(times_s)))

    def velocity(self, times_s: ArrayLike) -> FloatArray:
        """Return the world velocity, m/s, shape (n, 3)."""
        return _floats(self.velocity_mps(self._inside(times_s)))

    def speed(self, times_s: ArrayLike) -> FloatArray:
        """Return the horizontal speed, m/s, shape (n,)."""
        velocity = self.velocity(times_s)
        return _floats(np.hypot(velocity[:, 0], velocity[:, 1]))

    def acceleration(self, times_s: ArrayLike) -> FloatArray:
        """Return the world acceleration without gravity, m/s^2, shape (n, 3)."""
        return _floats(self.velocity_mps(self._inside(times_s), 1))

    def specific_force(self, times_s: ArrayLike) -> FloatArray:
        """Return the reading of an accelerometer at the body origin, body axes, m/s^2, (n, 3).

        At rest and level it is (0, 0, +g).
        """
        pull = self.acceleration(times_s) + np.array([0.0, 0.0, GRAVITY_MPS2])
        return _floats(np.einsum("nji,nj->ni", self.orientation(times_s), pull))

    def angular_rate(self, times_s: ArrayLike) -> FloatArray:
        """Return the angular rate in body axes, rad/s, shape (n, 3).

        The exact rate of ``Rz Ry Rx``: see Diebel, "Representing attitude" (2006), eq. 40.
        """
        times = self._inside(times_s)
        _, pitch, roll = self.euler_rad(times).T
        yaw_rate, pitch_rate, roll_rate = self.euler_rad(times, 1).T
        return np.stack(
            [
                roll_rate - yaw_rate * np.sin(pitch),
                pitch_rate * np.cos(roll) + yaw_rate * np.cos(pitch) * np.sin(roll),
                -pitch_rate * np.sin(roll) + yaw_rate * np.cos(pitch) * np.cos(roll),
            ],
            axis=1,
        )

    def _inside(self, times_s: ArrayLike) -> FloatArray:
        times = np.atleast_1d(np.asarray(times_s, dtype=np.float64))
        if times.size and (times.min() < self.start_s or times.max() > self.stop_s):
            raise ValueError(
                f"motion is defined from {self.start_s} s to {self.stop_s} s, "
                f"asked for {times.min()} s to {times.max()} s"
            )
        return times


def rotation_from_euler(euler_rad: FloatArray) -> FloatArray:
    """Return ``Rz(yaw) Ry(pitch) Rx(roll)`` for rows of (yaw, pitch, roll), shape (n, 3, 3)."""
    (cy, cp, cr), (sy, sp, sr) = np.cos(euler_rad).T, np.sin(euler_rad).T
    rotation = np.empty((len(euler_rad), 3, 3))
    rotation[:, 0] = np.stack([cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr], axis=1)
    rotation[:, 1] = np.stack([sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr], axis=1)
    rotation[:, 2] = np.stack([-sp, cp * sr, cp * cr], axis=1)
    return rotation


def _floats(values: Any) -> FloatArray:
    return np.asarray(values, dtype=np.float64)
