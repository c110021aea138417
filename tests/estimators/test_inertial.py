"""IMU against IMU: the same motion through two mountings, closed-form truth, fixed seeds."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from syncaudit.estimators.inertial import measure_imu_imu
from syncaudit.model import Quantity
from testkit.moving_body import EPOCH_NS, TILTED, Bursts, Clock, Motion, imu, resting, shaking, z_of

# Gyros with 3 mrad/s of noise give 30 us in 20 s; ten times that.
OFFSET_TOL_S = 3e-4
# Without noise only the spline error between samples remains: motion up to 4 Hz at 100 Hz.
PHASE_TOL_S = 5e-6
REACH_S = 0.3


def pair(seed, *, source=None, target=None, noise=3e-3, **both):
    motion = shaking(seed)
    both = {"noise": noise} | both
    return (
        imu(motion, seed, name="head", **(both | (source or {}))),
        imu(motion.mixed(TILTED), seed + 1000, name="wrist", **(both | (target or {}))),
    )


def test_late_source_gets_negative_offset():
    found = measure_imu_imu(*pair(1, source={"clock": Clock(late_s=0.08)}), max_offset_s=REACH_S)
    assert found.accepted
    assert found.method == "angular_rate"
    assert (found.source, found.target) == ("head", "wrist")
    assert abs(found.offset_s - -0.08) < OFFSET_TOL_S


@pytest.mark.parametrize("late_s", [0.08, -0.21])
def test_swapping_source_and_target_negates(late_s):
    head, wrist = pair(2, source={"clock": Clock(late_s=late_s)})
    there = measure_imu_imu(head, wrist, max_offset_s=REACH_S)
    back = measure_imu_imu(wrist, head, max_offset_s=REACH_S)
    assert abs(there.offset_s + back.offset_s) < 2.0 * np.hypot(
        there.offset_std_s, back.offset_std_s
    )


@pytest.mark.parametrize("phase", np.arange(16) / 16.0)
def test_sub_sample_phase_does_not_matter(phase):
    """Design 3.3: the grid is shifted in sixteenths of a sample, and the result follows."""
    found = measure_imu_imu(
        *pair(
            3,
            source={"phase": 0.0, "clock": Clock(late_s=0.033)},
            target={"phase": phase},
            noise=0.0,
            rate_hz=100.0,
            seconds=10.0,
        ),
        max_offset_s=REACH_S,
    )
    assert abs(found.offset_s - -0.033) < PHASE_TOL_S


@pytest.mark.parametrize(("source_hz", "target_hz"), [(50.0, 200.0), (200.0, 50.0), (400.0, 90.0)])
def test_rates_may_differ(source_hz, target_hz):
    found = measure_imu_imu(
        *pair(
            4,
            source={"rate_hz": source_hz, "clock": Clock(late_s=0.05)},
            target={"rate_hz": target_hz},
        ),
        max_offset_s=REACH_S,
    )
    assert found.accepted
    assert abs(found.offset_s - -0.05) < OFFSET_TOL_S


def test_gaps_on_both_sides():
    found = measure_imu_imu(
        *pair(
            5,
            source={"lost": [(2.0, 2.5), (11.0, 11.03)], "clock": Clock(late_s=0.05)},
            target={"lost": [(7.0, 8.2)]},
        ),
        max_offset_s=REACH_S,
    )
    assert found.accepted
    assert found.step_s is None
    assert abs(found.offset_s - -0.05) < OFFSET_TOL_S


def test_single_dropped_samples():
    rng = np.random.default_rng(6)
    lost = [(t, t + 0.006) for t in np.sort(rng.uniform(1, 19, 25))]
    found = measure_imu_imu(
        *pair(6, source={"lost": lost, "clock": Clock(late_s=0.05)}), max_offset_s=REACH_S
    )
    assert abs(found.offset_s - -0.05) < OFFSET_TOL_S


def test_unrelated_epochs():
    head, wrist = pair(7)
    _, far = pair(7, target={"epoch_ns": EPOCH_NS - 10**15})
    near = measure_imu_imu(head, wrist, max_offset_s=REACH_S)
    found = measure_imu_imu(head, far, max_offset_s=REACH_S)
    assert found.accepted
    # float64 at 1e6 s has a step of 0.1 ns
    assert abs(found.offset_s + 1e6 - near.offset_s) < 2e-6


@pytest.mark.parametrize("drift_ppm", [100.0, -250.0])
def test_drift_is_recovered_with_its_error(drift_ppm):
    clock = Clock(drift_ppm=drift_ppm)
    found = measure_imu_imu(*pair(8, target={"clock": clock}), max_offset_s=REACH_S)
    assert found.accepted
    assert found.step_s is None
    assert found.drift_std_ppm < 20.0
    assert abs(found.drift_ppm - drift_ppm) < 4.0 * found.drift_std_ppm


@pytest.mark.parametrize("unit", [180.0 / np.pi, np.pi / 180.0])
def test_units_of_rate_do_not_matter(unit):
    found = measure_imu_imu(
        *pair(9, source={"unit": unit, "clock": Clock(late_s=0.05)}), max_offset_s=REACH_S
    )
    assert found.accepted
    assert abs(found.offset_s - -0.05) < OFFSET_TOL_S


def test_wrong_size_is_refused():
    found = measure_imu_imu(*pair(9, source={"unit": 4.0}), max_offset_s=REACH_S)
    assert not found.accepted
    assert "gain 4" in found.why
    assert "1 or 57.3 or 0.0175" in found.why


@pytest.mark.parametrize("unit", [1.0, 1.0 / 9.81])
def test_specific_forces(unit):
    both = {"quantity": Quantity.SPECIFIC_FORCE}
    found = measure_imu_imu(
        *pair(10, source={"unit": unit, "clock": Clock(late_s=0.05)}, **both),
        max_offset_s=REACH_S,
    )
    assert found.accepted
    assert found.method == "specific_force"
    assert abs(found.offset_s - -0.05) < OFFSET_TOL_S


def test_offset_and_drift_errors_cover_the_truth():
    """Noise of a tenth of the motion; 85-99 % of 60 cases allows 3 sigma of the binomial."""
    z = np.array(
        [
            z_of(
                measure_imu_imu(
                    *pair(seed, source={"clock": Clock(late_s=0.08)}, noise=0.01, seconds=10.0),
                    max_offset_s=0.15,
                ),
                -0.08,
            )
            for seed in range(60)
        ]
    )
    assert 0.85 <= np.mean(np.abs(z) < 1.96) <= 0.99


@pytest.mark.parametrize("phase", [(0.0, 0.0, 0.0), (0.0, 1.0, 2.0)])
@pytest.mark.parametrize("hz", [0.7, 1.3, 2.0])
def test_periodic_motion_is_never_accepted(phase, hz):
    swing = Motion(
        hz=np.array([hz]), size=np.array([[0.2], [0.1], [0.05]]), phase=np.array(phase)[:, None]
    )
    for seed in range(2):
        head = imu(swing, seed, clock=Clock(late_s=0.4))
        wrist = imu(swing.mixed(TILTED), seed + 99)
        assert not measure_imu_imu(head, wrist).accepted


def test_unrelated_motion_is_refused():
    for seed in range(5):
        head, _ = pair(seed)
        _, other = pair(seed + 700)
        assert not measure_imu_imu(head, other, max_offset_s=1.0).accepted


def test_recordings_that_mostly_rest():
    """Noise at rest does not represent residuals in motion: errors of 4 % are 20 times as large."""
    z, n_drifts = [], 0
    for seed in range(30):
        found = measure_imu_imu(*resting(seed, motion_error=0.04), max_offset_s=2.0)
        if found.accepted:
            z.append(found.offset_s / found.offset_std_s)
            assert found.step_s is None
            assert abs(found.offset_s) < max(3.0 * found.offset_std_s, 5e-3)
            assert found.diagnostics["information_kept"] > 0.5
            n_drifts += abs(found.drift_ppm or 0.0) > max(50.0, 3.0 * (found.drift_std_ppm or 0.0))
    assert len(z) >= 28
    assert np.mean(np.abs(z) < 1.96) >= 0.9
    assert n_drifts == 0


def test_other_recordings_that_mostly_rest_are_refused():
    for seed in range(15):
        head, _ = resting(seed)
        _, wrist = resting(seed + 500)
        assert not measure_imu_imu(head, wrist, max_offset_s=5.0).accepted


def test_noise_of_the_target_is_no_motion():
    """Rates of one instant hold all of the target's noise; errors used to be half as large."""
    z = []
    for seed in range(20):
        found = measure_imu_imu(
            *pair(seed, source={"noise": 0.02}, target={"noise": 0.06}), max_offset_s=REACH_S
        )
        assert found.accepted
        z.append(z_of(found, 0.0))
    assert 0.6 < np.sqrt(np.mean(np.square(z))) < 1.2


