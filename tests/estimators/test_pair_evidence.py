"""Every kind of measurement carries a curve that peaks at its estimate, or residuals."""

from __future__ import annotations

import numpy as np
import pytest

from syncaudit.detectors import find_band_energies, spoken_tier
from syncaudit.detectors.sound import find_clicks, find_loudness
from syncaudit.estimators import measure_speech
from syncaudit.estimators.events import measure_flashes
from syncaudit.estimators.inertial import measure_imu_imu
from syncaudit.estimators.knocks.envelopes import correlate_envelopes
from syncaudit.estimators.knocks.measure import estimate_knocks
from syncaudit.estimators.sound.measure import estimate_microphones
from syncaudit.estimators.state.measure import measure_camera_state
from syncaudit.estimators.state.states import measure_states
from syncaudit.estimators.vehicle import measure_can_imu
from syncaudit.model import (
    Activity,
    AgreementCurve,
    AudioStream,
    EventResiduals,
    EventTrain,
    ImageMotion,
    Interval,
    PairMeasurement,
    Quantity,
    Tier,
)
from syncaudit.simulate.robot.task import TaskStyle, draw_course
from testkit.streams import sound_stream

EPOCH = 1_767_225_600_000_000_000


def sound(name: str, samples: np.ndarray, rate_hz: float, start_ns: int = EPOCH) -> AudioStream:
    return sound_stream(samples, rate_hz, name=name, start_ns=start_ns)


def curve_of(pair: PairMeasurement) -> AgreementCurve:
    found = pair.evidence
    assert isinstance(found, AgreementCurve)
    finite = found.agreement[np.isfinite(found.agreement)]
    assert 0.0 <= finite.min() <= finite.max() <= 1.0
    assert found.offsets_s[0] <= found.peak_s <= found.offsets_s[-1]
    assert finite.size <= 125
    return found


def test_microphones_correlate_at_their_offset():
    rng = np.random.default_rng(3)
    heard = rng.normal(size=8 * 8000)
    noise = 0.3 * rng.normal(size=(2, heard.size))
    late = sound("b", heard + noise[1], 8000.0, EPOCH + 123_400_000)
    pair = estimate_microphones(sound("a", heard + noise[0], 8000.0), late, max_offset_s=2.0)
    assert pair.accepted, pair.why
    found = curve_of(pair)
    # One sample of the search.
    assert found.peak_s == pytest.approx(pair.offset_s, abs=1 / 8000)
    assert found.agreement.max() > 0.8
    # Of several samples the best is kept.
    assert np.median(found.agreement) < 0.2


def test_sounds_that_share_nothing_have_a_curve_without_a_peak():
    rng = np.random.default_rng(4)
    a, b = (sound(name, rng.normal(size=8 * 8000), 8000.0) for name in "ab")
    pair = estimate_microphones(a, b, max_offset_s=2.0)
    assert not pair.accepted
    assert curve_of(pair).agreement.max() < 0.2


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
    if is_clear:
        pair = estimate_knocks(loudness, felt, clicks=clicks, max_offset_s=2.0)
    else:  # as on a bad road
        first = PairMeasurement.refused("mic", "imu", "knocks", EPOCH, "for a test")
        pair = correlate_envelopes(first, loudness, felt, 0.0, 2.0)
    assert pair.accepted, pair.why
    found = curve_of(pair)
    # The sampling interval of the accelerometer; envelopes align energies to 5 ms.
    assert found.peak_s == pytest.approx(0.25, abs=0.005 if is_clear else 0.015)
    assert found.agreement.max() > 0.5


