"""Images of the arm at work: from a stand beside it and from its wrist."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from syncaudit.simulate.camera import CameraConfig
from syncaudit.simulate.raycast import Shot, pixel_rays
from syncaudit.simulate.textures import Texture

from .arm import Link, hand_pose, links_at
from .scene import HAND_HALF_M, Scene, box_planes

Floats = NDArray[np.float64]

_WALL_LUMA = 120
_FACING_M = 0.002  # the arm is near and small
# Wrist camera in the tool's axes: behind and above the fingers, looking down at them.
_WRIST_PLACE_M = np.array([-0.02, 0.0, 0.055])
_WRIST_TILT_RAD = 0.45


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ArmCamera:
    """One camera of the cell."""

    scene: Scene
    config: CameraConfig
    joints: CubicSpline  # joints of the arm: seconds to degrees
    hand: CubicSpline | None = None  # position and rotation (x, y, z, radians) of a person's hand
    # shape (3,): position and target of a camera on a stand; None for the wrist camera
    stand_m: Floats | None = None
    aim_m: Floats | None = None

    def render(self, time_s: float) -> NDArray[np.uint8]:
        """Return the luma of the frame whose middle row is exposed at `time_s`.

        Every row has its own pose; for a camera on a stand, moving objects are drawn where they
        are at the middle row.
        """
        height = self.config.size_px[1]
        times_s = self.config.row_times_s(time_s)
        rotation, centre = self._poses(times_s)
        columns, row_y = pixel_rays(self.config)
        shot = Shot(
            columns=columns,
            row_y=row_y,
            rotation=rotation,
            centre=centre,
            row_shift_s=times_s - time_s,
            focal_px=self.config.focal_px,
            luma=np.full(self.config.size_px[::-1], _WALL_LUMA, dtype=np.uint8),
        )
        eye_m = centre[height // 2]
        shot.paint(*shot.in_view(self.scene.ground, eye_m, facing_m=_FACING_M))
        boxes, faces = self._boxes(time_s)
        order = np.argsort([-np.linalg.norm(box.centre_m - eye_m) for box in boxes], kind="stable")
        sides = box_planes([boxes[k] for k in order], [faces[k] for k in order])
        shot.paint(*shot.in_view(sides, eye_m, facing_m=_FACING_M))
        return shot.luma

    def _boxes(self, time_s: float) -> tuple[list[Link], list[tuple[Texture, ...]]]:
        links = links_at(self.joints(time_s))
        faces = list(self.scene.link_faces)
        if self.stand_m is None:  # of the arm, the wrist camera only sees the fingers
            links, faces = links[4:], faces[4:]
        boxes = [*self.scene.objects, *links]
        painted = [*self.scene.object_faces, *faces]
        if self.hand is not None and self.scene.hand_faces:
            x, y, z, turn = self.hand(time_s)
            cos, sin = np.cos(turn), np.sin(turn)
            boxes.append(
                Link(
                    rotation=np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]]),
                    centre_m=np.array([x, y, z]),
                    half_size_m=HAND_HALF_M,
                )
            )
            painted.append(self.scene.hand_faces)
        return boxes, painted

    def _poses(self, times_s: Floats) -> tuple[Floats, Floats]:
        if self.stand_m is not None and self.aim_m is not None:
            forward = (self.aim_m - self.stand_m) / np.linalg.norm(self.aim_m - self.stand_m)
            right = np.cross(forward, [0.0, 0.0, 1.0])
            right /= np.linalg.norm(right)
            rotation = np.stack([right, np.cross(forward, right), forward], axis=1)
            return (
                np.broadcast_to(rotation, (times_s.size, 3, 3)),
                np.broadcast_to(self.stand_m, (times_s.size, 3)),
            )
        # The readout is short: poses within it are linear to within a millionth.
        ends = [hand_pose(self.joints(t)) for t in times_s[[0, -1]]]
        share = np.linspace(0.0, 1.0, times_s.size)[:, None]
        centres = np.stack([place + turn @ _WRIST_PLACE_M for turn, place in ends])
        cos, sin = np.cos(_WRIST_TILT_RAD), np.sin(_WRIST_TILT_RAD)
        optics = np.stack([[0.0, -1.0, 0.0], [-sin, 0.0, -cos], [cos, 0.0, -sin]], axis=1)
        first, last = (turn @ optics for turn, _ in ends)
        mixed = first + share[:, :, None] * (last - first)
        mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
        return mixed, centres[0] + share * (centres[1] - centres[0])
