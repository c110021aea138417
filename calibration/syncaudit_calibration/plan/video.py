"""Write a pulse train as a video: the whole screen flashes, with clicks at the same instants.

This is for users without hardware. Screens light up line by line, over most of a frame, and the
sound of phones and laptops is late by a few to many milliseconds: the clicks tie microphones to
cameras no better than that, and cameras that see different parts of the screen differ by some
milliseconds. Let all cameras see the whole screen or, better, the light that it casts on a wall.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from syncaudit.model.arrays import Bools
from syncaudit.writing import draft_of
from syncaudit_calibration.plan.pulse_train import PulseTrain
from syncaudit_calibration.plan.train import SCREEN_RATE_HZ

if TYPE_CHECKING:
    import av

SIZE_PX = (640, 360)  # players scale it to the screen
SOUND_RATE_HZ = 48_000
BLACK, WHITE, NEUTRAL = 16, 235, 128
# A click starts abruptly and ends within milliseconds; most microphones record 3 kHz well.
CLICK_HZ, CLICK_DECAY_S, CLICK_S, CLICK_LEVEL = 3000.0, 0.002, 0.012, 0.8
SOUND_BLOCK = 1024  # samples per AAC frame


def write_sync_video(train: PulseTrain, path: Path) -> None:
    """Write H.264 and AAC at 60 frames per second.

    `train`: from `choose_train` for a screen, aligned with frames. `path`: an MP4 file.
    """
    import av

    options = {"fflags": "+bitexact", "movflags": "+faststart"}
    with (
        draft_of(path) as draft,
        av.open(str(draft), "w", format="mp4", container_options=options) as file,
    ):
        file.metadata["comment"] = "made by syncaudit flash-plan"  # identifies the file as ours
        video = file.add_stream("libx264", rate=SCREEN_RATE_HZ, options=_X264)
        video.width, video.height = SIZE_PX
        video.pix_fmt = "yuv420p"
        video.codec_context.thread_count = 1
        sound = file.add_stream("aac", rate=SOUND_RATE_HZ, layout="mono")
        sound.bit_rate = 128_000
        blocks, n_samples = _sound_frames(clicks(train)), 0
        for k, is_lit in enumerate(lit_frames(train)):
            file.mux(video.encode(_image(k, bool(is_lit))))
            # Interleave audio with the frames, so that players need not read far ahead.
            while n_samples * SCREEN_RATE_HZ <= k * SOUND_RATE_HZ:
                file.mux(sound.encode(next(blocks)))
                n_samples += SOUND_BLOCK
        file.mux(video.encode(None))
        for block in blocks:
            file.mux(sound.encode(block))
        file.mux(sound.encode(None))


_X264 = {"preset": "veryfast", "crf": "18", "g": "60", "bf": "0", "threads": "1"}


def lit_frames(train: PulseTrain) -> Bools:
    """Return which frames are white, shape (n_frames,)."""
    is_lit = np.zeros(round(train.duration_s * SCREEN_RATE_HZ), dtype=np.bool_)
    n_each = round(train.width_s * SCREEN_RATE_HZ)
    for first in np.rint(train.starts_s * SCREEN_RATE_HZ).astype(np.int64):
        is_lit[first : first + n_each] = True
    return is_lit


def clicks(train: PulseTrain) -> NDArray[np.float32]:
    """Return audio samples, shape (n,), full scale 1: a click at the start of each pulse."""
    since_s = np.arange(round(CLICK_S * SOUND_RATE_HZ)) / SOUND_RATE_HZ
    click = np.cos(2.0 * np.pi * CLICK_HZ * since_s) * np.exp(-since_s / CLICK_DECAY_S)
    sound = np.zeros(round(train.duration_s * SOUND_RATE_HZ), dtype=np.float32)
    for first in np.rint(train.starts_s * SOUND_RATE_HZ).astype(np.int64):
        part = sound[first : first + click.size]
        part += CLICK_LEVEL * click[: part.size]
    return sound


def _image(k: int, is_lit: bool) -> av.VideoFrame:
    import av

    image = av.VideoFrame(*SIZE_PX, "yuv420p")
    for plane, level in zip(
        image.planes, (WHITE if is_lit else BLACK, NEUTRAL, NEUTRAL), strict=True
    ):
        plane.update(bytes([level]) * plane.buffer_size)
    image.pts = k
    image.time_base = Fraction(1, SCREEN_RATE_HZ)
    return image


def _sound_frames(sound: NDArray[np.float32]) -> Iterator[av.AudioFrame]:
    import av

    for first in range(0, sound.size, SOUND_BLOCK):
        samples = np.ascontiguousarray(sound[first : first + SOUND_BLOCK][None])
        frame = av.AudioFrame.from_ndarray(samples, format="fltp", layout="mono")
        frame.sample_rate = SOUND_RATE_HZ
        frame.pts = first
        frame.time_base = Fraction(1, SOUND_RATE_HZ)
        yield frame
