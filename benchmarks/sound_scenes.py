"""Sounds with known times for the benchmark of microphones: sources, rooms, clocks, codecs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, fftconvolve, resample_poly, sosfilt

from syncaudit.model import AudioStream, SourceKind

Floats = NDArray[np.float64]

EPOCH_NS = 1_767_225_600_000_000_000
MASTER_HZ = 48_000
SOUND_M_PER_S = 343.0
REALDATA = Path(__file__).resolve().parents[2] / "shared" / "realdata" / "speech"
# Master sounds are oversampled by this factor, so that cubic interpolation is exact to -70 dB.
_FINER = 4


def first_half_speech(seconds: float, rng: np.random.Generator) -> Floats:
    """Return `speech` made only from the first half of the recording."""
    return speech(seconds, rng, part=(0.0, 0.5))


def second_half_speech(seconds: float, rng: np.random.Generator) -> Floats:
    """Return `speech` that shares nothing with the first half."""
    return speech(seconds, rng, part=(0.5, 1.0))


def speech(
    seconds: float, rng: np.random.Generator, *, part: tuple[float, float] = (0.0, 1.0)
) -> Floats:
    """Return real read speech, its pieces in random order with pauses, at `MASTER_HZ`.

    Raises
    ------
    FileNotFoundError
        If the real recordings are missing.
    """
    import soundfile

    path = REALDATA / "acoustic_corpus.wav"
    if not path.exists():
        raise FileNotFoundError(f"{path} is absent: no speech to test with")
    read, rate = soundfile.read(path)
    voice = resample_poly(read, 3, 1) if rate * 3 == MASTER_HZ else read
    voice = voice[int(part[0] * voice.size) : int(part[1] * voice.size)]
    pieces: list[Floats] = []
    n_wanted, n_have = round(seconds * MASTER_HZ), 0
    while n_have < n_wanted:
        n = round(rng.uniform(1.5, 5.0) * MASTER_HZ)
        first = int(rng.integers(0, voice.size - n))
        # A different pitch and pace each time: no piece occurs twice.
        pace = Fraction(int(rng.integers(88, 113)), 100)
        piece = resample_poly(voice[first : first + n], pace.numerator, pace.denominator)
        fade = np.minimum(1.0, np.arange(piece.size) / 480.0)
        pause = np.zeros(round(rng.exponential(0.4) * MASTER_HZ))
        pieces += [piece * fade * fade[::-1], pause]
        n_have += piece.size + pause.size
    return _unit(np.concatenate(pieces)[:n_wanted])


def music(seconds: float, rng: np.random.Generator) -> Floats:
    """Return plucked strings at random times on a pentatonic scale, over a soft beat."""
    n = round(seconds * MASTER_HZ)
    out = np.zeros(n + 3 * MASTER_HZ)
    scale = 220.0 * 2.0 ** (np.array([0, 3, 5, 7, 10, 12, 15, 17, 19, 22]) / 12.0)
    at = 0.0
    while at < seconds:
        f = float(rng.choice(scale)) * float(rng.choice([0.5, 1.0, 2.0]))
        tone = _string(f)
        first = round(at * MASTER_HZ)
        out[first : first + tone.size] += rng.uniform(0.3, 1.0) * tone
        at += float(rng.choice([0.125, 0.25, 0.25, 0.5])) * float(rng.uniform(0.97, 1.03))
    return _unit(out[:n])


@cache
def _string(f: float) -> Floats:
    """Return two seconds of a plucked string."""
    tone_s = np.arange(2 * MASTER_HZ) / MASTER_HZ
    tone = np.zeros(tone_s.size)
    for k in range(1, int(9000.0 / f)):
        # Stiff strings are slightly inharmonic; higher partials decay sooner.
        partial = k * f * np.sqrt(1.0 + 2e-4 * k * k)
        tone += np.exp(-tone_s * (1.5 + 0.6 * k)) / k * np.sin(2.0 * np.pi * partial * tone_s)
    return tone


def band_noise(seconds: float, rng: np.random.Generator) -> Floats:
    """Return pink noise of wandering loudness, like traffic."""
    n = round(seconds * MASTER_HZ)
    size = 1 << (n - 1).bit_length()
    freq = np.fft.rfftfreq(size, 1.0 / MASTER_HZ)
    spectrum = np.fft.rfft(rng.standard_normal(size)) / np.sqrt(np.maximum(freq, 30.0))
    knots = np.arange(0.0, seconds + 2.0, 0.7)
    level = np.interp(np.arange(n) / MASTER_HZ, knots, rng.normal(0.0, 0.6, knots.size))
    return _unit(np.fft.irfft(spectrum, size)[:n] * np.exp(level))


def mixed(seconds: float, rng: np.random.Generator) -> Floats:
    """Return speech over noise."""
    return _unit(speech(seconds, rng) + 0.3 * band_noise(seconds, rng))


def _unit(x: Floats) -> Floats:
    return np.asarray(x / (np.std(x) + 1e-30))


def impulse_response(
    room_m: Floats,
    source_m: Floats,
    microphone_m: Floats,
    absorption: float,
    n_reflections: int = 10,
) -> Floats:
    """Return the response of a shoebox room by image sources, at `MASTER_HZ`.

    Allen and Berkley, "Image method for efficiently simulating small-room acoustics", J. Acoust.
    Soc. Am. 65, 1979, doi:10.1121/1.382599, with fractional delays of 32 taps. The direct path
    includes its true travel time: time zero of the response is the moment of emission.

    Parameters
    ----------
    room_m, source_m, microphone_m : ndarray, shape (3,)
        Size of the room and positions in it.
    absorption : float
        Fraction of energy that a wall absorbs.
    n_reflections : int
        Images kept on either side.
    """
    reach = np.arange(-n_reflections, n_reflections + 1)
    nx, ny, nz = (axis.ravel() for axis in np.meshgrid(reach, reach, reach))
    images, walls = [], []
    for parity in np.ndindex(2, 2, 2):
        sign = 1.0 - 2.0 * np.array(parity)
        order = np.column_stack((nx, ny, nz))
        images.append(sign * source_m + 2.0 * order * room_m)
        walls.append(np.sum(np.abs(order - np.array(parity)) + np.abs(order), axis=1))
    place, count = np.concatenate(images), np.concatenate(walls)
    distance = np.linalg.norm(place - microphone_m, axis=1)
    gain = (1.0 - absorption) ** (0.5 * count) / np.maximum(distance, 0.1)
    keep = gain > 1e-3 * gain.max()
    delay = distance[keep] / SOUND_M_PER_S * MASTER_HZ
    whole = np.floor(delay).astype(np.int64)
    taps = np.arange(-15, 17)
    lag = taps[None, :] - (delay - whole)[:, None]
    kernel = np.sinc(lag) * np.cos(np.pi * np.clip(lag / 34.0, -0.5, 0.5)) ** 2
    out = np.zeros(int(whole.max()) + 48)
    index = whole[:, None] + taps + 0
    inside = index >= 0
    np.add.at(out, index[inside], (gain[keep][:, None] * kernel)[inside])
    return np.asarray(out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """One recording of a master sound: ``stamp = t + offset_s + drift_ppm * 1e-6 * t``.

    Parameters
    ----------
    rate_hz : int
        Sampling rate of the device.
    start_s : float
        Timestamp of sample 0, relative to the epoch.
    seconds : float
        Length.
    offset_s, drift_ppm : float
        Of its clock.
    snr_db : float
        Signal-to-noise ratio of its own noise.
    band_hz : tuple of float
        Pass band of the microphone.
    gain : float
    clip : float
        Full scale, in standard deviations of the sound.
    lost_s, lost_at_s : float
        Sound that the buffer lost, and when (timestamps continue as if nothing were lost).
    """

    rate_hz: int = MASTER_HZ
    start_s: float = 0.0
    seconds: float = 20.0
    offset_s: float = 0.0
    drift_ppm: float = 0.0
    snr_db: float = 20.0
    band_hz: tuple[float, float] = (60.0, 20_000.0)
    gain: float = 0.1
    clip: float = 1e9
    lost_s: float = 0.0
    lost_at_s: float = 0.0


def record(
    master: Floats, take: Take, rng: np.random.Generator, room: Floats | None = None
) -> NDArray[np.float32]:
    """Return what a device records of `master`, whose first sample sounds at t = 0.

    Parameters
    ----------
    master : ndarray, shape (n,)
        Sound at `MASTER_HZ`; silence before and after it.
    take : Take
        Clock and microphone.
    rng : numpy.random.Generator
        Random generator of its noise.
    room : ndarray, optional
        Impulse response.
    """
    heard = master if room is None else fftconvolve(master, room)
    nyquist = 0.45 * min(take.rate_hz, MASTER_HZ)
    low, high = take.band_hz[0], min(take.band_hz[1], nyquist)
    heard = sosfilt(butter(2, [low, high], "bandpass", fs=MASTER_HZ, output="sos"), heard)
    if nyquist < 20_000.0:  # the anti-alias filter of the converter, without delay
        lowpass = butter(6, nyquist, fs=MASTER_HZ, output="sos")
        heard = sosfilt(lowpass, sosfilt(lowpass, heard)[::-1])[::-1]
    n = round(take.seconds * take.rate_hz)
    lost = np.where(np.arange(n) / take.rate_hz >= take.lost_at_s, take.lost_s, 0.0)
    stamps = take.start_s + np.arange(n) / take.rate_hz + lost
    out = _at(_finer(heard), (stamps - take.offset_s) / (1.0 + take.drift_ppm * 1e-6))
    out = out / (np.std(out) + 1e-30) + 10.0 ** (-take.snr_db / 20.0) * rng.standard_normal(n)
    return np.asarray(take.gain * np.clip(out, -take.clip, take.clip), dtype=np.float32)


def _finer(x: Floats) -> NDArray[np.float32]:
    return np.asarray(resample_poly(x.astype(np.float32), _FINER, 1), dtype=np.float32)


def _at(finer: NDArray[np.float32], times_s: Floats) -> Floats:
    """Interpolate by the cubic through four points."""
    out = np.empty(times_s.size)
    padded = np.pad(finer, 4)
    for first in range(0, times_s.size, 1 << 20):
        x = np.clip(
            times_s[first : first + (1 << 20)] * (MASTER_HZ * _FINER) + 4.0, 1.0, padded.size - 4.0
        )
        k = np.floor(x).astype(np.int64)
        u = x - k
        a, b, c, d = (padded[k + j].astype(np.float64) for j in (-1, 0, 1, 2))
        out[first : first + (1 << 20)] = (
            -u * (u - 1) * (u - 2) / 6 * a
            + (u + 1) * (u - 1) * (u - 2) / 2 * b
            - (u + 1) * u * (u - 2) / 2 * c
            + (u + 1) * u * (u - 1) / 6 * d
        )
    return out


def stream_of(samples: NDArray[np.float32], take: Take, name: str) -> AudioStream:
    """Return a recording as the reader returns it."""
    return AudioStream(
        name=name,
        clock=name,
        kind=SourceKind.AUDIO,
        time_ns=np.array([EPOCH_NS + round(take.start_s * 1e9)], dtype=np.int64),
        anchor_samples=np.zeros(1, dtype=np.int64),
        rate_hz=float(take.rate_hz),
        samples=samples,
    )


def encode(
    path: Path, codec: str, samples: NDArray[np.float32], rate_hz: int, *, with_video: bool = False
) -> None:
    """Write a sound with one of FFmpeg's encoders, or Vorbis with libsndfile.

    Parameters
    ----------
    path : Path
        Its suffix determines the container.
    codec : str
        ``aac``, ``libmp3lame``, ``libopus``, ``vorbis`` ...
    samples : ndarray of float32, shape (n,)
    rate_hz : int
    with_video : bool
        Whether to add a small video track.
    """
    import av
    import soundfile

    if codec == "vorbis":
        with soundfile.SoundFile(path, "w", rate_hz, 1, format="OGG", subtype="VORBIS") as file:
            for first in range(0, samples.size, 1 << 14):  # large writes crash libvorbis
                file.write(samples[first : first + (1 << 14)])
        return
    with av.open(str(path), "w") as container:
        if with_video:
            video = container.add_stream("libx264", rate=10)
            video.width = video.height = 64
            video.pix_fmt = "yuv420p"
        sound = container.add_stream(codec, rate=rate_hz, layout="mono")
        sound.bit_rate = 96_000
        if with_video:
            for k in range(int(10 * samples.size / rate_hz)):
                image = np.full((64, 64), k % 200, dtype=np.uint8)
                frame = av.VideoFrame.from_ndarray(image, format="gray")
                frame.pts = k
                container.mux(video.encode(frame.reformat(format="yuv420p")))
            container.mux(video.encode(None))
        wanted = sound.codec_context.format.name
        resampler = av.AudioResampler(format=wanted, layout="mono", rate=rate_hz)
        for first in range(0, samples.size, 1 << 14):
            part = samples[None, first : first + (1 << 14)]
            frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(part), "fltp", "mono")
            frame.sample_rate, frame.pts = rate_hz, first
            for piece in resampler.resample(frame):
                container.mux(sound.encode(piece))
        for piece in resampler.resample(None):
            container.mux(sound.encode(piece))
        container.mux(sound.encode(None))
