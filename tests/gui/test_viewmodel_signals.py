"""Pyramids show the data only: extremes and gaps."""

from __future__ import annotations

import numpy as np
import pytest
from syncaudit_gui.viewmodel.pyramid import MinMaxPyramid

N = 200_000
RATE_HZ = 1000.0


def spiky() -> tuple[np.ndarray, np.ndarray]:
    times_s = np.arange(N) / RATE_HZ
    values = np.sin(times_s)[:, None].repeat(2, axis=1)
    values[123_457, 0] = 9.0
    return times_s, values


def test_a_single_sample_is_seen_from_afar():
    times_s, values = spiky()
    trace = MinMaxPyramid(times_s, values).trace(0.0, 200.0, 1000)
    assert trace.times_s.size <= 1100
    assert float(np.nanmax(trace.values[:, 0])) == 9.0
    at_s = trace.times_s[int(np.nanargmax(trace.values[:, 0]))]
    assert at_s == pytest.approx(123.457, abs=0.5)  # half a bucket


@pytest.mark.parametrize("span_s", [0.05, 0.5, 3.0, 20.0, 150.0])
def test_number_of_points_suits_the_screen_at_every_zoom(span_s):
    times_s, values = spiky()
    trace = MinMaxPyramid(times_s, values).trace(10.0, 10.0 + span_s, 1000)
    assert min(450, span_s * RATE_HZ) <= trace.times_s.size <= 1100


def test_extremes_of_every_part_are_those_of_the_samples():
    rng = np.random.default_rng(5)
    times_s = np.arange(50_000) / RATE_HZ
    values = rng.normal(size=(50_000, 1)).astype(np.float32)
    pyramid = MinMaxPyramid(times_s, values)
    for start_s, stop_s in rng.uniform(0, 50, (20, 2)):
        low_s, high_s = sorted((start_s, stop_s))
        trace = pyramid.trace(low_s, high_s, 200)
        inside = (times_s >= low_s) & (times_s <= high_s)
        if not inside.any():
            continue
        assert float(np.nanmax(trace.values)) >= float(values[inside].max())
        assert float(np.nanmin(trace.values)) <= float(values[inside].min())


def test_zoomed_in_the_samples_themselves_are_drawn():
    times_s, values = spiky()
    trace = MinMaxPyramid(times_s, values).trace(10.0, 10.1, 1000)
    assert np.isin(trace.times_s, times_s).all()  # the samples themselves
    assert trace.times_s[0] < 10.0
    assert trace.times_s[-1] > 10.1


@pytest.mark.parametrize("n_points", [100, 100_000])
def test_silence_is_a_gap_and_no_line(n_points):
    times_s = np.concatenate([np.arange(20_000), np.arange(40_000, 60_000)]) / RATE_HZ
    trace = MinMaxPyramid(times_s, np.ones((40_000, 1))).trace(0.0, 60.0, n_points)
    breaks = np.flatnonzero(np.isnan(trace.values[:, 0]))
    assert breaks.size == 1
    assert trace.times_s[breaks[0]] == pytest.approx(20.0, abs=1.0)


def test_what_is_not_finite_is_left_out_of_the_extremes():
    values = np.array([[1.0], [np.nan], [np.inf], [2.0]])
    pyramid = MinMaxPyramid(np.arange(4.0), values)
    assert pyramid.extremes() == (1.0, 2.0)
    assert MinMaxPyramid(np.arange(3.0), np.full((3, 1), np.nan)).extremes() is None


def test_empty_and_disordered_signals_are_drawn():
    empty = MinMaxPyramid(np.empty(0), np.empty((0, 1)))
    assert empty.trace(0.0, 1.0, 100).times_s.size == 0
    assert empty.extremes() is None
    pyramid = MinMaxPyramid(np.array([2.0, 1.0, 3.0]), np.array([[2.0], [1.0], [3.0]]))
    np.testing.assert_array_equal(pyramid.trace(0.0, 9.0, 100).values[:, 0], [1.0, 2.0, 3.0])
    value = pyramid.value_at(2.5)
    assert value is not None
    assert value[0] == 2.0


def test_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=r"must have shape \(3, d\)"):
        MinMaxPyramid(np.arange(3.0), np.zeros(3))
