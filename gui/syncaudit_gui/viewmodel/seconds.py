"""Times of the samples of a sound."""

from __future__ import annotations

import numpy as np

from syncaudit.model import AudioStream
from syncaudit.model.arrays import Floats
from syncaudit.model.time import seconds_after

__all__ = ["sample_times"]


def sample_times(audio: AudioStream, epoch_ns: int, index: Floats) -> Floats:
    """Return the times of samples of a sound in seconds since the epoch, shape as `index`.

    From its timestamp table if there is one; beyond its ends, or without one, by the nominal rate.
    """
    anchors_s = seconds_after(audio.time_ns, epoch_ns)
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
