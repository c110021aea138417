"""Bodies in motion with exactly known truth, and the sensors that record them.

Every rate is a sum of cosines, whose integral is known in closed form at any instant, so truth does
not depend on interpolation. A clock is defined by what its timestamps read at true time t.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from syncaudit.model import Quantity, RotationIncrements
from testkit.streams import activity

EPOCH_NS = 1_767_225_600_000_000_000
# A mounting that mixes all axes.
TILTED = Rotation.from_euler("xyz", [100.0, -20.0, 35.0], degrees=True).as_matrix()


@dataclass(frozen=True, kw_only=True)
class Motion:
    """Rates of d channels as sums of k cosines."""

    hz: np.ndarray
    size: np.ndarray
    phase: np.ndarray

    def rate(self, t):
        """Return the rate at `t`, shape t.shape + (d,)."""
        w = 2 * np.pi * self.hz
        turns = np.asarray(t)[..., None] * w
        # cos(a + b) by two products instead of a cosine per channel
        return (
            np.cos(turns) @ (self.size * np.cos(self.phase)).T
            - np.sin(turns) @ (self.size * np.sin(self.phase)).T
        )

    def angle(self, t):
        """Return the integral of the rate, shape t.shape + (d,)."""
        w = 2 * np.pi * self.hz
        return Motion(hz=self.hz, size=self.size / w, phase=self.phase - np.pi / 2).rate(t)

    def mixed(self, matrix):
        """Return the motion seen through a mounting or scale matrix."""
        both = matrix @ (self.size * np.exp(1j * self.phase))
        return Motion(hz=self.hz, size=np.abs(both), phase=np.angle(both))


def shaking(seed, *, lowest_hz=0.3, highest_hz=4.0, rms=0.1, n=40, axes=3):
    """Return motion whose power is spread evenly over a band."""
    rng = np.random.default_rng([seed, 17])
    return Motion(
        hz=np.sort(rng.uniform(lowest_hz, highest_hz, n)),
        size=rng.rayleigh(rms / np.sqrt(n), (axes, n)),
        phase=rng.uniform(-np.pi, np.pi, (axes, n)),
    )


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Define what a clock reads at true time t, in seconds."""

    late_s: float = 0.0
    drift_ppm: float = 0.0
    step_s: float = 0.0
    step_at_s: float = np.inf
    middle_s: float = 10.0

    def reads(self, t):
        drift = self.drift_ppm * 1e-6 * (t - self.middle_s)
        return t + self.late_s + drift + self.step_s * (t >= self.step_at_s)


def imu(
    motion,
    seed,
    *,
    clock=Clock(),  # frozen
    name="imu",
    rate_hz=200.0,
    seconds=20.0,
    phase=None,
    noise=1e-3,
    epoch_ns=EPOCH_NS,
    lost=(),
    quantity=Quantity.ANGULAR_RATE,
    unit=1.0,
):
    """Return samples of `motion.rate`; `phase` is in sample periods, `lost` holds index ranges."""
    rng = np.random.default_rng([seed, 23])
    phase = rng.uniform() if phase is None else phase
    t = (np.arange(int(seconds * rate_hz)) + phase) / rate_hz
    for start, stop in lost:
        t = t[(t < start) | (t >= stop)]
    values = motion.rate(t)
    values = unit * (values + noise * rng.normal(size=values.shape))
    return activity(name, quantity, clock.reads(t), values, epoch_ns=epoch_ns)


def camera(
    motion,
    seed,
    *,
    clock=Clock(),  # frozen
    name="cam",
    rate_hz=12.0,
    seconds=20.0,
    phase=None,
    noise_rad=3e-4,
    mount=TILTED,
    epoch_ns=EPOCH_NS,
    line_delay_s=0.0,
    stated=True,
    lost=(),
    is_upper=True,
    has_focal=True,
    bad=0.0,
    stamp_std_s=0.0,
):
    """Return rotation increments of a rolling-shutter camera.

    Each of thirty points, with random shares of the increment, sees the rotation between the
    instants of its own rows; `lost` holds frame numbers, `bad` the share of corrupted increments.
    """
    rng = np.random.default_rng([seed, 29])
    seen = motion.mixed(mount)
    phase = rng.uniform() if phase is None else phase
    t = (np.arange(int(seconds * rate_hz)) + phase) / rate_hz
    t = np.delete(t, np.asarray(lost, dtype=int))
    n, points = t.size - 1, 30
    shares = np.eye(3)[None, None] + 0.2 * rng.normal(size=(n, points, 3, 3))
    shares = np.linalg.solve(shares.sum(axis=1)[:, None], shares)
    row = rng.uniform(-220.0, 40.0 if is_upper else 220.0, (n, points))
    moved = rng.normal(0.0, 6.0, (n, points)) + rng.normal(0.0, 10.0, (n, 1))
    before, after = row - moved / 2, row + moved / 2
    angle = seen.angle(t[1:, None] + after * line_delay_s) - seen.angle(
        t[:-1, None] + before * line_delay_s
    )
    angles = np.einsum("npij,npj->ni", shares, angle)
    std = noise_rad * rng.uniform(0.7, 1.4, (n, 3))
    angles = angles + std * rng.normal(size=(n, 3))
    spoiled = rng.uniform(size=n) < bad
    angles[spoiled] += rng.normal(0.0, 0.05, (int(spoiled.sum()), 3))
    stamps = clock.reads(t)
    return RotationIncrements(
        source=name,
        epoch_ns=epoch_ns,
        start_s=stamps[:-1],
        stop_s=stamps[1:],
        angles_rad=angles,
        std_rad=std,
        row_moments_px=np.einsum("np,npij->nij", row, shares),
        row_moves_px=np.einsum("np,npij->nij", moved, shares),
        height_px=480,
        mean_row_px=float(row.mean()),
        line_delay_s=line_delay_s if stated else None,
        has_focal=has_focal,
        stamp_std_s=stamp_std_s,
    )