def test_jitter_of_stamps_is_no_drift():
    for seed in range(6):
        rng = np.random.default_rng([seed, 43])
        head, wrist = pair(seed, rate_hz=50.0)
        stamps = np.sort(head.times_s + rng.normal(0.0, 5e-3, head.times_s.size))
        found = measure_imu_imu(replace(head, times_s=stamps), wrist, max_offset_s=REACH_S)
        assert found.accepted
        assert found.step_s is None
        assert abs(found.drift_ppm or 0.0) < 3.0 * (found.drift_std_ppm or np.inf)


def test_ten_hertz_in_twelve_seconds():
    """Eight periods per increment were 0.8 s: fifteen rows, insensitive to anything faster."""
    found = measure_imu_imu(
        *pair(12, source={"rate_hz": 10.0, "clock": Clock(late_s=0.05)}, seconds=12.0),
        max_offset_s=REACH_S,
    )
    assert found.accepted
    assert abs(found.offset_s - -0.05) < 3.0 * found.offset_std_s


def test_one_clock_neither_drifts_nor_steps():
    clock = Clock(drift_ppm=200.0)
    both = pair(8, target={"clock": clock})
    assert measure_imu_imu(*both, max_offset_s=REACH_S).drift_ppm is not None
    found = measure_imu_imu(*both, max_offset_s=REACH_S, is_one_clock=True)
    assert found.accepted
    assert found.drift_ppm is None
    stepped = pair(8, target={"clock": Clock(step_s=0.1, step_at_s=12.0)})
    assert measure_imu_imu(*stepped, max_offset_s=REACH_S).step_s is not None
    assert measure_imu_imu(*stepped, max_offset_s=REACH_S, is_one_clock=True).step_s is None


