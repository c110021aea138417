"""The two-state clock against the same model as one dense matrix."""

import numpy as np
import pytest

from syncaudit.graph.clock_filter import RATE_STD, Noise, Readings, smooth, weigh

N = 12
STEP_AFTER = 6
STEP_STD_S = 1.0
# The dense model needs a prior of the first offset; the filter has none.
VAGUE_S = 1.0
NOISE = Noise(
    offset=np.array([1e-5, 1e-4]), rate=np.array([1e-7, 3e-6]), scale=np.array([1.0, 1.5])
)
# Effect of the vague prior and of 1e-16 * VAGUE_S**2, in seconds.
CLOSE_S = 1e-7


@pytest.fixture(scope="module")
def readings():
    rng = np.random.default_rng(1)
    precision = 1.0 / (1e-3 * np.exp(0.3 * rng.normal(size=N))) ** 2
    precision[4] = 0.0
    return Readings(
        times_s=np.cumsum(rng.uniform(5.0, 60.0, N)),
        offsets_s=1e-3 * rng.normal(size=N),
        precision=precision,
        step_std_s=STEP_STD_S,
    )


class Dense:
    """Joint covariance of all offsets and rates, and results derived from it."""

    def __init__(self, readings, h, *, has_step=True):
        a, b, scale = NOISE.offset[h], NOISE.rate[h], NOISE.scale[h]
        prior = np.zeros((2 * N, 2 * N))
        prior[:2, :2] = np.diag([VAGUE_S**2, RATE_STD**2])
        for k in range(1, N):
            t = readings.times_s[k] - readings.times_s[k - 1]
            move = np.array([[1.0, t], [0.0, 1.0]])
            spread = a**2 * np.diag([t, 0.0]) + b**2 * np.array(
                [[t**3 / 3, t**2 / 2], [t**2 / 2, t]]
            )
            if has_step and k - 1 == STEP_AFTER:
                spread[0, 0] += STEP_STD_S**2
            here, before = slice(2 * k, 2 * k + 2), slice(2 * k - 2, 2 * k)
            prior[here, : 2 * k] = move @ prior[before, : 2 * k]
            prior[: 2 * k, here] = prior[here, : 2 * k].T
            prior[here, here] = move @ prior[before, before] @ move.T + spread
        self.known = np.flatnonzero(readings.precision)
        self.seen = np.zeros((self.known.size, 2 * N))
        self.seen[np.arange(self.known.size), 2 * self.known] = 1.0
        total = self.seen @ prior @ self.seen.T
        total += np.diag(scale**2 / readings.precision[self.known])
        self.inverse = np.linalg.inv(total)
        self.y = readings.offsets_s[self.known]
        self.pull = self.inverse @ self.y
        gain = prior @ self.seen.T @ self.inverse
        self.mean = gain @ self.y
        self.covariance = prior - gain @ self.seen @ prior
        self.minus_2ll = self.y @ self.pull + np.linalg.slogdet(total)[1]

    def step(self, place):
        later = np.zeros(2 * N)
        later[2 * (place + 1) :: 2] = 1.0
        column = self.seen @ later
        information = column @ self.inverse @ column
        return column @ self.pull / information, 1.0 / information


@pytest.mark.parametrize("h", [0, 1])
def test_offsets_and_errors_are_those_of_the_dense_model(readings, h):
    found, dense = smooth(readings, NOISE, {STEP_AFTER}), Dense(readings, h)
    assert found.offset_s[:, h] == pytest.approx(dense.mean[::2], abs=CLOSE_S)
    variance = np.abs(np.diag(dense.covariance))
    assert np.sqrt(found.offset_variance[:, h]) == pytest.approx(
        np.sqrt(variance[::2]), abs=1e2 * CLOSE_S
    )
    # A hundredth of a ppm is 0.2 us over a clip of 20 s.
    assert found.end_rate[:, h] == pytest.approx(dense.mean[[1, -1]], abs=1e-8)
    assert np.sqrt(found.end_rate_variance[:, h]) == pytest.approx(
        np.sqrt(variance[[1, -1]]), abs=1e-8
    )


@pytest.mark.parametrize("h", [0, 1])
def test_what_the_others_say_is_that_of_the_dense_model(readings, h):
    found, dense = smooth(readings, NOISE, {STEP_AFTER}), Dense(readings, h)
    diagonal = np.diag(dense.inverse)
    assert found.deleted_s[dense.known, h] == pytest.approx(dense.pull / diagonal, abs=CLOSE_S)
    assert np.sqrt(found.deleted_variance[dense.known, h]) == pytest.approx(
        1.0 / np.sqrt(diagonal), abs=CLOSE_S
    )


@pytest.mark.parametrize("place", [2, STEP_AFTER, 9])
def test_steps_are_those_of_the_dense_model(readings, place):
    found = smooth(readings, NOISE, {STEP_AFTER})
    size_s, variance = Dense(readings, 1, has_step=place != STEP_AFTER).step(place)
    assert found.step_s[place, 1] == pytest.approx(size_s, abs=CLOSE_S)
    assert np.sqrt(found.step_variance[place, 1]) == pytest.approx(np.sqrt(variance), abs=1e-6)


def test_likelihoods_differ_as_those_of_the_dense_model(readings):
    dense = [Dense(readings, h).minus_2ll for h in (0, 1)]
    found = weigh(readings, NOISE, {STEP_AFTER})
    assert found[1] - found[0] == pytest.approx(dense[1] - dense[0], abs=1e-4)
    assert smooth(readings, NOISE, {STEP_AFTER}).minus_2ll == pytest.approx(found, abs=1e-12)


def test_drift_is_the_mean_rate_without_steps():
    times_s = 20.0 * np.arange(9.0)
    offsets_s = 3e-6 * times_s + 0.5 * (times_s > 90.0)
    readings = Readings(
        times_s=times_s, offsets_s=offsets_s, precision=np.full(9, 1e10), step_std_s=STEP_STD_S
    )
    found = smooth(readings, NOISE, {4})
    # Readings of 10 us, 80 s on either side of the step.
    assert found.drift == pytest.approx([3e-6, 3e-6], abs=1e-7)
    assert found.step_s[4] == pytest.approx([0.5, 0.5], abs=1e-5)


def test_one_reading_is_enough():
    one = Readings(
        times_s=np.zeros(1), offsets_s=np.array([0.2]), precision=np.array([1e6]), step_std_s=1.0
    )
    found = smooth(one, NOISE, ())
    assert found.offset_s[0] == pytest.approx([0.2, 0.2], abs=1e-12)
    assert np.sqrt(found.offset_variance[0]) == pytest.approx([1e-3, 1.5e-3], abs=1e-9)
