"""Write a sheet for a person to judge whether words and phones match their sound."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import Interval
from syncaudit.report.page import write_page
from syncaudit.report.spectrogram import spectrogram_png, waveform_path

LABELS = ("fits", "late", "early", "wrong text", "unsure")
"""Labels that a person can give a tier; late means that it comes after the sound."""

# Sound is embedded at this rate at most: what distinguishes phones lies below 8 kHz.
EMBEDDED_HZ = 16_000.0
# Width of a row on a common screen, not counting its name.
_ROW_PX = 1050.0
# Beyond this position there is no room for the label of a time.
_LAST_TICK = 95.0
_TICKS_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TierRow:
    """One tier below the sound: its name and the intervals to draw."""

    name: str
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Utterance:
    """A stretch of speech to look at and listen to."""

    clip_id: str  # clip, its transcript source, and the sound that it belongs to
    source: str
    audio: str
    start_s: float  # its bounds, in seconds after the start of the audio
    end_s: float
    # Time of the first of `samples`, which begin with some margin before the utterance.
    sound_start_s: float
    rate_hz: float  # sampling rate of `samples`
    samples: NDArray[np.float32]  # shape (n,): its sound
    tiers: tuple[TierRow, ...]  # coarse to fine; intervals in seconds after the start of the audio
    verdict: str | None = None  # result of `syncaudit validate` for the tier
    verdict_words: str | None = None


def write_speech_sheet(
    utterances: Sequence[Utterance], path: Path, *, about: str, problems: Sequence[str] = ()
) -> None:
    """Write one self-contained HTML page with image, sound, tiers and label buttons.

    The sound is in the page as 16-bit samples: a page opened from disk may not fetch other files,
    and cutting a phone to the exact sample needs decoded samples. A second takes 43 kB.

    `about` states the origin of the sample: manifest and seed; `problems` are the clips and sources
    that could not be shown, in words. The file is replaced in one step.
    """
    views = [_view(utterance) for utterance in utterances]
    keys = "".join(f"{u.clip_id}|{u.source}|{u.start_s:.6f};" for u in utterances)
    write_page(
        "speech.html.j2",
        path,
        script="speech.js",
        utterances=views,
        problems=list(problems),
        about=about,
        labels=LABELS,
        sheet_id=hashlib.sha256(keys.encode("utf-8", "replace")).hexdigest()[:16],
    )


def _view(utterance: Utterance) -> dict[str, Any]:
    samples, rate_hz = _embedded(utterance.samples, utterance.rate_hz)
    seconds = samples.size / rate_hz
    peak = float(np.max(np.abs(samples), initial=0.0)) or 1.0
    pcm = np.rint(samples * (0.9 * 32767.0 / peak)).astype("<i2")
    return {
        "clip_id": utterance.clip_id,
        "source": utterance.source,
        "audio": utterance.audio,
        "start_s": round(utterance.start_s, 4),
        "end_s": round(utterance.end_s, 4),
        "seconds": seconds,
        "rate_hz": rate_hz,
        "pcm": base64.b64encode(pcm.tobytes()).decode("ascii"),
        "picture": base64.b64encode(spectrogram_png(samples, rate_hz)).decode("ascii"),
        "waveform": waveform_path(samples),
        "tiers": [_tier_view(row, utterance.sound_start_s, seconds) for row in utterance.tiers],
        "ticks": _ticks(utterance.sound_start_s, seconds),
        "verdict": utterance.verdict,
        "verdict_words": utterance.verdict_words,
    }


def _embedded(samples: NDArray[np.float32], rate_hz: float) -> tuple[NDArray[np.float32], float]:
    x = np.nan_to_num(samples, nan=0.0, posinf=0.0, neginf=0.0)
    step = int(rate_hz // EMBEDDED_HZ)
    if step < 2:
        return x, rate_hz
    from scipy.signal import resample_poly

    return np.asarray(resample_poly(x, 1, step), dtype=np.float32), rate_hz / step


def _tier_view(row: TierRow, sound_start_s: float, seconds: float) -> dict[str, Any]:
    cells = []
    for interval in row.intervals:
        start = max(0.0, interval.start_s - sound_start_s)
        stop = min(seconds, interval.stop_s - sound_start_s)
        if stop > start:
            cells.append(
                {
                    "label": interval.label,
                    "start": round(start, 5),
                    "stop": round(stop, 5),
                    "left": round(100.0 * start / seconds, 4),
                    "width": round(100.0 * (stop - start) / seconds, 4),
                    "size": _letter_size(interval.label, (stop - start) / seconds),
                    "ms": round(1e3 * (interval.stop_s - interval.start_s)),
                    "at": f"{interval.start_s:.3f}",
                }
            )
    return {"name": row.name, "cells": cells}


def _letter_size(label: str, share: float) -> str:
    """Return a size at which a label fits: a cut one could be mistaken for another."""
    room = share * _ROW_PX / max(1, len(label))
    return "" if room >= 8.5 else "tight" if room >= 5.5 else "tiny"


def _ticks(start_s: float, seconds: float) -> list[dict[str, Any]]:
    """Return at most a dozen round times with their positions in percent."""
    step = next((s for s in _TICKS_S if seconds / s <= 12.0), _TICKS_S[-1])
    first, last = int(np.ceil(start_s / step)), int(np.floor((start_s + seconds) / step))
    lefts = [round(100.0 * (k * step - start_s) / seconds, 3) for k in range(first, last + 1)]
    return [
        {"left": left, "text": f"{k * step:.1f} s" if left < _LAST_TICK else ""}
        for k, left in enumerate(lefts, start=first)
    ]
