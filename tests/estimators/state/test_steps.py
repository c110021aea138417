"""Steps of the delay within an episode, found from the moments of blocks."""

from dataclasses import dataclass

import numpy as np
import pytest

from syncaudit.dsp.integral import RunningIntegral, integrate_samples
from syncaudit.estimators.delay.fit import fit_delay
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.state.parts import REACH_PERIODS, find_shared_step

PERIOD_S = 1.0 / 30.0
# Joint rates are sums of cosines, so that their integral is known at any instant.
HZ = np.random.default_rng(3).uniform(0.2, 1.5, (2, 12))
PHASE = np.random.default_rng(4).uniform(-np.pi, np.pi, (2, 12))


def rate(t):
    return np.cos(2.0 * np.pi * HZ * t[:, None, None] + PHASE).sum(axis=2)


def angle(t):
    return (np.sin(2.0 * np.pi * HZ * t[:, None, None] + PHASE) / (2.0 * np.pi * HZ)).sum(axis=2)


@dataclass(frozen=True, slots=True, eq=False)
class Held(RunningIntegral):
    """A driver that fails when asked for times it does not hold."""

    def at(self, times_s):
        assert times_s.min() >= self.start_s, "asked for times before the first sample"
        assert times_s.max() <= self.stop_s, "asked for times after the last sample"
        return super(Held, self).at(times_s)


def driver(start_s, stop_s):
    times_s = np.arange(start_s, stop_s, 0.01)
    made = integrate_samples(times_s, rate(times_s), is_smooth=True)
    return Held(**{name: getattr(made, name) for name in made.__slots__})


def seen(seconds, *, late_s=0.0, step_s=0.0, step_at_s=np.inf):
    stamps = np.arange(0.0, seconds, PERIOD_S)
    shown = stamps - late_s + np.where(stamps >= step_at_s, step_s, 0.0)
    values = np.diff(angle(shown), axis=0) @ np.array([[1.0, 0.3, 0.2], [0.1, 1.0, -0.6]])
    values += np.random.default_rng(5).normal(0.0, 1e-3, values.shape)
    return Increments(
        start_s=stamps[:-1], stop_s=stamps[1:], values=values, weights=np.ones_like(values)
    )


def step_of(increments, held, near_s):
    fit = fit_delay(increments, held, start_s=near_s)
    return find_shared_step(
        increments, held, fit, seen=increments, period_s=PERIOD_S, independent=1.0
    )


@pytest.mark.parametrize("late_s", [0.5, -0.5])
def test_step_is_found_where_the_driver_holds_one_end_of_the_episode_alone(late_s):
    """Frames outside its samples at any of the tried delays are left out.

    Delays have both signs and exceed the range that is tried around them.
    """
    assert abs(late_s) > REACH_PERIODS * PERIOD_S
    episode = seen(25.0, late_s=late_s, step_s=0.1, step_at_s=12.0)
    found, _ = step_of(episode, driver(1.0, 23.5), -late_s)
    assert abs(found.step_s - 0.1) < 4.0 * found.step_std_s
    assert abs(found.at_s - 12.0) < 2.2  # a block


def test_one_delay_is_no_step():
    assert step_of(seen(25.0, late_s=0.2), driver(-1.0, 26.0), -0.2) == (None, None)
