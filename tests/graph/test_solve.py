"""Laws of the clock solution: truth is synthetic, seeds are fixed."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncaudit.errors import UsageError
from syncaudit.graph import solve_clocks
from syncaudit.model import ClockSolution, PairMeasurement

AT_NS = 1_767_225_610_000_000_000
# Rounding of float64 seconds and whole nanoseconds, far below any measurement.
EXACT_S = 1e-8
STD_S = 3e-4


def pair(
    source: str, target: str, offset_s: float, std_s: float = STD_S, **more: object
) -> PairMeasurement:
    fields: dict[str, object] = {"method": "rotation", "at_ns": AT_NS, "accepted": True} | more
    return PairMeasurement(
        source=source,
        target=target,
        offset_s=offset_s,
        offset_std_s=std_s,
        **fields,  # type: ignore[arg-type]  # fields of the record
    )


def own_clocks(*names: str) -> dict[str, str]:
    return {name: name for name in names}


def solve(
    measurements: Sequence[PairMeasurement],
    names: Sequence[str],
    *,
    tolerance_s: float | Mapping[str, float] = 0.01,
    **more: object,
) -> ClockSolution:
    tolerances = (
        tolerance_s if isinstance(tolerance_s, Mapping) else dict.fromkeys(names, tolerance_s)
    )
    options: dict[str, object] = {"span_s": 20.0, "at_ns": AT_NS} | more
    return solve_clocks(
        measurements,
        own_clocks(*names),
        tolerance_s=tolerances,
        **options,  # type: ignore[arg-type]  # options of the solver
    )


def offsets(solution: ClockSolution) -> dict[str, float]:
    return {
        name: clock.offset_s
        for name, clock in solution.clocks.items()
        if clock.offset_s is not None
    }


class Truth:
    """Affine clocks ``t_ref = t + o + d * (t - AT)`` and exact measurements between them."""

    def __init__(self, offset_s: Mapping[str, float], drift_ppm: Mapping[str, float]) -> None:
        self.offset_s = offset_s
        self.drift_ppm = drift_ppm

    def measure(
        self, source: str, target: str, at_s: float = 0.0, std_s: float = STD_S, drift: bool = True
    ) -> PairMeasurement:
        """Measure at `at_s` seconds of reference time after AT, with integer arithmetic inside."""
        o_s, o_t = self.offset_s[source], self.offset_s[target]
        d_s, d_t = 1e-6 * self.drift_ppm[source], 1e-6 * self.drift_ppm[target]
        # Stamps of the instant on both clocks, relative to AT.
        t_s = (at_s - o_s) / (1.0 + d_s)
        at_ns = AT_NS + round(t_s * 1e9)
        t_s = (at_ns - AT_NS) * 1e-9
        ref_s = t_s + o_s + d_s * t_s
        t_t = (ref_s - o_t) / (1.0 + d_t)
        return pair(
            source,
            target,
            t_t - t_s,
            std_s,
            at_ns=at_ns,
            drift_ppm=1e6 * ((1.0 + d_s) / (1.0 + d_t) - 1.0) if drift else None,
            drift_std_ppm=1.0 if drift else None,
        )


def random_graph(
    rng: np.random.Generator, n: int, m: int
) -> tuple[list[str], dict[str, float], list[tuple[str, str]]]:
    names = [f"c{i}" for i in range(n)]
    truth = {name: float(value) for name, value in zip(names, rng.normal(0, 0.01, n), strict=True)}
    ends = [(names[i], names[int(rng.integers(i))]) for i in range(1, n)]
    while len(ends) < m:
        a, b = rng.choice(n, 2, replace=False)
        ends.append((names[a], names[b]))
    return names, truth, ends


# Empty and small graphs


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
    with pytest.raises(UsageError, match=r"'imo' is no clock of the clip.*Did you mean 'imu'"):
        solve([], ["cam", "imu"], reference="imo")


def test_unknown_source_of_a_measurement_is_refused() -> None:
    with pytest.raises(UsageError, match="names the source 'gps', which has no clock"):
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
    # The target's stamp of the event is 35 ms larger: the source stamps too early.
    solution = solve([pair("cam", "imu", 0.035)], ["cam", "imu"], reference="imu")
    assert solution.clocks["cam"].offset_s == pytest.approx(0.035, abs=EXACT_S)
    assert solution.clocks["cam"].offset_std_s == pytest.approx(STD_S, rel=1e-6)


# Properties

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
    # Stamps that come `shift_s` later need that much less added.
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
    # Apply the contract's formula to the stamps of one event and compare reference times.
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


def test_worthless_drift_blurs_no_offset() -> None:
    vague = pair("cam", "imu", 0.0, at_ns=AT_NS + 2 * 10**9, drift_ppm=900.0, drift_std_ppm=3000.0)
    solution = solve([vague], ["cam", "imu"], reference="imu")
    assert solution.clocks["cam"].drift_ppm is None
    assert (solution.clocks["cam"].offset_std_s or 1.0) < 1.1 * STD_S


@pytest.mark.parametrize("std_ppm", [200.0, 400.0])
def test_large_drift_is_seen_even_if_vague(std_ppm: float) -> None:
    """From two sigma on: what an estimator tells as likely is not passed over."""
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


# Honesty of the standard errors


def test_claimed_standard_errors_are_honest() -> None:
    rng = np.random.default_rng(7)
    z = []
    for _ in range(300):
        n = int(rng.integers(3, 9))
        names, truth, ends = random_graph(rng, n, int(rng.integers(n, 3 * n)))
        stds = rng.uniform(1e-4, 2e-3, len(ends))
        measurements = [
            pair(a, b, truth[a] - truth[b] + float(rng.normal(0, s)), float(s))
            for (a, b), s in zip(ends, stds, strict=True)
        ]
        solution = solve(measurements, names, reference="c0")
        clock = solution.clocks[names[int(rng.integers(1, n))]]
        assert clock.offset_s is not None
        assert clock.offset_std_s is not None
        z.append((clock.offset_s - truth[clock.clock] + truth["c0"]) / clock.offset_std_s)
    z = np.array(z)
    assert 0.70 < float(np.var(z)) < 1.25
    assert 0.90 <= float(np.mean(np.abs(z) <= 1.96)) <= 0.98


def test_drift_standard_errors_are_honest() -> None:
    rng = np.random.default_rng(8)
    z = []
    for _ in range(200):
        names, truth, ends = random_graph(rng, 5, 10)
        drifts = {name: float(rng.normal(0, 30)) for name in names}
        exact = Truth(truth, drifts)
        measurements = []
        for a, b in ends:
            m = exact.measure(a, b)
            measurements.append(
                replace(
                    m,
                    offset_s=(m.offset_s or 0.0) + float(rng.normal(0, STD_S)),
                    drift_ppm=(m.drift_ppm or 0.0) + float(rng.normal(0, 20.0)),
                    drift_std_ppm=20.0,
                )
            )
        clock = solve(measurements, names, reference="c0").clocks["c4"]
        assert clock.drift_ppm is not None
        assert clock.drift_std_ppm is not None
        z.append((clock.drift_ppm - drifts["c4"] + drifts["c0"]) / clock.drift_std_ppm)
    assert 0.70 < float(np.var(z)) < 1.3
    assert 0.90 <= float(np.mean(np.abs(z) <= 1.96)) <= 0.99


def test_understated_errors_are_inflated() -> None:
    rng = np.random.default_rng(9)
    names, truth, ends = random_graph(rng, 5, 40)
    measurements = [
        pair(a, b, truth[a] - truth[b] + float(rng.normal(0, 2 * STD_S))) for a, b in ends
    ]
    wide = solve(measurements, names, reference="c0")
    honest = solve(
        [replace(m, offset_std_s=2 * STD_S) for m in measurements], names, reference="c0"
    )
    assert wide.chi2_reduced == pytest.approx(4.0, rel=0.5)
    for name in names[1:]:
        assert wide.clocks[name].offset_std_s == pytest.approx(
            honest.clocks[name].offset_std_s, rel=0.35
        )


def test_misfit_of_one_block_does_not_blur_another() -> None:
    measurements = [
        pair("a", "b", 0.0),
        pair("a", "b", 3 * STD_S),
        pair("b", "c", 0.0),
    ]
    solution = solve(measurements, ["a", "b", "c"], reference="b")
    assert (solution.clocks["a"].offset_std_s or 0.0) > 1.4 * STD_S
    assert solution.clocks["c"].offset_std_s == pytest.approx(STD_S, rel=1e-6)


# Contradictions


def test_one_gross_outlier_is_found() -> None:
    rng = np.random.default_rng(11)
    n_found = n_false = 0
    for _ in range(100):
        n = int(rng.integers(4, 8))
        names = [f"c{i}" for i in range(n)]
        truth = dict(zip(names, rng.normal(0, 0.01, n), strict=True))
        ends = [(names[i], names[j]) for i in range(n) for j in range(i)]
        bad = int(rng.integers(len(ends)))
        measurements = [
            pair(
                a, b, float(truth[a] - truth[b] + rng.normal(0, STD_S) + (0.02 if k == bad else 0))
            )
            for k, (a, b) in enumerate(ends)
        ]
        solution = solve(measurements, names, reference="c0")
        blamed = [edge.index for edge in solution.edges if edge.is_outlier]
        n_found += bad in blamed
        n_false += len([k for k in blamed if k != bad])
        for name in names[1:]:
            error = offsets(solution)[name] - float(truth[name] - truth["c0"])
            assert abs(error) < 5 * STD_S
    assert n_found >= 96
    assert n_false <= 2


def test_several_outliers_are_told_apart() -> None:
    rng = np.random.default_rng(12)
    names, truth, ends = random_graph(rng, 10, 45)
    bad = {15, 25, 35}
    measurements = [
        pair(a, b, truth[a] - truth[b] + float(rng.normal(0, STD_S)) + (0.03 if k in bad else 0.0))
        for k, (a, b) in enumerate(ends)
    ]
    solution = solve(measurements, names)
    assert {edge.index for edge in solution.edges if edge.is_outlier} == bad
    assert solution.chi2_reduced is not None
    assert solution.chi2_reduced < 2.0
    for edge in solution.edges:
        assert 0.0 < edge.weight <= 1.0
        assert (edge.weight < 0.01) == (edge.index in bad)


def test_a_bridge_is_never_an_outlier() -> None:
    solution = solve([pair("a", "b", 0.0), pair("b", "c", 5.0)], ["a", "b", "c"])
    assert all(edge.z == 0.0 and not edge.is_contradicted for edge in solution.edges)
    assert solution.chi2_reduced is None


def test_two_parallel_edges_that_contradict_are_both_in_doubt() -> None:
    solution = solve([pair("a", "b", 0.0), pair("a", "b", 0.03)], ["a", "b"], reference="b")
    assert [edge.is_contradicted for edge in solution.edges] == [True, True]
    assert not any(edge.is_outlier for edge in solution.edges)
    clock = solution.clocks["a"]
    assert clock.offset_s == pytest.approx(0.015, abs=1e-4)
    # Either may be right: the interval covers both.
    assert (clock.offset_std_s or 0.0) * 1.96 > 0.015
    assert abs(solution.loops[0].z) > 4.0
    assert solution.loops[0].clocks in (("a", "b"), ("b", "a"))


def test_precise_edge_does_not_win_against_a_contradicting_vague_one() -> None:
    solution = solve(
        [pair("a", "b", 0.0, 1e-5), pair("a", "b", 0.05, 5e-3)], ["a", "b"], reference="b"
    )
    assert [edge.is_contradicted for edge in solution.edges] == [True, True]
    assert (solution.clocks["a"].offset_std_s or 0.0) > 0.02


def test_third_parallel_edge_breaks_the_tie() -> None:
    measurements = [pair("a", "b", 0.0), pair("a", "b", 0.03), pair("a", "b", 0.0302)]
    solution = solve(measurements, ["a", "b"], reference="b")
    assert [edge.is_outlier for edge in solution.edges] == [True, False, False]
    assert solution.clocks["a"].offset_s == pytest.approx(0.0301, abs=1e-4)
    assert solution.clocks["a"].n_measurements == 2


def test_triangle_that_fails_to_close_accuses_all_three() -> None:
    measurements = [pair("a", "b", 0.0), pair("b", "c", 0.0), pair("a", "c", 0.03)]
    solution = solve(measurements, ["a", "b", "c"])
    assert all(edge.is_contradicted and not edge.is_outlier for edge in solution.edges)
    assert abs(solution.loops[0].closure_s) == pytest.approx(0.03, abs=EXACT_S)
    assert set(solution.loops[0].clocks) == {"a", "b", "c"}


def test_contradicted_drift_is_blamed() -> None:
    names = ["a", "b", "c", "d"]
    measurements = [
        pair(x, y, 0.0, drift_ppm=300.0 if (x, y) == ("b", "a") else 0.0, drift_std_ppm=10.0)
        for i, x in enumerate(names)
        for y in names[:i]
    ]
    solution = solve(measurements, names, reference="a")
    assert [edge.is_outlier for edge in solution.edges] == [True] + [False] * 5
    assert abs(solution.edges[0].drift_z or 0.0) > 4.0
    assert solution.clocks["b"].drift_ppm == pytest.approx(0.0, abs=1e-6)


# Who is wrong?

CAMS = [f"cam{i}" for i in range(6)]
TOLERANCES = dict.fromkeys(CAMS, 0.01) | {"imu": 0.005, "can": 0.02}


def test_one_shifted_imu_is_told_as_imu() -> None:
    measurements = [pair(cam, "imu", 0.04) for cam in CAMS] + [pair("can", "imu", 0.0405)]
    solution = solve(measurements, [*CAMS, "imu", "can"], tolerance_s=TOLERANCES)
    assert solution.suspects == ("imu",)
    assert solution.reference != "imu"
    assert solution.clocks["imu"].offset_s == pytest.approx(-0.04, abs=1e-3)


def test_shifted_camera_is_told_as_camera_whatever_the_reference() -> None:
    measurements = [pair(cam, "imu", 0.035 if cam == "cam4" else 0.0) for cam in CAMS]
    for reference in (None, "imu", "cam0", "cam4"):
        solution = solve(measurements, [*CAMS, "imu"], tolerance_s=TOLERANCES, reference=reference)
        assert solution.suspects == ("cam4",)
        assert solution.is_reference_stated == (reference is not None)


@pytest.mark.parametrize(("trusted", "blamed"), [("imu", "cam0"), ("cam0", "imu")])
def test_of_two_clocks_the_less_trusted_is_blamed(trusted: str, blamed: str) -> None:
    solution = solve(
        [pair("cam0", "imu", 0.035)],
        ["cam0", "imu"],
        tolerance_s=TOLERANCES,
        preference=[trusted],
    )
    assert solution.reference == trusted
    assert solution.suspects == (blamed,)


@pytest.mark.parametrize("trusted", ["a0", "b2"])
@pytest.mark.parametrize("seed", range(5))
def test_three_against_three_falls_to_the_trusted_side(trusted: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = ["a0", "a1", "a2", "b0", "b1", "b2"]
    truth = {name: 0.035 if name[0] == "b" else 0.0 for name in names}
    measurements = [
        pair(x, y, truth[x] - truth[y] + float(rng.normal(0, STD_S)))
        for i, x in enumerate(names)
        for y in names[:i]
    ]
    solution = solve(measurements, names, preference=[trusted])
    assert solution.reference == trusted
    assert all(name[0] != trusted[0] for name in solution.suspects)
    assert len(solution.suspects) == 3


def test_vague_clock_is_no_reference() -> None:
    measurements = [pair("text", "cam0", 0.0, 0.02)] + [pair(cam, "cam0", 0.0) for cam in CAMS[1:]]
    solution = solve(measurements, [*CAMS, "text"], preference=["text"])
    assert solution.reference != "text"
    assert solution.suspects == ()


def test_drift_counts_against_a_clock_over_the_clip() -> None:
    measurements = [pair(cam, "imu", 0.0, drift_ppm=0.0, drift_std_ppm=5.0) for cam in CAMS[:3]] + [
        pair("cam3", "imu", 0.0, drift_ppm=1500.0, drift_std_ppm=5.0)
    ]
    solution = solve(measurements, [*CAMS[:4], "imu"], tolerance_s=TOLERANCES)
    assert solution.suspects == ("cam3",)  # 1500 ppm over 10 s is 15 ms


def test_more_measurements_decide_where_nothing_else_does() -> None:
    solution = solve([pair("a", "c", 0.0), pair("b", "c", 0.0)], ["a", "b", "c"])
    assert solution.reference == "c"


# Steps


def stepped(source: str, target: str, step_s: float, **more: object) -> PairMeasurement:
    fields: dict[str, object] = {
        "step_s": step_s,
        "step_std_s": STD_S,
        "step_at_ns": AT_NS + 3 * 10**9,
    }
    return pair(source, target, 0.0, **(fields | more))  # type: ignore[arg-type]  # test fields


def test_step_is_laid_at_the_door_of_the_clock_that_explains_most() -> None:
    measurements = [stepped(cam, "imu", -0.03) for cam in CAMS] + [pair("cam0", "cam1", 0.0)]
    solution = solve(measurements, [*CAMS, "imu"], reference="cam0")
    stepping = [c.clock for c in solution.clocks.values() if c.step_s is not None]
    assert stepping == ["imu"]
    # The pair offset is correction(cam) - correction(imu): it fell because imu's correction rose.
    assert solution.clocks["imu"].step_s == pytest.approx(0.03, abs=1e-6)
    assert solution.clocks["imu"].step_at_ns == AT_NS + 3 * 10**9
    assert (solution.clocks["imu"].step_std_s or 1.0) < STD_S


def test_step_of_a_camera_is_its_own() -> None:
    measurements = [stepped("cam0", "imu", 0.02), *(pair(cam, "imu", 0.0) for cam in CAMS[1:])]
    solution = solve(measurements, [*CAMS, "imu"], reference="imu")
    assert solution.clocks["cam0"].step_s == pytest.approx(0.02, abs=1e-6)
    assert solution.clocks["imu"].step_s is None


def test_step_of_the_stated_reference_shows_in_all_others() -> None:
    measurements = [stepped(cam, "imu", -0.03) for cam in CAMS]
    solution = solve(measurements, [*CAMS, "imu"], reference="imu")
    assert solution.clocks["cam0"].step_s == pytest.approx(-0.03, abs=1e-6)
    assert solution.clocks["imu"].step_s is None


def test_jump_is_told_of_the_clock_that_made_it_whichever_is_the_reference() -> None:
    measurements = [stepped(cam, "imu", -0.03) for cam in CAMS]
    for reference in ("imu", CAMS[0]):
        jumps = solve(measurements, [*CAMS, "imu"], reference=reference).jumps
        assert list(jumps) == ["imu"]
        assert jumps["imu"].step_s == pytest.approx(0.03, abs=1e-6)
        assert jumps["imu"].at_ns == AT_NS + 3 * 10**9
        assert not jumps["imu"].is_past


def test_two_clocks_that_step_at_once() -> None:
    measurements = [stepped("a", "c", 0.02), stepped("b", "c", 0.05), stepped("a", "b", -0.03)]
    measurements += [stepped("a", "d", 0.02), stepped("b", "d", 0.05), pair("c", "d", 0.0)]
    solution = solve(measurements, ["a", "b", "c", "d"], reference="d")
    assert solution.clocks["a"].step_s == pytest.approx(0.02, abs=1e-6)
    assert solution.clocks["b"].step_s == pytest.approx(0.05, abs=1e-6)
    assert solution.clocks["c"].step_s is None


def test_step_in_both_reference_and_clock_is_the_difference() -> None:
    measurements = [stepped("a", "c", 0.02), stepped("b", "c", 0.05), stepped("a", "b", -0.03)]
    measurements += [stepped("a", "d", 0.02), stepped("b", "d", 0.05), pair("c", "d", 0.0)]
    solution = solve(measurements, ["a", "b", "c", "d"], reference="b")
    assert solution.clocks["a"].step_s == pytest.approx(-0.03, abs=1e-6)
    assert solution.clocks["c"].step_s == pytest.approx(-0.05, abs=1e-6)


def test_measurement_after_the_step_is_carried_back() -> None:
    after = stepped("cam", "imu", 0.02, at_ns=AT_NS + 5 * 10**9)
    solution = solve(
        [replace(after, offset_s=0.021), stepped("cam", "can", 0.02), pair("imu", "can", 0.0)],
        ["cam", "imu", "can"],
        reference="imu",
    )
    assert solution.clocks["cam"].offset_s == pytest.approx(0.0005, abs=5e-4)
    assert not any(edge.is_contradicted for edge in solution.edges)


def turned(m: PairMeasurement) -> PairMeasurement:
    """Return a measurement with its sources swapped: offset and step change their sign."""
    return replace(
        m,
        source=m.target,
        target=m.source,
        offset_s=-(m.offset_s or 0.0),
        step_s=None if m.step_s is None else -m.step_s,
    )


@pytest.mark.parametrize("which", range(1, 32, 2))
def test_step_is_the_same_whichever_way_its_pairs_point(which: int) -> None:
    measurements = [stepped("a", "c", 0.02), stepped("b", "c", 0.05), stepped("a", "b", -0.03)]
    measurements += [stepped("a", "d", 0.02), stepped("b", "d", 0.05), pair("c", "d", 0.0)]
    some = [turned(m) if which >> k & 1 else m for k, m in enumerate(measurements)]
    solution = solve(some, ["a", "b", "c", "d"], reference="d")
    sizes = {c.clock: c.step_s for c in solution.clocks.values() if c.step_s is not None}
    assert sizes == {"a": pytest.approx(0.02, abs=1e-6), "b": pytest.approx(0.05, abs=1e-6)}


@pytest.mark.parametrize("trusted", ["a", "b"])
def test_step_that_either_clock_explains_is_of_the_less_trusted(trusted: str) -> None:
    jumps = solve([stepped("a", "b", 0.03)], ["a", "b"], preference=[trusted]).jumps
    assert [*jumps] == [{"a": "b", "b": "a"}[trusted]]


def test_drift_that_nobody_measured_has_the_error_of_two_crystals() -> None:
    measurements = [
        pair("cam", "imu", 0.0, drift_ppm=100.0, drift_std_ppm=1.0),
        pair("imu", "can", 0.0),
    ]
    # 20 ppm each: data sheets give that for crystals at room temperature.
    for reference, std_ppm in (("imu", 1.0), ("can", math.hypot(1.0, 20.0 * math.sqrt(2.0)))):
        cam = solve(measurements, ["cam", "imu", "can"], reference=reference).clocks["cam"]
        assert cam.drift_std_ppm == pytest.approx(std_ppm, rel=0.01)


def test_insignificant_step_is_no_step() -> None:
    solution = solve([stepped("cam", "imu", 2 * STD_S)], ["cam", "imu"], reference="imu")
    assert solution.clocks["cam"].step_s is None


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
    # 0.2 s is asked for; time of this thread, since other processes may keep the cores busy.
    assert min(durations) < 0.2


# Corners


def test_two_equal_outliers_far_apart_are_both_blamed() -> None:
    left, right = ["a0", "a1", "a2", "a3"], ["b0", "b1", "b2", "b3"]
    measurements = [
        pair(x, y, 0.03 if (x[1], y[1]) == ("1", "0") else 0.0)
        for names in (left, right)
        for i, x in enumerate(names)
        for y in names[:i]
    ]
    solution = solve([*measurements, pair("a0", "b0", 0.0)], left + right)
    blamed = [edge.index for edge in solution.edges if edge.is_outlier]
    assert blamed == [0, 6]
    assert not any(edge.is_contradicted for edge in solution.edges if not edge.is_outlier)


def test_near_tie_of_consensus_is_a_tie() -> None:
    # 10.5 ± 1 ms: outside for the IMU (5 ms) surely, for the camera (10 ms) with 69 %.
    for trusted in ("cam0", "imu"):
        solution = solve(
            [pair("cam0", "imu", 0.0105, 1e-3)],
            ["cam0", "imu"],
            tolerance_s=TOLERANCES,
            preference=[trusted],
        )
        assert solution.reference == trusted


def test_measurement_blind_to_a_step_is_not_accused() -> None:
    measurements = [
        stepped("cam", "imu", 0.02),
        stepped("cam", "can", 0.02),
        pair("imu", "can", 0.0),
        pair("cam", "imu", 0.008),  # a mixture of before (0) and after (20 ms)
    ]
    solution = solve(measurements, ["cam", "imu", "can"], reference="imu")
    assert solution.clocks["cam"].step_s == pytest.approx(0.02, abs=1e-6)
    assert not any(edge.is_contradicted for edge in solution.edges)
    assert solution.clocks["cam"].offset_s == pytest.approx(0.0, abs=1e-4)


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
