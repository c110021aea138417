"""Constants derived from external measurements stay consistent with them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from syncaudit.detectors import find_band_energies
from syncaudit.estimators.speech.measure import MIN_SETTLED_WORDS, _wander, why_not_followed
from syncaudit.estimators.speech.search import _CENTRES_HZ, _TEMPLATES, CLASSES, prior_means
from testkit.streams import sound_stream


def test_templates_are_of_the_bands_that_sound_is_parted_into() -> None:
    rate_hz = 16_000.0
    sound = sound_stream(np.random.default_rng(0).normal(0.0, 0.1, 16_000), rate_hz, start_ns=0)
    bands = find_band_energies(sound)
    assert bands is not None
    assert np.max(np.abs(bands.centres_hz / np.array(_CENTRES_HZ) - 1.0)) < 0.06
    means = prior_means(bands.centres_hz, 0.5)
    expected = 0.5 * np.array([_TEMPLATES[manner] for manner in CLASSES])
    assert np.allclose(means, expected, rtol=0.0, atol=0.15)  # templates agree within 1 neper


@pytest.mark.parametrize(
    ("is_words", "span_s", "ppm"),
    # Drifts of real speech scatter by 40 and 250 ppm, of which random errors explain 26 and 100:
    # the model of a steady wander gives 30 at one minute, as measured, and too little in short
    # clips.
    [(False, 60.0, 30.0), (True, 60.0, 60.0), (False, 20.0, 156.0)],
)
def test_drifts_of_speech_scatter_as_measured(is_words: bool, span_s: float, ppm: float) -> None:
    spoken, fit = SimpleNamespace(is_words=is_words), SimpleNamespace(settled=1.0)
    assert 1e6 * _wander(spoken, fit, span_s) == pytest.approx(ppm, rel=0.02)  # type: ignore[arg-type]  # only these fields are read


def test_words_that_settle_nowhere_have_a_drift_of_no_use() -> None:
    loose = _wander(
        SimpleNamespace(is_words=True),  # type: ignore[arg-type]  # only these fields are read
        SimpleNamespace(settled=0.5),  # type: ignore[arg-type]  # only these fields are read
        60.0,
    )
    assert 1e6 * loose > 500.0


def test_tier_that_does_not_follow_says_how_far() -> None:
    spoken = SimpleNamespace(is_words=True)
    why = why_not_followed(spoken, 0.25)  # type: ignore[arg-type]  # only these fields are read
    assert why is not None
    assert "25 % of its boundaries" in why
    assert f"at least {100.0 * MIN_SETTLED_WORDS:.0f} %" in why
    assert why_not_followed(spoken, MIN_SETTLED_WORDS) is None  # type: ignore[arg-type]  # as above
