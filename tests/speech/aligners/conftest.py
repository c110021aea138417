"""Speech with known times, and a stand-in for the Montreal Forced Aligner."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from syncaudit.speech.aligners.alignment import Utterance, words_of_text
from testkit.places import real_recording


@pytest.fixture(scope="session")
def realdata() -> Path:
    return real_recording("")


@pytest.fixture
def utterance() -> Callable[..., Utterance]:
    """Return a function that makes a noise utterance, for aligners that ignore the sound."""

    def make(text: str = "hello world", *, seconds: float = 2.0, **keys: Any) -> Utterance:
        rng = np.random.default_rng(7)
        samples = (0.1 * rng.standard_normal(round(16_000 * seconds))).astype(np.float32)
        keys = {"name": "talk", "words": words_of_text(text), **keys}
        return Utterance(samples=samples, rate_hz=16_000.0, **keys)

    return make


@pytest.fixture(scope="session")
def real(realdata: Path) -> Callable[..., Utterance]:
    """Return a function that reads a real recording, with its text unless another is given."""
    texts = {
        "mary": "mary rolled the barrel",
        "acoustic_corpus": (realdata / "speech" / "acoustic_corpus.lab").read_text(),
    }

    def read(name: str, text: str | None = None, **keys: Any) -> Utterance:
        samples, rate_hz = soundfile.read(
            realdata / "speech" / f"{name}.wav", dtype="float32", always_2d=True
        )
        words = words_of_text(texts[name] if text is None else text)
        keys = {"name": name, "words": words, **keys}
        return Utterance(samples=samples[:, 0], rate_hz=float(rate_hz), **keys)

    return read


@pytest.fixture
def mfa(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    from testkit.mfa_stand_in import FAKE, HELLO, FakeMfa

    fake = FakeMfa(folder=tmp_path)
    fake.set(textgrids={"*": HELLO})
    monkeypatch.setenv("FAKE_MFA", str(tmp_path / "plan.json"))
    monkeypatch.setenv("SYNCAUDIT_MFA", f"{shlex.quote(sys.executable)} {shlex.quote(str(FAKE))}")
    for name in ("MFA_ROOT_DIR", "SYNCAUDIT_MFA_DICTIONARY", "SYNCAUDIT_MFA_ACOUSTIC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return fake
