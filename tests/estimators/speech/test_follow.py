"""Lines and steps are told apart by what every label explains at every offset."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from syncaudit.estimators.speech.fit import fit_course
from syncaudit.estimators.speech.follow import Courses, follow
from syncaudit.estimators.speech.measure import _fitted, room_shift, why_not_one_line
from syncaudit.estimators.speech.search import _TEMPLATES, CLASSES, Course
from syncaudit.model import BandEnergies, SpokenTier
from syncaudit.model.arrays import Floats

N_SOUNDS, SOUND_S, HOP_S = 300, 0.09, 0.005
STILL = Course(anchor_s=0.0, offset_s=0.0)
# Rough courses are good to the reach of the fit that follows.
ROUGH_S = 0.03


def tier(offsets_s: Floats | float = 0.0) -> SpokenTier:
    """Return sounds of random classes whose times are off: what to add is `offsets_s`."""
    rng = np.random.default_rng(1)
    edges = np.cumsum(np.append(0.5, rng.uniform(0.6, 1.4, N_SOUNDS) * SOUND_S))
    start_s, stop_s = edges[:-1] - offsets_s, edges[1:] - offsets_s
    stop_s[:-1] = np.minimum(stop_s[:-1], start_s[1:])
    return SpokenTier(
        source="text",
        audio="mic",
        tier="phones",
        start_s=start_s,
        stop_s=np.maximum(stop_s, start_s),
        is_stated=np.ones(N_SOUNDS, dtype=np.bool_),
        classes=tuple(str(CLASSES[k]) for k in rng.integers(0, len(CLASSES) - 1, N_SOUNDS)),
        n_labels=N_SOUNDS,
    )


@pytest.fixture(scope="module")
def sound() -> BandEnergies:
    """Sound of the tier with right times: templates and noise."""
    said = tier()
    frame_s = HOP_S * np.arange(round((said.stop_s[-1] + 1.0) / HOP_S))
    k = np.clip(np.searchsorted(said.start_s, frame_s, side="right") - 1, 0, N_SOUNDS - 1)
    means = np.array([_TEMPLATES[manner] for manner in CLASSES])
    codes = [str(manner) for manner in CLASSES]
    heard = means[[codes.index(said.classes[j]) for j in k]]
    noise = np.random.default_rng(2).normal(0.0, 1.5, heard.shape)
    return BandEnergies(
        source="mic",
        epoch_ns=0,
        start_s=0.0,
        hop_s=HOP_S,
        values=heard + noise,
        centres_hz=np.linspace(300.0, 6000.0, heard.shape[1]),
    )


def test_line_far_from_the_start_is_found(sound: BandEnergies) -> None:
    truth = Course(anchor_s=14.0, offset_s=0.12, drift=0.02)
    said = tier()
    found = follow(tier(truth.at(said.start_s)), sound, STILL, with_drift=True)
    assert abs(found.best.step_s) < ROUGH_S
    apart = found.line.at(said.start_s) - truth.at(said.start_s + truth.at(said.start_s))
    assert float(np.abs(apart).max()) < ROUGH_S


@pytest.mark.parametrize("n_after", [20, 150, 280])
def test_step_is_found_anywhere(sound: BandEnergies, n_after: int) -> None:
    offsets_s = np.where(np.arange(N_SOUNDS) >= N_SOUNDS - n_after, -0.3, 0.0)
    found = follow(tier(offsets_s), sound, STILL, with_drift=True)
    assert found.gain > 3.0 * found.needed
    assert found.second < found.needed
    assert found.best.step_s == pytest.approx(-0.3, abs=ROUGH_S)
    at_s = float(tier().start_s[N_SOUNDS - n_after])
    assert found.best.step_at_s == pytest.approx(at_s, abs=0.5)


def test_right_tier_has_no_step(sound: BandEnergies) -> None:
    found = follow(tier(), sound, STILL, with_drift=True)
    assert found.gain < 0.5 * found.needed
    assert found.best.at(tier().start_s) == pytest.approx(0.0, abs=ROUGH_S)


def test_short_tier_has_neither_drift_nor_step(sound: BandEnergies) -> None:
    offsets_s = np.where(np.arange(N_SOUNDS) >= 150, -0.3, 0.0)
    found = follow(tier(offsets_s), sound, STILL, with_drift=False)
    assert not found.best.has_step
    assert found.best.drift == 0.0


def test_step_beyond_the_last_boundary_is_not_fitted(sound: BandEnergies) -> None:
    said = tier()
    start = replace(STILL, step_s=0.2, step_at_s=float(said.start_s[-1]) + 0.01)
    assert fit_course(said, sound, start, with_drift=True) is None


def test_unconfirmed_step_is_worded() -> None:
    stepped = replace(STILL, step_s=-0.2, step_at_s=22.0)
    courses = Courses(line=STILL, stepped=stepped, gain=30.0, second=1.0, lead=30.0, usual=5.1)
    why = why_not_one_line(courses)
    assert why is not None
    assert "-200 ms more from 22.0 s on" in why
    assert why_not_one_line(replace(courses, gain=11.0)) is not None
    assert why_not_one_line(replace(courses, gain=7.0)) is None
    # As far as chance lobes and words of recognisers reach.
    assert why_not_one_line(replace(courses, stepped=replace(stepped, step_s=0.07))) is None


def test_chance_is_not_a_step() -> None:
    stepped = replace(STILL, step_s=-0.2, step_at_s=22.0)
    courses = Courses(line=STILL, stepped=stepped, gain=11.0, second=1.0, lead=30.0, usual=5.1)
    assert courses.best == STILL
    assert replace(courses, gain=13.0).best == stepped
    assert replace(courses, gain=13.0, usual=math.inf).best == STILL


def test_step_that_may_be_there_widens_the_line() -> None:
    stepped = Course(anchor_s=10.0, offset_s=-0.03, step_s=0.06, step_at_s=9.0)
    line = Course(anchor_s=10.0, offset_s=0.0, drift=0.004)
    courses = Courses(line=line, stepped=stepped, gain=5.0, second=1.0, lead=30.0, usual=5.0)
    assert courses.doubt(10.0, 1.0) == pytest.approx((0.03 / 2**0.5, 0.004 / 2**0.5))
    certain, unlikely = replace(courses, gain=99.0), replace(courses, gain=-99.0)
    assert certain.doubt(10.0, 1.0) == pytest.approx((0.03, 0.004))
    assert certain.doubt(10.0, 99.0) < courses.doubt(10.0, 1.0)
    assert unlikely.doubt(10.0, 1.0) == pytest.approx((0.0, 0.0), abs=1e-9)
    assert replace(courses, usual=math.inf).doubt(10.0, 1.0) == pytest.approx((0.0, 0.0))


def test_step_whose_direction_is_uncertain_is_not_reported(sound: BandEnergies) -> None:
    said = tier(np.where(np.arange(N_SOUNDS) >= 150, -0.2, 0.0))
    courses = follow(said, sound, STILL, with_drift=True)
    assert courses.is_one_way
    fit, _ = _fitted(said, sound, courses, with_drift=True)
    assert fit is not None
    assert fit.course.step_s == pytest.approx(-0.2, abs=ROUGH_S)
    either = replace(courses, lead=6.0)
    assert not either.is_one_way
    line, _ = _fitted(said, sound, either, with_drift=True)
    assert line is not None
    assert not line.course.has_step


def test_direction_of_a_step_is_weighed_against_a_drift_with_a_step_back(
    sound: BandEnergies,
) -> None:
    said = tier(np.where(np.arange(N_SOUNDS) >= 150, -0.2, 0.0))
    found = follow(said, sound, STILL, with_drift=True)
    assert 7.0 < found.lead < found.gain


def test_room_that_may_be_there_widens_the_error() -> None:
    moved_s = 0.004
    shift_s, std_s = room_shift(0.8, moved_s, 0.0)
    dry_s, dry_std_s = room_shift(1.2, moved_s, 0.0)
    whole_s, _ = room_shift(0.1, moved_s, 0.0)
    assert dry_s < shift_s < whole_s
    # Neither no shift nor the whole one is out of reach.
    assert shift_s < 3.0 * std_s
    assert whole_s - shift_s < 3.0 * std_s
    assert dry_std_s < std_s
