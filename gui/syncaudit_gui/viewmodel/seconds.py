"""Stamps of any source as seconds since the clip's epoch, however far away they are."""

from __future__ import annotations

import numpy as np

from syncaudit.model import AudioStream
from syncaudit.model.arrays import Floats, Ints

__all__ = ["sample_times", "since"]

_SAFE_NS = 2.0**62


def since(time_ns: Ints, epoch_ns: int) -> Floats:
    """Return seconds since an epoch, shape as given.

    Subtracted as integers where that fits. Unlike `syncaudit.model.seconds_since` this takes any
    distance: a viewer has to show stamps of a clock that counts from elsewhere, or nonsense.
    """
    rough = time_ns.astype(np.float64) - float(epoch_ns)
    if np.any(np.abs(rough) >= _SAFE_NS):
        return np.asarray(rough * 1e-9)
    return np.asarray((time_ns - np.int64(epoch_ns)).astype(np.float64) * 1e-9)


def sample_times(audio: AudioStream, epoch_ns: int, index: Floats) -> Floats:
    """Return the times of samples of a sound in seconds since the epoch, shape as `index`.

    By its stamp table where it has one, past its ends and without one by the nominal rate.
    """
    anchors_s = since(audio.time_ns, epoch_ns)
    samples = audio.anchor_samples.astype(np.float64)
    if anchors_s.size == 0:
        return index / audio.rate_hz
    order = np.argsort(samples, kind="stable")
    anchors_s, samples = anchors_s[order], samples[order]
    times_s = np.interp(index, samples, anchors_s)
    before, after = index < samples[0], index > samples[-1]
    times_s[before] = anchors_s[0] + (index[before] - samples[0]) / audio.rate_hz
    times_s[after] = anchors_s[-1] + (index[after] - samples[-1]) / audio.rate_hz
    return np.asarray(times_s)
