"""The public functions for speech; `syncaudit align` and the judging behind both."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from syncaudit import speech
from syncaudit.errors import AlignmentError, MissingExtraError, StreamReadError, UsageError
from testkit.command_line import run_command
from testkit.mfa_stand_in import FAKE
from testkit.places import real_recording


@pytest.fixture
def mary(tmp_path: Path) -> Path:
    source = real_recording("speech/mary.wav")
    return Path(shutil.copy(source, tmp_path / "mary.wav"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = real_recording("speech/acoustic_corpus.wav")
    folder = tmp_path_factory.mktemp("corpus")
    for suffix in (".wav", ".lab"):
        shutil.copy(source.with_suffix(suffix), folder / f"talk{suffix}")
    return folder / "talk.wav"


@pytest.fixture(scope="module")
def made(corpus: Path) -> speech.AlignedSpeech:
    """Return the alignment of the corpus by pocketsphinx."""
    return speech.align(corpus, corpus.with_suffix(".lab"))


@pytest.fixture
def mfa(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that sets what the stand-in for MFA writes."""

    def write(textgrid: str) -> None:
        plan = {"log": str(tmp_path / "log"), "textgrids": {"*": textgrid}}
        (tmp_path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")

    monkeypatch.setenv("FAKE_MFA", str(tmp_path / "plan.json"))
    monkeypatch.setenv("SYNCAUDIT_MFA", f"'{sys.executable}' '{FAKE}'")
    return write


@pytest.mark.realdata
def test_align_write_read_measure(corpus: Path, made: speech.AlignedSpeech, tmp_path: Path) -> None:
    aligned = made
    assert aligned.is_verified
    assert "measured against the audio" in aligned.why
    assert aligned.guessed == ("yknow",)
    assert abs(aligned.measurement.offset_s or 0.0) < 0.015
    for suffix in (".TextGrid", ".json"):
        path = tmp_path / f"out{suffix}"
        speech.write(path, aligned.phones, aligned.words, duration_s=aligned.duration_s)
        read = [phone for phone in speech.read_phones(path) if phone.symbol]
        assert [phone.symbol for phone in read] == [phone.symbol for phone in aligned.phones]
        assert len([w for w in speech.read_phones(path, "words") if w.symbol]) == 59
    late = [(symbol, start + 0.2, end + 0.2) for symbol, start, end in aligned.phones]
    found = speech.measure(late, corpus)
    assert found.accepted
    assert abs((found.offset_s or 0.0) + 0.2) < 0.015
    assert speech.measure(tmp_path / "out.TextGrid", corpus).accepted


@pytest.mark.realdata
def test_short_speech_is_vouched_for_by_its_score(mary: Path) -> None:
    aligned = speech.align(str(mary), "mary rolled the barrel")
    assert aligned.is_verified
    assert "its own score" in aligned.why
    assert aligned.phones[0]._fields == ("symbol", "start_s", "end_s")
    with pytest.raises(AlignmentError, match=r"mary\.wav: the text does not fit"):
        speech.align(mary, "something else was said")


@pytest.mark.realdata
def test_result_of_mfa_that_does_not_fit_is_refused(corpus: Path, mfa: Any) -> None:
    """A toy model wrote it, off by up to 1.4 s; MFA's exit code was 0."""
    mfa(real_recording("mfa_output/align.long.TextGrid").read_text(encoding="utf-8"))
    with pytest.raises(AlignmentError, match=r"the alignment by mfa 3\.4\.3"):
        speech.align(corpus, corpus.with_suffix(".lab"), aligner="mfa")


@pytest.mark.realdata
def test_result_of_mfa_that_fits_is_believed(
    corpus: Path, made: speech.AlignedSpeech, mfa: Any, tmp_path: Path
) -> None:
    speech.write(tmp_path / "made.TextGrid", made.phones, made.words, duration_s=26.7)
    mfa((tmp_path / "made.TextGrid").read_text(encoding="utf-8"))
    aligned = speech.align(corpus, corpus.with_suffix(".lab"), aligner="mfa")
    assert aligned.is_verified
    assert aligned.aligner == "mfa 3.4.3"


@pytest.mark.realdata
@pytest.mark.parametrize(("shift_s", "outcome"), [(0.0, "within"), (0.3, "apart")])
def test_short_result_of_mfa_is_held_against_another_aligner(
    mary: Path, mfa: Any, tmp_path: Path, shift_s: float, outcome: str
) -> None:
    made = speech.align(mary, "mary rolled the barrel")
    shifted = [
        [(symbol, start + shift_s, end + shift_s) for symbol, start, end in tier]
        for tier in (made.phones, made.words)
    ]
    speech.write(tmp_path / "made.TextGrid", *shifted, duration_s=1.87)
    mfa((tmp_path / "made.TextGrid").read_text(encoding="utf-8"))
    (found,) = speech.align_many([(mary, "mary rolled the barrel")], aligner="mfa")
    words = str(found) if isinstance(found, Exception) else found.why
    assert outcome in words
    assert isinstance(found, AlignmentError) == (outcome == "apart")


@pytest.mark.realdata
def test_result_that_nothing_vouches_for_is_unverified(
    mary: Path, mfa: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = speech.align(mary, "mary rolled the barrel")
    speech.write(tmp_path / "made.TextGrid", made.phones, made.words, duration_s=1.87)
    mfa((tmp_path / "made.TextGrid").read_text(encoding="utf-8"))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    out = tmp_path / "out.TextGrid"
    result = run_command("align", mary, "mary rolled the barrel", "--out", out, "--aligner", "mfa")
    assert result.exit_code == 4
    assert "nothing confirms it" in result.output
    assert out.exists()


@pytest.mark.realdata
def test_command_writes_what_fits_and_nothing_else(mary: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "mary.ctm"
    result = run_command("align", mary, "mary rolled the barrel", "--out", out)
    assert result.exit_code == 0, result.output
    assert "auto uses pocketsphinx" in result.output
    assert "mfa:" in result.output
    assert "4 words" in result.output
    assert out.read_text().splitlines()[0].split()[:2] == ["mary", "words"]
    result = run_command("align", mary, "quite another text", "--out", tmp_path / "no.json")
    assert result.exit_code == 1
    assert "does not fit" in result.output
    assert not (tmp_path / "no.json").exists()
    result = run_command("align", mary, "quite another text", "--out", out)
    assert "is from an earlier run" in result.output.replace("\n", " ")


@pytest.mark.realdata
def test_command_takes_phones(mary: Path, tmp_path: Path) -> None:
    out = tmp_path / "mary.json"
    phones = "m ə r i | r o l d | θ ə | b œ r l"
    assert run_command("align", mary, phones, "--phones", "--out", out).exit_code == 0
    tiers = json.loads(out.read_text(encoding="utf-8"))["tiers"]
    assert [entry[2] for entry in tiers["words"]["entries"]] == ["məri", "rold", "θə", "bœrl"]
    assert len(tiers["phones"]["entries"]) == 14
    assert (
        run_command("align", mary, phones.replace("| ", ""), "--phones", "--out", out).exit_code
        == 0
    )
    assert list(json.loads(out.read_text(encoding="utf-8"))["tiers"]) == ["phones"]


@pytest.mark.realdata
def test_command_aligns_a_folder(mary: Path, tmp_path: Path) -> None:
    folder = tmp_path / "corpus" / "anna"
    folder.mkdir(parents=True)
    for name, text in (("good", "mary rolled the barrel"), ("bad", "not that at all")):
        shutil.copy(mary, folder / f"{name}.wav")
        (folder / f"{name}.lab").write_text(text)
    shutil.copy(mary, folder / "textless.wav")
    (folder / "broken.wav").write_bytes(b"RIFFnothing")
    (folder / "broken.txt").write_text("hello")
    result = run_command("align", tmp_path / "corpus", "--out", tmp_path / "tiers")
    assert result.exit_code == 1
    written = [path.name for path in (tmp_path / "tiers").rglob("[!.]*") if path.is_file()]
    assert written == ["good.TextGrid"]
    assert "cannot be read as sound" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["talk.wav", "hello"], "no output file is named"),
        (["talk.wav", "--out", "a.TextGrid"], "no text is given"),
        (["talk.wav", "hello", "--out", "a.doc"], "'.doc' is not a supported output format"),
        (["absent.wav", "hello", "--out", "a.TextGrid"], "file not found"),
        (["talk.wav", "absent.lab", "--out", "a.TextGrid"], "file not found"),
        (["talk.wav", "hello", "--out", "a.json", "--aligner", "mfb"], "Did you mean 'mfa'?"),
        (["talk.wav", "hallo", "--out", "a.json", "--lang", "xx"], "has English words only"),
        ([".", "--out", "tiers"], "holds no sound with a text beside it"),
        ([".", "hello", "--out", "tiers"], "texts are read from the files beside its sounds"),
    ],
)
def test_wrong_usage_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    soundfile.write(tmp_path / "talk.wav", np.zeros(1600), 16000)
    result = run_command("align", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not list(tmp_path.glob("a.*"))


def test_without_any_aligner_the_pip_line_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    soundfile.write(tmp_path / "talk.wav", np.zeros(1600), 16000)
    with pytest.raises(MissingExtraError, match=r"pip install 'syncaudit\[speech\]'"):
        speech.align(tmp_path / "talk.wav", "hello")
    with pytest.raises(UsageError, match=r"conda create -n aligner -c conda-forge"):
        speech.align(tmp_path / "talk.wav", "hello", aligner="mfa")


def test_tiers_are_picked_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    speech.write(path, [("ə", 0.0, 0.5), ("b", 0.5, 0.75)], [("a", 0.0, 0.75)])
    assert speech.read_phones(path) == [("ə", 0.0, 0.5), ("b", 0.5, 0.75)]
    assert speech.read_phones(path, "words") == [speech.Phone("a", 0.0, 0.75)]
    with pytest.raises(UsageError, match=r"has no tier 'phonez'\. Did you mean 'phones'\?"):
        speech.read_phones(path, "phonez")
    tiers = {name: {"entries": [[0, 1, "a"]]} for name in ("anna", "bob")}
    path.write_text(json.dumps({"tiers": tiers}))
    with pytest.raises(UsageError, match=r"has 2 tiers and none is selected.*anna, bob"):
        speech.read_phones(path)
    with pytest.raises(StreamReadError, match="file not found"):
        speech.read_phones(tmp_path / "absent.TextGrid")
    with pytest.raises(UsageError, match=r"'\.doc' is not a file suffix"):
        speech.write(tmp_path / "a.doc", [("ə", 0.0, 0.5)])


def test_classes_of_either_alphabet_and_what_is_unknown() -> None:
    found = speech.classes(["DH", "AH0", "CH", "QQ"])
    assert found.alphabet == "ARPAbet"
    assert found.classes[:3] == (("fricative",), ("vowel",), ("closure", "sibilant"))
    assert (found.classes[3], found.unknown) == ((), ("QQ",))
    assert speech.classes([speech.Phone("ʃ", 0.0, 1.0), "ŋ"]).alphabet == "IPA"


def test_help_stays_instant() -> None:
    code = (
        "import sys; from syncaudit import speech; from syncaudit.cli.app import build_app; "
        "build_app(); heavy = {'numpy', 'scipy', 'pocketsphinx', 'viter', 'soundfile'}; "
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)  # noqa: S603
    assert done.returncode == 0, done.stderr


def test_tiers_that_were_edited_are_not_written_over(mary: Path, tmp_path: Path) -> None:
    place = tmp_path / "mary.TextGrid"
    given = (mary, "mary rolled the barrel", "--out", place)
    for _ in range(2):
        assert run_command("align", *given).exit_code != 2
    place.write_text(place.read_text().replace("barrel", "barrels"))
    edited = place.read_text()
    assert run_command("align", *given).exit_code == 2
    assert place.read_text() == edited
    assert run_command("align", *given, "--force").exit_code != 2
    assert place.read_text() != edited
