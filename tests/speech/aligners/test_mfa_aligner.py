from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from syncaudit.errors import AlignmentError, UsageError
from syncaudit.speech.aligners.alignment import Alignment, Utterance
from syncaudit.speech.aligners.mfa import MfaAligner

Make = Callable[..., Utterance]

WORDS = [(0.5, 0.9, "hello"), (0.9, 1.4, "world")]
PHONES = [(0.5, 0.9, "HH"), (0.9, 1.4, "W")]


def refusal(outcome: object) -> str:
    assert isinstance(outcome, AlignmentError)
    return str(outcome)


def test_one_file_is_aligned_alone(mfa: Any, utterance: Make) -> None:
    (found,) = MfaAligner().align([utterance()])
    assert isinstance(found, Alignment)
    assert found.aligner == "mfa 3.4.3"
    assert not found.has_own_score
    rows = [(one.start_s, one.stop_s, one.label) for one in found.words.intervals]
    assert rows == WORDS
    assert [one.label for one in found.phones.intervals] == ["HH", "AH0", "W", "ER1"]
    (call,) = mfa.calls
    assert call["texts"] == ["hello world\n"]
    assert call["positional"][2:4] == ["english_us_arpa", "english_us_arpa"]
    options = {key: call["options"][key] for key in ("--beam", "--retry_beam", "--output_format")}
    assert options == {"--beam": "100", "--retry_beam": "400", "--output_format": "long_textgrid"}
    assert call["options"]["--clean"] is call["options"]["--final_clean"] is True
    assert not Path(call["root"]).exists()


@pytest.mark.parametrize(
    ("version", "command"),
    [
        ("3.3.8", "align_one"),
        ("3.4.0", "align_one_legacy"),
        ("3.4.3", "align_one_legacy"),
        ("4.0.0", "align_one_legacy"),
        ("3.10.0", "align_one_legacy"),
        ("2.2.17", "align_one"),
    ],
)
def test_command_keeps_its_arguments_in_every_version(
    mfa: Any, utterance: Make, version: str, command: str
) -> None:
    mfa.set(version=version)
    MfaAligner().align([utterance()])
    assert mfa.calls[0]["command"] == command


def test_many_files_are_one_corpus(mfa: Any, utterance: Make) -> None:
    mfa.set(speaker="corpus_speaker")
    aligner = MfaAligner()
    many = [utterance(name=f"talk{k}") for k in range(5)]
    found = aligner.align(many)
    assert [type(one) for one in found] == [Alignment] * 5
    aligner.align(many)
    commands = [call["command"] for call in mfa.calls]
    assert commands == ["align_legacy", "align_legacy"]
    corpora = {Path(call["positional"][0]).name for call in mfa.calls}
    roots = {call["root"] for call in mfa.calls}
    assert len(corpora) == len(roots) == 2
    assert all(call["root_is_empty"] for call in mfa.calls)


def test_outcomes_stay_with_their_files(mfa: Any, utterance: Make) -> None:
    from testkit.mfa_stand_in import HELLO

    mfa.set(textgrids={"u000001": HELLO, "u000003": "broken"})
    found = MfaAligner().align([utterance(name=f"talk{k}") for k in range(4)])
    assert [isinstance(one, Alignment) for one in found] == [False, True, False, False]
    assert refusal(found[0]) == "talk0: mfa reported success but wrote no alignment"
    assert "talk3: the output of mfa is broken" in refusal(found[3])


def test_models_of_the_user_are_seen(
    mfa: Any, utterance: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine" / "pretrained_models" / "acoustic").mkdir(parents=True)
    monkeypatch.setenv("MFA_ROOT_DIR", str(tmp_path / "mine"))
    MfaAligner().align([utterance()])
    assert mfa.calls[0]["models"] == ["acoustic"]
    assert (tmp_path / "mine" / "pretrained_models" / "acoustic").is_dir()


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (
            {"code": 1, "say": "NoAlignmentsError: There were no alignments"},
            r"could not align anything \(exit code 1\): NoAlignmentsError: There were no",
        ),
        ({"code": 2}, r"was called incorrectly, or lacks a file or model \(exit code 2\)"),
        ({"code": 5}, r"failed \(exit code 5\)"),
        ({"code": -9}, r"was killed \(signal 9\)"),
    ],
)
def test_exit_codes_are_told_in_words(
    mfa: Any, utterance: Make, plan: dict[str, Any], message: str
) -> None:
    mfa.set(**plan)
    (found,) = MfaAligner().align([utterance()])
    with pytest.raises(AlignmentError, match=rf"talk: mfa align_one_legacy {message}"):
        raise found  # type: ignore[misc]  # an alignment would fail the test as well


