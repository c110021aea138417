"""Clips of one data set: one reference, and one cause reported once."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from syncaudit.batch import VerdictFile, judge_again, merge_shards, read_shard, run_batch
from syncaudit.cli.verdict_table import print_outcome
from syncaudit.datasets import clip_to_row
from syncaudit.model import CameraSpec, Clip, ClipRecord, Origin, PairMeasurement, StateSpec
from syncaudit.pipeline import conclude
from syncaudit.policy import load_policy
from testkit.json_lines import read_verdicts

POLICY = load_policy(profile="vla")
AT_NS = 6_000_000_000
STD_S = 0.005
SYSTEMATIC_S = 0.002
LATE_S = 0.094


def episode(k, *, names=("high", "state"), dataset="/data/g1", **changes):
    kinds = {"state": StateSpec(uri="s.parquet")}
    return Clip(
        clip_id=f"episode_{k:03d}",
        recording_id=f"episode_{k:03d}",
        origin=None if dataset is None else Origin(dataset=dataset, episode_index=k),
        sources={n: kinds.get(n, CameraSpec(uri=f"{n}.mp4")) for n in names},
        **changes,
    )


class World:
    """Simulate estimators: pairs of true corrections with errors drawn once per clip."""

    def __init__(self, usual_s, *, own_s=None, refused=(), between_s=0.0):
        self.usual_s, self.own_s, self.refused = usual_s, own_s or {}, set(refused)
        self.between_s = between_s

    def __call__(self, clip, policy, **_):
        rng = np.random.default_rng(int(clip.clip_id[-3:]))
        true_s = {
            n: self.usual_s[n] + self.between_s * (n != "state") * rng.normal()
            for n in clip.sources
        }
        for name, own_s in self.own_s.get(clip.clip_id, {}).items():
            true_s[name] += own_s
        names = [*clip.sources]
        pairs = [
            self._pair(clip, a, b, true_s, STD_S * rng.normal())
            for i, a in enumerate(names)
            for b in names[i + 1 :]
        ]
        record = ClipRecord(at_ns=AT_NS, span_s=12.0, max_offset_s=2.0, measurements=tuple(pairs))
        return conclude(clip, record, policy)[1]

    def _pair(self, clip, source, target, true_s, error_s):
        is_refused = bool({(clip.clip_id, source), (clip.clip_id, target)} & self.refused)
        return PairMeasurement(
            source=source,
            target=target,
            method="arm_motion",
            at_ns=AT_NS,
            offset_s=true_s[source] - true_s[target] + error_s,
            offset_std_s=float(np.hypot(STD_S, SYSTEMATIC_S)),
            systematic_std_s=SYSTEMATIC_S,
            accepted=not is_refused,
            why="too little moves" if is_refused else None,
        )


def run(world, clips, out, **given):
    return run_batch(clips, POLICY, out=out, workers=0, audit=world, to_row=clip_to_row, **given)


def blamed(row):
    return {reason["source"] for reason in row["reasons"] if reason["code"] == "offset"}


def one_set(summary):
    (found,) = summary.data_sets
    return found


def test_a_constant_lag_is_told_once_with_its_cure(tmp_path):
    clips = [episode(k) for k in range(33)]
    world = World(
        {"high": -LATE_S, "state": 0.0},
        own_s={"episode_017": {"high": -0.116}},
        refused=[("episode_020", "high")],
    )
    summary = run(world, clips, tmp_path)
    found = one_set(summary)
    high = found["clocks"]["high"]
    assert (found["reference"], found["is_undecided"]) == ("state", True)
    assert (high["clips"], high["measured"], high["alike"]) == (33, 32, 31)
    assert [one["clip_id"] for one in high["unlike"]] == ["episode_017"]
    assert high["unlike"][0]["offset_s"] == pytest.approx(-LATE_S - 0.116, abs=4 * STD_S)
    assert abs(high["offset_s"] + LATE_S) < 3.0 * high["offset_std_s"]
    # The systematic part is not averaged away, the rest is.
    assert SYSTEMATIC_S < high["offset_std_s"] < 0.003
    told = Console(record=True, width=400, file=io.StringIO())
    print_outcome(told, summary, "out")
    text = told.export_text()
    assert text.count("against state in 31 of 33 clips") == 1
    # Only clips with a reason of their own are listed.
    assert text.count("\n✕ episode_") == 1
    assert "... and 31 more rejected clips" in text
    assert "1 clip differs: episode_017 (2" in text
    assert "1 clip could not be measured" in text
    assert "common_offsets.json" in text
    report = (tmp_path / "report.html").read_text()
    assert report.count("against state in 31 of 33 clips") >= 1
    assert json.loads((tmp_path / "summary.json").read_text())["data_sets"] == [found]


def test_the_order_of_the_clips_makes_no_difference(tmp_path):
    world = World({"high": -LATE_S, "state": 0.0, "wrist": 0.0}, between_s=0.003)
    clips = [episode(k, names=("high", "state", "wrist")) for k in range(24)]
    found = [
        one_set(run(world, some, tmp_path / str(n))) for n, some in enumerate((clips, clips[::-1]))
    ]
    clocks = [one["clocks"] for one in found]
    assert [list(one) for one in clocks[:1]] == [list(one) for one in clocks[1:]]
    for clock in clocks[0]:
        assert clocks[0][clock]["offset_s"] == clocks[1][clock]["offset_s"]
        assert clocks[0][clock]["offset_std_s"] == clocks[1][clock]["offset_std_s"]


def test_blame_is_the_same_in_all_clips(tmp_path):
    """Two late cameras outvote the joints; in clips where one is rejected they would not."""
    clips = [episode(k, names=("high", "wrist", "state")) for k in range(12)]
    refused = [(f"episode_{k:03d}", "wrist") for k in (2, 5)]
    refused += [(f"episode_{k:03d}", "high") for k in (3, 8)]
    world = World({"high": -LATE_S, "wrist": -LATE_S, "state": 0.0}, refused=refused)
    alone = [world(clip, POLICY).to_json() for clip in clips]
    assert {frozenset(blamed(row)) for row in alone} == {
        frozenset({"state"}),
        frozenset({"high"}),
        frozenset({"wrist"}),
    }
    summary = run(world, clips, tmp_path)
    assert {frozenset(blamed(row)) for row in read_verdicts(tmp_path)} == {frozenset({"state"})}
    assert [*one_set(summary)["common"]] == ["state"]


def test_who_departs_from_the_set_is_to_blame_be_it_its_reference(tmp_path):
    clips = [episode(k, names=("high", "wrist", "state")) for k in range(12)]
    world = World(
        {"high": -LATE_S, "wrist": 0.0, "state": 0.0}, own_s={"episode_007": {"state": 0.15}}
    )
    summary = run(world, clips, tmp_path)
    found = read_verdicts(tmp_path)
    assert one_set(summary)["reference"] == "state"
    assert {frozenset(blamed(row)) for row in found[:7] + found[8:]} == {frozenset({"high"})}
    odd = found[7]
    assert odd["reference"] == "wrist"
    assert odd["sources"]["state"]["offset_s"] == pytest.approx(0.15, abs=4 * STD_S)
    assert odd["sources"]["high"]["offset_s"] == pytest.approx(-LATE_S, abs=4 * STD_S)


def test_offsets_that_vary_between_recordings_are_said_to(tmp_path):
    clips = [episode(k) for k in range(40)]
    summary = run(World({"high": -LATE_S, "state": 0.0}, between_s=0.015), clips, tmp_path)
    high = one_set(summary)["clocks"]["high"]
    assert high["between_std_s"] == pytest.approx(0.015, abs=0.005)
    assert abs(high["offset_s"] + LATE_S) < 3.0 * high["offset_std_s"]
    (sentence,) = one_set(summary)["common"].values()
    assert "It varies by 1" in sentence
    assert "from recording to recording" in sentence


@pytest.mark.parametrize("n", [3, 40])
def test_nothing_is_common_to_few_or_to_unrelated_clips(tmp_path, n):
    rng = np.random.default_rng(4)
    clips = [episode(k) for k in range(n)]
    spread = 1.5 if n > 3 else 0.0
    own = {c.clip_id: {"high": float(spread * rng.uniform(-1, 1))} for c in clips}
    summary = run(World({"high": -LATE_S * (n == 3), "state": 0.0}, own_s=own), clips, tmp_path)
    assert all(not found["common"] for found in summary.data_sets)
    assert not (tmp_path / "common_offsets.json").exists()
    assert all(row["common_offsets"] is None for row in read_verdicts(tmp_path))


@pytest.mark.parametrize("n_scattered", [30, 8])
def test_few_recordings_of_another_pair_do_not_speak_for_a_clock(tmp_path, n_scattered):
    rng = np.random.default_rng(3)
    scattered = [episode(k) for k in range(n_scattered)]
    agreeing = [episode(k + 100, names=("high", "low")) for k in range(15)]
    # Two of five agree, the others have nothing in common.
    own_s = {
        clip.clip_id: {"state": float(rng.uniform(-1.8, 1.8)) if k % 5 > 1 else 0.0}
        for k, clip in enumerate(scattered)
    }
    world = World({"high": 0.0, "low": LATE_S, "state": 0.0}, own_s=own_s)
    summary = run(world, [*scattered, *agreeing], tmp_path)
    assert len(summary.data_sets) == (n_scattered < len(agreeing))


def test_few_sharp_recordings_do_not_overrule_what_most_show(tmp_path):
    """Six recordings flash: their camera is late, and a flash is sharper than any motion."""
    names = ("low", "side", "state", "high")
    late = {f"episode_{k:03d}": {"high": -LATE_S} for k in range(6)}
    motion = World(dict.fromkeys(names, 0.0), own_s=late)

    def audit(clip, policy, **given):
        record = motion(clip, policy, **given).record
        pairs = [
            pair
            if "state" in (pair.source, pair.target)
            else replace(pair, offset_std_s=STD_S / 50, systematic_std_s=0.0)
            for pair in record.measurements
            if clip.clip_id in late or "state" in (pair.source, pair.target)
        ]
        return conclude(clip, replace(record, measurements=tuple(pairs)), policy)[1]

    found = one_set(run(audit, [episode(k, names=names) for k in range(40)], tmp_path))
    assert found["clips"] == 40
    assert not found["common"]
    assert not (tmp_path / "common_offsets.json").exists()


def test_judging_again_merging_and_going_on_give_the_same_rows(tmp_path):
    clips = [episode(k, names=("high", "wrist", "state")) for k in range(10)]
    world = World(
        {"high": -LATE_S, "wrist": -LATE_S, "state": 0.0},
        refused=[(f"episode_{k:03d}", "wrist") for k in (0, 3, 7)],
    )
    whole = tmp_path / "whole"
    run(world, clips, whole)
    assert any(row["common_offsets"] for row in read_verdicts(whole))
    judge_again(
        clips,
        VerdictFile(whole / "verdicts.jsonl"),
        POLICY,
        out=tmp_path / "judged",
        to_row=clip_to_row,
    )
    assert read_verdicts(tmp_path / "judged") == read_verdicts(whole)
    run(world, clips, whole)
    assert read_verdicts(tmp_path / "judged") == read_verdicts(whole)
    parts = []
    for number in (1, 2, 3, 4):  # of at most three clips: too few to have anything in common
        folder = tmp_path / f"part{number}"
        about = {"shard": {"number": number, "count": 4}}
        run(world, clips[number - 1 :: 4], folder, about=about)
        assert not any(row["common_offsets"] for row in read_verdicts(folder))
        parts.append(read_shard(folder, clips[number - 1 :: 4]))
    merge_shards(parts, out=tmp_path / "all", to_row=clip_to_row)
    assert read_verdicts(tmp_path / "all") == read_verdicts(whole)


def test_clips_whose_set_shrank_are_judged_alone_again(tmp_path):
    clips = [episode(k, names=("high", "wrist", "state")) for k in range(8)]
    world = World(
        {"high": -LATE_S, "wrist": -LATE_S, "state": 0.0}, refused=[("episode_000", "wrist")]
    )
    run(world, clips, tmp_path)
    assert blamed(read_verdicts(tmp_path)[0]) == {"state"}
    run(world, clips[:3], tmp_path, prune=True)
    assert blamed(read_verdicts(tmp_path)[0]) == {"high"}
    assert read_verdicts(tmp_path)[0]["common_offsets"] is None


def test_data_sets_are_told_apart(tmp_path):
    clips = [episode(k) for k in range(6)] + [episode(k, dataset="/data/b") for k in range(6, 12)]
    own = {c.clip_id: {"high": LATE_S} for c in clips[6:]}
    summary = run(World({"high": -LATE_S, "state": 0.0}, own_s=own), clips, tmp_path)
    first, second = summary.data_sets
    assert ([*first["common"]], [*second["common"]]) == (["high"], [])
    # One calibration cannot serve both.
    assert not (tmp_path / "common_offsets.json").exists()


def test_clips_of_one_recording_count_once(tmp_path):
    clips = [replace(episode(k), recording_id=f"drive_{min(k, 5)}") for k in range(25)]
    own = {c.clip_id: {"high": 0.03} for c in clips[5:]}  # one drive of twenty clips is off
    summary = run(World({"high": -LATE_S, "state": 0.0}, own_s=own), clips, tmp_path)
    high = one_set(summary)["clocks"]["high"]
    assert abs(high["offset_s"] + LATE_S) < abs(high["offset_s"] + LATE_S - 0.03)


def test_the_calibration_takes_it_out_and_leaves_what_is_intended(tmp_path):
    clips = [episode(k) for k in range(6)]
    for clip in clips:
        clip.sources["high"] = replace(clip.sources["high"], expected_offset_s=-0.05)
    run(World({"high": -LATE_S - 0.05, "state": 0.0}), clips, tmp_path)
    known = json.loads((tmp_path / "common_offsets.json").read_text())
    assert known["reference"] == "state"
    assert [*known["sources"]] == ["high"]
    assert known["sources"]["high"]["offset_s"] == pytest.approx(-LATE_S - 0.05, abs=4 * STD_S)


def test_another_policy_may_find_nothing_outside(tmp_path):
    clips = [episode(k) for k in range(8)]
    run(World({"high": -LATE_S, "state": 0.0}), clips, tmp_path / "a")
    wide = {kind: replace(limits, offset_s=1.0) for kind, limits in POLICY.kinds.items()}
    summary, _ = judge_again(
        clips,
        VerdictFile(tmp_path / "a" / "verdicts.jsonl"),
        replace(POLICY, kinds=wide),
        out=tmp_path / "b",
    )
    assert one_set(summary)["common"] == {}
    assert one_set(summary)["clocks"]["high"]["alike"] == 8
    assert all(row["verdict"] == "pass" for row in read_verdicts(tmp_path / "b"))


def test_a_data_set_that_cannot_be_solved_costs_no_verdict(tmp_path, monkeypatch):
    def break_down(_):
        raise ZeroDivisionError("no time")

    monkeypatch.setattr("syncaudit.pipeline.DataSet.clocks", break_down)
    clips = [episode(k) for k in range(5)]
    summary = run(World({"high": -LATE_S, "state": 0.0}), clips, tmp_path)
    assert (summary.done, summary.data_sets) == (5, [])
    assert "data set /data/g1" in (tmp_path / "errors.log").read_text()


def test_a_row_that_names_other_sources_is_left_out(tmp_path):
    clips = [episode(k) for k in range(6)]
    world = World({"high": -LATE_S, "state": 0.0})

    def audit(clip, policy, **given):
        verdict = world(clip, policy, **given)
        if clip.clip_id != "episode_002":
            return verdict
        (pair,) = verdict.pairs
        odd = (replace(pair, source="gone"),)
        return replace(verdict, pairs=odd, record=None)

    summary = run(audit, clips, tmp_path)
    assert summary.done == 6
    assert one_set(summary)["clocks"]["high"]["alike"] == 5
    assert "clip episode_002" in (tmp_path / "errors.log").read_text()
