"""Record a camera: rendered, lit and encoded frames, and their timestamps."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from .camera import CameraConfig
from .clocks import NS_PER_S, to_ns
from .draft import Draft, Written, write_table
from .encode import encode_frames
from .light import draw_falloff
from .motion import FloatArray
from .render import Renderer
from .sensor import Sensor
from .truth import LightTruth, ShutterTruth, Step
from .world import World

_MARGIN_PX = 48  # how far the image can move, beyond three degrees of a hand's sway


def write_camera(draft: Draft, name: str, camera: CameraConfig, world: World | None) -> Written:
    """Render and encode a camera's frames (unless `world` is None) and write its timestamps."""
    config = draft.config
    phase_s = draft.rng(f"{name} phase").uniform(0.0, 1.0 / camera.fps)
    if camera.phase_s is not None:
        phase_s = camera.phase_s
    captures_s = np.arange(phase_s, config.duration_s, 1 / camera.fps)
    is_recorded = ~camera.clock.is_in_gap(captures_s)
    encoded, stamped = camera.frames.apply(is_recorded)
    extension = {"images": "", "h264": ".mp4", "hevc": ".mp4", "mjpeg": ".mp4"}[camera.codec]
    if world is not None:
        frames = _frames(draft, name, camera, world, captures_s, encoded)
        encode_frames(frames, draft.folder / f"{name}{extension}", camera)
    clock = camera.clock.with_scatter(camera.stamp_jitter_s)
    stamps_ns = draft.stamps_ns(captures_s[stamped] + camera.stamp_shift_s, clock, camera.fps, name)
    stamps_ns = _resize(stamps_ns, camera.clock.n_rows_extra, round(NS_PER_S / camera.fps))
    write_table(draft.folder / f"{name}.csv", stamps_ns, {})
    row: dict[str, Any] = {
        "kind": "camera",
        "uri": f"{name}{extension}",
        "timestamps": f"{name}.csv",
        "stamp_at": camera.stamp_at,
    }
    if camera.is_line_delay_stated:
        row["line_delay_s"] = camera.line_delay_s
    if camera.is_exposure_stated:
        row["exposure_s"] = camera.exposure_s
    row["focal_px"] = round(camera.focal_px, 4)
    slips = _slips(draft, camera, captures_s, is_recorded)
    truth = draft.truth(
        "camera", clock, len(encoded), len(stamps_ns), frames=camera.frames, slips=slips
    )
    if LightTruth.of(config.flash) is not None:
        shutter = ShutterTruth.of(
            camera, captures_s[encoded], start_ns=config.start_ns, duration_s=config.duration_s
        )
        truth = replace(truth, shutter=shutter)
    return row, truth


def _frames(
    draft: Draft,
    name: str,
    camera: CameraConfig,
    world: World,
    captures_s: FloatArray,
    encoded: NDArray[np.int64],
) -> Iterator[NDArray[np.uint8]]:
    """Yield the frames of a file in order; a doubled frame is rendered only once."""
    config, light = draft.config, camera.light
    renderer = (StillRenderer if config.is_still else Renderer)(world, camera)
    flash, falloff = config.flash, None
    if flash is not None:
        falloff = draw_falloff(flash.falloff, camera.size_px[0], draft.rng(f"{name} falloff"))
    sensor = Sensor(camera, len(captures_s), draft.rng(f"{name} sensor"), falloff=falloff)
    pulses_s = light.seen(draft.pulses_s)
    index_before, frame = -1, np.zeros((0, 0), np.uint8)
    for position, index in enumerate(encoded.tolist()):
        if index != index_before:
            time_s = float(captures_s[index])
            rows_s = camera.row_times_s(time_s)
            frame = sensor.expose(
                renderer.render(time_s),
                index,
                flash.levels(pulses_s, rows_s, camera.exposure_s) if flash else None,
                ambient=light.ambient(rows_s, camera.exposure_s),
                glare=light.glare(rows_s, camera.size_px[::-1]),
            )
            index_before = index
        yield camera.frames.spoil(frame, position)


def _slips(
    draft: Draft, camera: CameraConfig, captures_s: FloatArray, is_recorded: NDArray[np.bool_]
) -> tuple[Step, ...]:
    """Return the clock steps equivalent to slipped frames: one frame period at each loss."""
    if camera.frames.drop_mode != "slip":
        return ()
    lost = [i for i in sorted(set(camera.frames.dropped)) if i < len(captures_s) and is_recorded[i]]
    times_ns = to_ns(captures_s[lost], draft.config.start_ns).tolist()
    return tuple(Step(at_ns=at_ns, by_s=1 / camera.fps) for at_ns in times_ns)


def _resize(stamps_ns: NDArray[np.int64], n_rows_extra: int, period_ns: int) -> NDArray[np.int64]:
    """Add rows at the end, a period apart, or cut some off."""
    if n_rows_extra < 0:
        return stamps_ns[:n_rows_extra]
    last_ns = int(stamps_ns[-1]) if len(stamps_ns) else 0
    more = last_ns + period_ns * np.arange(1, n_rows_extra + 1)
    return np.concatenate([stamps_ns, more.astype(np.int64)])


class StillRenderer:
    """Show one rendered image, moved and rotated as the camera rotates.

    Correct for a stationary rig: distant points move by the camera's rotation alone. The skew from
    rotation during the readout is ignored.
    """

    def __init__(self, world: World, camera: CameraConfig) -> None:
        self._motion = world.motion
        self._camera = camera
        self._body_from_camera = camera.body_from_camera()
        self._first = world.motion.orientation(0.0)[0]
        width, height = (size + 2 * _MARGIN_PX for size in camera.size_px)
        fov_deg = 2 * np.degrees(np.arctan(width / 2 / camera.focal_px))
        wide = replace(camera, size_px=(width, height), fov_deg=float(fov_deg), line_delay_s=0.0)
        self._image = Renderer(world, wide).render(0.0)

    def render(self, time_s: float) -> NDArray[np.uint8]:
        """Return the luma of the frame whose middle row is exposed around `time_s`."""
        width, height = self._camera.size_px
        down, right, turn = self._angles(time_s)
        if not (down or right or turn):
            rows, columns = slice(_MARGIN_PX, -_MARGIN_PX), slice(_MARGIN_PX, -_MARGIN_PX)
            return np.ascontiguousarray(self._image[rows, columns])
        # Position in the still image that each pixel of the frame is sampled from.
        cos, sin = np.cos(turn), np.sin(turn)
        middle = np.array([(width - 1) / 2, (height - 1) / 2])
        spin = np.array([[cos, -sin], [sin, cos]])
        move = self._camera.focal_px * np.array([right, -down])
        origin = middle + _MARGIN_PX + move - spin @ middle
        return np.asarray(
            cv2.warpAffine(
                self._image,
                np.column_stack([spin, origin]),
                (width, height),
                flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
                borderMode=cv2.BORDER_REPLICATE,
            ),
            dtype=np.uint8,
        )

    def _angles(self, time_s: float) -> FloatArray:
        """Return the small rotation since the still image about x, y and z of the camera."""
        turned = self._first.T @ self._motion.orientation(time_s)[0]
        local = self._body_from_camera.T @ turned @ self._body_from_camera
        return np.asarray([local[2, 1], local[0, 2], local[1, 0]])
