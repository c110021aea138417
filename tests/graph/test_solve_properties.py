"""Laws of the solution: names, order, direction and reference change nothing else."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testkit.measured_pairs import AT_NS, pair
from testkit.solved_clocks import EXACT_S, STD_S, Truth, offsets, random_graph, solve

TREE = st.lists(st.floats(-0.2, 0.2), min_size=2, max_size=7)


@given(TREE, st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_renaming_sources_changes_nothing_else(values: list[float], rnd: object) -> None:
    names = [f"s{i}" for i in range(len(values))]
    measurements = [
        pair(names[i], names[j], values[i] - values[j]) for i in range(len(names)) for j in range(i)
    ]
    shuffled = [f"n{k}" for k in range(len(names))]
    rnd.shuffle(shuffled)  # type: ignore[attr-defined]  # random.Random
    new = dict(zip(names, shuffled, strict=True))
    before = solve(measurements, names, reference=names[0])
    after = solve(
        [replace(m, source=new[m.source], target=new[m.target]) for m in measurements],
        shuffled,
        reference=new[names[0]],
    )
    for name in names:
        assert after.clocks[new[name]].offset_s == pytest.approx(
            before.clocks[name].offset_s, abs=EXACT_S
        )
        assert after.clocks[new[name]].offset_std_s == pytest.approx(
            before.clocks[name].offset_std_s, abs=EXACT_S
        )


@given(TREE, st.integers(0, 6))
@settings(max_examples=30, deadline=None)
def test_changing_the_reference_shifts_all_and_nothing_else(
    values: list[float], which: int
) -> None:
    rng = np.random.default_rng(which)
    names = [f"s{i}" for i in range(len(values))]
    measurements = [
        pair(names[i], names[j], values[i] - values[j] + float(rng.normal(0, STD_S)))
        for i in range(len(names))
        for j in range(i)
    ]
    other = names[which % len(names)]
    a = solve(measurements, names, reference=names[0])
    b = solve(measurements, names, reference=other)
    shift = offsets(a)[other]
    for name in names:
        assert offsets(b)[name] == pytest.approx(offsets(a)[name] - shift, abs=EXACT_S)
    assert a.suspects == b.suspects
    assert a.components == b.components
    for left, right in zip(a.edges, b.edges, strict=True):
        assert left == right


@given(st.integers(0, 1000), st.floats(-0.5, 0.5))
@settings(max_examples=30, deadline=None)
def test_shifting_one_source_moves_only_that_source(seed: int, shift_s: float) -> None:
    rng = np.random.default_rng(seed)
    names, truth, ends = random_graph(rng, 6, 12)
    measurements = [pair(a, b, truth[a] - truth[b] + float(rng.normal(0, STD_S))) for a, b in ends]
    # Timestamps that are `shift_s` later need that much less added.
    moved = [
        replace(
            m,
            offset_s=(m.offset_s or 0.0)
            - shift_s * (m.source == "c3")
            + shift_s * (m.target == "c3"),
            at_ns=m.at_ns + (round(shift_s * 1e9) if m.source == "c3" else 0),
        )
        for m in measurements
    ]
    before = offsets(solve(measurements, names, reference="c0"))
    after = offsets(solve(moved, names, reference="c0"))
    for name in names:
        expected = before[name] - (shift_s if name == "c3" else 0.0)
        assert after[name] == pytest.approx(expected, abs=EXACT_S)


@given(st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_swapping_the_direction_of_a_measurement_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names, truth, ends = random_graph(rng, 5, 9)
    drifts = {name: float(rng.normal(0, 40)) for name in names}
    exact = Truth(truth, drifts)
    measurements = [exact.measure(a, b, float(rng.uniform(-5, 5))) for a, b in ends]
    swapped = [
        replace(
            m,
            source=m.target,
            target=m.source,
            at_ns=m.at_ns + round((m.offset_s or 0.0) * 1e9),
            offset_s=-(m.offset_s or 0.0),
            drift_ppm=1e6 * (1.0 / (1.0 + 1e-6 * (m.drift_ppm or 0.0)) - 1.0),
        )
        for m in measurements
    ]
    before = solve(measurements, names, reference="c0")
    after = solve(swapped, names, reference="c0")
    for name in names:
        assert after.clocks[name].offset_s == pytest.approx(
            before.clocks[name].offset_s, abs=EXACT_S
        )
        assert after.clocks[name].drift_ppm == pytest.approx(
            before.clocks[name].drift_ppm, abs=1e-4
        )
        assert after.clocks[name].offset_std_s == pytest.approx(
            before.clocks[name].offset_std_s, rel=1e-3, abs=1e-9
        )


@given(st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_loops_close_for_consistent_clocks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names, truth, ends = random_graph(rng, 7, 15)
    drifts = {name: float(rng.normal(0, 40)) for name in names}
    exact = Truth(truth, drifts)
    solution = solve([exact.measure(a, b, float(rng.uniform(-10, 10))) for a, b in ends], names)
    assert len(solution.loops) == 15 - 6
    for loop in solution.loops:
        assert abs(loop.closure_s) < EXACT_S
        assert len(loop.clocks) == len(set(loop.clocks)) == len(loop.measurements)
    assert not any(edge.is_contradicted for edge in solution.edges)


@pytest.mark.parametrize("offset_s", [10.0, -1e4, 1e6])
@pytest.mark.parametrize("reference", ["a", "b", "c"])
def test_drift_times_offset_is_exact(offset_s: float, reference: str) -> None:
    truth = Truth({"a": 0.0, "b": offset_s, "c": 0.3 * offset_s}, {"a": 0.0, "b": 50.0, "c": -80.0})
    measurements = [
        truth.measure("b", "a", 3.0),
        truth.measure("a", "c", -4.0),
        truth.measure("b", "c", 8.0),
    ]
    solution = solve(measurements, ["a", "b", "c"], reference=reference)
    # Apply the contract's formula to the timestamps of one event and compare reference times.
    for event_s in (-10.0, 0.0, 7.5):
        seen = {}
        for name in ("a", "b", "c"):
            o, d = truth.offset_s[name], 1e-6 * truth.drift_ppm[name]
            stamp_s = (event_s - o) / (1.0 + d)  # after AT on its own clock
            clock = solution.clocks[name]
            since = stamp_s + (AT_NS - solution.at_ns) * 1e-9
            assert clock.offset_s is not None
            assert clock.drift_ppm is not None
            seen[name] = stamp_s + clock.offset_s + 1e-6 * clock.drift_ppm * since
        assert max(seen.values()) - min(seen.values()) < 1e-6
    assert solution.chi2_reduced == pytest.approx(0.0, abs=1e-3)


def test_drift_shows_from_offsets_of_many_clips() -> None:
    truth = Truth({"cam": 0.01, "imu": 0.0}, {"cam": 30.0, "imu": 0.0})
    measurements = [
        truth.measure("cam", "imu", at_s, drift=False) for at_s in (-600, -50, 300, 700)
    ]
    solution = solve(measurements, ["cam", "imu"], reference="imu")
    assert solution.clocks["cam"].drift_ppm == pytest.approx(30.0, abs=1e-3)
    assert solution.clocks["cam"].drift_std_ppm == pytest.approx(0.31, abs=0.1)
    assert solution.clocks["cam"].offset_s == pytest.approx(0.01, abs=EXACT_S)


def test_short_clip_shows_no_drift() -> None:
    measurements = [pair("cam", "imu", 0.0, at_ns=AT_NS + k * 10**9) for k in (-2, 0, 2)]
    solution = solve(measurements, ["cam", "imu"], reference="imu")
    assert solution.clocks["cam"].drift_ppm is None


def test_unmeasured_drift_widens_a_measurement_from_another_instant() -> None:
    solution = solve(
        [pair("cam", "imu", 0.0, at_ns=AT_NS + 100 * 10**9)], ["cam", "imu"], reference="imu"
    )
    # 20 ppm over 100 s is 2 ms.
    assert solution.clocks["cam"].offset_std_s == pytest.approx(math.hypot(2e-3, STD_S), abs=1e-5)


def test_drift_estimate_beyond_its_error_widens_more() -> None:
    """What a crystal's rate and the error of the estimate do not explain, limited by the latter."""
    drifting = pair(
        "cam",
        "imu",
        0.0,
        at_ns=AT_NS + 10 * 10**9,
        diagnostics={"drift_ppm": 100.0, "drift_std_ppm": 60.0},
    )
    solution = solve([drifting], ["cam", "imu"], reference="imu")
    # An excess of 80 ppm, and 60: 48 ppm over 10 s.
    assert solution.clocks["cam"].offset_std_s == pytest.approx(math.hypot(4.8e-4, STD_S), abs=1e-6)


