"""Two microphones that hear one noise, one of them stamped late."""

from __future__ import annotations

import numpy as np

from syncaudit.model import (
    AudioStream,
    SourceKind,
)
from syncaudit.pipeline import ClipEvidence

EPOCH = 1_767_225_600_000_000_000


def sound(name: str, samples: np.ndarray, rate_hz: float, start_ns: int = EPOCH) -> AudioStream:
    return AudioStream(
        name=name,
        clock=name,
        kind=SourceKind.AUDIO,
        time_ns=np.array([start_ns]),
        anchor_samples=np.array([0]),
        rate_hz=rate_hz,
        samples=samples.astype(np.float32),
    )


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
