"""Frames with the exact bands of light pulses, from the overlap of exposure and light."""

import cv2
import numpy as np

from syncaudit.decode import Frame
from syncaudit.detectors.flash.detector import FlashDetector
from syncaudit.model.clip import SCAN_DIRECTIONS
from testkit.streams import camera_stream

EPOCH_NS = 1_767_225_600_000_000_000
SIZE_PX = (480, 320)


def arrived(x_s, width_s, tail_s=0.0):
    """Return the share of a pulse's light that has arrived x_s after its onset."""
    if tail_s == 0.0:
        return np.clip(x_s / width_s, 0.0, 1.0)
    u = np.maximum(np.stack((x_s, x_s - width_s)), 0.0)
    grown = u - tail_s * (1.0 - np.exp(-u / tail_s))
    return (grown[0] - grown[1]) / width_s


def half_light_s(width_s, tail_s=0.0):
    x_s = np.linspace(0.0, width_s + 6.0 * tail_s, 20001)
    return float(np.interp(0.5, arrived(x_s, width_s, tail_s), x_s))


def scene(seed, size=SIZE_PX):
    rng = np.random.default_rng(seed)
    blobs = sum(
        sigma * cv2.GaussianBlur(rng.normal(size=size).astype(np.float32), (0, 0), sigma)
        for sigma in (3.0, 20.0)
    )
    return np.clip(105.0 + 30.0 * blobs / blobs.std(), 15.0, 180.0).astype(np.float32)


def footage(
    onsets_s,
    *,
    n=60,
    fps=12.0,
    line_delay_s=5e-5,
    exposure_s=0.008,
    width_s=0.002,
    tail_s=0.0,
    brightness=45.0,
    noise=1.5,
    seed=1,
    size=SIZE_PX,
    paint=None,
    falloff=0.0,
    reach=1.0,
):
    """Yield luma frames; the middle row of frame k is exposed around k / fps.

    `reach`: share of the height over which the light falls to a third, ever more steeply.
    """
    rng = np.random.default_rng([seed, 5])
    still = scene(seed, size)
    pool = noise * rng.standard_normal((size[0] + 32, size[1] + 32), dtype=np.float32)
    rows_s = (np.arange(size[0]) - 0.5 * (size[0] - 1)) * line_delay_s
    falls = (1.0 - falloff * np.linspace(0.0, 1.0, size[1])).astype(np.float32)
    if reach < 1.0:
        falls = falls * np.exp(-((np.linspace(0.0, 1.0, size[0]) / reach) ** 4))[:, None]
    for k in range(n):
        middle_s = k / fps + rows_s
        light = np.zeros(size[0], dtype=np.float32)
        for onset_s in onsets_s:
            begin_s = middle_s - 0.5 * exposure_s - onset_s
            light += arrived(begin_s + exposure_s, width_s, tail_s)
            light -= arrived(begin_s, width_s, tail_s)
        image = still if paint is None else paint(still.copy(), k, middle_s)
        image = image + brightness * falls * light[:, None] * (0.3 + 0.7 * image / 128.0)
        y, x = rng.integers(0, 33, 2)
        image = image + pool[y : y + size[0], x : x + size[1]]
        yield np.clip(image + 0.5, 0, 255).astype(np.uint8)


def stored(frames, scan):
    """Yield frames whose rows were read in order as they are stored if `scan` runs across them."""
    across, down = SCAN_DIRECTIONS[scan]
    for frame in frames:
        lines = frame[:: across + down]
        yield np.ascontiguousarray(lines.T if across else lines)


def camera(n=60, fps=12.0, **fields):
    fields = {"line_delay_s": 5e-5, "exposure_s": 0.008} | fields
    return camera_stream(
        fields.pop("time_ns", EPOCH_NS + np.round(np.arange(n) / fps * 1e9).astype(int)), **fields
    )


def watched(stream, frames):
    """Return a detector that was given all frames."""
    detector = FlashDetector(stream=stream)
    for index, frame in enumerate(frames):
        detector.update(Frame(index, frame))
    return detector


def detected(stream, frames):
    return watched(stream, frames).finish()


def onsets(seed, *, mean_s=0.11, duration_s=5.0):
    rng = np.random.default_rng([seed, 7])
    times_s = np.cumsum(mean_s * rng.uniform(0.6, 1.4, int(2 * duration_s / mean_s)))
    return times_s[times_s < duration_s]


def errors_s(found, true_s, *, line_delay_s, exposure_s):
    """Return how late the instant of each edge is after the nearest true half-light instant."""
    times_s = found.frame_s + found.row_px * line_delay_s + found.exposure_part * exposure_s
    nearest = np.argmin(np.abs(times_s[:, None] - true_s), axis=1)
    return times_s - true_s[nearest]