@pytest.mark.parametrize("drift_ppm", [1000.0, 10_000.0])
def test_miscounted_rates_are_clocks_too(drift_ppm):
    found = measure_imu_imu(
        *pair(8, target={"clock": Clock(drift_ppm=drift_ppm)}), max_offset_s=REACH_S
    )
    assert found.accepted
    assert abs(found.drift_ppm - drift_ppm) < 4.0 * found.drift_std_ppm


def test_no_clock_drifts_by_three_percent():
    found = measure_imu_imu(
        *pair(8, target={"clock": Clock(drift_ppm=30_000.0)}), max_offset_s=REACH_S
    )
    assert not found.accepted


MIRRORED = np.diag([1.0, -1.0, 1.0])[[2, 0, 1]]


@pytest.mark.parametrize("mounted", [MIRRORED, np.diag([1.02, 0.98, 1.01]) @ TILTED])
def test_whatever_turns_as_one_body_is_measured(mounted):
    """Left-handed axes, and gains with errors of 2 %."""
    motion = shaking(13)
    found = measure_imu_imu(
        imu(motion, 13, clock=Clock(late_s=0.05)), imu(motion.mixed(mounted), 14)
    )
    assert found.accepted
    assert abs(found.offset_s - -0.05) < OFFSET_TOL_S


@pytest.mark.parametrize("is_source", [True, False])
def test_dead_axis_is_left_out(is_source):
    head, wrist = pair(15)
    dead = replace(head, values=head.values * np.array([1.0, 0.0, 1.0]))
    found = measure_imu_imu(*((dead, wrist) if is_source else (wrist, dead)), max_offset_s=REACH_S)
    assert found.accepted
    assert abs(found.offset_s) < 3.0 * found.offset_std_s


def test_what_shares_a_third_of_its_motion_is_refused():
    """By chance, a free mixing matrix explains as much of slow motion."""
    motion, own = shaking(16), shaking(17, rms=0.15)
    head, wrist = imu(motion.mixed(TILTED), 16), imu(motion, 17)
    both = replace(head, values=head.values + own.rate(head.times_s))
    found = measure_imu_imu(both, wrist, max_offset_s=REACH_S)
    assert not found.accepted
    assert "not fixed to one body" in found.why


def test_noise_between_samples_is_no_second_lobe():
    """Slow, strong motion sampled at 25 Hz: peaks 10 to 20 ms apart on top of one lobe."""
    for seed in range(6):
        rng = np.random.default_rng([seed, 44])
        motion = shaking(seed, highest_hz=0.7, rms=1.0)
        both = {"seconds": 10.0, "rate_hz": 25.0, "noise": 5e-3}
        head, wrist = imu(motion, seed, **both), imu(motion.mixed(TILTED), seed + 1000, **both)
        stamps = head.times_s + rng.normal(0.0, 3e-3, head.times_s.size)
        found = measure_imu_imu(replace(head, times_s=stamps), wrist)
        assert found.accepted, found.why
        assert abs(found.offset_s) < 4.0 * found.offset_std_s