def arm(seed: int, late_s: float) -> tuple[ImageMotion, Activity, Activity]:
    """Return what a camera sees of an arm, the joints, and their commands."""
    rng = np.random.default_rng([seed, 8])
    course = draw_course(12.0, TaskStyle(), np.random.default_rng([seed, 7]))
    times_s = np.arange(360) / 30.0
    pose = np.radians(course.joints(times_s - late_s))[:, :5]
    places = np.sin(pose @ rng.normal(0.0, 0.8, (5, 24)) + rng.uniform(0.0, 6.28, 24))
    moves = np.diff(places, axis=0)
    frame = ImageMotion(
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
    return frame, joints, told


def test_robots_have_curves_of_images_and_of_commands():
    frame, joints, told = arm(1, 0.1)
    seen = measure_camera_state(frame, joints)
    assert seen.method == "arm_motion"
    assert seen.accepted, seen.why
    # One step of the search, and the refinement by the fit.
    assert curve_of(seen).peak_s == pytest.approx(-0.1, abs=0.02)
    command = measure_states(told, joints)
    assert command.method == "command"
    assert command.accepted, command.why
    assert curve_of(command).peak_s == pytest.approx(command.offset_s, abs=0.03)
    commanded = measure_camera_state(frame, told)
    assert commanded.method == "commanded_motion"
    assert curve_of(commanded).agreement.max() > 0.5


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
    pair = measure_speech(spoken, bands)
    assert pair.accepted, pair.why
    # One frame of the search.
    assert curve_of(pair).peak_s == pytest.approx(0.2, abs=0.02)


def turning(shift_s: float) -> np.ndarray:
    rng = np.random.default_rng(4)
    phases = rng.uniform(0, 6.28, (6, 3))
    rates = np.array([0.21, 0.37, 0.53, 0.71, 0.97, 1.3])
    at_s = (np.arange(2000) / 100.0 + shift_s)[:, None, None]
    return 0.3 * np.sin(2 * np.pi * rates[None, :, None] * at_s + phases).sum(axis=1)


def motion(source: str, quantity: Quantity, values: np.ndarray) -> Activity:
    return Activity(
        source=source,
        quantity=quantity,
        epoch_ns=EPOCH,
        times_s=np.arange(2000) / 100.0,
        values=values,
        is_si=True,
    )


def test_gyroscopes_agree_at_their_offset():
    # The same motion, stamped 0.3 s later by the target.
    pair = measure_imu_imu(
        motion("a", Quantity.ANGULAR_RATE, turning(0.0)),
        motion("b", Quantity.ANGULAR_RATE, turning(-0.3)),
    )
    assert pair.accepted, pair.why
    found = curve_of(pair)
    assert found.peak_s == pytest.approx(0.3, abs=0.001)
    assert np.nanmax(found.agreement) > 0.99


def test_a_bus_agrees_with_a_gyroscope_between_the_steps_of_its_search():
    gyro = turning(-0.111)
    (pair,) = measure_can_imu(
        {Quantity.YAW_RATE: motion("can", Quantity.YAW_RATE, turning(0.0)[:, 2:])},
        {Quantity.ANGULAR_RATE: motion("imu", Quantity.ANGULAR_RATE, gyro)},
    )
    assert pair.accepted, pair.why
    found = curve_of(pair)
    assert found.step_s == pytest.approx(0.04)
    # A tenth of that step: the lobe is not an exact parabola.
    assert found.peak_s == pytest.approx(0.111, abs=0.004)


def test_refusals_keep_what_was_seen():
    rng = np.random.default_rng(6)
    a, b = (motion(x, Quantity.ANGULAR_RATE, rng.normal(size=(2000, 3))) for x in "ab")
    pair = measure_imu_imu(a, b)
    assert not pair.accepted
    assert np.nanmax(curve_of(pair).agreement) < 0.9


def test_residuals_follow_a_step_and_a_drift():
    rng = np.random.default_rng(2)
    at_s = np.cumsum(rng.uniform(0.3, 1.2, 40))
    noise_s = rng.normal(0.0, 1e-4, at_s.size)
    moved_s = at_s * (1.0 + 5e-5) + 0.035 + 0.25 * (at_s >= 15.0) + noise_s

    def train(name: str, times_s: np.ndarray) -> EventTrain:
        return EventTrain(
            source=name,
            quantity=Quantity.TRIGGER,
            epoch_ns=EPOCH,
            times_s=times_s,
            std_s=np.full(times_s.size, 1e-4),
        )

    pair = measure_flashes(train("a", at_s), train("b", moved_s[2:]))
    assert pair.accepted, pair.why
    assert pair.step_s == pytest.approx(0.25, abs=1e-3)
    found = pair.evidence
    assert isinstance(found, EventResiduals)
    assert found.n_events == at_s.size - 2
    stamps_s = (pair.at_ns - EPOCH) * 1e-9 + found.times_s
    np.testing.assert_allclose(stamps_s, at_s[2:], atol=1e-5)  # float32
    assert found.rms_s == pytest.approx(1e-4, rel=0.3)
    np.testing.assert_allclose(found.residuals_s, noise_s[2:], atol=1e-4)


def test_measurements_that_never_looked_have_no_evidence():
    still = motion("a", Quantity.YAW_RATE, np.zeros((2000, 1)))
    gyro = motion("b", Quantity.ANGULAR_RATE, turning(0.0))
    (pair,) = measure_can_imu({Quantity.YAW_RATE: still}, {Quantity.ANGULAR_RATE: gyro})
    assert not pair.accepted
    assert pair.evidence is None
