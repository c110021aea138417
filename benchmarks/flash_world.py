"""A renderer of its own for recordings with lights: texture, optics, light, noise and encoder.

It shares no code with `syncaudit.simulate`, so that a detector cannot be tuned to one of them.
Linear light is summed, the tone curve and the noise come after it. Every row of a frame receives
the light between the start and the end of its own exposure, exactly (integrals in closed form).
"""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from numpy.typing import NDArray
from syncaudit_calibration.plan import LightKind, PlannedCamera, choose_train
from worlds import DrawnClock

Floats = NDArray[np.float64]

EPOCH_NS = 1_750_000_000_000_000_000
NOISE_FRAMES = 5
LIGHTS = ("speedlight", "xenon", "led", "torch", "switch", "strobe")


@dataclass(frozen=True, slots=True, kw_only=True)
class LightSource:
    """A light that goes on and off: onsets and lengths in true seconds.

    `rise_s` is how long it takes to full power (and back); a `tail_s` above 0 means a discharge
    that decays instead (xenon).
    """

    kind: str
    onset_s: tuple[float, ...]
    length_s: tuple[float, ...]
    rise_s: float = 0.0
    tail_s: float = 0.0

    def dose(self, t: Floats, tilt: float = 0.0) -> Floats:
        """Return the light emitted until the instants `t`, in seconds at full power.

        A rise is by this share slower at first, and faster at last, than in its middle.
        """
        total = np.zeros_like(t)
        for onset, length in zip(self.onset_s, self.length_s, strict=True):
            since = t - onset
            if self.tail_s:
                total += self.tail_s * -np.expm1(-np.maximum(since, 0.0) / self.tail_s)
            elif self.rise_s:
                r = self.rise_s
                total += (_ramp(since) - _ramp(since - r)) / r + tilt * _tilted(since, r)
                since -= length
                total -= (_ramp(since) - _ramp(since - r)) / r + tilt * _tilted(since, r)
            else:
                total += np.clip(since, 0.0, length)
        return total


def _ramp(t: Floats) -> Floats:
    """Return the integral of max(t, 0)."""
    return 0.5 * np.maximum(t, 0.0) ** 2


