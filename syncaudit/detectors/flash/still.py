"""Separate a picture at rest from the light that falls on its rows, frame by frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["CellSums", "StillPicture", "first_light", "fit_picture", "row_light"]

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]

# A cell is used where it is clean in as many of the frames: clipped cells miss their bright half.
MIN_CLEAN_SHARE = 0.6
N_POWER_STEPS = 3
# Least noise of a cell, squared: the encoder's rounding.
LEAST_VARIANCE = 0.05
# A cell that gains less than this tells nothing.
MIN_GAIN_LEVELS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StillPicture:
    """Brightness of every cell without light, and what one unit of light adds to it.

    Parameters
    ----------
    dark, gain, variance : ndarray, shape (n, b)
        In luma levels; gain 0 where a cell is not used.
    """

    dark: Singles
    gain: Singles
    variance: Singles


def first_light(levels: Singles, clean: Singles) -> Singles:
    """Return the light of each row in each frame by its scatter alone, shape (m, n).

    The first principal component of each row's column blocks over the frames, scaled to mean 0 and
    deviation 1: an irregular train lights all rows alike in the long run.

    Parameters
    ----------
    levels, clean : ndarray, shape (m, n, b)
        Brightness of the cells, and 1 where they are not clipped, else 0.
    """
    n_clean = clean.sum(axis=0)
    is_used = n_clean >= MIN_CLEAN_SHARE * len(levels)
    apart = (levels - (levels * clean).sum(axis=0) / np.maximum(n_clean, 1.0)) * clean
    gain = np.sqrt((apart**2).sum(axis=0) / np.maximum(n_clean, 1.0)) * is_used
    for _ in range(N_POWER_STEPS):
        power = np.einsum("mnb,nb->mn", clean, gain**2)
        light = np.einsum("mnb,nb->mn", apart, gain) / np.maximum(power, 1e-9)
        light -= light.mean(axis=0)
        light /= np.maximum(light.std(axis=0), 1e-6)
        power = np.einsum("mnb,mn->nb", clean, light**2)
        gain = np.einsum("mnb,mn->nb", apart, light) / np.maximum(power, 1e-9) * is_used
    sign = np.sign(gain.sum(axis=1))
    return np.asarray(light * sign, dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class CellSums:
    """Sums over frames from which the straight line of each cell follows; they add up.

    Parameters
    ----------
    sums : ndarray, shape (6, n, b)
        Of weight, light, squared light, level, level times light, and squared level.
    n_frames : float
        Frames that went in.
    """

    sums: Floats
    n_frames: float

    @classmethod
    def of(cls, levels: Singles, clean: Singles, light: Floats, trust: Floats) -> CellSums:
        """Return the sums of frames under known light.

        Parameters
        ----------
        levels, clean : ndarray, shape (m, n, b)
            As for `first_light`.
        light, trust : ndarray, shape (m, n)
            Light of each row, and how much it counts.
        """
        weight = clean * trust.astype(np.float32)[:, :, None]
        weighted = weight * levels
        lights = np.stack((np.ones_like(light), light, light**2)).astype(np.float32)
        alone = np.einsum("mnb,smn->snb", weight, lights, optimize=True)
        mixed = np.einsum("mnb,smn->snb", weighted, lights[:2], optimize=True)
        squares = np.einsum("mnb,mnb->nb", weighted, levels)
        sums = np.concatenate((alone, mixed, squares[None])).astype(np.float64)
        return cls(sums, float(len(levels)))

    def faded(self, share: float) -> CellSums:
        """Return the same that counts for less."""
        return CellSums(share * self.sums, share * self.n_frames)

    def __add__(self, other: CellSums) -> CellSums:
        """Return the sums of both sets of frames."""
        return CellSums(self.sums + other.sums, self.n_frames + other.n_frames)


def fit_picture(cells: CellSums) -> StillPicture:
    """Return the picture under known light: a straight line for each cell."""
    n_clean = cells.sums[0]
    light, power, level, product, square = cells.sums[1:] / np.maximum(n_clean, 1e-6)
    power = np.maximum(power - light**2, 1e-6)
    product = product - light * level
    gain = product / power
    variance = square - level**2 - gain * product
    is_used = (n_clean >= MIN_CLEAN_SHARE * cells.n_frames) & (gain > MIN_GAIN_LEVELS)
    return StillPicture(
        dark=(level - gain * light).astype(np.float32),
        gain=np.where(is_used, gain, 0.0).astype(np.float32),
        variance=np.maximum(variance, LEAST_VARIANCE).astype(np.float32),
    )


def row_light(picture: StillPicture, levels: Singles, clean: Singles) -> tuple[Floats, Floats]:
    """Return the light of each row and its inverse variance, shape (m, n), over all its blocks."""
    weight = picture.gain / picture.variance
    info = np.einsum("mnb,nb->mn", clean, weight * picture.gain)
    apart = (levels - picture.dark) * clean
    light = np.einsum("mnb,nb->mn", apart, weight) / np.maximum(info, 1e-9)
    return light.astype(np.float64), info.astype(np.float64)
