"""Increments cut from integrals, and weighted increments from cameras."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncaudit.dsp.integral import integrate_samples
from syncaudit.estimators.delay.increments import (
    Increments,
    RollingShutter,
    from_integral,
    from_rotation,
)
from testkit.moving_body import camera, shaking


def line(seconds=10.0, lost=()):
    t = np.arange(0.0, seconds, 0.01)
    for start, stop in lost:
        t = t[(t < start) | (t > stop)]
    return integrate_samples(t, np.stack([np.ones_like(t), t], axis=1), is_smooth=True)


@given(st.floats(0.05, 2.0))
def test_adjoining_increments_add_up_to_the_whole(width_s):
    signal = line()
    cut = from_integral(signal, width_s=width_s)
    n = cut.values.shape[0]
    assert n == int((signal.stop_s - signal.start_s) / width_s + 1e-9)
    whole = signal.at(cut.stop_s[-1:]) - signal.at(cut.start_s[:1])
    assert np.max(np.abs(cut.values.sum(axis=0) - whole)) < 1e-9
    assert np.max(np.abs(cut.start_s[1:] - cut.stop_s[:-1])) < 1e-12


@given(st.floats(0.1, 1.0), st.integers(1, 5))
def test_overlapping_increments_keep_their_width(width_s, overlap):
    cut = from_integral(line(), width_s=width_s, stride_s=width_s / overlap)
    assert np.max(np.abs(cut.stop_s - cut.start_s - width_s)) < 1e-9
    assert np.max(np.abs(np.diff(cut.start_s) - width_s / overlap)) < 1e-9
    assert np.max(np.abs(cut.values[:, 0] - width_s)) < 1e-9


def test_increments_stay_inside_the_signal():
    signal = line()
    cut = from_integral(signal, width_s=0.3)
    assert cut.start_s.min() >= signal.start_s
    assert cut.stop_s.max() <= signal.stop_s


def test_increments_that_touch_a_gap_are_left_out():
    cut = from_integral(line(lost=[(3.0, 4.2)]), width_s=0.1)
    assert not np.any((cut.start_s < 4.1) & (cut.stop_s > 3.1))
    assert cut.values.shape[0] > 80


def test_signal_shorter_than_the_width_gives_none():
    assert from_integral(line(seconds=0.5), width_s=1.0).values.shape == (0, 2)


def test_middle_is_the_mean_of_the_edges():
    cut = from_integral(line(), width_s=0.5)
    assert np.max(np.abs(cut.mid_s - (0.25 + 0.5 * np.arange(cut.mid_s.size)))) < 1e-9


@given(st.integers(0, 2**31))
def test_selecting_rows_keeps_columns_together(seed):
    whole = from_rotation(camera(shaking(1), 1, seconds=3.0))
    keep = np.random.default_rng(seed).uniform(size=whole.mid_s.size) < 0.5
    some = whole.rows(keep)
    for name in ("start_s", "stop_s", "values", "weights"):
        assert np.array_equal(getattr(some, name), getattr(whole, name)[keep])
    assert np.array_equal(some.shutter.moments_px, whole.shutter.moments_px[keep])
    assert some.shutter.mean_row_px == whole.shutter.mean_row_px


def test_rows_by_number():
    whole = from_integral(line(), width_s=0.5)
    some = whole.rows(np.array([3, 1]))
    assert np.array_equal(some.start_s, whole.start_s[[3, 1]])
    assert some.shutter is None


def test_camera_weights_are_inverse_variances_and_bounded():
    cam = camera(shaking(2), 2)
    std = cam.std_rad.copy()
    std[5] = 1e-9  # an artefact of few points
    cut = from_rotation(type(cam)(**{f: getattr(cam, f) for f in cam.__slots__} | {"std_rad": std}))
    typical = np.median(std**2, axis=0)
    assert np.max(cut.weights) <= 4.0 + 1e-12
    assert np.max(np.abs(cut.weights[5] - 4.0)) < 1e-12
    others = np.arange(cut.mid_s.size) != 5
    expected = np.minimum(typical / std[others] ** 2, 4.0)
    assert np.max(np.abs(cut.weights[others] - expected)) < 1e-9


def test_camera_without_stated_errors_has_equal_weights():
    cam = camera(shaking(3), 3)
    fields = {f: getattr(cam, f) for f in cam.__slots__} | {"std_rad": np.zeros((238, 3))}
    n = cam.start_s.size
    fields["std_rad"] = np.zeros((n, 3))
    assert np.ptp(from_rotation(type(cam)(**fields)).weights) == 0.0


def test_rolling_shutter_adds_rows_times_rates():
    """One increment by hand: T (M R dw + V R w)."""
    rng = np.random.default_rng(4)
    M, V, R = rng.normal(size=(3, 3, 3))
    bend, rate = rng.normal(size=(2, 3))
    shutter = RollingShutter(
        moments_px=M[None], moves_px=V[None], line_delay_s=None, mean_row_px=0.0
    )
    found = shutter.change_per_line_delay(bend[None], rate[None], R)
    assert np.max(np.abs(found[0] - (M @ R @ bend + V @ R @ rate))) < 1e-12


@pytest.mark.parametrize("line_delay_s", [None, 2e-5])
def test_line_delay_is_passed_on(line_delay_s):
    cam = camera(shaking(5), 5, line_delay_s=line_delay_s or 1e-5, stated=line_delay_s is not None)
    assert from_rotation(cam).shutter.line_delay_s == line_delay_s


def test_increments_are_plain_records():
    cut = from_integral(line(), width_s=0.5)
    assert isinstance(cut, Increments)
    assert np.all(cut.weights == 1.0)
