"""Compute the log energies of a sound in nine bands, which distinguish speech sounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len, rfft

from syncaudit.dsp.sound import sample_clock
from syncaudit.model import AudioStream, BandEnergies
from syncaudit.model.arrays import Floats

N_BANDS = 9
HOP_S = 0.005
# Two periods of a deep voice, so that single glottal pulses do not show.
WINDOW_S = 0.016
LOWEST_HZ, HIGHEST_HZ = 100.0, 7600.0
# Telephone audio ends at 3.4 kHz; at lower rates sibilants look like silence.
MIN_RATE_HZ = 6000.0
# This far below a band's loud frames (45 dB), differences are room and codec, not speech.
FLOOR_NEPERS = 10.4
# Frames transformed at once.
_CHUNK = 4096


def find_band_energies(stream: AudioStream) -> BandEnergies | None:
    """Return log energies of a sound in nine bands, every 5 ms.

    A Hann window of 16 ms is centred on each frame's time, so nothing is delayed. The bands are
    evenly spaced in mel (O'Shaughnessy's formula) from 100 Hz to 7.6 kHz, or to the end of the
    spectrum if that is lower. Each band's energy gets a floor 45 dB below its loud frames. Times
    are the file's own seconds (sample over rate from the header); non-finite samples count as
    silence. None if the sound is silent, shorter than 0.1 s, or sampled below 6 kHz.
    """
    rate = stream.rate_hz
    if rate < MIN_RATE_HZ or stream.samples.size < 0.1 * rate:
        return None
    half = max(8, round(0.5 * WINDOW_S * rate))
    n_frames = int((stream.samples.size - 1) / (HOP_S * rate)) + 1
    n_fft = next_fast_len(2 * half + 1, real=True)
    window = np.hanning(2 * half + 3)[1:-1].astype(np.float32)
    weights, centres = _bands(rate, n_fft)
    energy = np.empty((n_frames, N_BANDS))
    padded = np.zeros(stream.samples.size + 2 * half, np.float32)
    padded[half:-half] = np.nan_to_num(stream.samples, nan=0.0, posinf=0.0, neginf=0.0)
    views = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
    for first in range(0, n_frames, _CHUNK):
        k = np.arange(first, min(first + _CHUNK, n_frames))
        at = np.minimum(np.rint(k * HOP_S * rate).astype(np.int64), len(views) - 1)
        spectrum = rfft(views[at] * window, n=n_fft, axis=1)
        energy[k] = (spectrum.real**2 + spectrum.imag**2) @ weights
    loud = np.quantile(energy, 0.95, axis=0)
    if float(loud.max()) <= 0.0:
        return None
    loud = np.maximum(loud, 1e-6 * float(loud.max()))
    return BandEnergies(
        source=stream.name,
        epoch_ns=_stamp_of_file_start(stream),
        start_s=stream.first_sample / rate,
        hop_s=HOP_S,
        values=np.log(energy / loud + np.exp(-FLOOR_NEPERS)),
        centres_hz=centres,
    )


def _stamp_of_file_start(stream: AudioStream) -> int:
    clock = sample_clock(stream)
    return clock.epoch_ns + round(clock.at(-stream.first_sample) * 1e9)


def _bands(rate_hz: float, n_fft: int) -> tuple[NDArray[np.float32], Floats]:
    """Return triangular weights, shape (bins, bands), and the middle of each band."""
    top = min(HIGHEST_HZ, 0.47 * rate_hz)
    edges_mel = np.linspace(_mel(LOWEST_HZ), _mel(top), N_BANDS + 2)
    edges = 700.0 * (10.0 ** (edges_mel / 2595.0) - 1.0)
    frequency = np.arange(n_fft // 2 + 1) * rate_hz / n_fft
    rise = (frequency[:, None] - edges[:-2]) / (edges[1:-1] - edges[:-2])
    fall = (edges[2:] - frequency[:, None]) / (edges[2:] - edges[1:-1])
    return np.clip(np.minimum(rise, fall), 0.0, None).astype(np.float32), edges[1:-1]


def _mel(frequency_hz: float) -> float:
    return float(2595.0 * np.log10(1.0 + frequency_hz / 700.0))