def test_rest_of_25_seconds_is_no_drift():
    """It used to give -195 ± 46 ppm for timestamps with jitter."""
    for seed in range(5):
        rng = np.random.default_rng([seed, 45])
        body = Paused(shaking(seed, rms=0.3), 15.0, 40.0)
        head = imu(body, seed, seconds=60.0, rate_hz=100.0, noise=5e-3)
        stamps = np.sort(head.times_s + rng.normal(0.0, 3e-3, head.times_s.size))
        wrist = imu(body.mixed(TILTED), seed + 1000, seconds=60.0, rate_hz=50.0)
        found = measure_imu_imu(replace(head, times_s=stamps), wrist, max_offset_s=1.0)
        assert found.accepted
        assert found.step_s is None
        assert abs(found.drift_ppm or 0.0) < 3.5 * (found.drift_std_ppm or np.inf)


@dataclass(frozen=True)
class Paused:
    """A body that stands still for a while."""

    motion: Motion
    from_s: float
    to_s: float

    def rate(self, t):
        return self.motion.rate(t) * ((t < self.from_s) | (t > self.to_s))[:, None]

    def mixed(self, matrix):
        return replace(self, motion=self.motion.mixed(matrix))


@pytest.mark.parametrize(("at_s", "apart_ms"), [(0.8, 100), (19.2, -100)])
def test_end_that_is_too_short_to_be_measured_is_refused(at_s, apart_ms):
    late_s = -0.1 if at_s < 10.0 else 0.0  # most of the clip is on time
    clock = Clock(late_s=late_s, step_s=0.1, step_at_s=at_s)
    found = measure_imu_imu(*pair(4, source={"clock": clock}), max_offset_s=REACH_S)
    assert not found.accepted
    end = "first" if at_s < 10.0 else "last"
    assert f"its {end} 0." in found.why
    assert f"s fit {apart_ms:+d} ms more than the rest of it" in found.why
    assert found.diagnostics["departs_by_s"] == pytest.approx(1e-3 * apart_ms, abs=0.011)


@pytest.mark.parametrize("seed", range(4))
def test_offset_refers_to_where_the_motion_is(seed):
    """A drift that is too small to be reported must not bias it."""
    body = Bursts(shaking(seed, rms=1.0), (3.0, 3.6, 4.2))
    clock = Clock(drift_ppm=100.0)
    found = measure_imu_imu(
        imu(body, seed, name="head", clock=clock, noise=0.03),
        imu(body.mixed(TILTED), seed + 1000, name="wrist", noise=0.03),
        max_offset_s=REACH_S,
    )
    assert found.drift_ppm is None
    at_s = (found.at_ns - EPOCH_NS) * 1e-9
    assert abs(at_s - 3.6) < 0.5
    truth_s = at_s - clock.reads(at_s)
    assert abs(found.offset_s - truth_s) < 3.5 * found.offset_std_s


def lossy(seed, highest_hz, at_s, n_lost):
    """Return a gyroscope that lost samples while its timestamps ran on, and a whole one."""
    motion, at = shaking(seed, highest_hz=highest_hz), int(128.0 * at_s)
    whole = imu(motion, seed, name="head", rate_hz=128.0, seconds=14.0, phase=0.0)
    kept = np.delete(np.arange(whole.times_s.size), slice(at, at + n_lost))
    source = replace(whole, times_s=whole.times_s[: kept.size], values=whole.values[kept])
    return source, imu(motion, seed + 1, name="wrist", rate_hz=100.0, seconds=14.0, phase=0.0)


def test_a_long_loss_whose_timestamps_run_on_is_a_step_of_its_size():
    # The piece with the loss gives a delay in between, too far from the later ones to be found.
    found = measure_imu_imu(*lossy(1, 4.0, 4.0, 66), max_offset_s=2.0)
    assert found.accepted
    assert abs(found.step_s - 66 / 128.0) < 5.0 * found.step_std_s


@pytest.mark.parametrize(
    ("seed", "highest_hz", "at_s", "n_lost"),
    [(0, 1.5, 9.5, 150), (0, 1.5, 12.5, 100), (1, 1.5, 8.0, 150), (0, 4.0, 8.0, 100)],
)
def test_an_end_that_no_delay_explains_is_refused(seed, highest_hz, at_s, n_lost):
    found = measure_imu_imu(*lossy(seed, highest_hz, at_s, n_lost), max_offset_s=2.0)
    assert not found.accepted
    assert "s show motion that no delay within 0.4 s" in found.why
