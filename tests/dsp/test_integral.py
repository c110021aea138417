"""Running integrals: exact on polynomials, honest about gaps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncaudit.dsp.integral import integrate_samples, interpolate_angle, smooth_angle

# Twenty seconds of values around one: float64 keeps 12 digits through the sums.
ROUNDING = 1e-10
coefficients = st.lists(st.floats(-2.0, 2.0), min_size=4, max_size=4)


def uneven_times(seed=1, n=60):
    return np.cumsum(np.random.default_rng(seed).uniform(0.01, 0.03, n))


@given(coefficients)
def test_smooth_integral_is_exact_on_cubics(c):
    t = uneven_times()
    whole = np.polynomial.Polynomial(c)
    signal = integrate_samples(t, whole(t)[:, None], is_smooth=True)
    at = np.linspace(t[0], t[-1], 97)
    truth = whole.integ()(at) - whole.integ()(t[0])
    assert np.max(np.abs(signal.at(at)[:, 0] - truth)) < ROUNDING
    assert np.max(np.abs(signal.with_rate_at(at)[1][:, 0] - whole(at))) < 1e-9


@given(coefficients)
def test_linear_integral_is_the_trapezoid_rule_at_the_samples(c):
    t = uneven_times(2)
    values = np.polynomial.Polynomial(c)(t)
    signal = integrate_samples(t, values[:, None], is_smooth=False)
    truth = np.concatenate([[0.0], np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(t))])
    assert np.max(np.abs(signal.at(t)[:, 0] - truth)) < ROUNDING


@given(st.floats(-5.0, 5.0), st.floats(-5.0, 5.0))
def test_linear_integral_is_exact_on_lines_between_samples(level, slope):
    t = uneven_times(3)
    signal = integrate_samples(t, (level + slope * t)[:, None], is_smooth=False)
    at = np.linspace(t[0], t[-1], 97)
    truth = level * (at - t[0]) + 0.5 * slope * (at**2 - t[0] ** 2)
    assert np.max(np.abs(signal.at(at)[:, 0] - truth)) < ROUNDING


@given(st.floats(0.02, 0.9), st.floats(0.02, 0.9), st.floats(0.02, 0.9))
def test_increments_add_up(a, b, c):
    t = uneven_times(4)
    signal = integrate_samples(t, np.sin(9 * t)[:, None], is_smooth=True)
    cuts = np.sort(np.array([a, b, c]))
    at = signal.at(cuts)[:, 0]
    assert abs((at[1] - at[0]) + (at[2] - at[1]) - (at[2] - at[0])) < ROUNDING


def test_integral_starts_at_zero_and_keeps_channels_apart():
    t = uneven_times(5)
    signal = integrate_samples(t, np.stack([t, np.ones_like(t)], axis=1), is_smooth=True)
    assert signal.n_channels == 2
    assert np.all(signal.at(t[:1]) == 0.0)
    assert signal.at(np.zeros((3, 4)) + t[0]).shape == (3, 4, 2)
    assert abs(signal.at(t[-1:])[0, 1] - (t[-1] - t[0])) < ROUNDING


@pytest.mark.parametrize("is_smooth", [True, False])
def test_angle_is_its_own_integral(is_smooth):
    t = uneven_times(6)
    signal = interpolate_angle(t, (3.0 * t)[:, None], is_smooth=is_smooth)
    at = np.linspace(t[0], t[-1], 50)
    assert np.max(np.abs(signal.at(at)[:, 0] - 3.0 * at)) < ROUNDING
    assert np.max(np.abs(signal.with_rate_at(at)[1][:, 0] - 3.0)) < 1e-9


def test_mixtures_of_channels_integrate_to_mixtures():
    t = uneven_times(7)
    signal = integrate_samples(t, np.stack([np.sin(9 * t), np.cos(5 * t)], axis=1), is_smooth=True)
    mixing = np.array([[1.0, 0.5, 0.0], [-2.0, 0.0, 3.0]])
    mixed = signal.mixed(mixing)
    assert mixed.n_channels == 3
    at = np.linspace(t[0], t[-1], 50)
    for own, other in zip(mixed.with_rate_at(at), signal.with_rate_at(at), strict=True):
        assert np.max(np.abs(own - other @ mixing)) < ROUNDING


def test_covers_what_lies_inside_and_touches_no_gap():
    t = np.concatenate([np.arange(0, 101), np.arange(150, 201), np.arange(260, 301)]) * 0.01
    signal = integrate_samples(t, t[:, None], is_smooth=True)
    assert np.allclose(signal.gap_start_s, [1.0, 2.0], rtol=0.0, atol=1e-12)
    assert np.allclose(signal.gap_stop_s, [1.5, 2.6], rtol=0.0, atol=1e-12)
    cases = {
        (0.1, 0.5): True,
        (0.0, 3.0): False,  # spans both
        (0.9, 1.0): True,  # ends where the first gap begins
        (0.9, 1.01): False,
        (1.1, 1.2): False,  # inside a gap
        (1.5, 2.0): True,  # between the two
        (1.49, 1.8): False,
        (1.8, 2.7): False,
        (2.6, 3.0): True,
        (-0.01, 0.5): False,
        (2.7, 3.01): False,
    }
    start, stop = np.array(list(cases)).T
    assert signal.covers(start, stop).tolist() == list(cases.values())
    square = signal.covers(start[:10].reshape(2, 5), stop[:10].reshape(2, 5))
    assert square.shape == (2, 5)


@given(st.lists(st.floats(0.0, 10.0), min_size=2, max_size=2), st.integers(0, 2**31))
def test_covers_agrees_with_asking_every_gap(ends, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(1001) * 0.01
    for begin in rng.uniform(0.5, 9.0, 3):
        t = t[(t < begin) | (t > begin + 0.2)]
    signal = integrate_samples(t, t[:, None], is_smooth=False)
    start, stop = sorted(ends)
    touches = np.any((signal.gap_start_s < stop) & (signal.gap_stop_s > start))
    inside = start >= signal.start_s and stop <= signal.stop_s
    assert bool(signal.covers(np.array([start]), np.array([stop]))[0]) == (inside and not touches)


def test_single_lost_samples_are_no_gaps():
    t = np.delete(np.arange(200) * 0.01, [20, 50, 51, 90, 91, 92])
    assert integrate_samples(t, t[:, None], is_smooth=True).gap_start_s.size == 0


@pytest.mark.parametrize("n_per_bunch", [2, 3, 4, 6, 10, 32])
def test_pauses_between_bunches_are_no_gaps(n_per_bunch):
    """A USB adapter delivers messages in bunches: their median interval is tiny."""
    k = np.arange(600)
    t = (k // n_per_bunch) * 0.02 * n_per_bunch + (k % n_per_bunch) * 1e-4
    assert integrate_samples(t, t[:, None], is_smooth=False).gap_start_s.size == 0


NO_GAPS = (np.zeros(0), np.zeros(0))


def test_smoothing_keeps_straight_lines():
    t = np.arange(60) * 0.03
    signal = smooth_angle(t, np.stack([2.0 - 3.0 * t, t], 1), width_s=0.08, gaps_s=NO_GAPS)
    at = np.linspace(signal.start_s, signal.stop_s, 200)
    assert np.max(np.abs(signal.at(at) - np.stack([2.0 - 3.0 * at, at], 1))) < 1e-6
    assert np.max(np.abs(signal.with_rate_at(at)[1] - [-3.0, 1.0])) < 1e-4


def test_smoothing_shifts_no_phase():
    t = np.arange(200) * 0.03
    signal = smooth_angle(t, np.sin(9.0 * t)[:, None], width_s=0.09, gaps_s=NO_GAPS)
    at = np.linspace(signal.start_s, signal.stop_s, 500)
    both = np.stack([np.sin(9.0 * at), np.cos(9.0 * at)], 1)
    (in_phase, out_of_phase), *_ = np.linalg.lstsq(both, signal.at(at)[:, 0], rcond=None)
    damping = np.sinc(9.0 * 0.09 / (2.0 * np.pi)) ** 3
    assert abs(in_phase - damping) < 0.02
    assert abs(out_of_phase / 9.0) < 2e-5  # seconds


def test_smoothed_noise_is_the_same_at_every_phase():
    """An interpolating curve has twice the variance at its samples as between them."""
    t = np.arange(20_000) * 0.03
    noise = np.cumsum(np.random.default_rng(3).normal(size=t.size))
    signal = smooth_angle(t, noise[:, None], width_s=0.08, gaps_s=NO_GAPS)
    begin = t[10:-10]
    spread = [np.std(signal.at(begin + p + 0.03) - signal.at(begin + p)) for p in (0.0, 0.015)]
    assert abs(spread[0] / spread[1] - 1.0) < 0.01


def test_smoothing_widens_gaps_and_ends():
    t = np.arange(40) * 0.1
    gaps = (np.array([2.0]), np.array([2.1]))
    signal = smooth_angle(t, t[:, None], width_s=0.1, gaps_s=gaps)
    assert not signal.covers(np.array([2.2]), np.array([2.4]))[0]
    assert signal.covers(np.array([2.26]), np.array([2.4]))[0]
    assert not signal.covers(np.array([0.1]), np.array([0.3]))[0]


def test_too_short_to_smooth():
    with pytest.raises(ValueError, match="too short for averages of 1 s"):
        smooth_angle(np.arange(4.0), np.ones((4, 1)), width_s=1.0, gaps_s=NO_GAPS)


def test_too_few_samples_for_an_integral():
    with pytest.raises(ValueError, match="an integral needs at least 4 samples, got 3"):
        integrate_samples(np.arange(3.0), np.ones((3, 1)), is_smooth=True)


def test_too_few_samples_for_an_interpolation():
    with pytest.raises(ValueError, match="an interpolation needs at least 4 samples, got 3"):
        interpolate_angle(np.arange(3.0), np.ones((3, 1)))
