"""Recordings of cameras, an IMU and a vehicle's bus on one moving body, by a ray tracer of its own.

It shares no code with `syncaudit.simulate`: a body is carried, driven, flown, turned like a head,
moved like an arm, panned or parked inside a box whose walls carry random texture, among spheres
that move; lenses are pinholes, fisheyes or barrels, shutters roll or not; bonnets, dirt, rain,
wipers, reflections and burnt-in text lie over the image.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, uniform_filter1d
from scipy.signal import butter, sosfiltfilt
from scipy.spatial.transform import Rotation, Slerp
from worlds import DrawnClock

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Row = dict[str, Any]

EPOCH_NS = 1_760_000_000_000_000_000
GRID_HZ = 1000.0
KINDS = ("hand", "head", "drive", "drone", "arm", "pan", "parked")
# Half extent of the walls, texel, height above the floor, of each scene.
SCENES = {
    "room": ((3.5, 2.5, 1.4), 0.0012),
    "hall": ((25.0, 15.0, 4.0), 0.006),
    "street": ((2000.0, 14.0, 8.0), 0.012),
    "yard": ((90.0, 90.0, 30.0), 0.03),
    "table": ((1.0, 1.0, 0.7), 0.0005),
}
SCENE_OF = {
    "hand": ("room", "hall", "yard"),
    "head": ("room", "hall"),
    "drive": ("street",),
    "drone": ("yard", "hall"),
    "arm": ("table",),
    "pan": ("hall", "yard", "room"),
    "parked": ("street", "yard"),
}
TILE = (1024, 2048)
N_LEVELS = 7
SLICE_ROWS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Lens:
    """A lens, and the size of its image."""

    width: int
    height: int
    model: str  # pinhole, fisheye, barrel
    focal_px: float

    def rays(self) -> Floats:
        """Return unit rays, shape (h, w, 3): x right, y down, z ahead."""
        v, u = np.mgrid[: self.height, : self.width].astype(np.float64)
        x = (u - 0.5 * (self.width - 1)) / self.focal_px
        y = (v - 0.5 * (self.height - 1)) / self.focal_px
        r = np.hypot(x, y)
        if self.model == "fisheye":
            angle = r
        elif self.model == "barrel":
            # r = tan(angle) (1 - 0.2 tan(angle)^2 / (1 + tan(angle)^2)), inverted by a table.
            table = np.linspace(0.0, 1.3, 4000)
            tangent = np.tan(table)
            drawn = tangent * (1.0 - 0.25 * tangent**2 / (1.0 + tangent**2))
            angle = np.interp(r, drawn, table)
        else:
            angle = np.arctan(r)
        scale = np.sin(angle) / np.maximum(r, 1e-12)
        return np.stack((x * scale, y * scale, np.cos(angle)), axis=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Camera:
    """A camera, its clock, and what else its images show."""

    name: str
    lens: Lens
    rate_hz: float
    phase_s: float
    line_delay_s: float
    exposure_s: float
    states_timing: bool
    states_focal: bool
    stamp_at: str
    offset_s: float
    drift_ppm: float
    jitter_s: float
    mount: Rotation  # camera axes to body axes
    codec: str
    crf: int
    stabilised_s: float
    noise: float
    flicker: float
    contrast: float
    lost: int
    auto_exposure: bool
    gamma: float
    overlays: tuple[str, ...]
    # Standard deviation of the time from when a frame was due, which its timestamp states, to its
    # capture.
    uneven_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bus:
    """The bus of a vehicle: what its control units sense, filter, round and send."""

    yaw_hz: float
    yaw_step: float  # deg/s
    speed_hz: float
    speed_step: float  # km/h
    steering_step: float | None  # degrees at the wheel; None where it is not sent
    has_lateral: bool
    filter_hz: float
    offset_s: float
    drift_ppm: float
    jitter_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionWorld:
    """What is drawn at random; times are true seconds from the start."""

    seed: int
    kind: str
    scene: str
    duration_s: float
    strength: float
    imu_hz: float
    gyro_noise: float  # deg/s per root hertz
    imu_offset_s: float
    imu_drift_ppm: float
    imu_mount: Rotation
    is_stranger: bool  # the gyroscope is another body's
    has_accelerometer: bool
    n_objects: int
    plain: float
    cameras: tuple[Camera, ...]
    bus: Bus | None = None
    has_imu: bool = True


def _axes_rotation(rng: np.random.Generator) -> Rotation:
    axes = Rotation.create_group("O")[int(rng.integers(24))]
    return Rotation.from_rotvec(rng.normal(0.0, 0.05, 3)) * axes


# Body axes x forward, y left, z up. A camera that looks ahead: z -> x, x -> -y, y -> -z.
AHEAD = Rotation.from_matrix(np.array([[0, 0, 1], [-1, 0, 0], [0, -1, 0]], dtype=float))


def draw_vehicle(seed: int) -> MotionWorld:
    """Return a recording of a vehicle with a bus, drawn at random; half of them have no IMU."""
    rng = np.random.default_rng([seed, 20261129])
    bus = Bus(
        yaw_hz=float(rng.choice([10, 20, 50, 100], p=[0.15, 0.25, 0.35, 0.25])),
        yaw_step=float(rng.choice([0.01, 0.05, 0.1, 0.3])),
        speed_hz=float(rng.choice([10, 20, 50])),
        speed_step=float(rng.choice([0.01, 0.1, 0.5])),
        steering_step=float(rng.choice([0.1, 0.5, 1.5])) if rng.random() < 0.5 else None,
        has_lateral=bool(rng.random() < 0.4),
        filter_hz=float(rng.choice([6, 12, 25])),
        offset_s=float(rng.normal(0.0, 0.03) if rng.random() < 0.8 else rng.uniform(-0.4, 0.4)),
        drift_ppm=float(rng.normal(0.0, 30.0)),
        jitter_s=float(rng.choice([2e-4, 1e-3, 4e-3])),
    )
    world = draw_world(seed, "drive")
    duration_s = float(rng.uniform(12.0, 24.0))
    return replace(world, bus=bus, has_imu=bool(rng.random() < 0.5), duration_s=duration_s)


def draw_world(seed: int, kind: str | None = None) -> MotionWorld:
    """Return a recording drawn at random, of a given kind of motion if one is given."""
    rng = np.random.default_rng([seed, 20261128])
    drawn = str(rng.choice(KINDS, p=[0.22, 0.14, 0.22, 0.14, 0.12, 0.08, 0.08]))
    kind = kind or drawn
    scene = str(rng.choice(SCENE_OF[kind]))
    cameras = []
    rate0 = float(rng.choice([10, 12, 15, 20, 24, 25, 29.97, 30]))
    for k in range(int(rng.choice([1, 2], p=[0.6, 0.4]))):
        height = int(rng.choice([200, 240, 288, 360], p=[0.3, 0.4, 0.2, 0.1]))
        width = int(round(height * float(rng.choice([4 / 3, 16 / 9, 1.0])) / 16) * 16)
        model = str(rng.choice(["pinhole", "fisheye", "barrel"], p=[0.6, 0.2, 0.2]))
        half = np.radians(float(rng.uniform(22, 50) if model != "fisheye" else rng.uniform(50, 85)))
        focal = 0.5 * width / (half if model == "fisheye" else np.tan(half))
        rate = rate0 if rng.random() < 0.7 else float(rng.choice([10, 15, 20, 30]))
        is_global = rng.random() < 0.3
        delay = 0.0 if is_global else float(rng.uniform(0.004, min(0.033, 0.95 / rate))) / height
        exposure = float(np.exp(rng.uniform(np.log(5e-4), np.log(min(0.03, 0.9 / rate)))))
        states = bool(rng.random() < 0.7)
        stamp_at = str(
            rng.choice(
                ["mid_exposure_mid_row", "start_of_frame", "end_of_frame"], p=[0.6, 0.25, 0.15]
            )
        )
        if not states:
            stamp_at = "mid_exposure_mid_row"
        yaw = 0.0 if k == 0 else float(rng.choice([0.0, 0.6, -0.6, 1.6, 3.1]))
        mount = Rotation.from_euler("z", yaw) * AHEAD * Rotation.from_rotvec(rng.normal(0, 0.04, 3))
        if rng.random() < 0.1:
            mount = mount * Rotation.from_euler("z", np.pi)
        names = []
        if kind in ("drive", "parked") and rng.random() < 0.4:
            names.append("bonnet")
        for name, chance in (
            ("text", 0.15),
            ("dirt", 0.15),
            ("rain", 0.1),
            ("wiper", 0.08),
            ("reflection", 0.12),
        ):
            if rng.random() < chance:
                names.append(name)
        cameras.append(
            Camera(
                name="cam" if k == 0 else "cam2",
                lens=Lens(width=width, height=height, model=model, focal_px=focal),
                rate_hz=rate,
                phase_s=float(rng.uniform(0.0, 1.0 / rate)),
                line_delay_s=delay,
                exposure_s=exposure,
                states_timing=states,
                states_focal=bool(rng.random() < 0.4) and model != "fisheye",
                stamp_at=stamp_at,
                offset_s=float(
                    rng.normal(0.0, 0.03) if rng.random() < 0.85 else rng.uniform(-0.4, 0.4)
                ),
                drift_ppm=float(rng.normal(0.0, 30.0)),
                jitter_s=float(rng.choice([0.0, 2e-4, 1e-3])),
                mount=mount,
                codec=str(rng.choice(["libx264", "libx265", "mjpeg"], p=[0.7, 0.15, 0.15])),
                crf=int(rng.integers(18, 36)),
                stabilised_s=float(rng.uniform(0.15, 0.8)) if rng.random() < 0.08 else 0.0,
                noise=float(np.exp(rng.uniform(np.log(0.5), np.log(10.0)))),
                flicker=float(rng.uniform(0.02, 0.15)) if rng.random() < 0.15 else 0.0,
                contrast=float(rng.uniform(0.3, 1.0)),
                lost=int(rng.integers(1, 8)) if rng.random() < 0.25 else 0,
                auto_exposure=bool(rng.random() < 0.4),
                gamma=float(rng.choice([1.0, 2.2])),
                overlays=tuple(names),
            )
        )
    return MotionWorld(
        seed=seed,
        kind=kind,
        scene=scene,
        duration_s=float(rng.uniform(9.0, 18.0)),
        strength=float(np.exp(rng.uniform(np.log(0.3), np.log(1.6)))),
        imu_hz=float(
            rng.choice([50, 100, 104, 200, 400, 1000], p=[0.1, 0.3, 0.1, 0.25, 0.15, 0.1])
        ),
        gyro_noise=float(np.exp(rng.uniform(np.log(0.003), np.log(0.03)))),
        imu_offset_s=float(rng.normal(0.0, 0.01)),
        imu_drift_ppm=float(rng.normal(0.0, 20.0)),
        imu_mount=_axes_rotation(rng),
        is_stranger=bool(rng.random() < 0.12),
        has_accelerometer=bool(rng.random() < 0.6),
        n_objects=int(rng.choice([0, 0, 1, 3, 6])),
        plain=float(rng.uniform(0.0, 0.7)),
        cameras=tuple(cameras),
    )


def _noise_course(n: int, low_hz: float, high_hz: float, rng: np.random.Generator) -> Floats:
    """Return noise of one band with unit deviation, shape (n,)."""
    pad = int(4 * GRID_HZ)
    white = rng.normal(size=n + 2 * pad)
    sos = butter(2, (low_hz, min(high_hz, 0.45 * GRID_HZ)), "bandpass", fs=GRID_HZ, output="sos")
    out = sosfiltfilt(sos, white)[pad : pad + n]
    return out / max(out.std(), 1e-12)


def _smooth_steps(
    n: int,
    rng: np.random.Generator,
    gap: tuple[float, float],
    size: float,
    took: tuple[float, float],
    reach: float,
) -> Floats:
    """Return a course of minimum-jerk moves between random targets."""
    out = np.zeros(n)
    at, now = 0, 0.0
    while at < n:
        wait = int(rng.uniform(*gap) * GRID_HZ)
        length = int(rng.uniform(*took) * GRID_HZ)
        target = float(np.clip(now + rng.normal(0.0, size), -reach, reach))
        out[at : at + wait] = now
        x = np.linspace(0.0, 1.0, length)
        move = now + (target - now) * (10 * x**3 - 15 * x**4 + 6 * x**5)
        stop = min(at + wait + length, n)
        out[at + wait : stop] = move[: max(stop - at - wait, 0)]
        at, now = at + wait + length, target
    return out


def _body_motion(world: MotionWorld, rng: np.random.Generator) -> tuple[Floats, Rotation, Floats]:
    """Return times, orientations (body to world) and positions on a grid."""
    n = int((world.duration_s + 3.0) * GRID_HZ)
    t = np.arange(n) / GRID_HZ - 1.5
    s = world.strength
    deg = np.pi / 180.0

    def band(low: float, high: float, std_deg: float) -> Floats:
        return _noise_course(n, low, high, rng) * std_deg * deg * s

    p = np.zeros((n, 3))
    if world.kind == "hand":
        yaw, pitch, roll = band(0.05, 0.5, 18), band(0.05, 0.6, 6), band(0.05, 0.5, 4)
        yaw, pitch, roll = yaw + band(2, 9, 0.35), pitch + band(2, 9, 0.35), roll + band(2, 9, 0.3)
        half = SCENES[world.scene][0]
        walk = min(0.4 * half[0], 1.2 * world.duration_s) * np.sin(2 * np.pi * t / 25.0)
        p[:, 0], p[:, 1] = walk, _noise_course(n, 0.05, 0.5, rng) * 0.15
        p[:, 2] = 0.03 * np.sin(2 * np.pi * 1.9 * t) + _noise_course(n, 1, 6, rng) * 0.005
    elif world.kind == "head":
        yaw = _smooth_steps(n, rng, (0.3, 1.8), 28 * deg * s, (0.2, 0.7), 1.2)
        pitch = _smooth_steps(n, rng, (0.3, 2.5), 9 * deg * s, (0.2, 0.7), 0.4)
        roll = band(0.3, 2, 0.2)
        p[:, 1], p[:, 2] = 0.08 * np.sin(yaw), 0.08 * np.sin(pitch)
    elif world.kind == "drive":
        speed = 12.0 + 6.0 * _noise_course(n, 0.02, 0.2, rng)
        speed = np.clip(speed, 0.0, 30.0)
        yaw = uniform_filter1d(band(0.03, 0.25, 5.0), 300)
        if world.bus is not None:  # corrections at the wheel, and what the road does
            yaw = yaw + band(0.25, 1.0, 0.4) + band(1.0, 5.0, 0.03)
        pitch = band(0.7, 2.0, 0.45) + band(6, 13, 0.05)
        roll = band(0.7, 2.0, 0.5) + band(6, 13, 0.05)
        p[:, 0] = np.cumsum(speed * np.cos(yaw)) / GRID_HZ - 200.0
        side = np.cumsum(speed * np.sin(yaw)) / GRID_HZ
        side -= np.linspace(side[0], side[-1], n)
        p[:, 1] = np.clip(side, -9.0, 9.0)
        p[:, 2] = -6.5 + _noise_course(n, 0.7, 2.0, rng) * 0.02
    elif world.kind == "drone":
        yaw = _smooth_steps(n, rng, (0.5, 3.0), 40 * deg * s, (0.8, 3.0), 6.0)
        pitch, roll = band(0.1, 0.6, 7), band(0.1, 0.6, 7)
        pitch, roll = pitch + band(20, 60, 0.04), roll + band(20, 60, 0.04)
        half = SCENES[world.scene][0]
        p[:, 0] = 0.4 * half[0] * _noise_course(n, 0.03, 0.15, rng) / 3.0
        p[:, 1] = 0.4 * half[1] * _noise_course(n, 0.03, 0.15, rng) / 3.0
    elif world.kind == "arm":
        yaw, pitch, roll = (
            _smooth_steps(n, rng, (0.0, 0.6), 20 * deg * s, (0.5, 1.6), 0.8) for _ in range(3)
        )
        pitch = pitch + 0.5
        for k in range(3):
            p[:, k] = _smooth_steps(n, rng, (0.0, 0.6), 0.12, (0.5, 1.6), 0.35)
    elif world.kind == "pan":
        yaw = _smooth_steps(n, rng, (0.5, 2.0), 50 * deg * s, (2.0, 6.0), 3.0)
        pitch, roll = band(0.1, 1.0, 0.2), band(0.1, 1.0, 0.1)
    else:
        yaw, pitch, roll = band(0.5, 15, 0.01), band(0.5, 15, 0.02), band(0.5, 15, 0.02)
        p[:, 2] = -SCENES[world.scene][0][2] + 1.5
    rotation = Rotation.from_euler("ZYX", np.stack((yaw, pitch, roll), axis=1))
    return t, rotation, p


def _make_texture(rng: np.random.Generator, plain: float) -> list[NDArray[np.uint8]]:
    """Return a tile of random texture at halving resolutions."""
    h, w = TILE
    fy, fx = np.fft.fftfreq(h)[:, None], np.fft.rfftfreq(w)[None]
    spectrum = np.fft.rfft2(rng.normal(size=(h, w)).astype(np.float32))
    spectrum /= np.maximum(np.hypot(fy, fx), 1.0 / w) ** float(rng.uniform(0.9, 1.4))
    tile = np.fft.irfft2(spectrum, s=(h, w))
    tile = 110.0 + float(rng.uniform(15, 40)) * tile / tile.std()
    for _ in range(int(rng.integers(60, 400))):
        y, x = int(rng.integers(h)), int(rng.integers(w))
        sy, sx = int(np.exp(rng.uniform(2.5, 5.8))), int(np.exp(rng.uniform(2.5, 5.8)))
        block = tile[y : y + sy, x : x + sx]
        block[...] = float(rng.uniform(15, 240)) + 0.2 * (block - 110.0)
    if plain:
        smooth = np.fft.irfft2(
            np.fft.rfft2(rng.normal(size=(h, w))) * np.exp(-((fx**2 + fy**2) * 400.0**2)), s=(h, w)
        )
        bare = smooth > np.quantile(smooth, 1.0 - plain)
        tile[bare] = 130.0 + 0.06 * (tile[bare] - 130.0)
    tile = np.clip(tile, 0, 255).astype(np.uint8)
    levels = [tile]
    for _ in range(N_LEVELS - 1):
        last = levels[-1]
        levels.append(cv2.resize(last, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA))
    return levels


@dataclass(slots=True)
class Scene:
    """A box with textured walls, and spheres."""

    half: Floats
    texel: float
    atlas: NDArray[np.uint8]
    centres: Floats  # of spheres at time 0
    speeds: Floats
    radii: Floats
    shade: Floats

    def look(
        self, position: Floats, rays: Floats, at_s: float, pixel_rad: float
    ) -> NDArray[np.float32]:
        """Return what rays (n, 3) in world axes see."""
        d = rays.astype(np.float32)
        d = np.where(np.abs(d) < 1e-6, np.float32(1e-6), d)
        wall = np.where(d > 0, self.half.astype(np.float32), -self.half.astype(np.float32))
        reach = (wall - position.astype(np.float32)) / d
        axis = np.argmin(reach, axis=1)
        t = reach[np.arange(d.shape[0]), axis]
        hit = position.astype(np.float32) + t[:, None] * d
        u = np.where(axis == 0, hit[:, 1], hit[:, 0])
        v = np.where(axis == 2, hit[:, 1], hit[:, 2])
        facing = np.abs(d[np.arange(d.shape[0]), axis])
        level = np.log2(
            np.maximum(t * pixel_rad / self.texel / np.sqrt(np.maximum(facing, 0.02)), 1.0)
        )
        level = np.minimum(level, N_LEVELS - 1.001)
        face = 2 * axis + (d[np.arange(d.shape[0]), axis] > 0)
        low = level.astype(np.int32)
        part = level - low
        one = self._tile(face, low, u, v)
        out = one + (self._tile(face, low + 1, u, v) - one) * part
        for centre, speed, radius, shade in zip(
            self.centres, self.speeds, self.radii, self.shade, strict=True
        ):
            c = centre + speed * at_s - position
            b = d @ c.astype(np.float32)
            square = b**2 - (c @ c - radius**2)
            near = np.where(square > 0, b - np.sqrt(np.maximum(square, 0)), -1)
            seen = (square > 0) & (near > 0.05) & (near < t)
            if seen.any():
                normal = (near[seen, None] * d[seen] - c) / radius
                pattern = (
                    np.sin(9 * normal[:, 0] + 3 * shade)
                    * np.sin(7 * normal[:, 2])
                    * np.sin(5 * normal[:, 1] + shade)
                )
                out[seen] = 110 + 70 * pattern + 25 * normal[:, 2]
                t = np.where(seen, near, t)
        return out

    def _tile(self, face: Any, level: Any, u: Floats, v: Floats) -> NDArray[np.float32]:
        size = np.float32(1.0) / (1 << level).astype(np.float32)
        scale = size / np.float32(self.texel)
        h, w = TILE[0] * size, TILE[1] * size
        x = np.mod(u * scale - 0.5, w - 1) + TILE[1] * 2 * (1 - size)
        y = np.mod(v * scale - 0.5, h - 1) + face * TILE[0]
        n, wide = x.size, 1024
        rows = -(-n // wide)
        mx, my = np.zeros(rows * wide, np.float32), np.zeros(rows * wide, np.float32)
        mx[:n], my[:n] = x, y
        got = cv2.remap(
            self.atlas, mx.reshape(rows, wide), my.reshape(rows, wide), cv2.INTER_LINEAR
        )
        return got.reshape(-1)[:n].astype(np.float32)


def _make_atlas(rng: np.random.Generator, plain: float) -> NDArray[np.uint8]:
    atlas = np.zeros((6 * TILE[0], 2 * TILE[1]), np.uint8)
    for face in range(6):
        x = 0
        for tile in _make_texture(rng, plain):
            h, w = tile.shape
            atlas[face * TILE[0] : face * TILE[0] + h, x : x + w] = tile
            x += w
    return atlas


def _make_scene(world: MotionWorld, rng: np.random.Generator) -> Scene:
    half, texel = SCENES[world.scene]
    n = world.n_objects
    size = {"room": 0.25, "table": 0.06, "hall": 0.4, "street": 1.2, "yard": 1.0}[world.scene]
    reach = np.minimum(np.array(half), np.array([30.0, 12.0, 4.0])) * 0.8
    centres = rng.uniform(-1, 1, (n, 3)) * reach
    speeds = rng.normal(0, 1, (n, 3)) * size * np.array([2.0, 2.0, 0.1])
    if world.kind == "drive":
        centres[:, 0] += -200.0 + rng.uniform(10, 40, n)
        speeds[:, 0] = rng.normal(11, 4, n)
        centres[:, 1] = rng.choice([-4.0, 0.0, 4.0, 7.0], n)
        centres[:, 2] = -7.0
        speeds[:, 1:] = 0
    return Scene(
        half=np.array(half),
        texel=texel,
        atlas=_make_atlas(rng, world.plain),
        centres=centres,
        speeds=speeds,
        radii=rng.uniform(0.6, 1.4, n) * size,
        shade=rng.uniform(0, 6, n),
    )


def _overlay(
    image: Singles, camera: Camera, true_s: float, still: dict[str, Any], rng: np.random.Generator
) -> None:
    h, w = image.shape
    for name in camera.overlays:
        if name == "bonnet":
            mask, paint = still["bonnet"]
            image[mask] = paint[mask]
        elif name == "dirt":
            image *= still["dirt"]
        elif name == "reflection":
            image += still["reflection"]
        elif name == "rain":
            for _ in range(int(0.0004 * h * w) + 5):
                x, y = int(rng.integers(w)), int(rng.integers(h))
                image[y : y + int(rng.integers(4, 14)), x : x + 1] += 30
        elif name == "wiper":
            angle = 1.2 * np.sin(2 * np.pi * 0.8 * true_s)
            end = (int(w / 2 + 0.9 * h * np.sin(angle)), int(h - 0.9 * h * np.cos(angle)))
            cv2.line(image, (w // 2, h), end, 15.0, max(2, h // 40))
    if "text" in camera.overlays:
        mask = np.zeros((h, w), np.uint8)
        cv2.putText(
            mask,
            f"{true_s:09.3f} CAM1",
            (5, h - 8),
            cv2.FONT_HERSHEY_SIMPLEX,
            0.5 * h / 240,
            255,
            1,
        )
        image[mask > 100] = 250.0


def _still_overlays(camera: Camera, rng: np.random.Generator) -> dict[str, Any]:
    h, w = camera.lens.height, camera.lens.width
    v, u = np.mgrid[:h, :w]
    line = h * (float(rng.uniform(0.75, 0.88)) + 0.1 * ((u - w / 2) / w) ** 2)
    paint = 60 + 20 * np.sin(u / w * 3) + rng.normal(0, 1, (h, w)) * 3
    dirt = 1 - 0.6 * np.clip(gaussian_filter(rng.normal(size=(h, w)), 6) * 12 - 1.2, 0, 1)
    reflection = 25 * np.clip(gaussian_filter(rng.normal(size=(h, w)), 4) * 8, 0, 1.5)
    return {"bonnet": (v > line, paint), "dirt": dirt, "reflection": reflection}


def _frames_of(
    world: MotionWorld,
    camera: Camera,
    t: Floats,
    rotation: Rotation,
    p: Floats,
    scene: Scene,
    rng: np.random.Generator,
) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    """Yield the true time of the middle of the middle row's exposure, and the image."""
    lens = camera.lens
    rays = lens.rays().reshape(lens.height, lens.width, 3)
    slerp = Slerp(t, rotation)
    if camera.stabilised_s:
        vectors = rotation.as_quat()
        vectors *= np.sign(vectors @ vectors[0])[:, None]
        soft = uniform_filter1d(
            uniform_filter1d(vectors, int(camera.stabilised_s * GRID_HZ), axis=0),
            int(camera.stabilised_s * GRID_HZ),
            axis=0,
        )
        slerp = Slerp(t, Rotation.from_quat(soft))
    still = _still_overlays(camera, rng)
    n = int((world.duration_s - camera.phase_s) * camera.rate_hz)
    lost = (
        set(rng.choice(np.arange(5, n - 5), camera.lost, replace=False).tolist())
        if camera.lost
        else set()
    )
    late = np.random.default_rng([world.seed, 8]).standard_normal(n)
    gain = 1.0
    speed = np.linalg.norm((rotation[1:] * rotation[:-1].inv()).as_rotvec(), axis=1) * GRID_HZ
    v, u = np.mgrid[: lens.height, : lens.width]
    vignette = 1 - 0.35 * (((u / lens.width - 0.5) ** 2 + (v / lens.height - 0.5) ** 2) * 2)
    rows = np.arange(0, lens.height, SLICE_ROWS if camera.line_delay_s else lens.height)
    for k in range(n):
        due_s = camera.phase_s + k / camera.rate_hz
        middle_s = due_s + camera.uneven_s * float(late[k])
        image = np.zeros((lens.height, lens.width), np.float32)
        near = int(np.clip((middle_s - t[0]) * GRID_HZ, 0, speed.size - 1))
        blur_px = speed[near] * camera.exposure_s * lens.focal_px
        n_blur = int(np.clip(round(0.7 * blur_px), 1, 3))
        for first in rows.tolist():
            stop = min(first + (SLICE_ROWS if camera.line_delay_s else lens.height), lens.height)
            row_s = (
                middle_s
                + (0.5 * (first + stop - 1) - 0.5 * (lens.height - 1)) * camera.line_delay_s
            )
            for j in range(n_blur):
                at_s = row_s + ((j + 0.5) / n_blur - 0.5) * camera.exposure_s
                pose = slerp([at_s])[0] * camera.mount
                own_rays = rays[first:stop].reshape(-1, 3)
                if camera.line_delay_s:
                    # Rows of a slice: the rotation goes on within it.
                    apart = (
                        np.arange(first, stop) - 0.5 * (first + stop - 1)
                    ) * camera.line_delay_s
                    turn = (
                        slerp([at_s + 5e-4])[0] * slerp([at_s - 5e-4])[0].inv()
                    ).as_rotvec() * 1e3
                    world_rays = pose.apply(own_rays).reshape(stop - first, -1, 3)
                    world_rays = world_rays + np.cross(
                        turn[None, None] * apart[:, None, None], world_rays
                    )
                    world_rays = world_rays.reshape(-1, 3)
                else:
                    world_rays = pose.apply(own_rays)
                at = int((at_s - t[0]) * GRID_HZ)
                seen = scene.look(p[at], world_rays, at_s, 1.0 / lens.focal_px)
                image[first:stop] += seen.reshape(stop - first, lens.width) / n_blur
        level = image.mean()
        if camera.auto_exposure:
            gain += 0.2 * (115.0 / max(level * gain, 1.0) - 1.0) * gain
        image = 125 + (image * gain - 125) * camera.contrast
        image *= vignette
        if camera.flicker:
            row_s = (
                middle_s + (np.arange(lens.height) - 0.5 * (lens.height - 1)) * camera.line_delay_s
            )
            image *= (1 + camera.flicker * np.sin(2 * np.pi * 100.0 * row_s))[:, None]
        _overlay(image, camera, middle_s, still, rng)
        if camera.gamma != 1.0:
            image = 255 * (np.clip(image, 0, 255) / 255) ** (1 / 1.3)
        image += rng.normal(0, 1, image.shape).astype(np.float32) * camera.noise
        if k not in lost:
            yield due_s, np.clip(image, 0, 255).astype(np.uint8)


