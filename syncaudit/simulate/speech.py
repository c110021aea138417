"""Speech by espeak-ng, with the exact times of its phones.

The library and its voices are in the wheel of ``espeakng-loader`` (extra ``dev``). Its phone events
give the sample at which each phone starts; stops are marked at their burst, so the closure before
the burst is added to them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import Interval, Tier
from syncaudit.speech.phonetics import Alphabet, PhoneClass, classes_of_phone

_RETRIEVE_SYNCHRONOUSLY = 2
_WITH_PHONES_IN_IPA = 0x1 | 0x2 | 0x8000  # and never exit the process
_UTF8 = 1
_RATE, _PITCH, _PITCH_RANGE = 1, 3, 4
_WORD, _END, _PHONE = 1, 5, 7
# There are no events for closures: a closure is the quiet end of espeak's previous phone.
_CLOSURE_S = 0.045


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """Speaker and manner of speaking.

    Parameters
    ----------
    language : str
        Voice of espeak-ng, with a variant after a plus sign: ``en``, ``de+f3``.
    words_per_minute : int
        Rate, 80 to 450.
    pitch, pitch_range : int
        0 to 99, mean pitch and pitch range.
    """

    language: str = "en"
    words_per_minute: int = 175
    pitch: int = 50
    pitch_range: int = 50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Utterance:
    """Sound, and what is spoken in it.

    Parameters
    ----------
    samples : ndarray of float32, shape (n,)
        Full scale 1.
    rate_hz : float
        Sampling rate.
    phones, words : Tier
        Exact times of phones (IPA) and words.
    """

    samples: NDArray[np.float32]
    rate_hz: float
    phones: Tier
    words: Tier


class _Event(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("name", ctypes.c_char * 8),
    )


_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event)
)


def speak(text: str, voice: Voice | None = None) -> Utterance:
    """Return a spoken text with the times of its phones and words.

    Stops include their closures: from the start of the word, or of the silence before the burst,
    to the burst; a stop with a voiced closure gets 45 ms, at most half of the previous phone.

    The text is in the language of the voice, by default English.

    Raises
    ------
    ModuleNotFoundError
        If ``espeakng-loader`` is not installed.
    ValueError
        If espeak-ng has no such voice or produces no sound.
    """
    voice = Voice() if voice is None else voice
    library, rate_hz = _library()
    if library.espeak_SetVoiceByName(voice.language.encode()) != 0:
        raise ValueError(f"espeak-ng has no voice '{voice.language}'")
    library.espeak_SetParameter(_RATE, voice.words_per_minute, 0)
    library.espeak_SetParameter(_PITCH, voice.pitch, 0)
    library.espeak_SetParameter(_PITCH_RANGE, voice.pitch_range, 0)
    pieces: list[NDArray[np.int16]] = []
    events: list[tuple[int, int, str, tuple[int, int]]] = []

    def take(samples: Any, n: int, found: Any) -> int:
        k = 0
        while found[k].type:
            event = found[k]
            name = event.name.decode(errors="ignore") if event.type == _PHONE else ""
            events.append((event.type, event.sample, name, (event.text_position, event.length)))
            k += 1
        if samples and n:
            pieces.append(np.ctypeslib.as_array(samples, (n,)).copy())
        return 0

    callback = _Callback(take)
    library.espeak_SetSynthCallback(callback)
    encoded = text.encode()
    library.espeak_Synth(encoded, len(encoded) + 1, 0, 1, 0, _UTF8, None, None)
    library.espeak_Synchronize()
    if not any(name for _, _, name, _ in events):
        raise ValueError(f"espeak-ng says nothing: {text!r}")
    samples = np.concatenate(pieces).astype(np.float32) / np.float32(32768.0)
    words = [(sample, place) for kind, sample, _, place in events if kind == _WORD]
    phones = [(sample, name) for kind, sample, name, _ in events if kind == _PHONE]
    hush = _hush(samples, rate_hz)
    spans = _phone_spans(phones, [sample for sample, _ in words], samples.size, hush, rate_hz)
    return Utterance(
        samples=samples,
        rate_hz=rate_hz,
        phones=_tier("phones", spans, rate_hz),
        words=_tier("words", _word_spans(text, words, spans, samples.size), rate_hz),
    )


_Span = tuple[int, int, str]


def _library() -> tuple[Any, float]:
    """Return the library, loaded once, and its sampling rate."""
    if not _loaded:
        import espeakng_loader

        library = ctypes.CDLL(espeakng_loader.get_library_path())
        rate = library.espeak_Initialize(
            _RETRIEVE_SYNCHRONOUSLY,
            0,
            espeakng_loader.get_data_path().encode(),
            _WITH_PHONES_IN_IPA,
        )
        if rate <= 0:
            raise OSError(f"espeak-ng cannot be started (error {rate})")
        _loaded.append((library, float(rate)))
    return _loaded[0]


# The library keeps one state per process; starting it again loses the previous one.
_loaded: list[tuple[Any, float]] = []


def _hush(samples: NDArray[np.float32], rate_hz: float) -> Callable[[int, int], int]:
    """Return a function that finds the start of the silence before a sample, within a limit."""
    is_loud = np.abs(samples) > 1e-3
    last = np.maximum.accumulate(np.where(is_loud, np.arange(samples.size), -1))
    skip = round(0.004 * rate_hz)  # the burst may begin this much before its event

    def begin(earliest: int, burst: int) -> int:
        at = max(0, min(burst - skip, samples.size - 1))
        return int(min(burst, max(earliest, last[at] + 1)))

    return begin


def _phone_spans(
    phones: list[tuple[int, str]],
    word_starts: list[int],
    n_samples: int,
    hush: Callable[[int, int], int],
    rate_hz: float,
) -> list[_Span]:
    starts: list[tuple[int, str]] = []
    for k, (sample, name) in enumerate(phones):
        stop = phones[k + 1][0] if k + 1 < len(phones) else n_samples
        if not name and starts and hush(sample, stop) > sample + 0.5 * (stop - sample):
            continue  # an audible phone without a name is merged with the previous one
        classes = classes_of_phone(name, Alphabet.IPA) or ()
        if name and classes[:1] == (PhoneClass.CLOSURE,) and starts:
            previous, before = starts[-1]
            in_word = [w for w in word_starts if previous < w <= sample]
            quiet = hush(previous, sample)
            if in_word and in_word[-1] < sample:
                sample = in_word[-1]
            elif sample - quiet > 0.010 * rate_hz:
                sample = quiet if before else max(quiet, sample - round(_CLOSURE_S * rate_hz))
            elif before:
                sample -= min(round(_CLOSURE_S * rate_hz), (sample - previous) // 2)
        starts.append((sample, name))
    stops = [sample for sample, _ in starts[1:]] + [n_samples]
    return [
        (start, stop, name)
        for (start, name), stop in zip(starts, stops, strict=True)
        if stop > start
    ]


def _word_spans(
    text: str, words: list[tuple[int, tuple[int, int]]], phones: list[_Span], n_samples: int
) -> list[_Span]:
    spans = []
    for k, (start, (position, length)) in enumerate(words):
        stop = words[k + 1][0] if k + 1 < len(words) else n_samples
        pauses = [p[0] for p in phones if not p[2] and start < p[0] < stop]
        word = text[position - 1 : position - 1 + length]
        spans.append((start, min([stop, *pauses]), word))
    return [span for span in spans if span[1] > span[0]]


def _tier(name: str, spans: list[_Span], rate_hz: float) -> Tier:
    return Tier(
        name=name,
        intervals=tuple(
            Interval(start_s=start / rate_hz, stop_s=stop / rate_hz, label=label)
            for start, stop, label in spans
        ),
    )