def _tilted(t: Floats, rise_s: float) -> Floats:
    """Return the integral of x * x - x, x from 0 to 1 in the time of a rise."""
    x = np.clip(t / rise_s, 0.0, 1.0)
    return rise_s * (x**3 / 3.0 - x**2 / 2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneCamera:
    """One camera: timing, optics, scene and encoder."""

    name: str
    width: int
    height: int
    fps: float
    phase_s: float
    exposure_s: float
    line_delay_s: float
    offset_s: float  # what its stamps lack of true time
    drift_ppm: float
    stamp_jitter_s: float
    is_stated: bool  # whether the manifest states exposure and line delay, but for `leaves_out`
    ambient: float  # linear level of the scene, of full well
    flash: float  # linear level a full exposure to the light adds, of full well
    noise: float  # read noise in grey levels
    shake_px: float
    pan_px_s: float
    walkers: int
    screen_hz: float  # 0: none
    has_auto_exposure: bool
    is_color: bool
    crf: int
    gop: int
    # A screen that flashes fills these shares of the image (top, left, height, width).
    filmed: tuple[float, float, float, float] | None = None
    # Where the line that is read next lies in the stored images.
    scan: str = "down"
    stamp_at: str = "mid_exposure_mid_row"
    leaves_out: str = ""
    # What it sees is lit by the top of a screen more than by its bottom (below 0), by this share.
    tilt: float = 0.0

    @property
    def filmed_px(self) -> tuple[int, int, int, int]:
        """Return top, left, height and width of the filmed screen, in pixels."""
        top, left, tall, wide = self.filmed or (0.0, 0.0, 0.0, 0.0)
        h, w = self.height, self.width
        return int(top * h), int(left * w), int(tall * h), int(wide * w)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A recording: its light, its cameras, and whether the light's trigger was logged."""

    seed: int
    duration_s: float
    light: LightSource
    cameras: tuple[SceneCamera, ...]
    has_trigger: bool
    trigger_offset_s: float


def draw_world(seed: int, *, light: str | None = None, duration_s: float = 30.0) -> World:
    """Return a recording drawn at random over what people have.

    Parameters
    ----------
    seed : int
        Everything follows from it.
    light : str, optional
        One of `LIGHTS`; default: by the seed.
    duration_s : float
        Length of the recording.
    """
    rng = np.random.default_rng([seed, 77])
    kind = light or LIGHTS[seed % len(LIGHTS)]
    source = _draw_light(rng, kind, duration_s)
    is_global = rng.random() < 0.2
    size = [(320, 240), (640, 480), (640, 480), (1280, 720)][rng.integers(4)]
    fps = float(rng.choice([10, 12, 15, 20, 25, 30, 50, 60]))
    n = int(rng.integers(2, 9))
    # A recording of a laptop's benchmark: as many pixels as six such cameras at 12 Hz have.
    while n > 2 and n * fps * size[0] * size[1] > 8 * 12 * 640 * 480:
        n -= 1
    while n * fps * size[0] * size[1] > 10 * 12 * 640 * 480 and size[1] > 240:
        size = (320, 240) if size[1] == 480 else (640, 480)
    cameras = tuple(_draw_camera(rng, k, size, fps, is_global) for k in range(n))
    return World(
        seed=seed,
        duration_s=duration_s,
        light=source,
        cameras=cameras,
        has_trigger=bool(rng.random() < 0.6),
        trigger_offset_s=float(rng.uniform(-0.3, 0.3)),
    )


def _issue_world(
    seed: int, *, length_s: float, exposure_s: float, line_delay_s: float, gap: tuple[float, float]
) -> World:
    """Return six cameras of 640x480 at 12 Hz around a parked, shaking vehicle."""
    rng = np.random.default_rng([seed, 78])
    onsets, t = [], 0.8
    while t < 29.0:
        onsets.append(t)
        t += length_s + float(rng.uniform(*gap))
    cameras = tuple(
        SceneCamera(
            name=f"cam{k}",
            width=640,
            height=480,
            fps=12.0,
            phase_s=float(rng.uniform(0, 1 / 12)),
            exposure_s=exposure_s,
            line_delay_s=line_delay_s,
            offset_s=float(rng.uniform(-0.4, 0.4)),
            drift_ppm=float(rng.uniform(-40, 40)),
            stamp_jitter_s=2e-5,
            is_stated=True,
            ambient=0.15,
            flash=0.12,
            noise=1.0,
            shake_px=0.7,
            pan_px_s=0.0,
            walkers=0,
            screen_hz=0.0,
            has_auto_exposure=False,
            is_color=True,
            crf=23,
            gop=12,
        )
        for k in range(6)
    )
    return World(
        seed=seed,
        duration_s=30.0,
        light=LightSource(
            kind=f"{1e3 * length_s:.0f} ms",
            onset_s=tuple(onsets),
            length_s=(length_s,) * len(onsets),
        ),
        cameras=cameras,
        has_trigger=True,
        trigger_offset_s=float(rng.uniform(-0.3, 0.3)),
    )


def pulses_of_4_ms(seed: int) -> World:
    """Return bands of soft edges: the first recordings of the issue."""
    return _issue_world(
        seed, length_s=0.004, exposure_s=0.008, line_delay_s=25e-6, gap=(0.35, 1.45)
    )


def pulses_of_30_ms(seed: int) -> World:
    """Return pulses that light most frames wholly: the second recordings of the issue."""
    return _issue_world(
        seed, length_s=0.030, exposure_s=0.002, line_delay_s=15e-6, gap=(0.25, 0.75)
    )


# A screen's rows light one after the other, each within some milliseconds; what cameras see is lit
# by its ends more or less than by its middle by this share, one sigma.
SCAN_S, RESPONSE_S = 0.0153, 0.004
TILT = 0.2


def _screen_world(seed: int, *, n_filming: int) -> World:
    """Return cameras of several rates that a sync video lights; the first `n_filming` film it."""
    rng, tilts = np.random.default_rng([seed, 79]), np.random.default_rng([seed, 80])
    cameras = []
    for k in range(4):
        fps = float(rng.choice([12, 24, 25, 30, 50]))
        camera = _draw_camera(rng, k, (640, 480), fps, False)
        tall, wide = rng.uniform(0.4, 0.9, 2)
        place = (rng.uniform(0, 1 - tall), rng.uniform(0, 1 - wide), tall, wide)
        filmed = tuple(float(value) for value in place) if k < n_filming else None
        tilt = float(np.clip(tilts.normal(0.0, TILT), -1.0, 1.0)) * (filmed is None)
        cameras.append(replace(camera, screen_hz=0.0, is_stated=True, filmed=filmed, tilt=tilt))
    planned = [
        PlannedCamera(
            rate_hz=Fraction(int(camera.fps)),
            readout_s=camera.line_delay_s * (camera.height - 1),
            exposure_s=camera.exposure_s,
        )
        for camera in cameras
    ]
    train = choose_train(planned, LightKind.SCREEN, duration_s=30.0, rng=rng)
    return World(
        seed=seed,
        duration_s=30.0,
        light=LightSource(
            kind=("screen on a wall", "screen filmed by one", "", "", "screen filmed")[n_filming],
            # Players begin when they like, and screens keep a rate of their own.
            onset_s=tuple((train.starts_s * (1 + rng.normal(0, 2e-5)) - 0.5).tolist()),
            length_s=(train.width_s,) * train.n,
            rise_s=SCAN_S,
        ),
        cameras=tuple(cameras),
        has_trigger=False,
        trigger_offset_s=0.0,
    )


def screen_on_a_wall(seed: int) -> World:
    """Return cameras that see what a screen lights."""
    return _screen_world(seed, n_filming=0)


def screen_filmed_by_one(seed: int) -> World:
    """Return cameras of which one has the screen in its image."""
    return _screen_world(seed, n_filming=1)


def screen_filmed(seed: int) -> World:
    """Return cameras that all have the screen in their images, each elsewhere."""
    return _screen_world(seed, n_filming=4)


RATES_HZ = (5, 8, 10, 15, 24, 30, 60, 90, 120)
SIZES = ((320, 240), (640, 480), (1280, 720), (1920, 1080), (3840, 2160))
MAX_PIXELS_S = 4.5e7


def many_kinds_of_cameras(seed: int) -> World:
    """Return cameras of rates, sizes and shutters of their own, as in rigs of several makers."""
    rng = np.random.default_rng([seed, 81])
    kind = LIGHTS[seed % len(LIGHTS)]
    light = _draw_light(rng, kind, 30.0)
    cameras = []
    for k in range(int(rng.integers(2, 5))):
        fps, size = float(rng.choice(RATES_HZ)), SIZES[rng.integers(len(SIZES))]
        while fps * size[0] * size[1] > MAX_PIXELS_S:
            size = SIZES[SIZES.index(size) - 1]
        cameras.append(_draw_camera(rng, k, size, fps, bool(rng.random() < 0.25)))
    return World(
        seed=seed,
        duration_s=30.0,
        light=light,
        cameras=tuple(cameras),
        has_trigger=bool(rng.random() < 0.6),
        trigger_offset_s=float(rng.uniform(-0.3, 0.3)),
    )


ISSUE_WORLDS = {
    "4ms": pulses_of_4_ms,
    "30ms": pulses_of_30_ms,
    "wall": screen_on_a_wall,
    "one": screen_filmed_by_one,
    "filmed": screen_filmed,
    "kinds": many_kinds_of_cameras,
}
"""The recordings on which no camera was calibrated before, those of a sync video, mixed rigs."""


def _draw_light(rng: np.random.Generator, kind: str, duration_s: float) -> LightSource:
    shortest, longest, gap = {
        "speedlight": (5e-5, 2e-3, (0.35, 1.45)),
        "xenon": (5e-4, 2e-3, (0.35, 1.45)),
        "led": (3e-3, 0.06, (0.3, 1.2)),
        "torch": (0.1, 1.0, (0.3, 1.6)),
        "switch": (0.5, 2.0, (0.5, 2.0)),
        "strobe": (1e-3, 6e-3, (0.05, 0.35)),
    }[kind]
    length = float(np.exp(rng.uniform(np.log(shortest), np.log(longest))))
    by_hand = kind in ("torch", "switch")
    onsets, lengths, t = [], [], 1.0
    while True:
        width = float(rng.uniform(shortest, longest)) if by_hand else length
        if t + width > duration_s - 1.0:
            break
        onsets.append(t)
        lengths.append(width)
        t += width + rng.uniform(*gap)
    return LightSource(
        kind=kind,
        onset_s=tuple(onsets),
        length_s=tuple(lengths),
        rise_s=float(rng.choice([0.0, 2e-5, 2e-4])) if kind != "xenon" else 0.0,
        tail_s=length if kind == "xenon" else 0.0,
    )


def _draw_camera(
    rng: np.random.Generator, k: int, size: tuple[int, int], fps: float, is_global: bool
) -> SceneCamera:
    period_s = 1.0 / fps
    exposure_s = float(np.exp(rng.uniform(np.log(5e-4), np.log(min(0.015, 0.8 * period_s)))))
    readout_s = float(rng.uniform(0.25, 0.95) * min(period_s, 0.03))
    return SceneCamera(
        name=f"cam{k}",
        width=size[0],
        height=size[1],
        fps=fps,
        phase_s=float(rng.uniform(0, period_s)),
        exposure_s=exposure_s,
        line_delay_s=0.0 if is_global else readout_s / size[1],
        offset_s=float(rng.uniform(-0.4, 0.4)),
        drift_ppm=float(rng.uniform(-40, 40)),
        stamp_jitter_s=float(rng.choice([5e-6, 2e-5, 5e-5])),
        is_stated=bool(rng.random() < 0.8),
        ambient=float(rng.uniform(0.03, 0.25)),
        flash=float(rng.uniform(0.08, 0.7)),
        noise=float(rng.uniform(0.5, 2.5)),
        shake_px=float(rng.choice([0.0, 0.0, 0.7, 2.0])),
        pan_px_s=float(rng.choice([0.0, 0.0, 0.0, 6.0])),
        walkers=int(rng.choice([0, 0, 1, 2])),
        screen_hz=float(rng.choice([0.0, 0.0, 50.0, 60.0])),
        has_auto_exposure=bool(rng.random() < 0.3),
        is_color=bool(rng.random() < 0.5),
        crf=int(rng.integers(18, 31)),
        gop=int(rng.choice([12, 30, 250])),
    )


def render_world(world: World, folder: Path) -> Path:
    """Write videos, stamps, trigger log, manifest and ``truth.json``; return the manifest.

    The truth holds per camera `offset_s` at `at_ns` of its own stamps, the flashes of which at
    least a tenth of full light reaches some row (`seen`), and everything drawn.
    """
    folder.mkdir(parents=True, exist_ok=True)
    at_s = 0.5 * world.duration_s
    sources: dict[str, object] = {}
    truth: dict[str, Any] = {"at_s": at_s, "epoch_ns": EPOCH_NS, "world": asdict(world), "seen": {}}
    for k, camera in enumerate(world.cameras):
        start_s = camera.phase_s + np.arange(int(world.duration_s * camera.fps)) / camera.fps
        rng = np.random.default_rng([world.seed, 1000 + k])
        _write_video(camera, world.light, start_s, folder / f"{camera.name}.mp4", rng)
        # First row's start of exposure, middle row's middle, last row's end.
        part = {"start_of_frame": 0.0, "mid_exposure_mid_row": 0.5, "end_of_frame": 1.0}
        frame_s = camera.exposure_s + (camera.height - 1) * camera.line_delay_s
        stamped_s = start_s + part[camera.stamp_at] * frame_s
        jitter = rng.normal(0.0, camera.stamp_jitter_s, stamped_s.size)
        clock = DrawnClock(camera.offset_s, camera.drift_ppm, at_s)
        _write_stamps(folder / f"{camera.name}.csv", clock.stamps_s(stamped_s) + jitter)
        row: dict[str, object] = {
            "kind": "camera",
            "uri": f"{camera.name}.mp4",
            "timestamps": f"{camera.name}.csv",
            "stamp_at": camera.stamp_at,
        }
        if camera.is_stated:
            row |= {"line_delay_s": camera.line_delay_s, "exposure_s": camera.exposure_s}
        row.pop(camera.leaves_out, None)
        if camera.line_delay_s == 0.0:
            row |= {"line_delay_s": 0.0}
        sources[camera.name] = row
        truth["seen"][camera.name] = _seen(camera, world.light, start_s)
    if world.has_trigger:
        onset = np.array(world.light.onset_s)
        _write_stamps(folder / "trigger.csv", onset - world.trigger_offset_s)
        sources["trigger"] = {"kind": "events", "uri": "trigger.csv"}
    manifest = folder / "manifest.jsonl"
    row = {"clip_id": f"world{world.seed}", "sources": sources}
    manifest.write_text(json.dumps(row) + "\n", encoding="utf-8")
    (folder / "truth.json").write_text(json.dumps(truth), encoding="utf-8")
    return manifest


def _write_stamps(path: Path, own_s: Floats) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["timestamp_ns"])
        writer.writerows([EPOCH_NS + round(1e9 * float(t))] for t in own_s)