def test_endless_run_is_ended(mfa: Any, utterance: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("syncaudit.speech.aligners.mfa._PATIENCE_S", 0.5)
    monkeypatch.setattr("syncaudit.speech.aligners.mfa._PATIENCE_PER_S", 0.0)
    mfa.set(sleep_s=60)
    (found,) = MfaAligner().align([utterance()])
    assert "did not finish within 0 s and was stopped" in refusal(found)


def test_success_without_known_words_is_refused(mfa: Any, utterance: Make) -> None:
    from testkit.mfa_stand_in import textgrid

    spn = [(0.5, 0.9, "spn"), (0.9, 1.4, "spn")]
    mfa.set(textgrids={"*": textgrid(WORDS, spn)})
    (found,) = MfaAligner().align([utterance()])
    assert "the dictionary has none of the words" in refusal(found)
    mfa.set(textgrids={"*": textgrid(WORDS, [PHONES[0], spn[1]])})
    (found,) = MfaAligner().align([utterance()])
    assert isinstance(found, Alignment)
    assert found.remarks == ("the dictionary lacks world: their positions are approximate",)


def test_impossible_times_are_refused(mfa: Any, utterance: Make) -> None:
    from testkit.mfa_stand_in import textgrid

    late = [(5.0, 6.0, "hello"), (6.0, 7.0, "world")]
    mfa.set(textgrids={"*": textgrid(late, late)})
    (found,) = MfaAligner().align([utterance()])
    assert "placed words after the end of the audio" in refusal(found)
    mfa.set(textgrids={"*": textgrid([(0.5, 0.9, "<eps>")], PHONES)})
    (found,) = MfaAligner().align([utterance()])
    assert "placed no words" in refusal(found)
    overlapping = textgrid(WORDS, PHONES).replace("xmin = 0.9", "xmin = 0.7")
    mfa.set(textgrids={"*": overlapping})
    (found,) = MfaAligner().align([utterance()])
    assert "words are out of order at 0.700 s" in refusal(found)


def test_tiers_of_speakers_are_found(mfa: Any, utterance: Make) -> None:
    from testkit.mfa_stand_in import textgrid

    mfa.set(textgrids={"*": textgrid(WORDS, PHONES, prefix="anna - ")})
    (found,) = MfaAligner().align([utterance()])
    assert isinstance(found, Alignment)
    assert len(found.words.intervals) == 2


@pytest.mark.realdata
def test_real_output_of_unknown_words_is_refused(mfa: Any, utterance: Make, realdata: Path) -> None:
    text = (realdata / "mfa_output" / "align.oov.TextGrid").read_text(encoding="utf-8")
    mfa.set(textgrids={"*": text})
    (found,) = MfaAligner().align([utterance(seconds=26.8)])
    assert "has none of the words" in refusal(found)


@pytest.mark.realdata
@pytest.mark.parametrize(
    "name", ["align.long", "align.short", "align_one.long", "align.original_text.no_cleanup"]
)
def test_real_output_is_read(mfa: Any, utterance: Make, realdata: Path, name: str) -> None:
    text = (realdata / "mfa_output" / f"{name}.TextGrid").read_text(encoding="utf-8")
    mfa.set(textgrids={"*": text})
    (found,) = MfaAligner().align([utterance(seconds=26.8)])
    assert isinstance(found, Alignment)
    assert found.words.intervals[0].label == "this"
    assert not any(one.label in ("", "<eps>", "sil") for one in found.words.intervals)


def test_what_it_cannot_do_is_said(mfa: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    aligner = MfaAligner()
    assert aligner.unavailable_reason("en", is_phones=False) is None
    assert aligner.unavailable_reason("de-AT", is_phones=False) is None
    assert "takes words, not phones" in str(aligner.unavailable_reason("en", is_phones=True))
    assert "no known Montreal Forced Aligner model for 'xx'" in str(
        aligner.unavailable_reason("xx", is_phones=False)
    )
    monkeypatch.setenv("SYNCAUDIT_MFA_DICTIONARY", "mine.dict")
    monkeypatch.setenv("SYNCAUDIT_MFA_ACOUSTIC", "mine.zip")
    assert aligner.unavailable_reason("xx", is_phones=False) is None


def test_program_is_found_on_the_path_then_in_conda(
    mfa: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from testkit.mfa_stand_in import FAKE

    monkeypatch.delenv("SYNCAUDIT_MFA")
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    missing = MfaAligner().unavailable_reason("en", is_phones=False)
    assert isinstance(missing, UsageError)
    assert "conda create -n aligner -c conda-forge montreal-forced-aligner" in str(missing)
    conda = folder / "conda"
    conda.write_text(
        f'#!/bin/sh\n[ "$1 $2 $3 $4" = "run -n aligner mfa" ] || exit 1\nshift 4\n'
        f'exec "{sys.executable}" "{FAKE}" "$@"\n'
    )
    conda.chmod(0o755)
    assert MfaAligner().unavailable_reason("en", is_phones=False) is None
    plain = folder / "mfa"
    plain.write_text("#!/bin/sh\nexit 1\n")
    plain.chmod(0o755)
    assert (
        MfaAligner().unavailable_reason("en", is_phones=False) is None
    )  # the broken one is skipped
    conda.unlink()
    assert MfaAligner().unavailable_reason("en", is_phones=False) is not None


def test_set_program_that_is_none_is_named(mfa: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNCAUDIT_MFA", "/nowhere/mfa")
    with pytest.raises(UsageError, match=r"SYNCAUDIT_MFA is '/nowhere/mfa', which does not answer"):
        raise MfaAligner().unavailable_reason("en", is_phones=False)  # type: ignore[misc]
