"""viter with a model trained here on a few short utterances, because MFA models are unavailable."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from syncaudit.errors import AlignmentError, MissingExtraError
from syncaudit.simulate.speech import Voice, speak
from syncaudit.speech.aligners.alignment import Alignment, Utterance
from syncaudit.speech.aligners.viter import ViterAligner

TEXTS = ("see the sea", "the sea is far", "far is the car", "see the far car")
DICTIONARY = "see S IY\nthe DH AH\nsea S IY\nis IH Z\nfar F AA R\ncar K AA R\n"
# Training is not repeatable, even with a seed and one thread: word positions of such a small model
# are not tested, only that its own answer is reported.
VOICES = ("en", "en+f2", "en+f3", "en+m3", "en+m7")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    viter = pytest.importorskip("viter")
    folder = tmp_path_factory.mktemp("viter")
    corpus = folder / "corpus"
    corpus.mkdir()
    for k, (voice, text) in enumerate(product(VOICES, TEXTS)):
        spoken = speak(text, Voice(language=voice))
        soundfile.write(corpus / f"u{k}.wav", spoken.samples, round(spoken.rate_hz))
        (corpus / f"u{k}.txt").write_text(text)
    (folder / "words.dict").write_text(DICTIONARY)
    viter.train(
        str(corpus),
        str(folder / "small.viter"),
        dict=str(folder / "words.dict"),
        quiet=True,
        cpu=True,
        no_tri=True,
        no_lda=True,
        no_sat=True,
        no_pron_probs=True,
        position_dependent=False,
    )
    return folder


@pytest.fixture
def aligner(model: Path, monkeypatch: pytest.MonkeyPatch) -> ViterAligner:
    monkeypatch.setenv("SYNCAUDIT_VITER_MODEL", str(model / "small.viter"))
    monkeypatch.setenv("SYNCAUDIT_VITER_DICTIONARY", str(model / "words.dict"))
    return ViterAligner()


def talk(text: str) -> Utterance:
    spoken = speak(TEXTS[0])
    return Utterance(
        name="talk",
        samples=spoken.samples,
        rate_hz=spoken.rate_hz,
        words=tuple(text.split()),
    )


def test_words_are_placed(aligner: ViterAligner, model: Path) -> None:
    assert aligner.unavailable_reason("en", is_phones=False) is None
    utterance = talk("See the sea")
    (found,) = aligner.align([utterance])
    assert isinstance(found, Alignment)
    assert found.aligner.startswith("viter ")
    assert [one.label for one in found.phones.intervals] == ["S", "IY", "DH", "AH", "S", "IY"]
    own = pytest.importorskip("viter").Model(
        str(model / "small.viter"), dict=str(model / "words.dict"), cpu=True
    )
    expected = own.align(
        utterance.samples.astype(np.float32),
        "see the sea",
        sample_rate=round(utterance.rate_hz),
        beam=100.0,
        retry_beam=400.0,
    )
    words = [(one.start_s, one.stop_s) for one in found.words.intervals if one.label]
    assert words == [(one.start, one.end) for one in expected.words]
    assert 0 <= words[0][0] < words[-1][1] <= utterance.duration_s + 0.01  # one of its frames


def test_unknown_words_are_told(aligner: ViterAligner) -> None:
    (found,) = aligner.align([talk("see zzyzx sea")])
    assert isinstance(found, Alignment)
    assert found.remarks == ("the dictionary lacks zzyzx: their positions are approximate",)
    (found,) = aligner.align([talk("zzyzx qwrt")])
    assert isinstance(found, AlignmentError)


def test_what_it_cannot_do_becomes_an_error(aligner: ViterAligner) -> None:
    empty = Utterance(name="e", samples=np.zeros(0, np.float32), rate_hz=16e3, words=("sea",))
    broken = Utterance(
        name="b", samples=np.full(9000, np.nan, np.float32), rate_hz=16e3, words=("sea",)
    )
    silent = Utterance(name="s", samples=np.zeros(9000, np.float32), rate_hz=16e3)
    found = [str(one) for one in aligner.align([empty, broken, silent])]
    assert "shorter than 0.2 s" in found[0]
    assert "NaN or infinite" in found[1]
    assert "viter could not align it" in found[2]


@pytest.mark.parametrize("name", ["model.zip", "model.viter"])
def test_file_that_is_no_model_is_named(
    aligner: ViterAligner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).write_text("no model")
    monkeypatch.setenv("SYNCAUDIT_VITER_MODEL", str(tmp_path / name))
    (found,) = aligner.align([talk("see the sea")])
    assert "viter cannot load" in str(found)


def test_what_is_missing_is_said(
    aligner: ViterAligner, monkeypatch: pytest.MonkeyPatch, utterance: Callable[..., Any]
) -> None:
    assert "takes words, not phones" in str(aligner.unavailable_reason("en", is_phones=True))
    monkeypatch.setenv("SYNCAUDIT_VITER_DICTIONARY", "/nowhere.dict")
    assert "which does not exist" in str(aligner.unavailable_reason("en", is_phones=False))
    monkeypatch.delenv("SYNCAUDIT_VITER_MODEL")
    assert "no built-in model" in str(aligner.unavailable_reason("en", is_phones=False))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    missing = aligner.unavailable_reason("en", is_phones=False)
    assert isinstance(missing, MissingExtraError)
    assert "pip install 'syncaudit[viter]'" in str(missing)
