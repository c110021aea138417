"""Clocks are solved from measurements, whatever is missing among them."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from syncaudit.errors import UsageError
from syncaudit.graph.solve import solve_clocks
from testkit.measured_pairs import AT_NS, pair
from testkit.solved_clocks import EXACT_S, STD_S, offsets, random_graph, solve


def test_nothing_measured_leaves_every_clock_unobservable() -> None:
    solution = solve([], ["cam", "imu"])
    assert solution.reference is None
    assert not any(clock.is_observable for clock in solution.clocks.values())
    assert solution.chi2_reduced is None
    assert solution.components == (("cam",), ("imu",))


def test_no_clock_at_all() -> None:
    solution = solve_clocks([], {}, at_ns=AT_NS, tolerance_s={})
    assert solution.clocks == {}
    assert solution.components == ()


def test_stated_reference_without_measurement_is_unobservable() -> None:
    solution = solve([], ["cam", "imu"], reference="imu")
    assert solution.reference == "imu"
    assert not solution.clocks["imu"].is_observable


def test_single_clock_with_two_sources_is_a_loop_that_must_close() -> None:
    solution = solve_clocks(
        [pair("cam", "imu", 0.035)],
        {"cam": "rig", "imu": "rig"},
        at_ns=AT_NS,
        tolerance_s={"rig": 0.005},
    )
    assert solution.reference == "rig"
    assert solution.loops[0].clocks == ("rig",)
    assert solution.loops[0].closure_s == pytest.approx(0.035, abs=EXACT_S)
    assert solution.edges[0].is_contradicted
    assert not solution.edges[0].is_outlier
    assert solution.clocks["rig"].n_measurements == 0


def test_unknown_reference_suggests_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"'imo' is not a clock of the clip.*Did you mean 'imu'"):
        solve([], ["cam", "imu"], reference="imo")


def test_unknown_source_of_a_measurement_is_refused() -> None:
    with pytest.raises(UsageError, match="refers to the source 'gps', which has no clock"):
        solve([pair("gps", "imu", 0.0)], ["cam", "imu"])


def test_source_name_serves_as_reference() -> None:
    solution = solve_clocks(
        [pair("cam", "imu", 0.0)],
        {"cam": "host", "imu": "mcu"},
        at_ns=AT_NS,
        tolerance_s={},
        reference="imu",
    )
    assert solution.reference == "mcu"


def test_refused_baseline_and_non_finite_measurements_have_no_say() -> None:
    measurements = [
        pair("cam", "imu", 0.001),
        pair("cam", "imu", 0.5, accepted=False, why="gain 0.3"),
        pair("can", "imu", 0.06, is_baseline_only=True),
        pair("can", "imu", math.inf),
    ]
    solution = solve(measurements, ["cam", "imu", "can"], reference="imu")
    assert [edge.index for edge in solution.edges] == [0]
    assert not solution.clocks["can"].is_observable
    assert solution.clocks["cam"].offset_s == pytest.approx(0.001, abs=EXACT_S)


def test_disconnected_clocks_have_no_offset() -> None:
    solution = solve(
        [pair("cam", "imu", 0.001), pair("cam2", "imu", 0.0), pair("mic", "text", 0.002)],
        ["cam", "cam2", "imu", "mic", "text"],
    )
    assert solution.components == (("cam", "cam2", "imu"), ("mic", "text"))
    assert solution.reference in ("cam", "cam2", "imu")
    assert not solution.clocks["mic"].is_observable
    assert solution.clocks["mic"].offset_s is None


def test_sign_positive_offset_means_early_stamps() -> None:
    # The target's timestamp of the event is 35 ms larger: the source stamps too early.
    solution = solve([pair("cam", "imu", 0.035)], ["cam", "imu"], reference="imu")
    assert solution.clocks["cam"].offset_s == pytest.approx(0.035, abs=EXACT_S)
    assert solution.clocks["cam"].offset_std_s == pytest.approx(STD_S, rel=1e-6)


# Speed


def test_fifty_clocks_and_five_hundred_edges_take_no_time() -> None:
    rng = np.random.default_rng(13)
    names, truth, ends = random_graph(rng, 50, 500)
    measurements = [
        pair(
            a,
            b,
            truth[a] - truth[b] + float(rng.normal(0, STD_S)) + (0.05 if k % 100 == 99 else 0.0),
            drift_ppm=float(rng.normal(0, 5)),
            drift_std_ppm=5.0,
        )
        for k, (a, b) in enumerate(ends)
    ]
    durations = []
    for _ in range(3):
        start = time.thread_time()
        solution = solve(measurements, names)
        durations.append(time.thread_time() - start)
    assert len([edge for edge in solution.edges if edge.is_outlier]) == 5
    # 0.2 s is required; CPU time of this thread, since other processes may keep the cores busy.
    assert min(durations) < 0.2


class TestFollowers:
    def test_followers_do_not_vote_on_who_is_wrong(self) -> None:
        late = [pair("a", "mic", 0.3), pair("b", "mic", 0.3)]
        solution = solve(late, ("mic", "a", "b"), followers={"a", "b"})
        assert solution.reference == "mic"
        assert solution.suspects == ()
        assert offsets(solution)["a"] == pytest.approx(0.3, abs=EXACT_S)
        assert solve(late, ("mic", "a", "b")).reference in ("a", "b")

    def test_followers_do_not_make_a_component_the_home_of_the_reference(self) -> None:
        measured = [pair("cam", "imu", 0.0), pair("a", "mic", 0.0), pair("b", "mic", 0.0)]
        solution = solve(measured, ("mic", "a", "b", "cam", "imu"), followers={"a", "b"})
        assert solution.reference in ("cam", "imu")

    def test_follower_may_be_named_as_the_reference(self) -> None:
        solution = solve([pair("a", "mic", 0.3)], ("mic", "a"), followers={"a"}, reference="a")
        assert solution.reference == "a"
        assert offsets(solution)["mic"] == pytest.approx(-0.3, abs=EXACT_S)