def _write_video(
    path: Path, camera: Camera, frames: Iterator[tuple[float, NDArray[np.uint8]]]
) -> Floats:
    times = []
    with av.open(str(path), "w") as container:
        stream = container.add_stream(
            camera.codec, rate=Fraction(camera.rate_hz).limit_denominator(1001)
        )
        stream.width, stream.height = camera.lens.width, camera.lens.height
        stream.pix_fmt = "yuvj420p" if camera.codec == "mjpeg" else "yuv420p"
        if camera.codec == "mjpeg":
            stream.options = {"qscale": "4", "q": "4"}
            stream.bit_rate = 6_000_000
        else:
            stream.options = {"crf": str(camera.crf), "preset": "veryfast"}
            if camera.codec == "libx265":
                stream.options["x265-params"] = "log-level=none"
        for middle_s, image in frames:
            times.append(middle_s)
            for packet in stream.encode(
                av.VideoFrame.from_ndarray(cv2.cvtColor(image, cv2.COLOR_GRAY2RGB), format="rgb24")
            ):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return np.array(times)


def _write_table(
    path: Path, names: list[str], stamps_s: Floats, values: Floats | None = None
) -> None:
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["timestamp_ns", *names])
        for k, stamp in enumerate(np.rint(stamps_s * 1e9).astype(np.int64).tolist()):
            out.writerow(
                [stamp + EPOCH_NS, *([] if values is None else [f"{x:.7g}" for x in values[k]])]
            )


