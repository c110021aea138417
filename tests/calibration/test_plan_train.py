"""Trains cover every phase, are uneven, stay safe, and match without ambiguity."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from syncaudit_calibration.plan import (
    LightKind,
    PlannedCamera,
    PulseTrain,
    choose_train,
    planned_cameras,
)

from syncaudit.errors import UsageError
from syncaudit.estimators.events import Instants, match_events, period_of
from syncaudit.simulate.pulse_trains import ListedTrain

TICK_S = 1e-6
EDGE_STD_S = 15e-6
OFFSET_TOLERANCE_S = 1e-4
RIGS = {
    "12 Hz": ([12], 0.025, 0.008),
    "30 Hz": ([30], 0.015, 0.010),
    "two rates": ([12, 30], 0.025, 0.008),
    "long exposures": ([12], 0.025, 0.020),
    "short exposures": ([24], 0.020, 0.001),
    "always visible": ([60], 0.012, 0.004),
}


def rig(rates: list[int], readout_s: float, exposure_s: float) -> tuple[PlannedCamera, ...]:
    return planned_cameras([Fraction(rate) for rate in rates], [readout_s], [exposure_s], 4)


def train_for(name: str, *, seed: int = 0) -> PulseTrain:
    return choose_train(rig(*RIGS[name]), rng=np.random.default_rng(seed))


def test_burst_has_frame_period_over_visible_time_pulses() -> None:
    train = train_for("12 Hz")
    assert train.n_per_burst == 3  # ceil(83.3 / (25 + 8 + 2))
    assert train.width_s == pytest.approx(0.002, abs=1e-12)


@pytest.mark.parametrize("name", RIGS)
def test_every_phase_sees_some_of_each_burst(name: str) -> None:
    train = train_for(name)
    slowest = max(rig(*RIGS[name]), key=lambda camera: camera.period_s)
    bursts = train.starts_s.reshape(-1, train.n_per_burst)
    around = np.concatenate([bursts, bursts[:, :1] + slowest.period_s], axis=1)
    assert np.diff(around).max() <= slowest.visible_s(train.width_s) + 2 * TICK_S


@pytest.mark.parametrize("name", RIGS)
def test_train_keeps_safe_dark_and_within_the_recording(name: str) -> None:
    train = train_for(name)
    assert train.most_per_second <= 3
    assert np.all(np.diff(train.starts_s) > train.width_s)
    assert train.starts_s[0] >= 1.0
    assert train.starts_s[-1] + train.width_s <= train.duration_s - 1.0


@pytest.mark.parametrize("name", RIGS)
def test_train_resembles_no_shift_of_itself(name: str) -> None:
    assert train_for(name).runner_up < 0.35


def test_periodic_train_is_its_own_runner_up() -> None:
    train = PulseTrain(
        starts_s=np.arange(100) * 0.25, width_s=0.002, n_per_burst=1, duration_s=30.0
    )
    assert train.runner_up == pytest.approx(0.99, abs=1e-9)
    assert train.most_per_second == 4


def test_runner_up_counts_every_difference() -> None:
    starts = np.sort(np.random.default_rng(1).uniform(0, 20, 60))
    train = PulseTrain(starts_s=starts, width_s=0.002, n_per_burst=1, duration_s=30.0)
    lags = np.array([b - a for a, b in itertools.combinations(starts, 2) if b - a > 2e-3])
    most = max(int(np.sum((lags >= lag) & (lags <= lag + 2e-3))) for lag in lags)
    assert train.runner_up == pytest.approx(most / 60, abs=1e-12)


def test_same_seed_same_train_and_another_seed_another() -> None:
    assert np.array_equal(train_for("12 Hz").starts_s, train_for("12 Hz").starts_s)
    assert not np.array_equal(
        train_for("12 Hz").starts_s[:9], train_for("12 Hz", seed=1).starts_s[:9]
    )


def test_rarely_seen_pulses_are_made_longer_rather_than_many() -> None:
    train = choose_train(rig([12], 0.005, 0.001), rng=np.random.default_rng(0))
    assert train.n_per_burst <= 8
    assert train.width_s > 0.004


def test_global_shutter_gets_long_light_at_random_instants() -> None:
    cameras = rig([12], 0.0, 0.008)
    train = choose_train(cameras, rng=np.random.default_rng(0))
    # Two frames are fully lit whatever the phase: the detector takes that for a light that stays
    # on.
    assert train.width_s >= 2.0 * cameras[0].period_s + cameras[0].exposure_s
    assert train.n_per_burst == 1
    assert np.ptp(np.diff(train.starts_s)) > 0.3


@pytest.mark.parametrize("readout_s", [0.025, 0.0])
def test_screen_train_lies_on_frames_of_the_screen(readout_s: float) -> None:
    cameras, rng = rig([12], readout_s, 0.008), np.random.default_rng(0)
    train = choose_train(cameras, LightKind.SCREEN, rng=rng)
    # All rows see two frames of full light, and the light rises for one frame of the screen.
    assert train.width_s >= 2.0 / 12.0 + readout_s + 0.008 + 1.0 / 60.0
    for times_s in (train.starts_s, np.array([train.width_s])):
        np.testing.assert_allclose(times_s * 60, np.rint(times_s * 60), rtol=0, atol=1e-6)
    assert train.most_per_second <= 3
    assert train.runner_up < 0.35


def test_duration_is_kept() -> None:
    train = choose_train(rig(*RIGS["12 Hz"]), duration_s=20.0, rng=np.random.default_rng(0))
    assert train.duration_s == 20.0
    assert 15.0 < train.starts_s[-1] < 19.0


def test_simulator_plays_the_table(tmp_path) -> None:
    train = train_for("12 Hz")
    path = tmp_path / "train.csv"
    path.write_text(train.to_csv())
    assert path.read_text().startswith("start_s,width_s\n")
    played = ListedTrain.from_csv(path).draw(train.duration_s, np.random.default_rng(0))
    np.testing.assert_allclose(played, train.starts_s, rtol=0, atol=TICK_S / 2)


def seen_by(
    camera: PlannedCamera,
    train: PulseTrain,
    name: str,
    rng: np.random.Generator,
    *,
    offset_s=0.0,
    drift=0.0,
) -> Instants:
    """Return the pulses that a camera of random phase sees, on its own clock."""
    since = np.mod(train.starts_s + train.width_s - rng.uniform(0, 1), camera.period_s)
    times = train.starts_s[since < camera.visible_s(train.width_s)]
    times = times + offset_s + drift * times + rng.normal(0, EDGE_STD_S, times.size)
    return Instants(
        source=name,
        epoch_ns=0,
        times_s=times,
        std_s=np.full(times.size, EDGE_STD_S),
        half_s=np.zeros(times.size),
        row_px=np.zeros(times.size),
        item=np.arange(times.size),
    )


@pytest.mark.parametrize("name", RIGS)
@pytest.mark.parametrize("kind", [LightKind.LED, LightKind.SCREEN])
def test_matcher_finds_no_period_and_the_right_offset(name: str, kind: LightKind) -> None:
    cameras, rng = rig(*RIGS[name]), np.random.default_rng(7)
    train = choose_train(cameras, kind, rng=rng)
    one = seen_by(cameras[0], train, "one", rng)
    other = seen_by(cameras[1], train, "other", rng, offset_s=3.2, drift=2e-5)
    assert period_of(one, max_offset_s=30.0) is None
    match = match_events(one, other, max_offset_s=30.0)
    assert match.why is None
    assert match.fit is not None
    assert abs(match.fit.offset_s - 3.2 - 2e-5 * match.fit.anchor_s) < OFFSET_TOLERANCE_S


def test_one_value_holds_for_all_cameras_and_several_are_dealt_out() -> None:
    cameras = planned_cameras([Fraction(12), Fraction(30)], [0.02], [0.008, 0.004], 3)
    assert [float(camera.rate_hz) for camera in cameras] == [12, 30, 12]
    assert [camera.exposure_s for camera in cameras] == [0.008, 0.004, 0.008]
    assert len(planned_cameras([Fraction(12)], [0.02], [0.008])) == 2


def test_lists_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="do not match in number"):
        planned_cameras([Fraction(12)] * 2, [0.02] * 3, [0.008])


@pytest.mark.parametrize("n", [1, 2, 65])
def test_impossible_number_of_cameras_is_refused(n: int) -> None:
    with pytest.raises(UsageError, match="cannot be planned"):
        planned_cameras([Fraction(12), Fraction(15), Fraction(30)], [0.02], [0.008], n)


@pytest.mark.parametrize(("readout_s", "exposure_s"), [(25.0, 0.008), (0.025, 0.0), (0.025, 0.09)])
def test_times_longer_than_a_frame_are_refused(readout_s: float, exposure_s: float) -> None:
    with pytest.raises(UsageError, match="write 25ms or"):
        rig([12], readout_s, exposure_s)