def _light_of_rows(
    camera: SceneCamera, light: LightSource, start_s: Floats, late_s: Floats | float = 0.0
) -> Floats:
    """Return the share of full light that every row of every frame gets, shape (frames, rows).

    Light of some rows may be late by `late_s`.
    """
    begin = start_s[:, None] + camera.line_delay_s * np.arange(camera.height) - late_s
    end = begin + camera.exposure_s
    dose = light.dose(end, camera.tilt) - light.dose(begin, camera.tilt)
    return dose / camera.exposure_s


def _light_of_filmed(
    camera: SceneCamera, light: LightSource, start_s: Floats
) -> NDArray[np.float32]:
    """Return the share of its light that rows of a filmed screen show, shape (frames, rows)."""
    top, _, tall, _ = camera.filmed_px
    late_s = SCAN_S * (np.arange(camera.height) - top) / max(tall, 1)
    rows = replace(light, rise_s=RESPONSE_S)
    return _light_of_rows(camera, rows, start_s, late_s)[:, top : top + tall].astype(np.float32)


def _shown(share: Floats) -> Floats:
    """Return shares of light with 1 for the brightest: short flashes are as bright as needed."""
    return share / max(float(np.percentile(share.max(axis=1), 99.5)), 1e-3)


def _seen(camera: SceneCamera, light: LightSource, start_s: Floats) -> list[int]:
    """Return which flashes add a tenth of full light, and 5 levels or so, to some row."""
    seen = []
    share = _shown(_light_of_rows(camera, light, start_s))
    scale = share.max() / max(float(_light_of_rows(camera, light, start_s).max()), 1e-12)
    for number, (onset, length) in enumerate(zip(light.onset_s, light.length_s, strict=True)):
        single = LightSource(
            kind="", onset_s=(onset,), length_s=(length,), rise_s=light.rise_s, tail_s=light.tail_s
        )
        near = (start_s > onset - 0.2) & (start_s < onset + length + 0.2)
        share = scale * _light_of_rows(camera, single, start_s[near])
        is_strong = bool(share.size) and share.max() * camera.flash > 0.05
        if is_strong:
            seen.append(number)
    return seen


