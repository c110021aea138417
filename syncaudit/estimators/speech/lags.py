"""Compare a piece of a tier with the sound at every lag, by how much its classes explain."""

from __future__ import annotations

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from syncaudit.estimators.speech.templates import PRIOR_FRAMES
from syncaudit.model.arrays import Bools, Floats, Ints

# Added to every variance (nepers squared): differences between classes below this do not count.
MIN_VARIANCE = 0.3


def class_tracks(
    start_s: Floats, stop_s: Floats, classes: Ints, n_classes: int, frame_s: Floats, hop_s: float
) -> Floats:
    """Return the share of every frame in every class, shape (n_classes, n_frames).

    Parameters
    ----------
    start_s, stop_s : ndarray, shape (n,)
        Sounds of the tier.
    classes : ndarray of int, shape (n,)
        Class of each.
    n_classes : int
        Rows of the result.
    frame_s : ndarray, shape (n_frames,)
        Middles of the frames, `hop_s` apart.
    hop_s : float
        Length of a frame.
    """
    tracks = np.zeros((n_classes, frame_s.size))
    edges = np.concatenate((frame_s - 0.5 * hop_s, frame_s[-1:] + 0.5 * hop_s))
    for manner in range(n_classes):
        own = classes == manner
        if own.any():
            # Seconds of this class before every edge: piecewise linear between its boundaries.
            x = np.column_stack((start_s[own], stop_s[own])).ravel()
            length = np.cumsum(stop_s[own] - start_s[own])
            y = np.column_stack((length - (stop_s[own] - start_s[own]), length)).ravel()
            tracks[manner] = np.diff(np.interp(edges, x, y)) / hop_s
    return tracks


def explained(
    values: Floats, is_valid: Bools, tracks: Floats, priors: Floats
) -> tuple[Floats, Floats]:
    """Return how much of the sound the classes explain per lag, in nats, and the frames used.

    At each lag every class has a mean, shrunk to its prior with the weight of `PRIOR_FRAMES`, and
    all share one covariance. Half the number of frames times the logarithm of Wilks' lambda, the
    ratio of the determinants of scatter within the classes and in total (S. S. Wilks, "Certain
    generalizations in the analysis of variance", Biometrika 24, 1932), is the
    gain in log-likelihood over a sound without classes.

    Parameters
    ----------
    values : ndarray, shape (m + n_lags - 1, d)
        Band energies; the first frame meets the tier's first at lag 0.
    is_valid : ndarray of bool, shape (m + n_lags - 1,)
        Frames that lie in the sound.
    tracks : ndarray, shape (n_classes, m)
        From `class_tracks`.
    priors : ndarray, shape (n_classes, d)
        Expected means, less the mean of all.

    Returns
    -------
    gain, n_frames : ndarray, shape (n_lags,)
    """
    n, d = values.shape
    m = tracks.shape[1]
    n_lags = n - m + 1
    x = np.where(is_valid[:, None], values - values[is_valid].mean(axis=0), 0.0)
    rows, columns = np.triu_indices(d)
    covered = tracks.sum(axis=0)
    length = next_fast_len(n, real=True)
    sound = rfft(np.column_stack((is_valid, x)), n=length, axis=0)
    tier = np.conj(rfft(tracks, n=length, axis=1))
    sums = irfft(tier[:, :, None] * sound[None], n=length, axis=1)[:, :n_lags]
    products = rfft(x[:, rows] * x[:, columns], n=length, axis=0)
    whole = np.conj(rfft(covered, n=length))[:, None]
    second = irfft(whole * products, n=length, axis=0)[:n_lags]
    count, first = np.maximum(sums[..., 0], 0.0), sums[..., 1:]
    n_frames = count.sum(axis=0)
    total = np.empty((n_lags, d, d))
    total[:, rows, columns] = second
    total[:, columns, rows] = second
    drawn = first + PRIOR_FRAMES * priors[:, None]
    weight = (count + PRIOR_FRAMES)[..., None, None]
    within = total - np.einsum("kld,kle->lde", drawn / weight[..., 0], drawn)
    within += PRIOR_FRAMES * np.einsum("kd,ke->de", priors, priors)
    mean = first.sum(axis=0)
    scale = np.maximum(n_frames, 1.0)[:, None, None]
    total -= mean[:, :, None] * mean[:, None, :] / scale
    floor = MIN_VARIANCE * np.eye(d)
    gain = (
        np.linalg.slogdet(total / scale + floor)[1] - np.linalg.slogdet(within / scale + floor)[1]
    )
    return 0.5 * n_frames * gain, n_frames
