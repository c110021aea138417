"""From scene light to sensor output: gain, vignetting, flashes, noise."""

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from .camera import CameraConfig
from .motion import FloatArray

_POOL_MARGIN_PX = 64  # margin of the noise plane, which is shifted at random for every frame
_REFERENCE_LUMA = 128.0


class Sensor:
    """Turn rendered luma into sensor luma.

    Parameters
    ----------
    camera : CameraConfig
    n_frames : int
    rng : numpy.random.Generator
    falloff : ndarray, shape (width,), optional
        Fraction of a flash's light that each column gets.
    """

    def __init__(
        self,
        camera: CameraConfig,
        n_frames: int,
        rng: np.random.Generator,
        *,
        falloff: FloatArray | None = None,
    ) -> None:
        width, height = camera.size_px
        self._falloff = None if falloff is None else falloff.astype(np.float32)
        x = (np.arange(width) - (width - 1) / 2) / camera.focal_px
        y = (np.arange(height) - (height - 1) / 2) / camera.focal_px
        radius2 = y[:, None] ** 2 + x**2
        self._vignette = (1 / (1 + radius2) ** 0.7).astype(np.float32)  # milder than cos^4
        self._pool = rng.standard_normal(
            (height + _POOL_MARGIN_PX, width + _POOL_MARGIN_PX), dtype=np.float32
        )
        levels = np.arange(256, dtype=np.float32)
        variance = camera.photon_noise * levels + camera.read_noise**2
        self._noise_std = np.sqrt(variance).astype(np.float32)
        wobble = gaussian_filter1d(rng.standard_normal(n_frames + 20), 6.0)
        self._gain = 1 + camera.gain_wobble * wobble[10 : 10 + n_frames] / max(wobble.std(), 1e-9)
        self._shifts = rng.integers(0, _POOL_MARGIN_PX, (n_frames, 2))

    def expose(
        self,
        luma: NDArray[np.uint8],
        index: int,
        flash: FloatArray | None = None,
        *,
        ambient: FloatArray | None = None,
        glare: FloatArray | None = None,
    ) -> NDArray[np.uint8]:
        """Return the frame as read out.

        Parameters
        ----------
        luma : ndarray of uint8, shape (height, width)
            Light of the scene.
        index : int
            Number of the frame, which determines its gain and noise.
        flash : ndarray, shape (height,), optional
            Levels that a flash adds to each row, for a pixel of luma 128. A flash lights the scene,
            so bright surfaces gain more: ``added = flash * (0.3 + 0.7 * luma / 128)``.
        ambient : ndarray, shape (height,), optional
            Factor on the scene light of each row; the light of a flash is not scaled.
        glare : ndarray, shape (height, width), optional
            Levels added by light shining into the lens.
        """
        scene = cv2.multiply(luma, self._vignette, scale=float(self._gain[index]), dtype=cv2.CV_32F)
        seen = scene if ambient is None else scene * ambient[:, None].astype(np.float32)
        if flash is not None and flash.any():
            rows = np.flatnonzero(flash)
            lit = scene[rows]
            factor = flash[rows, None].astype(np.float32)
            if self._falloff is not None:
                factor = factor * self._falloff
            seen[rows] = seen[rows] + factor * (0.3 + 0.7 / _REFERENCE_LUMA * lit)
        if glare is not None:
            seen = seen + glare.astype(np.float32)
        row, column = self._shifts[index]
        height, width = luma.shape
        noise = np.asarray(cv2.LUT(luma, self._noise_std), dtype=np.float32)
        noise *= self._pool[row : row + height, column : column + width]
        return np.asarray(cv2.add(seen, noise, dtype=cv2.CV_8U))
