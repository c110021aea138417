"""A clock over the clips of a recording: level, drift, wander, steps, and honest errors."""

import numpy as np
import pytest

from syncaudit.graph.course import follow_clock

START_NS = 1_767_225_600_000_000_000
STD_S = 8e-4


def recording(
    seed, n, *, drift_ppm=0.0, wander_s=0.0, steps=(), missing=0.0, wrong=0.0, every_s=20.0
):
    """Return (at_ns, offsets, claimed stds, truth) of one clock; errors are as claimed."""
    rng = np.random.default_rng(seed)
    t = np.arange(n) * every_s
    walk = np.concatenate(([0.0], np.cumsum(rng.normal(size=n - 1) * wander_s * every_s**0.5)))
    truth = 0.003 + 1e-6 * drift_ppm * (t - t.mean()) + walk
    for after, size_s in steps:
        truth[after + 1 :] += size_s
    std = STD_S * np.exp(0.5 * rng.normal(size=n))
    seen = truth + std * rng.normal(size=n)
    is_wrong = rng.random(n) < wrong
    seen[is_wrong] += 0.02 * rng.choice([-1.0, 1.0], size=int(is_wrong.sum()))
    is_missing = rng.random(n) < missing
    at_ns = START_NS + (t * 1e9).astype(np.int64)
    offsets = [None if gone else float(value) for gone, value in zip(is_missing, seen, strict=True)]
    stds = [None if gone else float(value) for gone, value in zip(is_missing, std, strict=True)]
    return at_ns, offsets, stds, truth


def follow(seed, n, **what):
    at_ns, offsets, stds, truth = recording(seed, n, **what)
    return follow_clock("cam", at_ns, offsets, stds), truth


@pytest.mark.parametrize(
    "what",
    [
        {"n": 3, "drift_ppm": 10.0},
        {"n": 30, "drift_ppm": 1.0},
        {"n": 60, "wander_s": 2e-5, "missing": 0.3},
        {"n": 10, "wander_s": 2e-4},
        {"n": 40, "wander_s": 2e-4},
        {"n": 60, "drift_ppm": 5.0, "wrong": 0.05},
    ],
    ids=["few", "many", "wandering", "few, wandering much", "wandering much", "some wrong"],
)
def test_claimed_errors_hold(what):
    z = []
    for seed in range(25):
        course, truth = follow(seed, **what)
        z += list((course.offset_s - truth) / course.offset_std_s)
    # 95 % are intended; neighbouring clips have common errors, so 25 recordings give 3 %.
    assert 0.92 < np.mean(np.abs(z) < 1.96) <= 1.0


def test_pooling_tells_a_drift_that_no_clip_shows():
    # 3 ms in an hour is 0.83 ppm: 17 us within a clip of 20 s whose error is 800 us.
    drifts = [follow(seed, 180, drift_ppm=0.833)[0] for seed in range(5)]
    for course in drifts:
        assert abs(course.drift_ppm - 0.833) < 0.25
        assert course.drift_ppm > 2.0 * course.drift_std_ppm


def test_steps_are_placed_and_sized():
    course, _ = follow(3, 60, steps=((20, 0.012), (40, -0.008)))
    assert [step.step_s for step in course.steps] == pytest.approx([0.012, -0.008], abs=1.5e-3)
    at_ns = course.at_ns
    assert (course.steps[0].after_ns, course.steps[0].before_ns) == (at_ns[20], at_ns[21])
    assert (course.steps[1].after_ns, course.steps[1].before_ns) == (at_ns[40], at_ns[41])


def test_a_step_of_five_errors_of_a_clip_is_found():
    found = [follow(seed, 60, wander_s=1e-5, steps=((30, 5.0 * STD_S),))[0] for seed in range(12)]
    assert all(len(course.steps) == 1 for course in found)


def test_no_step_is_made_up():
    found = [follow(seed, 40, drift_ppm=3.0, wander_s=1e-5)[0].steps for seed in range(40)]
    assert sum(map(len, found)) <= 1


def test_gaps_are_bridged_but_ends_are_not():
    at_ns, offsets, stds, _ = recording(1, 10)
    offsets[0] = stds[0] = offsets[5] = stds[5] = None
    course = follow_clock("cam", at_ns, offsets, stds)
    assert [course.is_bracketed(k) for k in (0, 1, 5, 9)] == [False, True, True, True]


def test_a_step_breaks_the_bridge():
    at_ns, offsets, stds, _ = recording(1, 30, steps=((14, 0.05),))
    offsets[15] = stds[15] = None
    course = follow_clock("cam", at_ns, offsets, stds)
    assert len(course.steps) == 1
    assert not course.is_bracketed(15)
    assert course.is_bracketed(13)


def test_a_common_error_stays():
    at_ns, offsets, stds, _ = recording(2, 100)
    course = follow_clock("cam", at_ns, offsets, stds, common_std_s=[5e-4] * 100)
    assert np.all(course.offset_std_s >= 5e-4)
    # Averaged over 100 clips, their own 0.8 ms become less than that.
    assert np.all(course.offset_std_s < 8e-4)


def test_nothing_measured_is_no_course():
    at_ns, *_ = recording(2, 3)
    assert follow_clock("cam", at_ns, [None] * 3, [None] * 3) is None


def test_one_clip_has_no_drift():
    at_ns, *_ = recording(2, 3)
    course = follow_clock("cam", at_ns, [None, 0.001, None], [None, 0.001, None])
    assert course.drift_ppm is None
    assert course.offset_s[1] == pytest.approx(0.001, abs=1e-9)


def test_clips_of_one_moment_share_one_level():
    at_ns = np.full(3, START_NS)
    course = follow_clock("cam", at_ns, [0.02, 0.04, 0.03], [0.5, 0.5, 0.5])
    assert course is not None
    # The mean; the prior of the drift shifts it by far less.
    np.testing.assert_allclose(course.offset_s, 0.03, atol=1e-5)
    # Three clips hardly constrain how much clips scatter: a tenth more is claimed.
    np.testing.assert_allclose(course.offset_std_s, 0.5 / 3**0.5, atol=0.03)


@pytest.mark.parametrize("std_s", [1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("apart_s", [0.0, 1e-3, 1e7])
def test_odd_clips_give_finite_courses(std_s, apart_s):
    rng = np.random.default_rng(8)
    at_ns = START_NS + np.arange(30) * 20_000_000_000
    at_ns[15:] += int(apart_s * 1e9)
    at_ns[20] = at_ns[19]
    offsets = 1e6 + std_s * rng.normal(size=30)
    offsets[22:] += 5.0
    course = follow_clock("cam", at_ns, offsets.tolist(), [std_s] * 30)
    assert np.all(course.offset_std_s > 0.0)
    assert course.offset_s == pytest.approx(offsets, abs=20.0 * std_s)
