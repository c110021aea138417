"""A scene that stands still, rendered once: the fast way to long calibration recordings."""

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from .camera import CameraConfig
from .motion import FloatArray
from .render import Renderer
from .world import World

_MARGIN_PX = 48  # how far the picture can move, beyond three degrees of a hand's sway


class StillRenderer:
    """Show one rendered picture, moved and turned as the camera turns.

    Right for a rig that stays at its place: far points move by the camera's rotation alone. The
    skew that turning during the read-out makes is left out.

    Parameters
    ----------
    world : World
    camera : CameraConfig
    """

    def __init__(self, world: World, camera: CameraConfig) -> None:
        self._motion = world.motion
        self._camera = camera
        self._body_from_camera = camera.body_from_camera()
        self._first = world.motion.orientation(0.0)[0]
        width, height = (size + 2 * _MARGIN_PX for size in camera.size_px)
        fov_deg = 2 * np.degrees(np.arctan(width / 2 / camera.focal_px))
        wide = replace(camera, size_px=(width, height), fov_deg=float(fov_deg), line_delay_s=0.0)
        self._picture = Renderer(world, wide).render(0.0)

    def render(self, time_s: float) -> NDArray[np.uint8]:
        """Return the luma of the frame whose middle row is exposed around `time_s`."""
        width, height = self._camera.size_px
        down, right, turn = self._angles(time_s)
        if not (down or right or turn):
            rows, columns = slice(_MARGIN_PX, -_MARGIN_PX), slice(_MARGIN_PX, -_MARGIN_PX)
            return np.ascontiguousarray(self._picture[rows, columns])
        # Where in the still picture each pixel of the frame is taken from.
        cos, sin = np.cos(turn), np.sin(turn)
        middle = np.array([(width - 1) / 2, (height - 1) / 2])
        spin = np.array([[cos, -sin], [sin, cos]])
        move = self._camera.focal_px * np.array([right, -down])
        origin = middle + _MARGIN_PX + move - spin @ middle
        return np.asarray(
            cv2.warpAffine(
                self._picture,
                np.column_stack([spin, origin]),
                (width, height),
                flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
                borderMode=cv2.BORDER_REPLICATE,
            ),
            dtype=np.uint8,
        )

    def _angles(self, time_s: float) -> FloatArray:
        """Return the small rotation since the still picture about x, y and z of the camera."""
        turned = self._first.T @ self._motion.orientation(time_s)[0]
        local = self._body_from_camera.T @ turned @ self._body_from_camera
        return np.asarray([local[2, 1], local[0, 2], local[1, 0]])
