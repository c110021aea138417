"""Draw sound: a spectrogram as PNG in the page's colours, a waveform as SVG path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.model.arrays import Floats

TOP_HZ = 8000.0
# Wide band: 6 ms separates a burst from its vowel, which boundaries are judged by.
WINDOW_S = 0.006
HOP_S = 0.002
RANGE_DB = 55.0
ROWS = 128
MAX_COLUMNS = 1100
WAVEFORM_COLUMNS = 1000


def spectrogram_ink(samples: NDArray[np.float32], rate_hz: float) -> Floats:
    """Return a wide-band spectrogram from 8 kHz down to 0: opacity in [0, 1], shape (128, columns).

    The dynamic range is 55 dB. NaN and infinite samples are drawn as silence; nothing is drawn
    above half of the sampling rate.
    """
    x = np.nan_to_num(samples.astype(np.float64), posinf=0.0, neginf=0.0)
    window = max(8, round(WINDOW_S * rate_hz))
    hop = max(1, round(HOP_S * rate_hz), -(-x.size // MAX_COLUMNS))
    x = np.append(x[:1], x[1:] - 0.95 * x[:-1])  # pre-emphasis: +6 dB per octave
    x = np.pad(x, (0, max(0, window - x.size)))
    size = 1 << int(np.ceil(np.log2(max(window, 256))))
    from scipy.signal import stft  # 25 MiB that clips without sound do not need

    freq, _, spectrum = stft(
        x,
        fs=rate_hz,
        window="hann",
        nperseg=window,
        noverlap=max(0, window - hop),
        nfft=size,
        detrend=False,
    )
    level = 20.0 * np.log10(np.abs(spectrum) + 1e-9)
    top = float(np.quantile(level, 0.998))
    ink = np.clip((level - top) / RANGE_DB + 1.0, 0.0, 1.0) if top > -170.0 else 0.0 * level
    wanted = np.linspace(TOP_HZ, 0.0, ROWS)
    rows = np.array([np.interp(wanted, freq, column, right=0.0) for column in ink.T]).T
    return np.asarray(rows**1.3)


def spectrogram_png(samples: NDArray[np.float32], rate_hz: float) -> bytes:
    """Return a wide-band spectrogram from 0 to 8 kHz as PNG: black ink, opacity is energy.

    Samples and rate are as for `spectrogram_ink`.
    """
    import cv2

    ink = spectrogram_ink(samples, rate_hz)
    frame = np.zeros((*ink.shape, 4), dtype=np.uint8)
    frame[:, :, 3] = np.rint(230.0 * ink)
    ok, png = cv2.imencode(".png", frame, [cv2.IMWRITE_PNG_COMPRESSION, 9])
    if not ok:
        raise ValueError("the spectrogram could not be encoded as PNG")
    return png.tobytes()


def waveform_path(samples: NDArray[np.float32]) -> str:
    """Return the envelope of a sound as an SVG path in a box of 1000 by 2, centred at 1.

    The samples, shape (n,), are scaled here to their own peak.
    """
    x = np.nan_to_num(samples.astype(np.float64), posinf=0.0, neginf=0.0)
    if not x.size:
        return ""
    x = x - float(np.median(x))
    peak = float(np.max(np.abs(x))) or 1.0
    edges = np.unique(np.linspace(0, x.size, min(WAVEFORM_COLUMNS, x.size) + 1).astype(np.int64))[
        :-1
    ]
    high = 1.0 - np.maximum.reduceat(x, edges) / peak
    low = 1.0 - np.minimum.reduceat(x, edges) / peak
    across = edges * (WAVEFORM_COLUMNS / x.size)
    forth = [f"{a:.0f},{b:.3f}" for a, b in zip(across, high, strict=True)]
    back = [f"{a:.0f},{b:.3f}" for a, b in zip(across[::-1], low[::-1], strict=True)]
    return "M" + "L".join([*forth, *back]) + "Z"
