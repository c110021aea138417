"""Forced aligners: boundaries against hand labels and espeak-ng, rejections, and speed."""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from base_clips import OUT
from numpy.typing import NDArray
from recordings import REALDATA
from tables import print_table, write_json

from syncaudit.errors import AlignmentError
from syncaudit.model import Interval
from syncaudit.pipeline.alignment import (
    Choice,
    JudgedAlignment,
    align_and_judge,
    choose_aligners,
)
from syncaudit.simulate.speech import Voice, speak
from syncaudit.simulate.speech_texts import SENTENCES
from syncaudit.speech.aligners.alignment import Utterance, words_of_text
from syncaudit.speech.phonetics import is_silence
from syncaudit.speech.tiers.parsing import TIER_FORMATS

Row = dict[str, Any]
Floats = NDArray[np.float32]

N_SENTENCES = 4
VARIANTS = ("", "+f2", "+m4")


def main() -> int:
    """Run the benchmark and always return 0: it does not gate anything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--aligner", default="pocketsphinx")
    parser.add_argument("--windows", type=int, default=40, help="windows of real speech")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=OUT / "aligners.json")
    options = parser.parse_args()
    result: dict[str, list[Row]] = {"hand": [], "windows": []}
    choice = choose_aligners(options.aligner)
    if (REALDATA / "speech").exists():
        result["hand"] = hand_labels(choice)
        print_table(
            "Boundaries against hand labels",
            (
                "recording, given",
                "starts",
                "bias ms",
                "MAE ms",
                "median ms",
                "within 25 ms",
                "x rt",
            ),
            [tuple(row.values()) for row in result["hand"]],
        )
        rng = np.random.default_rng(options.seed)
        result["windows"] = windows(choice, options.windows, rng)
        print_table(
            f"{options.windows} windows of real speech, 4 to 9 s",
            ("text and sound", "tried", "accepted"),
            [tuple(row.values()) for row in result["windows"]],
        )
    else:
        print(f"skipped: {REALDATA / 'speech'} is absent")
    result["espeak"] = [espeak(language) for language in SENTENCES]
    print_table(
        "espeak-ng, phones given: true phone starts",
        ("voice", "starts", "bias ms", "MAE ms", "median ms", "right ok", "wrong ok", "half ok"),
        [tuple(row.values()) for row in result["espeak"]],
    )
    write_json(options.out, result)
    return 0


def hand_labels(choice: Choice) -> list[Row]:
    """Align the hand-labelled recordings by words and by phones."""
    rows = []
    for name, label_file in (("acoustic_corpus", "acoustic_corpus_hand"), ("mary", "mary")):
        samples, rate_hz = _sound(name)
        phones = _spoken(label_file, "phone")
        words = _spoken(label_file, "word")
        by_words = Utterance(
            name=name,
            samples=samples,
            rate_hz=rate_hz,
            words=tuple(word.label for word in words),
        )
        by_phones = Utterance(
            name=name,
            samples=samples,
            rate_hz=rate_hz,
            phones=tuple((phone.label,) for phone in phones),
        )
        for given, utterance in (("words", by_words), ("phones", by_phones)):
            begun = time.process_time()
            (found,) = align_and_judge([utterance], choice)
            speed = utterance.duration_s / (time.process_time() - begun)
            if isinstance(found, AlignmentError):
                print(f"{name} by {given}: {found}")
                continue
            errors = (
                _errors(found.alignment.words.intervals, words)
                if given == "words"
                else _errors(found.alignment.phones.intervals, phones)
            )
            rows.append({"case": f"{name}, {given}", **_figures(errors), "x_real_time": speed})
            if given == "words":
                inner = _inner_errors(found, words, phones)
                rows.append({"case": f"{name}, phones of words", **_figures(inner), "x": None})
    return rows


def windows(choice: Choice, n: int, rng: np.random.Generator) -> list[Row]:
    """Align windows of the long recording with correct and wrong texts and with noise."""
    samples, rate_hz = _sound("acoustic_corpus")
    words = _spoken("acoustic_corpus_hand", "word")
    cases: dict[str, list[Utterance]] = {}
    for _ in range(n):
        count = int(rng.integers(10, 20))
        first = int(rng.integers(0, len(words) - count))
        own = words[first : first + count]
        others = [word.label for word in (*words[:first], *words[first + count :])]
        start, stop = (round(t * rate_hz) for t in (own[0].start_s - 0.05, own[-1].stop_s + 0.05))
        sound = samples[max(0, start) : stop]
        level = float(np.sqrt(np.mean(sound**2)))
        noise = level * rng.standard_normal(sound.size).astype(np.float32)
        right = tuple(word.label for word in own)
        wrong = tuple(rng.permutation(others)[:count].tolist())
        odd = (*right[: count // 2], "zzyzx", *right[count // 2 :])
        for name, text, heard in (
            ("right", right, sound),
            ("right, 20 dB noise", right, sound + noise / 10.0),
            ("right, 10 dB noise", right, sound + noise / np.float32(np.sqrt(10.0))),
            ("one word too many", odd, sound),
            ("wrong words", wrong, sound),
            ("wrong words, 10 dB noise", wrong, sound + noise / np.float32(np.sqrt(10.0))),
            ("first half of the text", right[: count // 2], sound),
            ("second half of the text", right[count // 2 :], sound),
            ("text twice", right + right, sound),
            ("noise alone", right, noise),
            ("silence", right, noise * np.float32(1e-4)),
        ):
            cases.setdefault(name, []).append(
                Utterance(name=name, samples=heard, rate_hz=rate_hz, words=text)
            )
    rows = []
    for name, utterances in cases.items():
        outcomes = align_and_judge(utterances, choice)
        rows.append(
            {"case": name, "tried": len(outcomes), "accepted": sum(map(_is_accepted, outcomes))}
        )
    return rows


def espeak(language: str) -> Row:
    """Align synthetic speech by phones, whose times are exact."""
    choice = choose_aligners("pocketsphinx", language=language, is_phones=True)
    errors: list[float] = []
    accepted = {"right": 0, "wrong": 0, "half": 0}
    tried = 0
    texts = SENTENCES[language][:N_SENTENCES]
    for variant in VARIANTS:
        voice = Voice(language=language + variant)
        spoken = [speak(text, voice) for text in texts]
        named = [[p for p in one.phones.intervals if p.label.strip("_: ")] for one in spoken]
        for k, one in enumerate(spoken):
            own = [(phone.label,) for phone in named[k]]
            other = [(phone.label,) for phone in named[(k + 1) % len(named)]]
            tried += 1
            for kind, phones in (("right", own), ("wrong", other), ("half", own[: len(own) // 2])):
                (found,) = align_and_judge(
                    [
                        Utterance(
                            name=kind,
                            samples=one.samples,
                            rate_hz=one.rate_hz,
                            phones=tuple(phones),
                            language=language,
                        )
                    ],
                    choice,
                )
                accepted[kind] += _is_accepted(found)
                if kind == "right" and isinstance(found, JudgedAlignment):
                    errors += _errors(found.alignment.phones.intervals, named[k])
    figures = _figures(errors)
    del figures["within_25_ms"]
    return {"voice": language, **figures, **{k: f"{v}/{tried}" for k, v in accepted.items()}}


def _is_accepted(outcome: JudgedAlignment | AlignmentError) -> bool:
    return isinstance(outcome, JudgedAlignment)


def _errors(found: Sequence[Interval], truth: Sequence[Interval]) -> list[float]:
    """Return the errors of the interval starts, paired one to one."""
    return [a.start_s - b.start_s for a, b in zip(found, truth, strict=True)]


def _inner_errors(
    found: JudgedAlignment, words: Sequence[Interval], phones: Sequence[Interval]
) -> list[float]:
    """Return the errors of phone starts in words with as many phones as the hand labels have."""
    errors: list[float] = []
    for ours, theirs in zip(found.alignment.words.intervals, words, strict=True):
        mine = [p for p in found.alignment.phones.intervals if _is_within(p, ours)]
        hand = [p for p in phones if _is_within(p, theirs)]
        if len(mine) == len(hand):
            errors += _errors(mine, hand)
    return errors


def _is_within(phone: Interval, word: Interval) -> bool:
    return word.start_s <= (phone.start_s + phone.stop_s) / 2.0 < word.stop_s


def _figures(errors: Sequence[float]) -> Row:
    ms = 1e3 * np.asarray(errors)
    if not ms.size:
        return {"starts": 0, "bias": None, "mae": None, "median": None, "within_25_ms": None}
    size = np.abs(ms)
    return {
        "starts": int(ms.size),
        "bias_ms": float(ms.mean()),
        "mae_ms": float(size.mean()),
        "median_ms": float(np.median(size)),
        "within_25_ms": float(np.mean(size <= 25.0)),
    }


def _sound(name: str) -> tuple[Floats, float]:
    samples, rate_hz = soundfile.read(
        REALDATA / "speech" / f"{name}.wav", dtype="float32", always_2d=True
    )
    return np.ascontiguousarray(samples[:, 0]), float(rate_hz)


def _spoken(name: str, tier: str) -> list[Interval]:
    path = REALDATA / "speech" / f"{name}.TextGrid"
    text = path.read_text(encoding="utf-8")
    tiers = {found.name: found for found in TIER_FORMATS[".textgrid"](str(path), text).tiers}
    spoken = [one for one in tiers[tier].intervals if not is_silence(one.label)]
    return [one for one in spoken if tier == "phone" or words_of_text(one.label)]


if __name__ == "__main__":
    sys.exit(main())