def _write_video(
    camera: SceneCamera, light: LightSource, start_s: Floats, path: Path, rng: np.random.Generator
) -> None:
    scene = _Scene(camera, rng)
    share = _shown(_light_of_rows(camera, light, start_s)).astype(np.float32)
    glow = _light_of_filmed(camera, light, start_s)
    gain = 1.0
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=round(camera.fps))
        stream.height, stream.width = _stored(np.empty((camera.height, camera.width)), camera).shape
        stream.pix_fmt = "yuv420p" if camera.is_color else "gray"
        stream.options = {"crf": str(camera.crf), "preset": "veryfast", "g": str(camera.gop)}
        stream.thread_count = 1
        for k, t in enumerate(start_s):
            linear = scene.linear(float(t), share[k], glow[k])
            grey = _stored(scene.exposed(linear * gain), camera)
            if camera.has_auto_exposure:
                gain *= (scene.target / max(float(linear.mean()) * gain, 1e-3)) ** 0.25
            if camera.is_color:
                tinted = np.stack([grey, grey, (0.9 * grey).astype(np.uint8)], axis=-1)
                frame = av.VideoFrame.from_ndarray(tinted, format="rgb24")
            else:
                frame = av.VideoFrame.from_ndarray(grey, format="gray")
            for packet in stream.encode(frame):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)