def z_of(measured, truth_s):
    """Return the error divided by its claimed standard error."""
    return (measured.offset_s - truth_s) / measured.offset_std_s


@dataclass(frozen=True, kw_only=True)
class Drive:
    """A vehicle on a road: yaw, speed and body roll, with an IMU mounted askew."""

    yaw: Motion
    speed: Motion
    shake: Motion
    mount: np.ndarray
    mean_speed_mps: float = 14.0

    @classmethod
    def on_road(cls, seed):
        return cls(
            yaw=shaking(seed, lowest_hz=0.05, highest_hz=1.0, rms=0.12, n=30, axes=1),
            speed=shaking(seed + 10_000, lowest_hz=0.05, highest_hz=0.8, rms=1.0, n=30, axes=1),
            shake=shaking(seed + 20_000, lowest_hz=0.8, highest_hz=6.0, rms=0.03),
            mount=Rotation.from_euler("zyx", [20.0, 5.0, -8.0], degrees=True).as_matrix(),
        )

    def speed_mps(self, t):
        """Return the speed; its acceleration is the rate of the `speed` motion."""
        return self.mean_speed_mps + self.speed.angle(t)[:, 0]

    def turn_radps(self, t):
        """Return body rates: yaw about the vertical, roll that follows the turn, bumps."""
        shake = self.shake.rate(t) * np.array([1.0, 1.0, 0.2])
        roll = 0.2 * self.yaw.rate(t - 0.08)[:, 0]
        return (shake + np.stack([roll, 0 * roll, self.yaw.rate(t)[:, 0]], 1)) @ self.mount.T

    def force_mps2(self, t):
        """Return the specific force: forward, left, up."""
        left = self.speed_mps(t) * self.yaw.rate(t)[:, 0]
        up = 9.80665 + 3.0 * self.shake.rate(t)[:, 2]
        return np.stack([self.speed.rate(t)[:, 0], left, up], 1) @ self.mount.T

    def imu(self, seed, *, clock=Clock(), rate_hz=100.0, seconds=40.0, noise=0.003, name="imu"):
        """Return rates and forces by quantity."""
        rng = np.random.default_rng([seed, 31])
        t = (np.arange(int(seconds * rate_hz)) + rng.uniform()) / rate_hz
        found = {}
        for quantity, values, std in (
            (Quantity.ANGULAR_RATE, self.turn_radps(t), noise),
            (Quantity.SPECIFIC_FORCE, self.force_mps2(t), 20 * noise),
        ):
            found[quantity] = activity(
                name,
                quantity,
                clock.reads(t),
                values + std * rng.normal(size=values.shape),
                epoch_ns=EPOCH_NS,
            )
        return found

    def can(
        self,
        quantity,
        seed,
        *,
        clock=Clock(),
        rate_hz=50.0,
        seconds=40.0,
        step=0.0,
        noise=0.002,
        unit=1.0,
        stamps=None,
        lag_s=0.0,
        name="can",
    ):
        """Return one CAN signal, late by the vehicle's own `lag_s` and rounded to `step`."""
        rng = np.random.default_rng([seed, 37])
        t = (np.arange(int(seconds * rate_hz)) + rng.uniform()) / rate_hz
        u = t - lag_s
        values = {
            Quantity.YAW_RATE: lambda: self.yaw.rate(u)[:, 0],
            Quantity.SPEED: lambda: self.speed_mps(u),
            Quantity.WHEEL_SPEED: lambda: self.speed_mps(u),
            Quantity.LONG_ACCEL: lambda: self.speed.rate(u)[:, 0],
            Quantity.LATERAL_ACCEL: lambda: self.speed_mps(u) * self.yaw.rate(u)[:, 0],
            Quantity.STEERING_ANGLE: lambda: 45.0 * self.yaw.rate(u)[:, 0] / self.speed_mps(u),
            Quantity.BRAKE: lambda: np.maximum(0.0, -self.speed.rate(u)[:, 0]),
        }[quantity]()
        values = values + noise * rng.normal(size=values.shape)
        if step:
            values = step * np.round(values / step)
        reads = clock.reads(t)
        return activity(
            name,
            quantity,
            reads if stamps is None else stamps(reads),
            unit * values[:, None],
            epoch_ns=EPOCH_NS,
        )


@dataclass(frozen=True)
class Bursts:
    """A body at rest except for short shakes: rates of `motion` under bell windows at `at_s`."""

    motion: Motion
    at_s: tuple
    width_s: float = 0.4

    def rate(self, t):
        bells = sum(np.exp(-0.5 * ((t - at) / self.width_s) ** 2) for at in self.at_s)
        return bells[:, None] * self.motion.rate(t)

    def mixed(self, matrix):
        return replace(self, motion=self.motion.mixed(matrix))


def resting(seed, *, motion_error=0.0, **both):
    """Return two IMUs on a body mostly at rest; the second errs in proportion to the motion."""
    rng = np.random.default_rng([seed, 41])
    body = Bursts(shaking(seed, rms=1.0), tuple(rng.uniform(3.0, 37.0, 4)))
    head = imu(body, seed, name="head", seconds=40.0, **both)
    wrist = imu(body.mixed(TILTED), seed + 1000, name="wrist", seconds=40.0, **both)
    error = 1.0 + motion_error * shaking(seed + 2000, highest_hz=2.0, rms=1.0).rate(wrist.times_s)
    return head, replace(wrist, values=wrist.values * error)
