"""One episode of a robot cell as recorded, including faults."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d

from syncaudit.simulate.camera import CameraConfig
from syncaudit.simulate.sensor import Sensor

from .camera import ArmCamera
from .scene import Scene, SceneStyle, draw_scene
from .task import ArmCourse, TaskStyle, draw_course

Floats = NDArray[np.float64]

CAMERAS = ("wrist", "top")
# Servos with 4096 steps per turn; the gripper in tenths of a percent.
_TICKS = np.array([360.0 / 4096.0] * 5 + [0.1])


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentFault:
    """Errors between the content of a source and its timestamps."""

    late_s: float = 0.0  # age of the content when it is stamped
    drift_ppm: float = 0.0  # growth of `late_s` from the start
    dropped: tuple[int, ...] = ()  # frames that were lost while the counter kept running

    def content_s(self, n: int, fps: float) -> Floats:
        """Return the true times of the content of samples 0 to n-1."""
        index = np.arange(n, dtype=np.float64)
        for lost in sorted(self.dropped):
            index[index >= lost] += 1.0
        return np.asarray(index / fps * (1.0 - 1e-6 * self.drift_ppm) - self.late_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeConfig:
    """Configuration of an episode."""

    duration_s: float = 12.0
    fps: float = 30.0
    size_px: tuple[int, int] = (320, 240)
    cameras: tuple[str, ...] = CAMERAS  # members of `CAMERAS`
    # how the arm moves and what the scene looks like
    task: TaskStyle = field(default_factory=TaskStyle)
    scene: SceneStyle = field(default_factory=SceneStyle)
    encoder_late_s: float = 0.0  # age of the joints when they are stamped, not counting faults
    crf: int = 26  # quality of the videos
    light_step: float = 0.0  # relative change of the light in the middle of the episode
    # standard deviation of auto-exposure changes per frame of the wrist camera
    flicker: float = 0.0
    # faults of cameras, ``state`` and ``action``
    faults: Mapping[str, ContentFault] = field(default_factory=dict)

    @property
    def n_frames(self) -> int:
        """Frames of every camera, and rows of the table."""
        return round(self.duration_s * self.fps)

    def camera(self, name: str) -> CameraConfig:
        """Return lens, shutter and codec of a camera."""
        return CameraConfig(
            size_px=self.size_px,
            fov_deg=75.0 if name == "wrist" else 60.0,
            fps=self.fps,
            line_delay_s=0.007 / self.size_px[1],
            crf=self.crf,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Episode:
    """A recorded episode."""

    config: EpisodeConfig
    # shape (n, 6): joints in degrees, gripper in percent: actual values, and commands
    state: Floats
    action: Floats
    _course: ArmCourse
    _scene: Scene
    _hand: CubicSpline | None
    _seed: int

    def frames(self, name: str) -> Iterator[NDArray[np.uint8]]:
        """Yield the frames of a camera in file order."""
        config, camera = self.config, self.config.camera(name)
        rng = np.random.default_rng([self._seed, zlib.crc32(name.encode())])
        is_fixed = name != "wrist"
        view = ArmCamera(
            scene=self._scene,
            config=camera,
            joints=self._course.joints,
            hand=self._hand,
            stand_m=np.array([0.75, -0.55, 0.55]) if is_fixed else None,
            aim_m=np.array([0.2, 0.0, 0.1]) if is_fixed else None,
        )
        sensor = Sensor(camera, config.n_frames, rng)
        light = np.ones(config.n_frames)
        light[config.n_frames // 2 :] += config.light_step
        if not is_fixed:
            light += config.flicker * rng.standard_normal(config.n_frames)
        content_s = config.faults.get(name, ContentFault()).content_s(config.n_frames, config.fps)
        for index, time_s in enumerate(content_s.tolist()):
            ambient = np.full(camera.size_px[1], light[index])
            yield sensor.expose(view.render(time_s), index, ambient=ambient)


def record_episode(config: EpisodeConfig, seed: int) -> Episode:
    """Draw and record one episode; images are rendered on demand."""
    rng = np.random.default_rng([seed, 1])
    course = draw_course(config.duration_s, config.task, rng)
    scene = draw_scene(config.scene, rng)
    state_s = config.faults.get("state", ContentFault()).content_s(config.n_frames, config.fps)
    command_s = config.faults.get("action", ContentFault()).content_s(config.n_frames, config.fps)
    return Episode(
        config=config,
        state=_read(course.joints, state_s - config.encoder_late_s),
        action=_read(course.command, command_s),
        _course=course,
        _scene=scene,
        _hand=_wandering_hand(config.duration_s, rng) if config.scene.has_hand else None,
        _seed=seed,
    )


def _read(joints: CubicSpline, times_s: Floats) -> Floats:
    return np.asarray(np.rint(joints(times_s) / _TICKS) * _TICKS)


def _wandering_hand(duration_s: float, rng: np.random.Generator) -> CubicSpline:
    times_s = np.arange(-1.0, duration_s + 1.0, 0.05)
    noise = gaussian_filter1d(rng.standard_normal((times_s.size, 4)), 8.0, axis=0)
    noise /= noise.std(axis=0)
    middle, reach = np.array([0.42, -0.15, 0.1, 0.5]), np.array([0.06, 0.08, 0.03, 0.4])
    return CubicSpline(times_s, middle + reach * noise)