def test_worthless_drift_blurs_no_offset() -> None:
    vague = pair("cam", "imu", 0.0, at_ns=AT_NS + 2 * 10**9, drift_ppm=900.0, drift_std_ppm=3000.0)
    solution = solve([vague], ["cam", "imu"], reference="imu")
    assert solution.clocks["cam"].drift_ppm is None
    assert (solution.clocks["cam"].offset_std_s or 1.0) < 1.1 * STD_S


@pytest.mark.parametrize("std_ppm", [200.0, 400.0])
def test_large_drift_is_seen_even_if_vague(std_ppm: float) -> None:
    """From two sigma: a drift that an estimator reports as likely is not ignored."""
    drifting = pair("cam", "imu", 0.0, drift_ppm=900.0, drift_std_ppm=std_ppm)
    solution = solve([drifting], ["cam", "imu"], reference="imu")
    assert solution.clocks["cam"].drift_ppm == pytest.approx(900.0, abs=1e-6)


def test_epoch_follows_a_reference_that_counts_from_boot() -> None:
    boot_s = 1_767_000_000.0
    solution = solve(
        [pair("cam", "imu", -boot_s), pair("cam2", "imu", -boot_s + 0.001)],
        ["cam", "cam2", "imu"],
        reference="imu",
    )
    assert solution.at_ns == AT_NS - round(boot_s * 1e9)
    assert solution.clocks["cam"].offset_s == pytest.approx(-boot_s, abs=1e-6)


def test_expected_offsets_are_taken_off() -> None:
    solution = solve(
        [pair("cam", "imu", 0.021), pair("cam2", "imu", 0.04)],
        ["cam", "cam2", "imu"],
        reference="imu",
        expected_offset_s={"cam": 0.02, "cam2": 0.04},
    )
    assert solution.clocks["cam"].offset_s == pytest.approx(0.001, abs=EXACT_S)
    assert solution.clocks["cam2"].offset_s == pytest.approx(0.0, abs=EXACT_S)
