"""Two microphones that hear one noise, one of them stamped late."""

from __future__ import annotations

import numpy as np

from syncaudit.model import AudioStream
from syncaudit.pipeline import ClipEvidence
from testkit.streams import sound_stream

EPOCH = 1_767_225_600_000_000_000


def sound(name: str, samples: np.ndarray, rate_hz: float, start_ns: int = EPOCH) -> AudioStream:
    return sound_stream(samples, rate_hz, name=name, start_ns=start_ns)


def microphones(offset_s: float) -> ClipEvidence:
    rng = np.random.default_rng(3)
    heard = rng.normal(size=8 * 8000)
    noise = 0.3 * rng.normal(size=(2, heard.size))
    late_ns = EPOCH + round(offset_s * 1e9)
    return ClipEvidence(
        sounds={
            "a": sound("a", heard + noise[0], 8000.0),
            "b": sound("b", heard + noise[1], 8000.0, late_ns),
        }
    )
