"""Align with the Montreal Forced Aligner (McAuliffe et al. 2017), distributed on conda-forge.

It is an external program, whose exit code 0 proves nothing: its output must be checked against the
audio.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from syncaudit.errors import AlignmentError, StreamReadError, SyncAuditError, UsageError
from syncaudit.model import Interval, Tier
from syncaudit.speech.aligners.alignment import (
    Alignment,
    Utterance,
    aligned_tiers,
    remarks_on_unknown,
)
from syncaudit.speech.tiers.parsing import TIER_FORMATS

COMMAND_VARIABLE = "SYNCAUDIT_MFA"
INSTALL = (
    "Install it with: conda create -n aligner -c conda-forge montreal-forced-aligner; it is "
    f"then found automatically, or name it in the environment variable {COMMAND_VARIABLE}."
)
_ROOT_VARIABLE = "MFA_ROOT_DIR"
# Its start-up alone takes seconds, `conda run` as much again.
_PROBE_S = 120.0
_CONDA_ENVIRONMENT = "aligner"
# MFA 4.0 changes the arguments of the plain names; since 3.4 the old ones have separate names.
_LEGACY_FROM = (3, 4)
DICTIONARY_VARIABLE = "SYNCAUDIT_MFA_DICTIONARY"
ACOUSTIC_VARIABLE = "SYNCAUDIT_MFA_ACOUSTIC"

# (dictionary, acoustic model) by language, as `mfa model download` names them.
_MODELS: Mapping[str, tuple[str, str]] = {
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


@dataclass(frozen=True, slots=True, kw_only=True)
class MfaProgram:
    """A working Montreal Forced Aligner installation."""

    command: tuple[str, ...]  # command that starts it
    version: str  # as reported by the program

    def subcommand(self, name: str) -> str:
        """Return the name in this version of ``align`` or ``align_one`` with a dictionary."""
        major, minor = (int(part) for part in self.version.split(".")[:2])
        return f"{name}_legacy" if (major, minor) >= _LEGACY_FROM else name

    def run(self, arguments: Sequence[str], *, root: Path, timeout_s: float) -> None:
        """Run it with a private root folder in which it finds the user's models.

        `root` is an empty folder; otherwise its databases collide with those of other runs. After
        `timeout_s` it is terminated. AlignmentError if it reports a failure. No reported failure
        does not prove success.
        """
        _lend_models(root)
        environment = {**os.environ, _ROOT_VARIABLE: str(root)}
        code, said = _call([*self.command, *arguments], environment, timeout_s)
        if code is None:
            raise AlignmentError(f"mfa did not finish within {timeout_s:.0f} s and was stopped")
        if code:
            raise AlignmentError(f"mfa {arguments[0]} {_words(code)}{_last_words(said)}")


def find_mfa() -> MfaProgram | UsageError:
    """Return the configured program, or that on the PATH or in conda environment ``aligner``."""
    stated = os.environ.get(COMMAND_VARIABLE, "").strip()
    if stated:
        command = tuple(shlex.split(stated))
        version = _version(command)
        if version is None:
            return UsageError(
                f"{COMMAND_VARIABLE} is '{stated}', which does not answer 'version'",
                hint=INSTALL,
            )
        return MfaProgram(command=command, version=version)
    candidates: list[tuple[str, ...]] = [("mfa",)] if shutil.which("mfa") else []
    candidates += [
        (conda, "run", "-n", _CONDA_ENVIRONMENT, "mfa")
        for conda in ("conda", "mamba", "micromamba")
        if shutil.which(conda)
    ][:1]
    for command in candidates:
        version = _version(command)
        if version is not None:
            return MfaProgram(command=command, version=version)
    return UsageError("the Montreal Forced Aligner is not installed", hint=INSTALL)


def _version(command: Sequence[str]) -> str | None:
    code, said = _call([*command, "version"], os.environ, _PROBE_S)
    found = re.search(r"\b\d+\.\d+(\.\w+)*", said)
    return found.group() if code == 0 and found else None


def _call(
    command: Sequence[str], environment: Mapping[str, str], timeout_s: float
) -> tuple[int | None, str]:
    """Return exit code and output of a program; no code if it had to be terminated."""
    try:
        process = subprocess.Popen(  # noqa: S603  # the user's own aligner
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return 127, str(error)
    try:
        said, _ = process.communicate(timeout=timeout_s)
    except BaseException as error:
        # Its children too: `conda run` and worker processes do not end with it.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            return None, ""
        raise
    return process.returncode, said.decode("utf-8", "replace")


def _lend_models(root: Path) -> None:
    """Make the models that the user has downloaded available in the private root."""
    stated = os.environ.get(_ROOT_VARIABLE)
    home = Path(stated) if stated else Path.home() / "Documents" / "MFA"
    models = home / "pretrained_models"
    link = root / "pretrained_models"
    if models.is_dir() and not link.exists():
        link.symlink_to(models, target_is_directory=True)


def _words(code: int) -> str:
    if code < 0:
        return f"was killed (signal {-code})"
    meanings = {
        1: "could not align anything",
        2: "was called incorrectly, or lacks a file or model",
        127: "cannot be started",
    }
    return f"{meanings.get(code, 'failed')} (exit code {code})"


def _last_words(said: str) -> str:
    """Return the last informative line of its output, without borders and colours."""
    plain = re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", said)
    lines = [" ".join(line.split()) for line in plain.splitlines()]
    telling = [line for line in lines if re.search(r"[a-zA-Z]{3}", line)]
    return f": {telling[-1][:200]}" if telling else ""
