"""Standard errors of a delay, compared with those implied by scores of known correlation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from syncaudit.dsp.integral import integrate_samples
from syncaudit.dsp.robust import block_covariance, hac_covariance
from syncaudit.estimators.delay.fit import fit_delay
from syncaudit.estimators.delay.increments import from_rotation
from syncaudit.estimators.delay.model import LARGEST_OF_FOUR, N_BLOCKS, covariance_of
from testkit.moving_body import Clock, camera, imu, shaking

N_ROWS = 1000


def claimed(scores):
    """Return the claimed variance of the sum of scores of unit curvature.

    The sign of the motion is random, so that residuals correlate with nothing but its derivative.
    """
    ways = np.random.default_rng(7).choice([-1.0, 1.0], scores.shape)
    columns = ways[:, :, None] * np.eye(scores.shape[1])
    covariance, _ = covariance_of(ways * scores, columns, np.eye(scores.shape[1]))
    return np.diag(covariance)


@pytest.mark.parametrize("n_bursts", [0, 2])
def test_independent_scores_hold_their_intervals(n_bursts):
    """93.4 to 96.6 % are three sigma of 1,700 binomial draws around 95 %."""
    rng = np.random.default_rng(1)
    z = []
    for _ in range(1700):
        columns = gaussian_filter1d(rng.normal(size=(240, 3)), 2.0, axis=0)
        at = rng.uniform(size=max(1, n_bursts)) * 240.0
        near = np.exp(-0.5 * ((np.arange(240)[:, None] - at) / 14.0) ** 2).sum(axis=1)
        columns *= near[:, None] if n_bursts else 1.0
        noise = rng.normal(size=columns.shape)
        information = np.sum(columns**2)
        found = np.sum(noise * columns) / information
        covariance, _ = covariance_of(
            noise - columns * found, columns[:, :, None], np.array([[information]])
        )
        z.append(found / np.sqrt(covariance[0, 0]))
    assert 0.934 < np.mean(np.abs(z) < 1.96) < 0.966


@pytest.mark.parametrize("length", [25, 50])
def test_scores_that_hang_together_for_long_claim_it(length):
    """Errors persist for a twentieth of the clip, which no window of a few rows can detect."""
    rng = np.random.default_rng(2)
    true = N_ROWS * length  # variance of the sum of N / length levels, each counted length times
    variances = []
    for _ in range(200):
        levels = rng.normal(size=(N_ROWS // length, 2))
        scores = np.repeat(levels, length, axis=0)
        variances.append(claimed(np.roll(scores, rng.integers(length), axis=0)))
    share = np.mean(variances, axis=0) / true
    assert np.all(share > 0.65)
    assert np.all(share < 1.5)


def test_swings_of_the_offset_do_not_hide_those_of_the_drift():
    """Each parameter has the variance implied by its own scores."""
    rng = np.random.default_rng(3)
    level = np.repeat(rng.normal(size=(200, 10, 1)), 100, axis=1)
    noise = rng.normal(size=(200, N_ROWS, 1))
    both = np.concatenate([level, noise], axis=2)
    variances = np.mean([claimed(scores) for scores in both], axis=0)
    assert variances[0] > 0.65 * N_ROWS * 100
    assert 0.9 * N_ROWS < variances[1] < 1.25 * N_ROWS


def test_an_error_of_the_gain_moves_no_delay():
    """Residuals proportional to the motion carry no information on its derivative, at any shift."""
    rng = np.random.default_rng(5)
    motion = gaussian_filter1d(rng.normal(size=N_ROWS), 3.0, mode="wrap")
    columns = np.gradient(motion)[:, None, None]
    noise = 0.1 * rng.normal(size=(N_ROWS, 1))
    information = np.array([[np.sum(columns**2)]])
    alone, _ = covariance_of(noise, columns, information)
    gained, _ = covariance_of(noise + motion[:, None], columns, information)
    # Individual scores grow, but cancel; what a repeating motion may hide does not.
    scores = (noise + motion[:, None])[:, 0] * columns[:, 0, 0]
    independent = np.sum(scores**2) / information[0, 0] ** 2
    assert gained[0, 0] < 2.0 * max(alone[0, 0], independent)


@pytest.mark.parametrize("with_drift", [False, True])
@pytest.mark.parametrize("unstated", [False, True])
def test_no_less_is_claimed_than_the_residuals_say(with_drift, unstated):
    """The sandwich of an M-estimator (Huber, 1981), from residuals, weights and sensitivities."""
    motion = shaking(4)
    gyro = imu(motion, 4, clock=Clock(drift_ppm=40.0))
    driver = integrate_samples(gyro.times_s, gyro.values, is_smooth=True)
    rolling = {"line_delay_s": 4e-5, "stated": False} if unstated else {}
    rows = from_rotation(camera(motion, 4, noise_rad=1e-3, **rolling))
    found = fit_delay(rows, driver, start_s=0.0, with_drift=with_drift)
    linear = found.linear
    columns = [linear.sensitivity]
    if with_drift:
        since_s = (found.mid_s - found.anchor_s)[:, None]
        columns.append(linear.project(linear.raw_sensitivity * since_s))
    stds = [found.offset_std_s]
    if with_drift:
        stds.append(found.drift_std_ppm * 1e-6)
    design = np.stack(columns, axis=-1)
    scores = (design * (linear.weights * linear.residuals)[..., None]).sum(axis=1)
    robust = found.robust
    curvature = np.mean(2.0 * (robust**2).sum(axis=0) / robust.sum(axis=0) - 1.0)
    bread = np.linalg.inv(
        np.einsum("nmp,nm,nmq->pq", design, linear.weights, design) * np.clip(curvature, 0.3, 1.0)
    )
    n_lags = max(2, int(1.5 * len(scores) ** (1.0 / 3.0)))
    meats = (
        scores.T @ scores,
        hac_covariance(scores, n_lags=n_lags),
        block_covariance(scores, n_blocks=N_BLOCKS),
    )
    least = np.sqrt(np.max([np.diag(bread @ meat @ bread) for meat in meats], axis=0))
    for std, bound in zip(stds, least, strict=True):
        assert std > 0.99 * bound / np.sqrt(LARGEST_OF_FOUR)


def test_errors_in_noise_alone_are_those_of_the_cramer_rao_bound():
    """Gaussian noise: the bound, a few percent for the weights, some for the largest of three."""
    ratios = []
    for seed in range(40):
        motion = shaking(seed)
        gyro = imu(motion, seed, noise=0.0)
        driver = integrate_samples(gyro.times_s, gyro.values, is_smooth=True)
        cam = camera(motion, seed, noise_rad=1e-9)
        noise_rad = 1e-3
        noisy = cam.angles_rad + np.random.default_rng(seed).normal(
            0.0, noise_rad, cam.angles_rad.shape
        )
        rows = from_rotation(cam)
        rows = type(rows)(
            start_s=rows.start_s,
            stop_s=rows.stop_s,
            values=noisy,
            weights=np.ones_like(rows.values),
        )
        found = fit_delay(rows, driver, start_s=0.0)
        bound = noise_rad / np.sqrt(np.sum(found.sensitivity**2))
        ratios.append(found.offset_std_s / bound)
    assert 1.0 < np.mean(ratios) < 1.35


def test_few_rows_claim_no_more_than_their_scatter():
    """A fit absorbs a quarter of 32 rows: this is corrected once, together with Student's t.

    Leave-one-out residuals (divided by one minus the leverage) would claim 1.24 of the bound.
    """
    motion = shaking(1)
    gyro = imu(motion, 1, noise=0.0)
    driver = integrate_samples(gyro.times_s, gyro.values, is_smooth=True)
    whole = from_rotation(camera(motion, 1, noise_rad=1e-9))
    n, noise_rad = 32, 1e-3
    claimed_of_bound, z = [], []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        first = rng.integers(whole.values.shape[0] - n)
        part = whole.rows(np.arange(first, first + n))
        noisy = replace(part, values=part.values + rng.normal(0.0, noise_rad, part.values.shape))
        found = fit_delay(noisy, driver, start_s=0.0)
        bound_s = noise_rad / np.sqrt(np.sum(found.sensitivity**2))
        claimed_of_bound.append(found.offset_std_s / bound_s)
        z.append(found.offset_s / found.offset_std_s)
    assert np.mean(claimed_of_bound) < 1.19
    assert 0.85 < np.std(z) < 1.15


def test_what_no_row_depends_on_costs_the_offset_nothing():
    rng = np.random.default_rng(3)
    columns = np.zeros((60, 3, 2))
    columns[..., 0] = rng.normal(size=(60, 3))
    residuals = rng.normal(size=(60, 3))
    with np.errstate(all="raise"):
        covariance, _ = covariance_of(residuals, columns, np.diag([180.0, 1.0]))
    alone, _ = covariance_of(residuals, columns[..., :1], np.array([[180.0]]))
    assert covariance[0, 0] == pytest.approx(alone[0, 0])
    assert covariance[1, 1] == 0.0