def render_world(world: MotionWorld, folder: Path) -> None:
    """Write the files of a recording and its manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng([world.seed, 7])
    t, rotation, p = _body_motion(world, rng)
    scene = _make_scene(world, rng)
    middle = 0.5 * world.duration_s
    sources: Row = {}
    for camera in world.cameras:
        true_s = _write_video(
            folder / f"{camera.name}.mp4",
            camera,
            _frames_of(world, camera, t, rotation, p, scene, rng),
        )
        readout = camera.line_delay_s * (camera.lens.height - 1)
        marked = true_s + {
            "mid_exposure_mid_row": 0.0,
            "start_of_frame": -0.5,
            "end_of_frame": 0.5,
        }[camera.stamp_at] * (readout + camera.exposure_s)
        stamps = (
            DrawnClock(camera.offset_s, camera.drift_ppm, middle).stamps_s(marked)
            + rng.normal(0, 1, true_s.size) * camera.jitter_s
        )
        _write_table(folder / f"{camera.name}.csv", [], stamps)
        spec: Row = {
            "kind": "camera",
            "uri": f"{camera.name}.mp4",
            "timestamps": f"{camera.name}.csv",
        }
        if camera.states_timing:
            spec |= {
                "stamp_at": camera.stamp_at,
                "line_delay_s": camera.line_delay_s,
                "exposure_s": camera.exposure_s,
            }
        if camera.states_focal:
            spec["focal_px"] = camera.lens.focal_px
        sources[camera.name] = spec
    if world.has_imu:
        _write_imu(world, folder / "imu.csv", t, rotation, p)
        sources["imu"] = {"kind": "imu", "uri": "imu.csv"}
    if world.bus is not None:
        columns = _write_bus(world, world.bus, folder / "bus.csv", t, rotation, p)
        signals = {name: name for name in columns}
        sources["bus"] = {"kind": "can", "uri": "bus.csv", "signals": signals}
    reference = "imu" if world.bus is None else "bus"
    row = {"clip_id": f"w{world.seed}", "reference": reference, "sources": sources}
    (folder / "manifest.jsonl").write_text(json.dumps(row) + "\n")


def _write_imu(world: MotionWorld, path: Path, t: Floats, rotation: Rotation, p: Floats) -> None:
    """Write what an IMU on the body measures, or one on a body that moves by itself."""
    rng = np.random.default_rng([world.seed, 8])
    if world.is_stranger:
        t, rotation, p = _body_motion(world, np.random.default_rng([world.seed, 99]))
    rate = (rotation[:-1].inv() * rotation[1:]).as_rotvec() * GRID_HZ
    force = np.gradient(np.gradient(p, axis=0), axis=0) * GRID_HZ**2 + np.array([0, 0, 9.81])
    at_s = np.arange(0.0, world.duration_s, 1.0 / world.imu_hz)
    gyro = _sampled(world, at_s, t[:-1] + 0.5 / GRID_HZ, rate)
    gyro = gyro * rng.normal(1, 0.005, 3) + rng.normal(0, 0.01, 3)
    std = np.radians(world.gyro_noise) * np.sqrt(0.5 * world.imu_hz)
    gyro = np.round((gyro + rng.normal(0, std, gyro.shape)) / 1.06e-3) * 1.06e-3
    names, values = ["gyro_x", "gyro_y", "gyro_z"], gyro
    if world.has_accelerometer:
        accel = _sampled(world, at_s, t, rotation.inv().apply(force))
        names += ["accel_x", "accel_y", "accel_z"]
        values = np.hstack((gyro, accel + rng.normal(0, 0.03, accel.shape)))
    clock = DrawnClock(world.imu_offset_s, world.imu_drift_ppm, 0.5 * world.duration_s)
    _write_table(path, names, clock.stamps_s(at_s), values)


def _write_bus(
    world: MotionWorld, bus: Bus, path: Path, t: Floats, rotation: Rotation, p: Floats
) -> list[str]:
    """Write what the control units of a vehicle send, in messages of their own, or another's.

    Returns the names of the columns. Filters have no latency here: it would be part of the clock.
    """
    rng = np.random.default_rng([world.seed, 9])
    if world.is_stranger:
        t, rotation, p = _body_motion(world, np.random.default_rng([world.seed, 99]))
    rate = (rotation[:-1].inv() * rotation[1:]).as_rotvec()[:, 2] * GRID_HZ
    yaw_rate = np.interp(t, t[:-1] + 0.5 / GRID_HZ, rate)
    velocity = np.gradient(p, axis=0) * GRID_HZ
    ahead = rotation.apply([1.0, 0.0, 0.0])
    speed = np.sum(velocity * ahead, axis=1)
    # Steering leads the yaw rate by what the tyres take, and grows with it over the speed.
    steering = 2.8 * 15.0 * np.roll(yaw_rate, -80) / np.maximum(speed, 2.0)
    channels = {
        "yaw_rate": (bus.yaw_hz, yaw_rate, np.radians(bus.yaw_step), np.radians(0.05)),
        "speed": (bus.speed_hz, speed, bus.speed_step / 3.6, 0.02),
    }
    if bus.steering_step is not None:
        channels["steering_angle"] = (bus.yaw_hz, steering, np.radians(bus.steering_step), 1e-4)
    if bus.has_lateral:
        force = yaw_rate * speed + 9.81 * rotation.as_matrix()[:, 2, 1]
        channels["lateral_accel"] = (bus.yaw_hz, force, 0.02, 0.03)
    clock = DrawnClock(bus.offset_s, bus.drift_ppm, 0.5 * world.duration_s)
    filter_ = butter(2, bus.filter_hz, fs=GRID_HZ, output="sos")
    rows = []
    for column, (rate_hz, values, step, noise) in enumerate(channels.values()):
        at_s = np.arange(float(rng.uniform(0.0, 1.0 / rate_hz)), world.duration_s, 1.0 / rate_hz)
        smooth = sosfiltfilt(filter_, values + rng.normal(0.0, noise * 5.0, values.size))
        sent = np.round(np.interp(at_s, t, smooth) / step) * step
        stamps_s = clock.stamps_s(at_s)
        # Arbitration and the logger only delay: a frame waits for others, never comes early.
        stamps_s = np.sort(stamps_s + rng.exponential(bus.jitter_s, at_s.size) - bus.jitter_s)
        rows += [(stamp, column, value) for stamp, value in zip(stamps_s, sent, strict=True)]
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["timestamp_ns", *channels])
        for stamp, column, value in sorted(rows):
            cells = [""] * len(channels)
            cells[column] = f"{value:.7g}"
            out.writerow([round(stamp * 1e9) + EPOCH_NS, *cells])
    return list(channels)


def _sampled(world: MotionWorld, at_s: Floats, t: Floats, values: Floats) -> Floats:
    """Return values as the sensor's axes sample them: means over a sample's time."""
    mean = uniform_filter1d(values, max(1, round(GRID_HZ / world.imu_hz)), axis=0)
    sampled = np.stack([np.interp(at_s, t, mean[:, k]) for k in range(3)], axis=1)
    return np.asarray(world.imu_mount.inv().apply(sampled))
