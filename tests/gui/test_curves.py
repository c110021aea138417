"""Every kind of measurement has a curve that peaks at its estimate, or says why it has none."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from syncaudit_gui.audits.curves import CURVES, find_curves
from syncaudit_gui.audits.result import DelayEvidence, ResidualEvidence
from syncaudit_gui.viewmodel.evidence_words import word_agreement, word_no_plot, word_residuals

import syncaudit.estimators
from syncaudit.detectors import find_band_energies, find_clicks, find_loudness, spoken_tier
from syncaudit.estimators import (
    estimate_knocks,
    estimate_microphones,
    measure_camera_state,
    measure_speech,
    measure_states,
)
from syncaudit.model import (
    Activity,
    EventTrain,
    Interval,
    PairMeasurement,
    PictureMotion,
    Quantity,
    Tier,
)
from syncaudit.pipeline import ClipEvidence
from syncaudit.simulate.robot.task import TaskStyle, draw_course
from testkit.two_microphones import EPOCH, microphones, sound


def drawn(pair: PairMeasurement, evidence: ClipEvidence) -> DelayEvidence:
    ((key, found),) = find_curves((pair,), evidence, EPOCH)
    assert key == (pair.source, pair.target, pair.method)
    assert isinstance(found, DelayEvidence)
    finite = found.agreement[np.isfinite(found.agreement)]
    assert 0.0 <= finite.min() <= finite.max() <= 1.0
    return found


def peak_s(found: DelayEvidence) -> float:
    return float(found.offsets_s[int(np.nanargmax(found.agreement))])


def test_microphones_correlate_at_their_offset():
    evidence = microphones(0.1234)
    pair = estimate_microphones(evidence.sounds["a"], evidence.sounds["b"], max_offset_s=2.0)
    assert pair.accepted, pair.why
    found = drawn(pair, evidence)
    # One sample of the search.
    assert peak_s(found) == pytest.approx(pair.offset_s, abs=1 / 8000)
    assert found.agreement.max() > 0.8
    assert np.median(found.agreement) < 0.1
    assert np.abs(found.offsets_s - pair.offset_s).max() <= 1.0


@pytest.mark.parametrize("is_clear", [True, False])
def test_knocks_correlate_at_their_offset(is_clear):
    rng = np.random.default_rng(5)
    rate, n_s = 8000, 40.0
    times_s = np.arange(round(n_s * rate)) / rate
    at_s = np.sort(rng.uniform(3.0, n_s - 3.0, 25))
    samples = 0.003 * rng.normal(size=times_s.size)
    accel_s = np.arange(round(n_s * 200.0)) / 200.0
    force = 0.05 * rng.normal(size=(accel_s.size, 3))
    for knock_s in at_s:
        since, later = times_s - knock_s, accel_s - knock_s
        ring = np.sin(2 * np.pi * 210 * since) * np.exp(-np.clip(since, 0, None) / 0.012)
        samples += 0.3 * ring * (since >= 0)
        shake = 6.0 * np.cos(2 * np.pi * 60 * later) * np.exp(-np.clip(later, 0, None) / 0.02)
        force[:, 2] += shake * (later >= 0)
    mic = sound("mic", samples, float(rate))
    felt = Activity(
        source="imu",
        quantity=Quantity.SPECIFIC_FORCE,
        epoch_ns=EPOCH,
        times_s=accel_s + 0.25,
        values=force,
    )
    loudness, clicks = find_loudness(mic), find_clicks(mic)
    evidence = ClipEvidence(
        sounds={"mic": mic},
        loudness={"mic": loudness},
        clicks={} if clicks is None else {"mic": clicks},
        motion={"imu": {Quantity.SPECIFIC_FORCE: felt}},
    )
    pair = estimate_knocks(loudness, felt, source_clicks=clicks, max_offset_s=2.0)
    assert pair.accepted, pair.why
    if not is_clear:  # as on a bad road
        pair = replace(pair, diagnostics={"is_envelope": 1.0})
    found = drawn(pair, evidence)
    # The interval of the accelerometer; envelopes say when energies meet, to 5 ms.
    assert peak_s(found) == pytest.approx(0.25, abs=0.005 if is_clear else 0.015)
    assert found.agreement.max() > 0.5


def arm(seed: int, late_s: float) -> tuple[PictureMotion, Activity, Activity]:
    """Return what a camera sees of an arm, the joints, and what they were told."""
    rng = np.random.default_rng([seed, 8])
    course = draw_course(12.0, TaskStyle(), np.random.default_rng([seed, 7]))
    times_s = np.arange(360) / 30.0
    pose = np.radians(course.joints(times_s - late_s))[:, :5]
    places = np.sin(pose @ rng.normal(0.0, 0.8, (5, 24)) + rng.uniform(0.0, 6.28, 24))
    moves = np.diff(places, axis=0)
    picture = PictureMotion(
        source="cam",
        epoch_ns=EPOCH,
        start_s=times_s[:-1],
        stop_s=times_s[1:],
        moves=moves + 0.05 * moves.std() * rng.normal(size=moves.shape),
    )
    joints, told = (
        Activity(
            source=name, quantity=quantity, epoch_ns=EPOCH, times_s=times_s, values=curve(times_s)
        )
        for name, quantity, curve in (
            ("state", Quantity.STATE, course.joints),
            ("action", Quantity.COMMAND, course.command),
        )
    )
    return picture, joints, told


def test_robots_have_curves_of_pictures_and_of_commands():
    picture, joints, told = arm(1, 0.1)
    evidence = ClipEvidence(
        picture_motions={"cam": picture},
        motion={"state": {Quantity.STATE: joints}, "action": {Quantity.COMMAND: told}},
    )
    seen = measure_camera_state(picture, joints)
    assert seen.method == "arm_motion"
    assert seen.accepted, seen.why
    # A step of the search, and what the fit refines.
    assert peak_s(drawn(seen, evidence)) == pytest.approx(-0.1, abs=0.02)
    command = measure_states(told, joints)
    assert command.method == "command"
    assert command.accepted, command.why
    assert peak_s(drawn(command, evidence)) == pytest.approx(command.offset_s, abs=0.03)
    commanded = measure_camera_state(picture, told)
    assert commanded.method == "commanded_motion"
    assert drawn(commanded, evidence).agreement.max() > 0.5


def test_tiers_fit_their_sound_best_at_their_offset():
    pytest.importorskip("espeakng_loader")
    from syncaudit.simulate.speech import Voice
    from syncaudit.simulate.speech_texts import speak_at_length

    said = speak_at_length(Voice(language="en"), duration_s=14.0, rng=np.random.default_rng(2))
    late = Tier(
        name="phones",
        intervals=tuple(
            Interval(start_s=i.start_s - 0.2, stop_s=i.stop_s - 0.2, label=i.label)
            for i in said.phones.intervals
        ),
    )
    rng = np.random.default_rng(1)
    heard = said.samples + rng.normal(0.0, 1e-4, said.samples.size)
    mic = sound("mic", heard, said.rate_hz)
    spoken, bands = spoken_tier(late, source="text", audio="mic"), find_band_energies(mic)
    evidence = ClipEvidence(spoken={"text": spoken}, bands={"mic": bands})
    pair = measure_speech(spoken, bands)
    assert pair.accepted, pair.why
    # One frame of the search.
    assert peak_s(drawn(pair, evidence)) == pytest.approx(0.2, abs=0.02)


def test_every_method_of_the_estimators_is_drawn():
    sources = Path(syncaudit.estimators.__file__).parent.rglob("*.py")
    texts = [path.read_text(encoding="utf-8") for path in sources]
    methods = {
        name
        for text in texts
        for line in re.findall(r"(?:\bmethod=|^METHOD = )(.*)$", text, re.MULTILINE)
        for name in re.findall(r'"(\w+)"', line)
    }
    assert len(methods) >= 15
    assert methods <= {*CURVES, "flash"}


def test_residuals_follow_a_step_of_the_pair():
    at_s = np.arange(1.0, 20.0, 0.7)
    moved_s = at_s + 0.035 + 0.25 * (at_s >= 12.0)

    def train(name: str, times_s: np.ndarray) -> EventTrain:
        return EventTrain(
            source=name,
            quantity=Quantity.TRIGGER,
            epoch_ns=EPOCH,
            times_s=times_s,
            std_s=np.full(times_s.size, 1e-4),
            strengths=np.ones(times_s.size),
        )

    pair = PairMeasurement(
        source="a",
        target="b",
        method="flash",
        at_ns=EPOCH + 10 * 10**9,
        offset_s=0.035,
        offset_std_s=1e-4,
        step_s=0.25,
        step_std_s=1e-4,
        step_at_ns=EPOCH + 12 * 10**9,
        accepted=True,
    )
    evidence = ClipEvidence(triggers={"a": train("a", at_s), "b": train("b", moved_s)})
    ((_, found),) = find_curves((pair,), evidence, EPOCH)
    assert isinstance(found, ResidualEvidence)
    np.testing.assert_allclose(found.times_s, at_s, atol=1e-9)
    np.testing.assert_allclose(found.residuals_s, 0.0, atol=1e-9)


@pytest.mark.parametrize("method", [*CURVES, "flash", "unheard_of"])
def test_without_evidence_there_is_no_curve_but_words(method):
    pair = PairMeasurement.refused("a", "b", method, EPOCH, "for a test")
    assert not list(find_curves((pair,), ClipEvidence(), EPOCH))
    assert word_no_plot(pair, can_audit=False).endswith(".")


def test_plots_are_said_in_words():
    offsets_s, nothing = np.array([0.01, 0.035]), np.full(2, np.nan)
    assert word_agreement(offsets_s, np.array([0.2, 0.93])).endswith("best at +35.0 ms: 0.93.")
    assert "no offset" in word_agreement(offsets_s, nothing)
    assert word_residuals(np.array([3e-4, -3e-4])) == "2 events in common, 0.30 ms rms."
    assert "No event" in word_residuals(np.empty(0))
