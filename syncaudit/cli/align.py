"""`syncaudit align`: align text with audio."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from syncaudit.cli.console import printable, stderr, stdout, verdict_text
from syncaudit.cli.exit_codes import ExitCode
from syncaudit.cli.options import Force, Root
from syncaudit.errors import ClipInputError, SyncAuditError, UsageError

if TYPE_CHECKING:
    from syncaudit.pipeline.alignment import Choice
    from syncaudit.speech import AlignedSpeech

_SOUNDS = frozenset({".wav", ".flac", ".ogg", ".mp3", ".opus", ".m4a"})
_TEXTS = (".lab", ".txt")
_ENDINGS = (".textgrid", ".ctm", ".json")
_BATCH = 100  # sounds held in memory at once


def align(
    audio: Annotated[
        Path,
        typer.Argument(help="Sound file, or a folder of sounds with .lab or .txt beside them."),
    ],
    text: Annotated[
        str | None,
        typer.Argument(help="The text, or a .lab or .txt file.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PLACE",
            help=".TextGrid, .ctm or .json file; for a folder of sounds, a folder.",
            show_default=False,
        ),
    ] = None,
    aligner: Annotated[str, typer.Option(help="auto, pocketsphinx, mfa or viter.")] = "auto",
    lang: Annotated[str, typer.Option(help="Language of the text.")] = "en",
    phones: Annotated[
        bool,
        typer.Option(
            "--phones",
            help="The text is phones (IPA or ARPAbet), separated by blanks; | separates words.",
        ),
    ] = False,
    ending: Annotated[
        str, typer.Option("--format", help="For a folder: TextGrid, ctm or json.")
    ] = "TextGrid",
    root: Root = None,
    force: Force = False,
) -> None:
    """Align text with audio: find when each word and phone was spoken.

    Every result is checked against the audio before it is written; what does not fit is refused
    and leaves no file.

    **Examples**

    - `syncaudit align talk.wav "hello world" --out talk.TextGrid`

    - `syncaudit align talk.wav "h ə l oʊ | w ɜ l d" --phones --out talk.json`

    - `syncaudit align corpus/ --out tiers/ --aligner mfa --lang de`

    **Exit codes**: 0 all aligned · 1 a text was refused · 2 wrong usage, or no aligner ·
    4 the results could not be verified.
    """
    from syncaudit.cli.rooted import roots_of
    from syncaudit.pipeline.alignment import AUTO, choose_aligners
    from syncaudit.readers.access import within_roots
    from syncaudit.speech import align_many
    from syncaudit.writing import check_target

    if out is None:
        raise UsageError("no output file is named", hint="Add --out FILE.TextGrid.")
    jobs = _jobs(audio, text, out, ending)
    for _, _, place in jobs:
        check_target(place, is_forced=force)
    choice = choose_aligners(aligner, language=lang, is_phones=phones)
    console = stdout()
    if aligner == AUTO:
        _explain(console, choice)
    outcomes: list[AlignedSpeech | SyncAuditError] = []
    for first in range(0, len(jobs), _BATCH):
        batch = jobs[first : first + _BATCH]
        with (
            stderr().status(f"aligning {first + 1} to {first + len(batch)} of {len(jobs)} ..."),
            within_roots(roots_of("", root) if root else None),
        ):
            found = align_many(
                [(sound, words) for sound, words, _ in batch],
                aligner=choice,
                language=lang,
                is_phones=phones,
            )
        if not audio.is_dir() and isinstance(found[0], ClipInputError):
            raise found[0]  # a missing file is a usage error
        for (sound, _, place), outcome in zip(batch, found, strict=True):
            _finish(console, sound, outcome, place)
        outcomes += found
    raise typer.Exit(_code(outcomes))


def _jobs(
    audio: Path, text: str | None, out: Path, ending: str
) -> list[tuple[Path, str | Path, Path]]:
    """Return (sound, text, output path) of everything to be done."""
    if not audio.is_dir():
        if text is None:
            raise UsageError("no text is given", hint="Write it after the sound file.")
        _check_ending(out.suffix)
        return [(audio, text, out)]
    if text is not None:
        raise UsageError(
            f"{audio} is a folder; its texts are read from the files beside its sounds",
            hint="Leave the text out, or name one sound file.",
        )
    suffix = f".{ending.lstrip('.')}"
    _check_ending(suffix)
    sounds = sorted(path for path in audio.rglob("*") if path.suffix.lower() in _SOUNDS)
    jobs: list[tuple[Path, str | Path, Path]] = []
    for sound in sounds:
        found = [sound.with_suffix(each) for each in _TEXTS if sound.with_suffix(each).is_file()]
        if found:
            jobs.append((sound, found[0], out / sound.relative_to(audio).with_suffix(suffix)))
    if not jobs:
        raise UsageError(
            f"{audio} holds no sound with a text beside it",
            hint="Expected pairs like talk.wav and talk.lab (or talk.txt).",
        )
    return jobs


def _check_ending(suffix: str) -> None:
    if suffix.lower() not in _ENDINGS:
        raise UsageError(
            f"'{suffix}' is not a supported output format", hint="Use .TextGrid, .ctm or .json."
        )


def _explain(console: Console, choice: Choice) -> None:
    names = [aligner.name for aligner in choice.aligners]
    rest = f", then {', '.join(names[1:])} for what it refuses" if names[1:] else ""
    console.print(f"auto uses {names[0]}, the first that is available here{rest}", markup=False)
    for why in choice.passed_over:
        console.print(f"  not: {why}", markup=False, style="dim", soft_wrap=True)


def _finish(
    console: Console, sound: Path, outcome: AlignedSpeech | SyncAuditError, place: Path
) -> None:
    """Write accepted results and report the outcome for one sound."""
    from syncaudit.speech import write
    from syncaudit.writing import note_written

    if isinstance(outcome, SyncAuditError):
        older = f" {place} is from an earlier run." if place.exists() else ""
        text = f"{str(outcome).rstrip('.')}.{older}"
        console.print(verdict_text("reject"), printable(text), soft_wrap=True, markup=False)
        return
    write(place, outcome.phones, outcome.words, duration_s=outcome.duration_s)
    note_written(place)
    counts = f"{len(outcome.words)} words, " if outcome.words else ""
    summary = (
        f"{sound.name}: {counts}{len(outcome.phones)} phones by {outcome.aligner} -> {place}",
        f"  {outcome.why}",
        *([f"  pronunciation guessed: {', '.join(outcome.guessed)}"] if outcome.guessed else []),
        *(f"  {remark}" for remark in outcome.remarks),
    )
    verdict = verdict_text("pass" if outcome.is_verified else "unverified")
    console.print(verdict, printable(summary[0]), soft_wrap=True, markup=False)
    for line in summary[1:]:
        console.print(printable(line), soft_wrap=True, markup=False)


def _code(outcomes: list[AlignedSpeech | SyncAuditError]) -> ExitCode:
    if any(isinstance(outcome, SyncAuditError) for outcome in outcomes):
        return ExitCode.REJECTED
    if not any(not isinstance(one, SyncAuditError) and one.is_verified for one in outcomes):
        return ExitCode.NOTHING_VERIFIED
    return ExitCode.DONE
