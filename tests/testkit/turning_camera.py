"""A camera that only rotates, by known angles, and the detector's result for it."""

import numpy as np

from syncaudit.decode import Frame
from syncaudit.detectors.rotation.detector import RotationDetector
from testkit.seen_points import texture, turned
from testkit.streams import camera_stream

EPOCH_NS = 1_767_225_600_000_000_000
FULL_FOCAL_PX = 560.0
# A twentieth of a pixel of the downscaled image, over its focal length of 280 pixels.
ANGLE_TOL_RAD = 0.05 / 280.0
PERIOD_NS = 83_333_333


def stream(n=12, **fields):
    fields = {"focal_px": FULL_FOCAL_PX, "line_delay_s": 0.0} | fields
    return camera_stream(
        fields.pop("time_ns", EPOCH_NS + PERIOD_NS * np.arange(n)),
        width_px=856,
        height_px=480,
        **fields,
    )


def directions(n=12, seed=1):
    return np.cumsum(np.random.default_rng(seed).normal(0, 0.006, (n, 3)), axis=0)


def pictures(n=12, seed=1):
    scene = texture(seed)
    return [turned(scene, turn, FULL_FOCAL_PX) for turn in directions(n, seed)]


def detected(camera, frames):
    detector = RotationDetector(stream=camera)
    for index, frame in enumerate(frames):
        detector.update(Frame(index, frame))
    return detector.finish()
