"""Small videos with sound and subtitles, as phones and screen recorders write them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

FPS, RATE_HZ, DURATION_S = 25, 48_000, 3
# The image lights up and the sound clicks at this recorder time.
EVENT_S = 1.0
_ASS_HEADER = b"""[Script Info]
ScriptType: v4.00+
[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, \
Bold, Italic, Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, \
Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
Style: Default,Arial,16,&Hffffff,&Hffffff,&H0,&H0,0,0,0,0,100,100,0,0,1,1,0,2,10,10,10,1
[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
"""
SRT = "1\n00:00:00,500 --> 00:00:00,900\nhello there\n\n2\n00:00:01,200 --> 00:00:01,600\nagain\n"


def write_video(
    path: Path,
    *,
    codec: str = "aac",
    video_late_s: float = 0.0,
    sound_late_s: float = 0.0,
    level: float = 0.001,
    subtitles: str | None = None,
) -> Path:
    """Write a video with a simultaneous flash and click.

    Parameters
    ----------
    path : Path
        Its suffix determines the container.
    codec : str
        Audio codec.
    video_late_s, sound_late_s : float
        Presentation time at which each stream begins; earlier content is missing.
    level : float
        Noise level around the click; 0 makes the sound completely silent.
    subtitles : str, optional
        Codec of a subtitle stream, such as ``mov_text``.
    """
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=FPS)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        sound = container.add_stream(codec, rate=RATE_HZ)
        sound.layout = "mono"
        text = None
        if subtitles:
            text = container.add_stream(subtitles)
            text.codec_context.subtitle_header = _ASS_HEADER
        packets = [*_pictures(video, video_late_s), *_clicks(sound, sound_late_s, level)]
        packets.sort(key=lambda packet: float((packet.dts or 0) * packet.time_base))
        container.start_encoding()
        for packet in packets:
            container.mux(packet)
        for start_ms, line in ((500, b"hello there"), (1200, b"again")) if text else ():
            packet = av.Packet(len(line).to_bytes(2, "big") + line)
            packet.time_base, packet.pts, packet.dts = Fraction(1, 1000), start_ms, start_ms
            packet.duration, packet.stream = 400, text
            container.mux(packet)
    return path


def _pictures(stream, late_s):
    first = round(late_s * FPS)
    packets = []
    for k in range(first, DURATION_S * FPS):
        luma = np.full((48, 64), 200 if k == round(EVENT_S * FPS) else 60, np.uint8)
        frame = av.VideoFrame.from_ndarray(
            np.vstack([luma, np.full((24, 64), 128, np.uint8)]), format="yuv420p"
        )
        frame.pts, frame.time_base = k, Fraction(1, FPS)
        packets += stream.encode(frame)
    return [*packets, *stream.encode()]


def _clicks(stream, late_s, level):
    samples = level * np.random.default_rng(0).normal(size=DURATION_S * RATE_HZ)
    if level:
        at = round(EVENT_S * RATE_HZ)
        samples[at : at + 20] = 0.8
    form = stream.codec_context.format.name
    packets = []
    for start in range(round(late_s * RATE_HZ), samples.size, 1024):
        block = samples[None, start : start + 1024].astype(np.float32)
        if form.startswith("s16"):
            block = (32767 * block).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(block, format=form, layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = RATE_HZ, start, Fraction(1, RATE_HZ)
        packets += stream.encode(frame)
    return [*packets, *stream.encode()]
