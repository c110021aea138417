"""Align with the Montreal Forced Aligner (McAuliffe et al. 2017), an external program.

Its exit code 0 proves nothing: its output must be checked against the audio.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from syncaudit.errors import AlignmentError, StreamReadError, SyncAuditError, UsageError
from syncaudit.model import Interval, Tier
from syncaudit.speech.aligners.alignment import (
    Alignment,
    Utterance,
    aligned_tiers,
    remarks_on_unknown,
)
from syncaudit.speech.aligners.mfa.program import MfaProgram, find_mfa
from syncaudit.speech.tiers import TIER_FORMATS

DICTIONARY_VARIABLE = "SYNCAUDIT_MFA_DICTIONARY"
ACOUSTIC_VARIABLE = "SYNCAUDIT_MFA_ACOUSTIC"

# (dictionary, acoustic model) by language, as `mfa model download` names them.
_MODELS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "en": ("english_us_arpa", "english_us_arpa"),
        "es": ("spanish_spain_mfa", "spanish_mfa"),
        **{
            code: (f"{name}_mfa", f"{name}_mfa")
            for code, name in {
                "cs": "czech",
                "de": "german",
                "fr": "french",
                "ja": "japanese",
                "ko": "korean",
                "pl": "polish",
                "ru": "russian",
                "sv": "swedish",
                "tr": "turkish",
                "uk": "ukrainian",
            }.items()
        },
    }
)
# Separate calls cost 3.5 s of start-up per file; more files than this are aligned as one corpus.
_FEW = 3
_OPTIONS = (
    *("--beam", "100", "--retry_beam", "400"),
    *("--output_format", "long_textgrid", "--clean", "--final_clean"),
)
_PATIENCE_S, _PATIENCE_PER_S = 600.0, 10.0


class MfaAligner:
    """Align with the Montreal Forced Aligner; see `syncaudit.speech.aligners.alignment.Aligner`."""

    name = "mfa"

    def unavailable_reason(self, language: str, *, is_phones: bool) -> SyncAuditError | None:
        """Return why it is unavailable: not installed, phones given, a language without models."""
        if is_phones:
            return UsageError(
                "the Montreal Forced Aligner takes words, not phones",
                hint="Use pocketsphinx for phones.",
            )
        if isinstance(self._program, UsageError):
            return self._program
        if None in _models(language):
            return UsageError(
                f"no known Montreal Forced Aligner model for '{language}'",
                hint=f"Name them in {DICTIONARY_VARIABLE} and {ACOUSTIC_VARIABLE}.",
            )
        return None

    def align(self, utterances: Sequence[Utterance]) -> list[Alignment | AlignmentError]:
        """Align utterances: a few individually, many as one corpus."""
        groups = (
            [[utterance] for utterance in utterances]
            if len(utterances) <= _FEW
            else [list(utterances)]
        )
        return [outcome for group in groups for outcome in self._align(group)]

    @cached_property
    def _program(self) -> MfaProgram | UsageError:
        return find_mfa()

    def _align(self, utterances: Sequence[Utterance]) -> list[Alignment | AlignmentError]:
        if isinstance(self._program, UsageError):
            raise self._program
        with tempfile.TemporaryDirectory(prefix="syncaudit-mfa-") as folder:
            place = Path(folder)
            # Its databases are named after the corpus, so names must be unique.
            corpus = place / f"corpus{uuid.uuid4().hex}"
            for part in ("root", "scratch", "out"):
                (place / part).mkdir()
            corpus.mkdir()
            outcomes: list[Alignment | AlignmentError] = []
            try:
                for k, utterance in enumerate(utterances):
                    _put(utterance, corpus / f"u{k:06d}")
                self._run(self._program, utterances, place, corpus)
            except AlignmentError as error:
                return [
                    AlignmentError(f"{one.name}: {error.message}", hint=error.hint)
                    for one in utterances
                ]
            for k, utterance in enumerate(utterances):
                try:
                    path = next((place / "out").rglob(f"u{k:06d}.TextGrid"), None)
                    outcomes.append(_read(path, utterance, self._program.version))
                except AlignmentError as error:
                    outcomes.append(error)
            return outcomes

    def _run(
        self, program: MfaProgram, utterances: Sequence[Utterance], place: Path, corpus: Path
    ) -> None:
        dictionary, acoustic = (str(model) for model in _models(utterances[0].language))
        out = place / "out"
        if len(utterances) == 1:
            what = ["align_one", str(corpus / "u000000.wav"), str(corpus / "u000000.lab")]
            out = out / "u000000.TextGrid"
        else:
            what = ["align", str(corpus)]
        total_s = sum(one.duration_s for one in utterances)
        program.run(
            [
                program.subcommand(what[0]),
                *(*what[1:], dictionary, acoustic, str(out)),
                *(*_OPTIONS, "-t", str(place / "scratch")),
            ],
            root=place / "root",
            timeout_s=_PATIENCE_S + _PATIENCE_PER_S * total_s,
        )


def _models(language: str) -> tuple[str | None, str | None]:
    """Return dictionary and acoustic model: as configured, else the default for the language."""
    usual = _MODELS.get(language.lower().partition("-")[0], (None, None))
    return (
        os.environ.get(DICTIONARY_VARIABLE) or usual[0],
        os.environ.get(ACOUSTIC_VARIABLE) or usual[1],
    )


def _put(utterance: Utterance, stem: Path) -> None:
    """Write sound and text for the aligner."""
    import soundfile

    try:
        soundfile.write(
            stem.with_suffix(".wav"),
            utterance.samples,
            round(utterance.rate_hz),
            subtype="PCM_16",
            format="WAV",
        )
    except (soundfile.LibsndfileError, ValueError, TypeError) as error:
        raise AlignmentError(f"the audio cannot be passed on ({error})") from error
    stem.with_suffix(".lab").write_text(" ".join(utterance.words) + "\n", encoding="utf-8")


def _read(path: Path | None, utterance: Utterance, version: str) -> Alignment:
    """Return its output if it is plausible without the audio."""
    if path is None:
        raise AlignmentError(f"{utterance.name}: mfa reported success but wrote no alignment")
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        tiers = TIER_FORMATS[".textgrid"](path.name, text).tiers
    except StreamReadError as error:
        raise AlignmentError(f"{utterance.name}: the output of mfa is broken: {error}") from error
    words, phones = aligned_tiers(
        utterance.name, _intervals(tiers, "words"), _intervals(tiers, "phones")
    )
    if words.intervals[-1].stop_s > utterance.duration_s + 0.05:
        raise AlignmentError(f"{utterance.name}: mfa placed words after the end of the audio")
    return Alignment(
        aligner=f"mfa {version}",
        words=words,
        phones=phones,
        remarks=remarks_on_unknown(utterance.name, words, phones),
    )


def _intervals(tiers: Sequence[Tier], kind: str) -> tuple[Interval, ...]:
    """Return a tier by its name; with speakers it is named ``anna - words``."""
    found = (t.intervals for t in tiers if t.name == kind or t.name.endswith(f" - {kind}"))
    return next(found, ())
