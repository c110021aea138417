from __future__ import annotations

from collections.abc import Sequence

import pytest

from syncaudit.speech.aligners.pocketsphinx import Fit, Placed, fit_of


def placed(*parts: tuple[int, str, float]) -> list[Placed]:
    """Return consecutive sounds from (frames, phone, score per frame)."""
    found: list[Placed] = []
    for length, phone, score in parts:
        start = found[-1].start + found[-1].length if found else 0
        found.append(Placed(start=start, length=length, phone=phone, score=score * length))
    return found


def test_score_is_that_of_speech_alone() -> None:
    fit = fit_of(placed((50, "", -90.0), (10, "AH", -10.0), (30, "S", -20.0)))
    assert fit.score == pytest.approx(-17.5)


@pytest.mark.parametrize(
    ("parts", "share"),
    [
        ([(100, "AH", -10.0)], 0.0),
        ([(100, "AH", -10.0), (100, "", -5.0)], 0.0),
        ([(100, "AH", -10.0), (100, "", -60.0)], 0.5),
        ([(100, "AH", -10.0), (3, "T", -90.0), (97, "AH", -10.0)], 0.0),
        ([(10, "S", -10.0)] * 10 + [(100, "AH", -70.0)], 0.5),
    ],
)
def test_what_fits_badly_for_long_is_unexplained(
    parts: Sequence[tuple[int, str, float]], share: float
) -> None:
    """Windows of 0.3 s blur the boundaries by at most a tenth of these two seconds."""
    assert fit_of(placed(*parts)).unexplained == pytest.approx(share, abs=0.1)


def test_noise_models_explain_nothing() -> None:
    parts = placed((100, "AH", -10.0))
    parts.append(Placed(start=100, length=100, phone="", score=-500.0, is_noise=True))
    assert fit_of(parts).unexplained == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("score", "unexplained", "why"),
    [
        (-12.0, 0.1, None),
        (-32.0, 0.27, None),
        (-34.0, 0.0, "do not fit the audio (score -34, at least -33 is needed)"),
        (-12.0, 0.4, "40% of the audio is unexplained"),
    ],
)
def test_limits_are_told(score: float, unexplained: float, why: str | None) -> None:
    refusal = Fit(score=score, unexplained=unexplained).refusal()
    assert refusal is None if why is None else why in str(refusal)