def _stored(image: NDArray[Any], camera: SceneCamera) -> NDArray[Any]:
    """Return an image as it is stored after a rotation by 0, 90, 180 or 270 degrees."""
    quarters = ("down", "right", "up", "left").index(camera.scan)
    return np.ascontiguousarray(np.rot90(image, quarters))


class _Scene:
    """What a camera looks at, and how it turns light into grey levels."""

    def __init__(self, camera: SceneCamera, rng: np.random.Generator) -> None:
        self.camera, self.rng = camera, rng
        h, w = camera.height, camera.width
        self.margin = 24 + int(abs(camera.pan_px_s) * 35)
        self.texture = _texture(rng, h + 48, w + 24 + self.margin)
        y, x = np.mgrid[0:h, 0:w].astype(np.float32)
        radius = np.hypot(y - h / 2, x - w / 2) / (0.5 * np.hypot(h, w))
        falloff = 1.0 / (1.0 + (0.5 * radius) ** 2) ** 2
        spot = np.array([rng.uniform(0, h), rng.uniform(0, w)])
        reach = rng.uniform(0.5, 1.5) * w
        pattern = 0.25 + 0.75 / (1.0 + ((y - spot[0]) ** 2 + (x - spot[1]) ** 2) / reach**2)
        self.ambient = (camera.ambient * falloff).astype(np.float32)
        self.light = (camera.flash * falloff * pattern / pattern.mean()).astype(np.float32)
        self.noise = [
            rng.normal(0.0, 1.0, (h + 16, w + 16)).astype(np.float32) for _ in range(NOISE_FRAMES)
        ]
        self.phases = rng.uniform(0, 2 * np.pi, 8)
        self.walkers = [
            (rng.uniform(0, w), rng.uniform(20, 90) * rng.choice([-1, 1]), rng.uniform(0.05, 0.8))
            for _ in range(camera.walkers)
        ]
        self.screen = (
            int(rng.uniform(0.1, 0.7) * h), int(rng.uniform(0.1, 0.7) * w), h // 6, w // 6
        )  # fmt: skip
        self.target = float((self.ambient * self.texture[:h, :w]).mean())

    def linear(
        self, t: float, share: NDArray[np.float32], filmed: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return the light that falls on the sensor, of full well."""
        camera, (p, q, *_) = self.camera, self.phases
        h, w = camera.height, camera.width
        sway = camera.shake_px * np.array([
            np.sin(2 * np.pi * 1.3 * t + p) + 0.6 * np.sin(2 * np.pi * 11.7 * t + q),
            0.7 * np.sin(2 * np.pi * 0.9 * t + q) + 0.4 * np.sin(2 * np.pi * 14.1 * t + p),
        ])  # fmt: skip
        shift_x = 12 + sway[0] + camera.pan_px_s * t
        matrix = np.array([[1, 0, -shift_x], [0, 1, -(12 + sway[1])]], dtype=np.float64)
        reflected = cv2.warpAffine(self.texture, matrix, (w, h), flags=cv2.INTER_LINEAR)
        for start, speed, level in self.walkers:
            x = int((start + speed * t) % (w + 60)) - 30
            left, right = max(0, x), max(0, min(w, x + w // 12))
            reflected[h // 3 :, left:right] = level * (0.7 + 0.3 * self.texture[: h - h // 3, :1])
        # A camera that films the screen sees little of what that lights.
        weight = 0.1 if camera.filmed else 1.0
        seen = reflected * (self.ambient + weight * self.light * share[:, None])
        if camera.filmed:
            top, left, tall, wide = camera.filmed_px
            seen[top : top + tall, left : left + wide] = 0.01 + camera.flash * filmed[:, None]
        if camera.screen_hz:
            top, left, tall, wide = self.screen
            rows = t + camera.line_delay_s * np.arange(top, top + tall)
            glow = 0.15 * (1.2 + np.sin(2 * np.pi * camera.screen_hz * rows))
            seen[top : top + tall, left : left + wide] = glow[:, None]
        return seen

    def exposed(self, linear: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return grey levels: shot and read noise, clipping, tone curve."""
        h, w = self.camera.height, self.camera.width
        y, x = self.rng.integers(0, 16, 2)
        noise = self.noise[self.rng.integers(NOISE_FRAMES)][y : y + h, x : x + w]
        level = np.clip(linear, 0.0, 1.0)
        electrons = np.sqrt(level / 8000.0) + 1e-4
        grey = 255.0 * np.sqrt(np.clip(level + electrons * noise, 0.0, 1.0))
        grey += self.camera.noise * np.roll(noise, 7, axis=1)
        return np.clip(grey + 0.5, 0, 255).astype(np.uint8)


def _texture(rng: np.random.Generator, h: int, w: int) -> NDArray[np.float32]:
    """Return reflectances of 0.05 to 0.95: noise of all scales, boxes, stripes and discs."""
    texture = np.zeros((h, w), np.float32)
    for scale in (4, 8, 16, 32, 64, 128):
        coarse = rng.normal(size=(h // scale + 3, w // scale + 3)).astype(np.float32)
        texture += scale**0.5 * cv2.resize(coarse, (w, h), interpolation=cv2.INTER_CUBIC)
    texture = 0.5 + 0.16 * texture / float(texture.std())
    for _ in range(30):
        y, x = int(rng.integers(h)), int(rng.integers(w))
        tall, wide = (int(v) for v in rng.integers(8, 120, 2))
        level = float(rng.uniform(0.05, 0.95))
        kind = rng.integers(3)
        if kind == 0:
            texture[y : y + tall, x : x + wide] = level
        elif kind == 1:
            texture[y : y + tall, x : x + wide : 6] = level
        else:
            cv2.circle(texture, (x, y), tall // 2, level, -1)
    return np.clip(texture, 0.05, 0.95)
