"""A desktop arm of five joints and a gripper: forward and inverse kinematics."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")

SHOULDER_M = 0.12
UPPER_M, FORE_M, TOOL_M = 0.24, 0.24, 0.14
FINGER_M, FINGER_GAP_M = 0.07, 0.06


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Link:
    """One box of the arm.

    Parameters
    ----------
    rotation : ndarray, shape (3, 3)
        Link to world; the first axis runs along the link.
    centre_m, half_size_m : ndarray, shape (3,)
        Middle and half extents along the axes.
    """

    rotation: Floats
    centre_m: Floats
    half_size_m: Floats


def _axes(pan_rad: float, pitch_rad: float, roll_rad: float = 0.0) -> Floats:
    """Return forward, left and up of a link, as columns."""
    cp, sp = math.cos(pan_rad), math.sin(pan_rad)
    ce, se = math.cos(pitch_rad), math.sin(pitch_rad)
    forward = np.array([cp * ce, sp * ce, se])
    left = np.array([-sp, cp, 0.0])
    up = np.cross(forward, left)
    cr, sr = math.cos(roll_rad), math.sin(roll_rad)
    return np.stack([forward, cr * left + sr * up, cr * up - sr * left], axis=1)


def _chain(joints: Floats) -> tuple[list[Floats], list[Floats]]:
    """Return the rotations of upper arm, forearm and tool, and the joint positions."""
    pan, lift, elbow, wrist, roll = np.radians(joints[:5])
    rotations = [_axes(pan, lift), _axes(pan, lift + elbow), _axes(pan, lift + elbow + wrist, roll)]
    points = [np.array([0.0, 0.0, SHOULDER_M])]
    for rotation, length_m in zip(rotations, (UPPER_M, FORE_M, TOOL_M), strict=True):
        points.append(points[-1] + length_m * rotation[:, 0])
    return rotations, points


def hand_pose(joints: Floats) -> tuple[Floats, Floats]:
    """Return rotation (tool to world) and wrist position, for joints in degrees, shape (6,)."""
    rotations, points = _chain(joints)
    return rotations[2], points[2]


def links_at(joints: Floats) -> list[Link]:
    """Return base, upper arm, forearm, hand and the two fingers.

    `joints`, shape (6,): degrees; the gripper in percent open.
    """
    rotations, points = _chain(joints)
    links = [
        Link(
            rotation=_axes(math.radians(joints[0]), 0.0),
            centre_m=np.array([0.0, 0.0, 0.5 * SHOULDER_M]),
            half_size_m=np.array([0.05, 0.05, 0.5 * SHOULDER_M]),
        )
    ]
    for k, (width_m, height_m) in enumerate(((0.025, 0.03), (0.022, 0.025), (0.03, 0.02))):
        length_m = (UPPER_M, FORE_M, TOOL_M - FINGER_M)[k]
        links.append(
            Link(
                rotation=rotations[k],
                centre_m=points[k] + 0.5 * length_m * rotations[k][:, 0],
                half_size_m=np.array([0.5 * length_m, width_m, height_m]),
            )
        )
    opening_m = 0.008 + 0.5 * FINGER_GAP_M * float(joints[5]) / 100.0
    palm = points[2] + (TOOL_M - 0.5 * FINGER_M) * rotations[2][:, 0]
    links += [
        Link(
            rotation=rotations[2],
            centre_m=palm + side * opening_m * rotations[2][:, 1],
            half_size_m=np.array([0.5 * FINGER_M, 0.006, 0.012]),
        )
        for side in (-1.0, 1.0)
    ]
    return links


def reach(tip_m: Floats, *, pitch_deg: float, roll_deg: float, gripper: float) -> Floats:
    """Return the joints, in degrees, that bring the fingertips to a position, elbow up.

    For positions out of reach, the arm extends towards them as far as it can.
    """
    pan = math.atan2(tip_m[1], tip_m[0])
    pitch = math.radians(pitch_deg)
    along_m = math.hypot(tip_m[0], tip_m[1]) - TOOL_M * math.cos(pitch)
    up_m = tip_m[2] - SHOULDER_M - TOOL_M * math.sin(pitch)
    distance_m = min(math.hypot(along_m, up_m), 0.995 * (UPPER_M + FORE_M))
    bend = math.acos((UPPER_M**2 + FORE_M**2 - distance_m**2) / (2.0 * UPPER_M * FORE_M))
    inner = math.asin(min(1.0, FORE_M * math.sin(bend) / distance_m))
    if UPPER_M**2 + distance_m**2 < FORE_M**2:
        inner = math.pi - inner
    lift = math.atan2(up_m, along_m) + inner
    elbow = bend - math.pi
    angles = np.degrees([pan, lift, elbow, pitch - lift - elbow])
    return np.array([*angles, roll_deg, gripper])
