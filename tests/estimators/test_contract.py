"""Contract of every estimator: signs, rejections and honest claims, whatever it compares.

Add an estimator here with one example: a clip in which its sources share one time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from importlib import metadata

import numpy as np
import pytest

from syncaudit.detectors import find_band_energies, spoken_tier
from syncaudit.detectors.sound import find_clicks, find_loudness
from syncaudit.errors import UsageError
from syncaudit.estimators import Estimator, all_estimators
from syncaudit.model import (
    Activity,
    AudioStream,
    BandEnergies,
    ClipEvidence,
    ImageMotion,
    PairMeasurement,
    Quantity,
    SourceKind,
)
from syncaudit.simulate.speech import Utterance, Voice
from syncaudit.simulate.speech_texts import speak_at_length
from testkit.event_rig import camera as flash_camera
from testkit.event_rig import irregular_onsets
from testkit.moving_body import EPOCH_NS, TILTED, Drive, camera, imu, shaking

MAX_OFFSET_S = 2.0
SHIFT_NS = 130_000_000


def microphone(name: str, samples: np.ndarray, rate_hz: float) -> AudioStream:
    return AudioStream(
        name=name,
        clock=name,
        kind=SourceKind.AUDIO,
        time_ns=np.array([EPOCH_NS]),
        anchor_samples=np.array([0]),
        rate_hz=rate_hz,
        samples=samples.astype(np.float32),
    )


def two_imus(seed: int, other: int) -> ClipEvidence:
    one, two = shaking(seed), shaking(other).mixed(TILTED)
    found = (imu(one, seed, name="a"), imu(two, seed + 50, name="b"))
    return ClipEvidence(motion={a.source: {a.quantity: a} for a in found})


def bus_and_imu(seed: int, other: int) -> ClipEvidence:
    yaw = Drive.on_road(seed).can(Quantity.YAW_RATE, seed, name="a")
    return ClipEvidence(
        motion={"a": {yaw.quantity: yaw}, "b": Drive.on_road(other).imu(seed, name="b")}
    )


def camera_and_gyro(seed: int, other: int) -> ClipEvidence:
    gyro = imu(shaking(other), seed, name="b")
    return ClipEvidence(
        rotations={"a": camera(shaking(seed), seed, name="a")},
        motion={"b": {gyro.quantity: gyro}},
    )


def camera_and_arm(seed: int, other: int) -> ClipEvidence:
    """Cells of a frame move as six joints do, by a smooth map."""
    fps, seconds = 30.0, 25.0
    times_s = np.arange(round(seconds * fps)) / fps
    rng = np.random.default_rng([seed, 3])
    seen, told = (shaking(k, lowest_hz=0.1, highest_hz=1.0, n=60, axes=6) for k in (seed, other))
    places = np.sin(8.0 * seen.angle(times_s) @ rng.normal(0.0, 0.8, (6, 24)))
    moves = np.diff(places, axis=0)
    moves += 0.05 * moves.std() * rng.normal(size=moves.shape)
    joints = Activity(
        source="b",
        quantity=Quantity.STATE,
        epoch_ns=EPOCH_NS,
        times_s=times_s,
        values=np.degrees(told.angle(times_s)),
    )
    frame = ImageMotion(
        source="a", epoch_ns=EPOCH_NS, start_s=times_s[:-1], stop_s=times_s[1:], moves=moves
    )
    return ClipEvidence(image_motions={"a": frame}, motion={"b": {joints.quantity: joints}})


def two_microphones(seed: int, other: int) -> ClipEvidence:
    noises = [np.random.default_rng([k, 5]).normal(0.0, 0.1, 80_000) for k in (seed, other)]
    floor = np.random.default_rng([seed, 6]).normal(0.0, 0.03, (2, 80_000))
    heard = [
        microphone(name, noise + own, 8_000.0)
        for name, noise, own in zip("ab", noises, floor, strict=True)
    ]
    return ClipEvidence(sounds={stream.name: stream for stream in heard})


def knocks_in_both(seed: int, other: int) -> ClipEvidence:
    """Knocks are short noises in the sound and 60 Hz oscillations in the acceleration."""
    rate_hz, seconds = 16_000.0, 40.0
    rng = np.random.default_rng([seed, 7])
    heard_s, felt_s = (
        np.sort(np.random.default_rng([k, 8]).uniform(5.0, 35.0, 20)) for k in (seed, other)
    )
    samples = 0.003 * rng.normal(size=round(seconds * rate_hz))
    for at_s in heard_s:
        first, n = int(at_s * rate_hz) + 1, 900
        samples[first : first + n] += 0.3 * rng.normal(size=n) * np.exp(-np.arange(n) / 190.0)
    t = np.arange(round(seconds * 400.0)) / 400.0
    force = 0.05 * rng.normal(size=(t.size, 3)) + [0.0, 0.0, 9.81]
    for at_s in felt_s:
        since = t - at_s
        ring = 6.0 * np.cos(2.0 * np.pi * 60.0 * since) * np.exp(-since.clip(0.0) / 0.02)
        force[:, 2] += np.where(since >= 0.0, ring, 0.0)
    mic = microphone("a", samples, rate_hz)
    loudness, clicks = find_loudness(mic), find_clicks(mic)
    assert loudness is not None
    assert clicks is not None
    accel = Activity(
        source="b", quantity=Quantity.SPECIFIC_FORCE, epoch_ns=EPOCH_NS, times_s=t, values=force
    )
    return ClipEvidence(
        sounds={"a": mic},
        loudness={"a": loudness},
        clicks={"a": clicks},
        motion={"b": {accel.quantity: accel}},
    )


def two_flash_cameras(seed: int, other: int) -> ClipEvidence:
    seen = {
        name: flash_camera(
            np.random.default_rng([k, at]),
            irregular_onsets(np.random.default_rng([k, 9])),
            name=name,
            rate_hz=30.0,
            line_delay_s=6e-5,
            epoch_ns=EPOCH_NS,
        )
        for at, (name, k) in enumerate((("a", seed), ("b", other)))
    }
    return ClipEvidence(flashes=dict(seen))


@cache  # espeak-ng is not deterministic
def speech(seed: int) -> Utterance:
    pytest.importorskip("espeakng_loader")
    rng = np.random.default_rng([seed, 10])
    return speak_at_length(Voice(language="en+f5", pitch=60), duration_s=20.0, rng=rng)


def words_and_sound(seed: int, other: int) -> ClipEvidence:
    said, heard = speech(seed), speech(other)
    noise = np.random.default_rng(seed).normal(0.0, 1e-4, len(heard.samples))
    bands = find_band_energies(microphone("b", heard.samples + noise, heard.rate_hz))
    spoken = spoken_tier(said.phones, source="a", audio="b")
    assert bands is not None
    assert spoken is not None
    return ClipEvidence(spoken={"a": spoken}, bands={"b": bands})


# By estimator name: a clip whose sources "a" and "b" share one time if both seeds are the same, and
# have nothing in common otherwise.
EXAMPLES: dict[str, Callable[[int, int], ClipEvidence]] = {
    "imus": two_imus,
    "buses": bus_and_imu,
    "robot": camera_and_arm,
    "rotation": camera_and_gyro,
    "microphones": two_microphones,
    "knocks": knocks_in_both,
    "light": two_flash_cameras,
    "speech": words_and_sound,
}

each_estimator = pytest.mark.parametrize(
    "estimator", all_estimators(), ids=lambda estimator: estimator.name
)


def only(estimator: Estimator, evidence: ClipEvidence) -> PairMeasurement:
    (pair,) = estimator.measure(evidence, [], MAX_OFFSET_S)
    assert {pair.source, pair.target} == {"a", "b"}
    assert pair.method in estimator.methods
    return pair


def shifted(evidence: ClipEvidence, source: str) -> ClipEvidence:
    """Return the evidence with all timestamps of one source later by `SHIFT_NS`."""
    moved = {
        one.name: {
            name: _later(found) if name == source else found
            for name, found in getattr(evidence, one.name).items()
        }
        for one in fields(evidence)
        if isinstance(getattr(evidence, one.name), dict)
    }
    return replace(evidence, **moved)


def _later(found: object) -> object:
    if isinstance(found, dict):  # activities by quantity
        return {quantity: _later(one) for quantity, one in found.items()}
    if isinstance(found, AudioStream):
        return replace(found, time_ns=found.time_ns + SHIFT_NS)
    if isinstance(found, BandEnergies):
        return replace(found, start_s=found.start_s + 1e-9 * SHIFT_NS)
    if hasattr(found, "epoch_ns"):
        return replace(found, epoch_ns=found.epoch_ns + SHIFT_NS)
    by_s = 1e-9 * SHIFT_NS  # a tier's times are in seconds of its sound
    return replace(found, start_s=found.start_s + by_s, stop_s=found.stop_s + by_s)


def test_every_estimator_has_an_example() -> None:
    assert [estimator.name for estimator in all_estimators()] == list(EXAMPLES)


@each_estimator
def test_nothing_to_compare_is_no_measurement(estimator: Estimator) -> None:
    assert estimator.measure(ClipEvidence(), [], MAX_OFFSET_S) == []


@each_estimator
def test_claimed_errors_hold_the_error(estimator: Estimator) -> None:
    for seed in (1, 2):
        pair = only(estimator, EXAMPLES[estimator.name](seed, seed))
        assert pair.accepted, pair.why
        assert pair.offset_s is not None
        assert pair.offset_std_s is not None
        assert abs(pair.offset_s) < 3.5 * pair.offset_std_s
        assert pair.evidence is not None


@each_estimator
def test_a_later_source_is_ahead_by_as_much(estimator: Estimator) -> None:
    evidence = EXAMPLES[estimator.name](4, 4)
    still = only(estimator, evidence)
    assert still.offset_s is not None
    for late in ("a", "b"):
        pair = only(estimator, shifted(evidence, late))
        assert pair.accepted, pair.why
        assert pair.offset_s is not None
        assert pair.offset_std_s is not None
        by_s = 1e-9 * SHIFT_NS * (1.0 if late == pair.target else -1.0)
        assert pair.offset_s - still.offset_s == pytest.approx(by_s, abs=pair.offset_std_s)


@each_estimator
def test_sources_with_nothing_in_common_are_refused(estimator: Estimator) -> None:
    for seed in (5, 6):
        pair = only(estimator, EXAMPLES[estimator.name](seed, seed + 100))
        assert not pair.accepted
        assert pair.why


@pytest.mark.parametrize("added", [None, ModuleNotFoundError("no module 'theirs'")])
def test_estimators_of_other_packages_measure_or_stop_the_audit(
    added: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = Estimator(name="theirs", methods=("theirs",), measure=lambda *_: [])
    point = metadata.EntryPoint(name="theirs", group="syncaudit.estimators", value="theirs:it")

    def load(_: metadata.EntryPoint) -> object:
        if added is not None:
            raise added
        return theirs

    monkeypatch.setattr(metadata.EntryPoint, "load", load)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point] * (group == point.group))
    all_estimators.cache_clear()
    try:
        if added is None:
            assert all_estimators()[-1] is theirs
        else:
            with pytest.raises(UsageError, match=r"estimator of .* cannot be imported"):
                all_estimators()
    finally:
        all_estimators.cache_clear()
